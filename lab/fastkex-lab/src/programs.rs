//! The programs as they are installed, and how they are started with the provider.

use std::path::PathBuf;
use std::process::Command;

use output::Failure;
use testbed::Stage;

/// Paths of what is started.
pub(crate) struct Programs {
    /// The `fastkex` command.
    tool: PathBuf,
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

    /// A program as it is installed.
    pub(crate) fn stock(&self, stage: &Stage, program: &str) -> Command {
        self.prepared(stage, Command::new(program))
    }

    /// The `fastkex` command.
    pub(crate) fn tool(&self, stage: &Stage) -> Command {
        self.prepared(stage, Command::new(&self.tool))
    }

    /// The `fastkex-lab` command, which is this program.
    pub(crate) fn lab(&self, stage: &Stage) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(Failure::about("this program"))?;
        Ok(self.prepared(stage, Command::new(program)))
    }

    /// A program started by `fastkex run`.
    pub(crate) fn run(&self, stage: &Stage, groups: Option<&str>, program: &str) -> Command {
        let mut command = self.tool(stage);
        command.arg("run");
        if let Some(groups) = groups {
            command.args(["--groups", groups]);
        }
        command.args(["--", program]);
        command
    }

    /// The module's counts in a process, as `fastkex stats` prints it for programs.
    pub(crate) fn counts(&self, stage: &Stage, process: u32) -> Result<String, Failure> {
        let mut command = self.tool(stage);
        command.args(["stats", &process.to_string(), "--json"]);
        stage.run(&mut command)?.output_of("fastkex stats")
    }

    /// In an environment without settings of the user that would change what is shown.
    fn prepared(&self, stage: &Stage, mut command: Command) -> Command {
        stage.prepare(&mut command);
        command
            .env("FASTKEX_MODULE", &self.module)
            .env("XDG_RUNTIME_DIR", stage.folder())
            // Where `fastkex run` keeps its configuration: below /tmp it would not.
            .env("XDG_STATE_HOME", artifacts::target_folder().join("state"));
        command
    }

    /// Asks the programs for their versions, and so whether they are there.
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
