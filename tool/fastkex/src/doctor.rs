//! `fastkex doctor`: reports correct and wrong settings, with the line to change.

mod apache;
pub(crate) mod applications;
mod curves;
mod effective;
mod files;
mod finding;
mod haproxy;
mod keyed;
mod keys;
mod libraries;
mod nginx;
mod process;
mod shared_objects;
mod system;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::groups::Role;
use crate::json;
use finding::{Finding, Status};
use output::Outcome;

/// Report correct and wrong settings, with the lines to change
///
/// Loads the module into the system's OpenSSL, does a TLS handshake in memory with every group, and
/// reads the system's configuration. With --app, it also reads an application's own configuration;
/// it executes nothing of the application. With --pid, it also looks at a running process. The exit
/// status is 0 only if nothing is wrong.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Also check this application: a name such as nginx, or the path of any program
    #[arg(long, value_name = "NAME")]
    app: Option<String>,
    /// Also check this running process
    #[arg(long, value_name = "PID", value_parser = crate::stats::process_number)]
    pid: Option<u32>,
    /// Recommend groups for programs that accept connections, or for programs that make them
    #[arg(long, value_enum, value_name = "ROLE", default_value = "server")]
    role: Role,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
    /// The module [default: the one beside this program or in the folders of an installation]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// The folder that stands for / when the application and its files are searched
    #[arg(long, default_value = "/", value_name = "DIR")]
    root: PathBuf,
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    findings: &'a [Finding],
}

impl Doctor {
    pub(crate) fn run(&self) -> Outcome {
        let mut findings = Vec::new();
        // A service below another root reads files that are not this system's.
        let is_here = self.root == Path::new("/");
        let application = self.app.as_deref().filter(|_| is_here);
        let of_service =
            application.and_then(|name| applications::configuration_of(name, &self.root));
        let examined =
            system::examine(self.module.as_deref(), self.role, of_service, &mut findings);
        if let Some(name) = &self.app {
            applications::examine(name, &self.root, examined.as_ref(), &mut findings)?;
        }
        if let Some(pid) = self.pid {
            process::examine(pid, examined.as_ref(), &mut findings)?;
        }
        let ok = !findings.iter().any(|finding| finding.status == Status::Wrong);
        if self.json {
            let report = Report { ok, findings: &findings };
            output::line(json::text(&report)?)?;
        } else {
            for finding in &findings {
                output::line(finding)?;
            }
            let wrong = findings.iter().filter(|f| f.status == Status::Wrong).count();
            match wrong {
                0 => output::line("all is well")?,
                1 => output::line("1 thing is wrong")?,
                n => output::line(format_args!("{n} things are wrong"))?,
            }
        }
        Ok(ok)
    }
}
