//! Messages between the processes of a measurement.

use std::fs;
use std::path::{Path, PathBuf};

use openssl_runtime::{Error, Libraries, LibraryContext};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use testbed::preference;

use output::Failure;

use crate::groups::{self, Group};

/// A group in the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Its name in reports. OpenSSL's name is the group's.
    pub(crate) label: &'static str,
    pub(crate) group: Group,
    /// True if fastkex computes the key exchange and signatures that both fastkex and OpenSSL have.
    pub(crate) uses_fastkex: bool,
}

/// The name of the null group with key shares of sntrup761's size in reports.
pub(crate) const NULL: &str = "null";
/// The name of the null group with small key shares in reports.
pub(crate) const NULL_SMALL: &str = "null-small";

/// fastkex's groups.
const OURS: [&str; 2] = ["sntrup761", "X25519SNTRUP761"];
/// OpenSSL's groups.
const OPENSSLS: [&str; 3] = [X25519, "P-256", "X25519MLKEM768"];
/// The name of OpenSSL's own X25519 in reports.
pub(crate) const X25519: &str = "X25519";
/// Names in reports of OpenSSL's groups, computed by fastkex, with fastkex's Ed25519 signatures.
const BY_FASTKEX: [&str; 2] = ["X25519, fastkex", "X25519MLKEM768, fastkex"];
/// The end of these names.
const FASTKEX: &str = ", fastkex";

/// Returns all groups to measure, in the order of reports.
pub(crate) fn candidates() -> Vec<Candidate> {
    let nulls = fastkex_insecure_null::GROUPS.into_iter().zip([NULL, NULL_SMALL]);
    let nulls = nulls.map(|(null, label)| Candidate {
        label,
        group: Group {
            name: null.name.to_str().unwrap_or_default(),
            code_point: null.code_point,
            client_bytes: null.client_bytes,
            server_bytes: null.server_bytes,
        },
        uses_fastkex: false,
    });
    let named = |label: &'static str| {
        let name = label.strip_suffix(FASTKEX);
        let group = groups::named(name.unwrap_or(label));
        group.map(|group| Candidate { label, group, uses_fastkex: name.is_some() })
    };
    let labels = OURS.into_iter().chain(OPENSSLS).chain(BY_FASTKEX);
    nulls.chain(labels.filter_map(named)).collect()
}

/// The parameters of both ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The folder of OpenSSL's libraries, or `None` for the system's.
    pub(crate) openssl: Option<PathBuf>,
    /// Paths of the modules.
    pub(crate) providers: Vec<PathBuf>,
    /// The processor to run on.
    pub(crate) core: Option<usize>,
    /// Certificates by their names in reports, with a file in PEM.
    pub(crate) trusted: Vec<(String, PathBuf)>,
}

/// A port on loopback with one certificate and one group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Listener {
    /// The certificate's name, as in [`Plan`].
    pub(crate) certificate: String,
    /// The group's name, as in [`Candidate`].
    pub(crate) label: String,
    pub(crate) port: u16,
    /// The server's processes.
    pub(crate) processes: Vec<u32>,
}

/// The task of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) plan: Plan,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
}

/// The results of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The version of its OpenSSL.
    pub(crate) openssl: String,
    pub(crate) samples: Vec<Samples>,
}

/// A client's results with one listener.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Samples {
    pub(crate) certificate: String,
    pub(crate) label: String,
    /// Connections per second in each round.
    pub(crate) rates: Vec<f64>,
    /// All connections in these rounds.
    pub(crate) connections: usize,
    /// Processor time of the client in these rounds, in seconds.
    pub(crate) client_seconds: f64,
    /// Processor time of the server in these rounds, or `None` if the system does not report it.
    pub(crate) server_seconds: Option<f64>,
}

impl Plan {
    /// Opens the libraries with the default provider and the modules: a context that prefers
    /// OpenSSL, and one that prefers fastkex.
    pub(crate) fn contexts(&self) -> Result<Contexts, Error> {
        Ok(Contexts { stock: self.context(false)?, faster: self.context(true)? })
    }

    fn context(&self, uses_fastkex: bool) -> Result<LibraryContext, Error> {
        let libraries = match &self.openssl {
            Some(folder) => Libraries::open_directory(folder)?,
            None => Libraries::system()?,
        };
        let context = LibraryContext::new(&libraries)?;
        context.load_provider("default")?.keep();
        for module in &self.providers {
            context.load_provider(&module.display().to_string())?.keep();
        }
        context.set_default_properties(preference(uses_fastkex))?;
        Ok(context)
    }
}

/// Library contexts of one OpenSSL.
pub(crate) struct Contexts {
    pub(crate) stock: LibraryContext,
    faster: LibraryContext,
}

impl Contexts {
    /// Returns the context for a candidate.
    pub(crate) fn of(&self, candidate: &Candidate) -> &LibraryContext {
        if candidate.uses_fastkex { &self.faster } else { &self.stock }
    }
}

/// Reads a file that another process wrote for this one.
pub(crate) fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    let text = fs::read_to_string(file).map_err(Failure::about(file.display()))?;
    serde_json::from_str(&text).map_err(Failure::about(file.display()))
}

/// Returns the candidates whose groups a libssl knows.
pub(crate) fn known(context: &LibraryContext) -> Vec<Candidate> {
    let known: Vec<_> = context.tls_groups().iter().map(|group| group.id).collect();
    candidates().into_iter().filter(|one| known.contains(&one.group.code_point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_takes_part() {
        let labels: Vec<_> = candidates().iter().map(|one| one.label).collect();
        assert_eq!(labels.len(), 2 + OURS.len() + OPENSSLS.len() + BY_FASTKEX.len());
        assert_eq!(labels[..2], [NULL, NULL_SMALL]);
        let sizes = |one: &Candidate| (one.group.client_bytes, one.group.server_bytes);
        let sntrup761 = groups::named("sntrup761").unwrap();
        assert_eq!(sizes(&candidates()[0]), (sntrup761.client_bytes, sntrup761.server_bytes));
    }
}
