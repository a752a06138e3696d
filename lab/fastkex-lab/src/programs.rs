//! The installed programs, and their start with the provider.

use std::path::PathBuf;
use std::process::Command;

use output::Failure;
use testbed::Stage;

/// Paths of our own programs.
pub(crate) struct Programs {
    /// The `fastkex` command.
    pub(crate) tool: PathBuf,
    /// The OpenSSL module.
    pub(crate) module: PathBuf,
}

/// The versions of the programs.
pub(crate) struct Versions {
    pub(crate) nginx: String,
    pub(crate) stunnel: String,
    pub(crate) curl: String,
    pub(crate) openssl: String,
}

impl Programs {
    /// Builds the tool and the module.
    pub(crate) fn build() -> Result<Self, Failure> {
        if !artifacts::release_folder().join("fastkex").exists() {
            eprintln!("building fastkex and its OpenSSL module: about a minute");
        }
        let tool = artifacts::build("fastkex", "fastkex").map_err(Failure::about("the tool"))?;
        let module = artifacts::module().map_err(Failure::about("the module"))?;
        let absolute = |path: PathBuf| path.canonicalize().map_err(Failure::about(path.display()));
        Ok(Self { tool: absolute(tool)?, module: absolute(module)? })
    }

    /// Returns a command for an installed program.
    pub(crate) fn stock(&self, stage: &Stage, program: &str) -> Command {
        self.prepared(stage, Command::new(program))
    }

    /// Returns a command for `fastkex`.
    pub(crate) fn tool(&self, stage: &Stage) -> Command {
        self.prepared(stage, Command::new(&self.tool))
    }

    /// Returns a command for `fastkex-lab`, which is this program.
    pub(crate) fn lab(&self, stage: &Stage) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(Failure::about("this program"))?;
        Ok(self.prepared(stage, Command::new(program)))
    }

    /// Returns a command for a program started by `fastkex run`.
    pub(crate) fn run(&self, stage: &Stage, groups: Option<&str>, program: &str) -> Command {
        let mut command = self.tool(stage);
        command.arg("run");
        if let Some(groups) = groups {
            command.args(["--groups", groups]);
        }
        command.args(["--", program]);
        command
    }

    /// Sets an environment without user settings that would affect the result.
    fn prepared(&self, stage: &Stage, mut command: Command) -> Command {
        stage.prepare(&mut command);
        command
            .env("FASTKEX_MODULE", &self.module)
            .env("XDG_RUNTIME_DIR", stage.folder())
            // `fastkex run` stores its configuration there. It would not do so below /tmp.
            .env("XDG_STATE_HOME", artifacts::target_folder().join("state"));
        command
    }

    /// Queries the versions of the programs. Fails if one is not installed.
    pub(crate) fn versions(&self, stage: &Stage) -> Result<Versions, Failure> {
        let ask = |program: &str, argument: &str, before: &str| {
            let asked = stage.run(self.stock(stage, program).arg(argument));
            let finished = asked.map_err(|failure| {
                Failure::new(format!(
                    "{failure}; 'scripts/prerequisites demo' installs what is missing"
                ))
            })?;
            let text = finished.output + &finished.errors;
            let version =
                text.split_once(before).and_then(|(_, rest)| rest.split_whitespace().next());
            version.map(str::to_string).ok_or_else(|| {
                Failure::new(format!("{program} {argument}: no version in {text:?}"))
            })
        };
        Ok(Versions {
            nginx: ask("nginx", "-v", "nginx/")?,
            stunnel: ask("stunnel", "-version", "stunnel ")?,
            curl: ask("curl", "--version", "curl ")?,
            openssl: ask("openssl", "version", "OpenSSL ")?,
        })
    }
}
