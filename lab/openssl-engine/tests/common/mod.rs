//! Helpers of the tests: patched OpenSSL 1.1.1 with the ENGINE, and another OpenSSL with the
//! provider.

#![allow(dead_code)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use kex::TlsGroup;
use testbed::{Server, Stage};

/// The OpenSSL of a program, and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// OpenSSL 1.1.1 and the ENGINE, with these control commands.
    Engine(&'static str),
    /// Patched OpenSSL 1.1.1 without the ENGINE.
    Patched,
    /// OpenSSL 1.1.1 with a reference implementation of sntrup761 in libcrypto.
    Reference,
    /// The same with the ENGINE.
    ReferenceAndEngine,
    /// OpenSSL 1.1.1 without patches.
    Stock,
    /// The system's OpenSSL as it is.
    System,
    /// The system's OpenSSL, or the one in the folder `FASTKEX_TEST_OPENSSL`, and the provider.
    Provider,
}

/// Returns the groups of the ENGINE.
pub(crate) fn groups() -> [&'static TlsGroup; 2] {
    ["sntrup761", "sntrup857"].map(|name| kex::group_named(name).unwrap())
}

/// Builds the ENGINE for release, once, and returns its path.
pub(crate) fn engine() -> PathBuf {
    static ENGINE: LazyLock<PathBuf> = LazyLock::new(|| artifacts::engine().unwrap());
    ENGINE.clone()
}

/// Returns the patched OpenSSL, or `None`, and prints a line about it, if it has not been built.
pub(crate) fn legacy() -> Option<PathBuf> {
    let prefix = artifacts::legacy_openssl(true);
    if prefix.is_none() {
        artifacts::skipped("no patched OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build)");
    }
    prefix
}

/// Returns the OpenSSL with the reference implementation, or `None`, and prints a line about it, if
/// it has not been built.
pub(crate) fn reference() -> Option<PathBuf> {
    let prefix = artifacts::legacy_reference();
    if prefix.is_none() {
        artifacts::skipped(
            "no OpenSSL 1.1.1 with the reference (lab/legacy/openssl-1.1.1/build --reference)",
        );
    }
    prefix
}

/// Returns stock OpenSSL 1.1.1, or `None`, and prints a line about it, if it has not been built.
pub(crate) fn stock() -> Option<PathBuf> {
    let prefix = artifacts::legacy_openssl(false);
    if prefix.is_none() {
        artifacts::skipped("no stock OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build --stock)");
    }
    prefix
}

/// Makes a stage with `request.cnf`, for certificates of localhost.
pub(crate) fn bare_stage() -> Stage {
    let stage = Stage::new().unwrap();
    stage
        .write(
            "request.cnf",
            "[req]\ndistinguished_name = name\nx509_extensions = ca\n[name]\n\
             [ca]\nbasicConstraints = critical, CA:TRUE\nsubjectAltName = DNS:localhost\n",
        )
        .unwrap();
    stage
}

/// Makes a stage with a key and a certificate for localhost, `key.pem` and `certificate.pem`.
pub(crate) fn stage() -> Stage {
    let stage = bare_stage();
    let mut request = stage.stock("openssl");
    request.args(["req", "-config", "request.cnf", "-x509", "-newkey", "ec", "-nodes"]);
    request.args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"]);
    request.args(["-days", "2", "-keyout", "key.pem", "-out", "certificate.pem"]);
    stage.run(&mut request).unwrap().output_of("openssl req").unwrap();
    stage
}

fn engine_configuration(commands: &str) -> String {
    format!(
        "openssl_conf = init\n[init]\nengines = engines\n[engines]\nengntru = engntru\n[engntru]\n\
         dynamic_path = {}\n{commands}\ndefault_algorithms = ALL\n",
        engine().display()
    )
}

impl Side {
    /// Returns its program `openssl`, or `None`, and prints a line about it.
    pub(crate) fn openssl(self, stage: &Stage) -> Option<Command> {
        let plain = "openssl_conf = init\n[init]\n".to_owned();
        let (program, name, text) = match self {
            Side::Engine(commands) => {
                let name = format!("engine{}.cnf", commands.len());
                (legacy()?.join("bin/openssl"), name, engine_configuration(commands))
            }
            Side::ReferenceAndEngine => {
                (reference()?.join("bin/openssl"), "both.cnf".into(), engine_configuration(""))
            }
            Side::Patched => (legacy()?.join("bin/openssl"), "plain.cnf".into(), plain),
            Side::Reference => (reference()?.join("bin/openssl"), "plain.cnf".into(), plain),
            Side::Stock => (stock()?.join("bin/openssl"), "plain.cnf".into(), plain),
            Side::System => ("openssl".into(), "plain.cnf".into(), plain),
            Side::Provider => {
                static MODULE: LazyLock<PathBuf> = LazyLock::new(|| artifacts::module().unwrap());
                let text = format!(
                    "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = default_section\n\
                     fastkex = fastkex\n[default_section]\nactivate = 1\n[fastkex]\nmodule = {}\nactivate = 1\n\
                     groups = sntrup761:sntrup857\nkey_files = on\n",
                    MODULE.display()
                );
                let program = std::env::var_os("FASTKEX_TEST_OPENSSL").map_or_else(
                    || "openssl".into(),
                    |folder| PathBuf::from(folder).join("../bin/openssl"),
                );
                (program, "provider.cnf".into(), text)
            }
        };
        stage.write(&name, &text).unwrap();
        let mut command = Command::new(program);
        stage.prepare(&mut command);
        command.env("OPENSSL_CONF", stage.folder().join(name));
        Some(command)
    }

    /// Starts a server that answers with each line reversed, and returns it with its port. `more`
    /// are arguments of `s_server`.
    pub(crate) fn server(
        self,
        stage: &Stage,
        groups: &str,
        more: &[&str],
    ) -> Option<(Server, u16)> {
        let mut command = self.openssl(stage)?;
        command.args(["s_server", "-accept", "127.0.0.1:0", "-rev", "-msg", "-groups", groups]);
        command.args(["-cert", "certificate.pem", "-key", "key.pem"]).args(more);
        let port = |log: &str| {
            let line = log.lines().find(|line| line.starts_with("ACCEPT "))?;
            line.rsplit(':').next()?.parse().ok()
        };
        let name = format!("server of {self:?} with {groups}").replace(['"', '\\', '/'], "");
        let server = stage.start(&name, &mut command, |log| port(log).is_some()).unwrap();
        let port = port(&server.log().unwrap()).unwrap();
        Some((server, port))
    }

    /// Runs a client that sends a line and waits for the answer, and returns its output.
    pub(crate) fn client(
        self,
        stage: &Stage,
        port: u16,
        groups: &str,
        more: &[&str],
    ) -> Option<String> {
        stage.write("request", "fastkex\nCLOSE\n").unwrap();
        let mut command = self.openssl(stage)?;
        command.args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-groups", groups]);
        command.args(["-CAfile", "certificate.pem", "-verify_return_error", "-ign_eof", "-msg"]);
        command.args(more).stdin(std::fs::File::open(stage.folder().join("request")).unwrap());
        let finished = stage.run(&mut command).unwrap();
        Some(finished.output + &finished.errors)
    }
}

/// Returns true if a log of `-msg` has a key share of `group` in a ServerHello.
pub(crate) fn has_server_share(log: &str, group: &TlsGroup) -> bool {
    let share = group.ciphertext_bytes;
    messages(log, "ServerHello").iter().any(|hello| {
        hello.contains(&format!("0033{:04x}{:04x}{share:04x}", share + 4, group.code_point))
    })
}

/// Returns the messages of this name in a log of `-msg`, in hexadecimal.
pub(crate) fn messages(log: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if line.ends_with(&format!(", {name}")) {
            let mut message = String::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
                message.extend(line.chars().filter(|c| !c.is_whitespace()));
            }
            found.push(message);
        }
    }
    found
}
