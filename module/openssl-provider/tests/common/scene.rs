//! Stock programs with the module in their configuration.

use std::path::PathBuf;
use std::process::{Command, Output};

use testbed::Stage;

/// A stage with a configuration of OpenSSL that activates the module.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
}

const CONFIGURATION: &str = "openssl.cnf";

impl Scene {
    /// `None`, with a line that says so, without one of the programs, each with its package, or if
    /// another OpenSSL than the system's is under test.
    pub(crate) fn new(programs: &[(&str, &str)]) -> Option<Scene> {
        if std::env::var_os("FASTKEX_TEST_OPENSSL").is_some() {
            artifacts::skipped("stock programs belong to the system's OpenSSL");
            return None;
        }
        let scene = Scene { stage: Stage::new().unwrap() };
        for (program, package) in programs {
            // The output does not matter.
            if scene.stage.stock(program).arg("-v").output().is_err() {
                artifacts::skipped(&format!("no {program} program (apt-get install {package})"));
                return None;
            }
        }
        scene.configure("");
        Some(scene)
    }

    /// Writes the configuration. With `extra` lines in our section, the module is activated by name
    /// only.
    pub(crate) fn configure(&self, extra: &str) {
        self.write(if extra.is_empty() { "activate = 1" } else { extra }, "");
    }

    /// Writes the configuration, with these groups for whatever speaks TLS, and `extra` lines in
    /// our section.
    pub(crate) fn configure_groups(&self, groups: &str, extra: &str) {
        let section =
            format!("[tls]\nsystem_default = default_tls\n[default_tls]\nGroups = {groups}\n");
        self.write(&format!("activate = 1\n{extra}"), &section);
    }

    fn write(&self, ours: &str, tls: &str) {
        self.stage.write(CONFIGURATION, &super::configuration(ours, tls)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.stage.folder().join(name)
    }

    /// A program with the configuration.
    pub(crate) fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.stage.stock(name);
        command.args(arguments).env("OPENSSL_CONF", self.path(CONFIGURATION));
        command
    }

    pub(crate) fn openssl(&self, arguments: &[&str]) -> Command {
        self.program("openssl", arguments)
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.openssl(arguments).output().unwrap()
    }

    /// Standard output of a run of `openssl` that must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}
