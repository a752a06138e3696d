//! The setup for the tests of applications: a folder with certificates and OpenSSL's configuration,
//! and processes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use openssl_runtime::{KeyType, Libraries, LibraryContext};
use testbed::{CertificateFiles, Set};

use crate::document::{block, replaced};

/// The place that sets the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Neither of the two places, to check that they have an effect.
    Neither,
    /// OpenSSL's configuration, without a line in the application's own.
    Configuration,
    /// The application's own line. OpenSSL's configuration only loads the module.
    Line,
    /// Both of them, for applications whose line only lets OpenSSL's configuration count.
    Both,
}

/// The name of a copy of the module.
const COPY: &str = "fastkex.so";

pub(crate) struct Setup {
    pub(crate) set: Set,
    /// A library context with the module, for the other end.
    pub(crate) context: LibraryContext,
    pub(crate) files: CertificateFiles,
    pub(crate) certificate: String,
    module: PathBuf,
}

impl Setup {
    /// Creates the setup; `None`, after a message, if the program is missing.
    pub(crate) fn new(program: &str, package: &str) -> Option<Setup> {
        let module = artifacts::module().unwrap().canonicalize().unwrap();
        let libraries = Libraries::system().unwrap();
        let set = Set::new(&libraries, &module, env!("CARGO_BIN_EXE_fastkex").as_ref()).unwrap();
        // The result of this call does not matter.
        if set.stage.stock(program).arg("-V").output().is_err() {
            artifacts::absent(&format!("no {program} program (apt-get install {package})"));
            return None;
        }
        let context = LibraryContext::new(&libraries).unwrap();
        context.load_provider("default").unwrap().keep();
        context.load_provider_with(&module, &[("groups", "all")]).unwrap().keep();
        let files = set.certificate(KeyType::EcP256).unwrap();
        let certificate = fs::read_to_string(&files.certificate).unwrap();
        let key = fs::read_to_string(&files.key).unwrap();
        for (name, text) in [
            ("cert.pem", &certificate),
            ("key.pem", &key),
            ("both.pem", &(certificate.clone() + &key)),
        ] {
            set.stage.write(name, text).unwrap();
        }
        Some(Setup { set, context, files, certificate, module })
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.set.stage.folder().join(name).display().to_string()
    }

    /// Writes OpenSSL's configuration and returns its path. The configuration turns on the module's
    /// counts, and its X25519 on every machine.
    pub(crate) fn configure(&self, way: Way) -> String {
        let ours = "[fastkex_sect]\n";
        let copy = self.set.stage.folder().join(COPY);
        let module = if copy.exists() { &copy } else { &self.module };
        let replacements = [
            ("/usr/local/lib/fastkex/fastkex.so", module.display().to_string()),
            (ours, format!("{ours}statistics = on\nx25519 = on\n")),
        ];
        let mut text = replaced(&block("openssl.cnf"), &replacements);
        if !matches!(way, Way::Configuration | Way::Both) {
            text = replaced(&text, &[("ssl_conf = ssl_sect\n", String::new())]);
        }
        self.set.stage.write("openssl.cnf", &text).unwrap();
        self.path("openssl.cnf")
    }

    /// Lets other users enter the folder, for servers that read files after they have changed their
    /// user.
    pub(crate) fn open(&self) {
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(self.set.stage.folder(), mode).unwrap();
    }

    /// Copies the module into the folder, for programs that load it after they have changed their
    /// user, who may not be allowed to read the checkout.
    pub(crate) fn share_module(&self) {
        fs::copy(&self.module, self.set.stage.folder().join(COPY)).unwrap();
        self.open();
    }

    /// Makes a folder that belongs to a user, if this process may give files away.
    pub(crate) fn folder_of(&self, name: &str, user: Option<&str>) -> PathBuf {
        let folder = self.set.stage.folder().join(name);
        fs::create_dir_all(&folder).unwrap();
        if let Some(user) = user.filter(|_| testbed::is_root()) {
            let output = Command::new("chown").arg(user).arg(&folder).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        folder
    }

    /// Returns the folder of the module.
    pub(crate) fn module_folder(&self) -> String {
        self.module.parent().unwrap().display().to_string()
    }

    /// Returns a command, found in the same folders as servers.
    pub(crate) fn command(&self, program: &str) -> Command {
        if program == "unbound" {
            let mut command = Command::new(testbed::unbound_program(&self.set).unwrap());
            self.set.stage.prepare(&mut command);
            return command;
        }
        self.set.stage.stock(program)
    }
}

/// True if a process listens on a port. Does not connect to the port.
pub(crate) fn is_listening(port: u16) -> bool {
    const LISTEN: &str = "0A";
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(fields[..], [_, local, _, LISTEN, ..] if local.ends_with(&format!(":{port:04X}")))
    })
}
