//! `fastkex disable`: restores the files.

use std::path::{Path, PathBuf};

use clap::Args;
use openssl_runtime::Libraries;
use output::{Failure, Outcome};

use super::change::{self, After, Change};
use super::configuration::{mentions, system_lines, without_lines};
use super::files::{self, Contents};
use super::record::{Edit, Record, State, Target};
use super::root::Root;
use super::{check_user, drop_in_lines, option, own_path, print_restart, unit};

/// Remove the module from OpenSSL's configuration: undo 'fastkex enable'
///
/// Restores each file byte for byte, and removes the files and folders that were created. In a file
/// that was edited since, only the lines that 'fastkex enable' wrote are removed. Services and
/// programs use the module until they are started again.
#[derive(Args, Debug)]
pub(crate) struct Disable {
    /// For this service [default: for all programs]
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    service: Option<String>,
    /// For all programs, and for each service
    #[arg(long)]
    all: bool,
    /// Show the changes, and make none
    #[arg(long)]
    dry_run: bool,
    /// The folder that stands for /
    #[arg(long, default_value = "/", value_name = "DIR")]
    root: PathBuf,
}

impl Disable {
    pub(crate) fn run(&self) -> Outcome {
        let root = Root::new(&self.root)?;
        if self.targets(&root, &Record::read(&root)?)?.is_empty() {
            if !self.dry_run && check_user(&root).is_ok() {
                State::clean(&root);
            }
            return self.nothing(&root);
        }
        if self.dry_run {
            for target in self.targets(&root, &Record::read(&root)?)? {
                output::text(change::diff(&changes(&root, &target)?))?;
            }
            output::line("nothing was changed (--dry-run)")?;
            return Ok(true);
        }
        check_user(&root)?;
        let state = State::lock(&root)?;
        let mut record = Record::read(&root)?;
        let mut failures: Vec<String> = Vec::new();
        for target in self.targets(&root, &record)? {
            let service = target.service.as_deref();
            let undone = undo(&root, &state, &mut record, &target);
            let printed = undone.and_then(|()| {
                output::line(format_args!("disabled for {}", service.unwrap_or("all programs")))?;
                print_restart(&root, service)
            });
            // One service that cannot be restored does not keep the others.
            if let Err(failure) = printed {
                failures.push(failure.to_string());
            }
        }
        let folders = record.targets.is_empty().then(|| std::mem::take(&mut record.folders));
        drop(state);
        if let Some(folders) = folders {
            change::remove_folders(&root, &folders);
        }
        if failures.is_empty() { Ok(true) } else { Err(Failure::new(failures.join("; "))) }
    }

    /// Returns what is to be undone: what the record lists, and what was found without a record.
    fn targets(&self, root: &Root, record: &Record) -> Result<Vec<Target>, Failure> {
        let service = self.service.as_deref();
        let service = service.map(|name| name.strip_suffix(".service").unwrap_or(name));
        // Services first: their configurations include the system's.
        let recorded = record.targets.iter().rev().cloned();
        let is_asked_for = |target: &Target| self.all || target.service.as_deref() == service;
        let mut targets: Vec<_> = recorded.filter(is_asked_for).collect();
        let others = unrecorded(root)?.into_iter().filter(is_asked_for);
        let others: Vec<_> =
            others.filter(|other| record.target(other.service.as_deref()).is_none()).collect();
        targets.extend(others);
        targets.sort_by_key(|target| target.service.is_none());
        Ok(targets)
    }

    fn nothing(&self, root: &Root) -> Outcome {
        let record = Record::read(root)?;
        let names = record.targets.iter().map(|target| match &target.service {
            Some(name) => format!("{name} (--service {name})"),
            None => "all programs (without --service)".to_owned(),
        });
        let names: Vec<_> = names.collect();
        output::line(match (&self.service, names.is_empty()) {
            (_, true) => "nothing is enabled".to_owned(),
            (Some(name), false) => {
                format!("not enabled for {name}; enabled for {}", names.join(", "))
            }
            (None, false) => {
                format!("not enabled for all programs; enabled for {}", names.join(", "))
            }
        })?;
        Ok(true)
    }
}

/// Finds lines of ours that no record lists, because the record was lost.
fn unrecorded(root: &Root) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    let edit = |path: &Path, lines: &[String]| {
        let (path, lines) = (path.to_path_buf(), lines.to_vec());
        Edit { path, before: None, written: Vec::new(), lines }
    };
    let mut find = |service: Option<String>, path: PathBuf, lines: &[String]| {
        let path = root.resolve(&path)?.inside;
        let bytes = files::read(&root.real(&path))?.map_or(Vec::new(), |file| file.bytes);
        if without_lines(&bytes, lines) != bytes {
            let own = own_path(service.as_deref());
            targets.push(Target { service, edits: vec![edit(&own, &[]), edit(&path, lines)] });
        }
        Ok::<_, Failure>(())
    };
    for name in unit::with_drop_ins(root) {
        find(Some(name.clone()), unit::drop_in(&name), &drop_in_lines(&name))?;
    }
    if let Ok(libraries) = Libraries::system() {
        find(None, libraries.config_dir().join("openssl.cnf"), &system_lines())?;
    }
    Ok(targets)
}

/// Undoes the changes of a target, and removes it from the record.
fn undo(root: &Root, state: &State, record: &mut Record, target: &Target) -> Result<(), Failure> {
    let changes = changes(root, target)?;
    output::text(change::diff(&changes))?;
    change::make(&changes, || Ok(()))?;
    for edit in &target.edits {
        files::remove_temporary(&root.real(&edit.path));
    }
    let mut after = record.clone();
    after.remove(target.service.as_deref());
    let left = change::remove_folders(root, &after.folders);
    // Until the last target is gone, a folder that is not empty may be another target's.
    after.folders = left;
    state.write(&after)?;
    *record = after;
    Ok(())
}

/// Returns the changes that restore the files of a target, in the reverse order.
fn changes(root: &Root, target: &Target) -> Result<Vec<Change>, Failure> {
    let own = own_path(target.service.as_deref());
    let mut changes = Vec::new();
    for edit in target.edits.iter().rev() {
        let place = root.resolve(&edit.path)?;
        root.check_folders(&place)?;
        let Some(present) = files::read(&place.real)? else { continue };
        if edit.before.as_ref().is_some_and(|before| before.is(&present.bytes)) {
            continue;
        }
        let Some(after) = after(root, edit, &present, &own)? else { continue };
        changes.push(Change { place, before: Some(present), after });
    }
    Ok(changes)
}

/// Returns what becomes of a file; `None` if it stays.
fn after(
    root: &Root,
    edit: &Edit,
    present: &Contents,
    own: &Path,
) -> Result<Option<After>, Failure> {
    let is_ours = edit.wrote(&present.bytes);
    if is_ours && edit.before.is_none() {
        return Ok(Some(After::Nothing));
    }
    if edit.lines.is_empty() {
        return Ok(Some(After::Aside));
    }
    if let Some(bytes) =
        edit.before.as_ref().filter(|_| is_ours).and_then(|before| before.copy(root))
    {
        return Ok(Some(After::File(present.with(bytes))));
    }
    let rest = without_lines(&present.bytes, &edit.lines);
    if mentions(&rest, own) {
        return Err(Failure::new(format!(
            "{} was edited since 'fastkex enable', and a changed line still names {}: remove that line, then repeat \
             'fastkex disable{}'",
            root.real(&edit.path).display(),
            own.display(),
            option(service_of(edit).as_deref())
        )));
    }
    let is_frame = |line: &str| line.trim().is_empty() || line.trim() == "[Service]";
    let is_empty = String::from_utf8_lossy(&rest).lines().all(is_frame);
    Ok(match edit.before.is_none() && is_empty {
        true => Some(After::Nothing),
        false => (rest != present.bytes).then(|| After::File(present.with(rest))),
    })
}

/// Returns the service of a drop-in.
fn service_of(edit: &Edit) -> Option<String> {
    let folder = edit.path.parent()?.file_name()?.to_str()?;
    folder.strip_suffix(".service.d").map(str::to_owned)
}
