//! Sources of programs in Debian's archive.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use output::Failure;
use testbed::Stage;

/// An archive that is downloaded when needed.
pub(crate) struct Source {
    /// Name and version.
    pub(crate) name: &'static str,
    /// The URL.
    pub(crate) address: &'static str,
    /// SHA-256 of the archive, as in Debian's signed index of sources.
    pub(crate) sha_256: &'static str,
}

const TIMEOUT: Duration = Duration::from_secs(300);

impl Source {
    /// Copies `file` into the stage's folder under `name`, or downloads it there, and checks its
    /// hash.
    ///
    /// # Errors
    /// It cannot be downloaded or read, or has another hash.
    pub(crate) fn provide(
        &self,
        stage: &Stage,
        name: &str,
        file: Option<&Path>,
    ) -> Result<(), Failure> {
        let archive = stage.folder().join(name);
        match file {
            Some(file) => drop(fs::copy(file, &archive).map_err(Failure::about(file.display()))?),
            None => self.fetch(stage, name)?,
        }
        let bytes = fs::read(&archive).map_err(Failure::about(name))?;
        let found = hexadecimal(&Sha256::digest(&bytes));
        if found == self.sha_256 {
            return Ok(());
        }
        let from = file.map_or_else(|| self.address.into(), |file| file.display().to_string());
        Err(Failure::new(format!(
            "{from}: not the source of {}: SHA-256 {found}, expected {}",
            self.name, self.sha_256
        )))
    }

    fn fetch(&self, stage: &Stage, name: &str) -> Result<(), Failure> {
        let mut curl = stage.stock("curl");
        curl.args(["--disable", "--silent", "--show-error", "--fail", "--location"]).args([
            "--max-time",
            "120",
            "--output",
            name,
            self.address,
        ]);
        let fetched = stage.run_within(TIMEOUT, &mut curl)?.output_of("curl");
        fetched.map(drop).map_err(|failure| {
            Failure::new(format!(
                "{}: {failure}; '--source FILE' takes one from elsewhere",
                self.address
            ))
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: Source = Source {
        name: "abc 1",
        address: "http://127.0.0.1:9/abc",
        // The example of FIPS 180-4.
        sha_256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    };

    #[test]
    fn another_source_is_refused() {
        let (stage, folder) = (Stage::new().unwrap(), tempfile::tempdir().unwrap());
        let file = folder.path().join("other.tar.xz");
        fs::write(&file, "abc").unwrap();
        ABC.provide(&stage, "archive", Some(&file)).unwrap();
        assert_eq!(stage.read("archive").unwrap(), "abc");
        fs::write(&file, "abd").unwrap();
        let failure = ABC.provide(&stage, "archive", Some(&file)).unwrap_err().to_string();
        assert!(failure.contains("other.tar.xz") && failure.contains(ABC.sha_256), "{failure}");
    }
}
