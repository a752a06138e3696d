//! Files, module and processor that servers share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext};

use crate::{Server, Stage, processor};
use output::Failure;

use crate::SERVER_NAME;

/// nginx's document root in the stage's folder.
pub(crate) const PAGES: &str = "pages";

/// A folder with certificates and pages, the module, and the running servers.
pub struct Set {
    /// Folder and processes.
    pub stage: Stage,
    pub(crate) libraries: Libraries,
    pub(crate) module: PathBuf,
    pub(crate) further: Vec<PathBuf>,
    pub(crate) loads_module: bool,
    pub(crate) reports: bool,
    pub(crate) tool: PathBuf,
    processor: Option<usize>,
    started: AtomicUsize,
    making: Mutex<()>,
}

/// The files of a self-signed certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate. A client trusts it as an authority.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl Set {
    /// Makes an empty set. Servers, which are linked to the system's OpenSSL, load `libraries`
    /// instead, which must have the same major version. `module` is `fastkex.so`. `tool` is a
    /// program that calls [`crate::minimal::serve`] when its arguments are [`crate::minimal::ROLE`]
    /// and a file.
    ///
    /// # Errors
    /// One of the files does not exist, or the folder cannot be made.
    pub fn new(libraries: &Libraries, module: &Path, tool: &Path) -> Result<Self, Failure> {
        let there = |path: &Path| path.canonicalize().map_err(Failure::about(path.display()));
        let stage = Stage::new()?;
        fs::create_dir(stage.folder().join(PAGES)).map_err(Failure::about(PAGES))?;
        stage.write(&format!("{PAGES}/index.html"), "A small static page\n")?;
        Ok(Self {
            stage,
            libraries: libraries.clone(),
            module: there(module)?,
            further: Vec::new(),
            loads_module: true,
            reports: false,
            tool: there(tool)?,
            processor: None,
            started: AtomicUsize::new(0),
            making: Mutex::new(()),
        })
    }

    /// Binds servers that are started from now on to this processor. `None` leaves the choice to
    /// the system.
    pub fn on(self, processor: Option<usize>) -> Self {
        Self { processor, ..self }
    }

    /// Lets stock servers that are started from now on report the groups of their connections. The
    /// module counts keys ([`crate::keys_taken`]). nginx writes a line for each request to its log:
    /// `group`, and the group's name or code point.
    pub fn reporting(self) -> Self {
        Self { reports: true, ..self }
    }

    /// Starts stock servers from now on without the module, with OpenSSL's own groups only.
    pub fn without_module(self) -> Self {
        Self { loads_module: false, ..self }
    }

    /// Adds an OpenSSL module that servers started from now on load, too.
    ///
    /// # Errors
    /// The module does not exist.
    pub fn with_module(mut self, module: &Path) -> Result<Self, Failure> {
        self.further.push(module.canonicalize().map_err(Failure::about(module.display()))?);
        Ok(self)
    }

    /// Returns a certificate of this kind for localhost and 127.0.0.1. It is made at the first
    /// call.
    ///
    /// # Errors
    /// OpenSSL cannot make it, or it cannot be written.
    pub fn certificate(&self, kind: KeyType) -> Result<CertificateFiles, Failure> {
        let (certificate, key) = certificate_names(kind);
        let path = |name: &str| self.stage.folder().join(name);
        let files = CertificateFiles { certificate: path(&certificate), key: path(&key) };
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if files.certificate.exists() {
            return Ok(files);
        }
        let make = || {
            let context = LibraryContext::new(&self.libraries)?;
            context.load_provider("default")?.keep();
            let made = Certificate::self_signed(&context, kind, &[SERVER_NAME, "127.0.0.1"])?;
            Ok((made.to_pem()?, made.key().to_private_pem()?))
        };
        let (text, secret) = make().map_err(|error: openssl_runtime::Error| {
            Failure::new(format!("certificate: {error}"))
        })?;
        self.stage.write(&key, &String::from_utf8_lossy(&secret))?;
        self.stage.write(&certificate, &text)?;
        Ok(files)
    }

    /// Adds a page of `bytes` bytes to nginx's document root and returns its path: `/1k`, `/100`.
    ///
    /// # Errors
    /// The page cannot be written.
    pub fn page(&self, bytes: usize) -> Result<String, Failure> {
        let name = match bytes {
            1024.. if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
            _ => bytes.to_string(),
        };
        let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
        let text = line.repeat(bytes.div_ceil(line.len()));
        self.stage.write(&format!("{PAGES}/{name}"), &text[..bytes])?;
        Ok(format!("/{name}"))
    }

    /// Returns a command for an installed program, like [`Stage::stock`], with the set's OpenSSL.
    pub(crate) fn stock(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        command
    }

    /// Sets the environment of [`Set::stock`] for a program.
    pub(crate) fn prepare(&self, command: &mut Command) {
        self.stage.prepare(command);
        // The dynamic loader searches this folder first.
        if let Some(folder) = self.libraries.libssl_path().parent() {
            command.env("LD_LIBRARY_PATH", folder);
        }
    }

    /// Returns a name that no other server of this set has.
    pub(crate) fn name(&self, program: &str) -> String {
        format!("{program}-{}", self.started.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts a server like [`Stage::start`], on the set's processor.
    pub(crate) fn start(
        &self,
        name: &str,
        command: &mut Command,
        ready: impl Fn(&str) -> bool + Send,
    ) -> Result<Server, Failure> {
        let start = || {
            processor::stay_on(self.processor)?;
            self.stage.start(name, command, ready)
        };
        // In a thread of its own: a process inherits the affinity of the thread that starts it.
        thread::scope(|scope| {
            let started = scope.spawn(start).join();
            started.unwrap_or_else(|_| Err(Failure::new(format!("{name} was not started"))))
        })
    }
}

/// Returns the file names of a certificate and its key in the stage's folder.
pub(crate) fn certificate_names(kind: KeyType) -> (String, String) {
    let name = kind.name();
    (format!("{name}.crt"), format!("{name}.key"))
}
