//! `fastkex enable` and `fastkex disable`: the module in the configuration of the system or of one
//! service.
//!
//! Our settings are in a file of our own. The system's configuration gets three lines that include
//! it; a service gets a drop-in that names it. This one file is written last when the module is
//! enabled, and restored first when it is disabled. It is replaced in one step, so programs find
//! the old state or the new one. OpenSSL ignores an `.include` of a file that is not there.

mod change;
mod configuration;
mod disable;
mod files;
mod processes;
mod record;
mod root;
mod unit;
mod verify;

use std::path::{Path, PathBuf};

use clap::Args;
use kex::TlsGroup;
use nix::unistd::geteuid;
use openssl_conf::Release;
use openssl_runtime::Libraries;
use output::{Failure, Outcome};

use crate::groups::Role;
use crate::run::release;
use change::{After, Change};
use configuration::{Module, System, Wanted, flattened, system_lines};
pub(crate) use disable::Disable;
use files::Contents;
use record::{Edit, Record, State, Target, hash};
use root::{Place, Root};
use unit::{Unit, VARIABLE};
use verify::{Source, verify};

/// The folder of our own configuration files.
const FOLDER: &str = "/etc/fastkex";
/// The comments around the line that is added to the system's configuration.
const BEGIN: &str = "# fastkex: begin ('fastkex disable' removes these three lines)";
const END: &str = "# fastkex: end";

/// Add the module to OpenSSL's configuration, for all programs or for one service
///
/// Shows the changes as a diff, checks the resulting configuration by TLS handshakes in memory, and
/// only then makes the changes. If something fails, all is as before. 'fastkex disable' restores
/// the files. The same command again changes nothing; with other options it replaces the earlier
/// choice.
#[derive(Args, Debug)]
pub(crate) struct Enable {
    /// Only for this service of systemd, such as nginx or stunnel@ [default: all programs]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Choose the groups for programs that accept connections, or for programs that make them
    /// [default: server for a service; client for all programs, which suits servers, too]
    #[arg(long, value_enum, value_name = "ROLE")]
    role: Option<Role>,
    /// Groups to offer and accept, in order of preference and in the syntax of OpenSSL's Groups
    /// [default: X25519MLKEM768 and OpenSSL's own]
    #[arg(long, value_name = "LIST")]
    groups: Option<String>,
    /// The module [default: the one beside this program or in the folders of an installation]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Show the changes, and make none
    #[arg(long)]
    dry_run: bool,
    /// The folder that stands for /. The handshakes load the module below it into this machine's
    /// OpenSSL
    #[arg(long, default_value = "/", value_name = "DIR")]
    root: PathBuf,
}

/// Returns the path of our configuration for a service or for the whole system.
fn own_path(service: Option<&str>) -> PathBuf {
    const SYSTEM: &str = "openssl";
    let name = match service {
        None => SYSTEM,
        Some(SYSTEM) => "openssl.service",
        Some(name) => name,
    };
    Path::new(FOLDER).join(format!("{name}.cnf"))
}

/// The line of a drop-in that names our configuration.
fn variable_line(service: &str) -> String {
    format!("Environment={VARIABLE}={}", own_path(Some(service)).display())
}

/// The lines of a drop-in that are ours even if others were added.
fn drop_in_lines(service: &str) -> [String; 2] {
    let comment = format!(
        "# Written by 'fastkex enable --service {service}'; 'fastkex disable --service {service}' removes it."
    );
    [comment, variable_line(service)]
}

fn drop_in_text(service: &str) -> String {
    let [comment, variable] = drop_in_lines(service);
    format!("{comment}\n[Service]\n{variable}\n")
}

/// Checks that this user may change the system.
fn check_user(root: &Root) -> Result<(), Failure> {
    if root.is_system() && !geteuid().is_root() {
        return Err(Failure::new(
            "only root can change the system's configuration: use sudo, or --dry-run to see the changes",
        ));
    }
    Ok(())
}

impl Enable {
    pub(crate) fn run(&self) -> Outcome {
        let root = Root::new(&self.root)?;
        let state = match self.dry_run {
            true => None,
            false => {
                check_user(&root)?;
                // Before anything is locked, so that most mistakes need no state folder.
                self.unit(&root)?;
                Some(State::lock(&root)?)
            }
        };
        let libraries = Libraries::system().map_err(Failure::new)?;
        let plan = self.plan(&root, &libraries)?;
        let group = plan.verify_text(&libraries)?;
        if !plan.changes.is_empty() {
            output::text(change::diff(&plan.changes))?;
        }
        let name = match plan.service() {
            Some(name) => name.to_owned(),
            None => "all programs".to_owned(),
        };
        let Some(state) = state else {
            plan.print_notes()?;
            output::line(match plan.changes.is_empty() {
                true => format!("already enabled for {name}: nothing to change"),
                false => format!("nothing was changed (--dry-run); {} works", group.name),
            })?;
            return Ok(true);
        };
        let is_new = !plan.changes.is_empty();
        plan.make(&state, &libraries)?;
        plan.print_notes()?;
        output::line(format_args!(
            "{} for {name}: {} by {}, checked by handshakes with OpenSSL {}",
            if is_new { "enabled" } else { "already enabled" },
            group.name,
            plan.module.inside.display(),
            libraries.version()
        ))?;
        if is_new {
            print_restart(&root, plan.service())?;
        }
        Ok(true)
    }

    fn unit(&self, root: &Root) -> Result<Option<Unit>, Failure> {
        self.service.as_deref().map(|name| Unit::find(root, name)).transpose()
    }

    /// Finds out what is to change.
    fn plan<'a>(&self, root: &'a Root, libraries: &Libraries) -> Result<Plan<'a>, Failure> {
        let unit = self.unit(root)?;
        let service = unit.as_ref().map(|unit| unit.name.clone());
        let record = Record::read(root)?;
        let system = System::read(root, libraries)?;
        let module = Module::find(root, libraries, self.module.as_deref())?;
        let release = release(libraries);
        let (role, groups) = (self.role, self.groups.as_deref());
        let wanted = Wanted { service: service.as_deref(), role, groups, release };
        let text = wanted.text(&system, &module)?;
        let mut plan = Plan {
            old: record.target(service.as_deref()).cloned(),
            target: Target { service, edits: Vec::new() },
            text: text.text.clone(),
            choices: text.notes,
            notes: Vec::new(),
            changes: Vec::new(),
            folders: Vec::new(),
            before: Vec::new(),
            root,
            record,
            system,
            module,
            release,
        };
        plan.add_own(&text.text)?;
        match &unit {
            Some(unit) => plan.add_drop_in(unit)?,
            None => plan.add_lines()?,
        }
        // A link may lead elsewhere than before. What was changed there is still to be undone.
        let others = plan.old.iter().flat_map(|old| &old.edits);
        let others = others.filter(|old| plan.target.edit(&old.path).is_none()).cloned();
        let others: Vec<_> = others.collect();
        plan.target.edits.extend(others);
        Ok(plan)
    }
}

/// The changes to make, and the configuration that results.
struct Plan<'a> {
    root: &'a Root,
    record: Record,
    system: System,
    module: Module,
    release: Release,
    /// The record's target so far.
    old: Option<Target>,
    target: Target,
    /// Our own configuration, as it will be.
    text: String,
    /// The meaning of the choice of groups, for the administrator.
    choices: Vec<String>,
    /// Further notes for the administrator.
    notes: Vec<String>,
    changes: Vec<Change>,
    /// Folders to create.
    folders: Vec<PathBuf>,
    /// The files of which a copy is kept: the place of the edit, and the contents.
    before: Vec<(usize, Contents)>,
}

impl Plan<'_> {
    fn service(&self) -> Option<&str> {
        self.target.service.as_deref()
    }

    fn print_notes(&self) -> Result<(), Failure> {
        let choices = self.choices.iter().filter(|_| !self.changes.is_empty());
        choices.chain(&self.notes).try_for_each(output::line)
    }

    fn place(&self, path: &Path) -> Result<Place, Failure> {
        let place = self.root.resolve(path)?;
        self.root.check_folders(&place)?;
        Ok(place)
    }

    /// Adds a file, which is changed if `after` says so.
    fn add(
        &mut self,
        place: Place,
        before: Option<Contents>,
        after: Option<Contents>,
        lines: &[String],
    ) {
        let old = self.old.as_ref().and_then(|old| old.edit(&place.inside));
        let mut edit = old.cloned().unwrap_or_else(|| Edit {
            path: place.inside.clone(),
            before: None,
            written: Vec::new(),
            lines: lines.to_vec(),
        });
        if let Some(after) = after {
            edit.lines = lines.to_vec();
            edit.written.push(hash(&after.bytes));
            for folder in self.root.missing_folders(&place) {
                if !self.folders.contains(&folder) {
                    self.folders.push(folder);
                }
            }
            self.changes.push(Change { place, before, after: After::File(after) });
        }
        self.target.edits.push(edit);
    }

    /// Adds our own configuration.
    fn add_own(&mut self, text: &str) -> Result<(), Failure> {
        let place = self.place(&own_path(self.service()))?;
        let shown = place.real.display().to_string();
        let present = files::read(&place.real)?;
        let edit = self.old.as_ref().and_then(|old| old.edit(&place.inside));
        let wrote = |bytes: &[u8]| edit.is_some_and(|edit| edit.wrote(bytes));
        let after = match &present {
            None => Some(Contents::new(text)),
            Some(file) if file.bytes == text.as_bytes() => None,
            Some(file) if wrote(&file.bytes) => Some(file.with(text)),
            Some(file) if wrote(text.as_bytes()) => {
                self.notes.push(format!("{shown} was edited since, and stays as it is"));
                self.text = String::from_utf8_lossy(&file.bytes).into_owned();
                None
            }
            Some(_) if edit.is_some() => {
                return Err(Failure::new(format!(
                    "{shown} was edited since 'fastkex enable' wrote it: move your lines elsewhere, or run \
                     'fastkex disable{}', which keeps the file as {shown}.saved",
                    option(self.service())
                )));
            }
            Some(_) => {
                return Err(Failure::new(format!(
                    "{shown} exists, and 'fastkex enable' did not write it: rename it"
                )));
            }
        };
        let is_same = after.is_none() && self.text == text;
        self.add(place, present, after, &[]);
        if is_same && let Some(edit) = self.target.edits.last_mut() {
            edit.written.push(hash(text.as_bytes()));
        }
        Ok(())
    }

    /// Adds the lines in the system's configuration.
    fn add_lines(&mut self) -> Result<(), Failure> {
        let place = self.place(&self.system.path)?;
        let present = self.system.contents.clone();
        let is_there = self.system.has_lines();
        let new = self.system.with_lines();
        let after = match &present {
            _ if is_there => None,
            Some(file) => Some(file.with(new)),
            None => Some(Contents::new(new)),
        };
        let is_recorded = self.old.as_ref().is_some_and(|old| old.edit(&place.inside).is_some());
        if let Some(file) = present.as_ref().filter(|_| !is_recorded || !is_there) {
            let original = file.with(self.system.original.clone());
            self.before.push((self.target.edits.len(), original));
        }
        self.add(place, present, after, &system_lines());
        Ok(())
    }

    /// Adds the drop-in of a service.
    fn add_drop_in(&mut self, unit: &Unit) -> Result<(), Failure> {
        let place = self.place(&unit.drop_in())?;
        let present = files::read(&place.real)?;
        let edit = self.old.as_ref().and_then(|old| old.edit(&place.inside));
        let text = drop_in_text(&unit.name);
        let line = variable_line(&unit.name);
        let shown = |file: &Contents| String::from_utf8_lossy(&file.bytes).into_owned();
        let after = match &present {
            None => Some(Contents::new(&*text)),
            Some(file) if shown(file).lines().any(|other| other == line) => None,
            Some(file) if edit.is_some_and(|edit| edit.wrote(&file.bytes)) => {
                Some(file.with(&*text))
            }
            Some(_) => {
                return Err(Failure::new(format!(
                    "{} exists, and 'fastkex enable' did not write it: rename or remove it",
                    place.real.display()
                )));
            }
        };
        let result = match (&after, &present) {
            (None, Some(file)) => shown(file),
            _ => text,
        };
        let own = own_path(Some(&unit.name));
        self.notes.extend(unit.check(self.root, &result, &own, &self.module.inside)?);
        self.add(place, present, after, &drop_in_lines(&unit.name));
        Ok(())
    }

    /// Verifies the resulting configuration before it is written.
    fn verify_text(&self, libraries: &Libraries) -> Result<&'static TlsGroup, Failure> {
        let text = flattened(&self.system, &self.text, &self.module);
        verify(libraries, self.release, &Source::Text(&text), &self.module)
    }

    /// Verifies the configuration as it was written.
    fn verify_files(&self, libraries: &Libraries) -> Result<(), Failure> {
        let own = own_path(self.service());
        let path = if self.service().is_some() { own.clone() } else { self.system.path.clone() };
        let verified = if self.root.is_system() {
            verify(libraries, self.release, &Source::File(&path), &self.module)
        } else {
            self.text_of_files(libraries, &own).and_then(|text| {
                verify(libraries, self.release, &Source::Text(&text), &self.module)
            })
        };
        verified.map(drop).map_err(|failure| {
            Failure::new(format!("{failure}; that was found after the change, which is undone"))
        })
    }

    /// Returns the configuration as it was written, for a root whose paths are not this process's.
    fn text_of_files(&self, libraries: &Libraries, own: &Path) -> Result<String, Failure> {
        let system = System::read(self.root, libraries)?;
        let own = files::read(&self.root.resolve(own)?.real)?;
        let own = own.unwrap_or_else(|| Contents::new(""));
        Ok(flattened(&system, &String::from_utf8_lossy(&own.bytes), &self.module))
    }

    /// Makes the changes, and undoes them if the result does not work.
    fn make(&self, state: &State, libraries: &Libraries) -> Result<(), Failure> {
        let mut target = self.target.clone();
        for edit in &target.edits {
            files::remove_temporary(&self.root.real(&edit.path));
        }
        for (index, contents) in &self.before {
            let edit = &mut target.edits[*index];
            edit.before = Some(state.keep(&edit.path, contents)?);
        }
        let mut during = self.record.clone();
        for folder in state.created().chain(&self.folders) {
            if !during.folders.contains(folder) {
                during.folders.push(folder.clone());
            }
        }
        // Parents come before what is in them.
        during.folders.sort();
        during.put(target.clone());
        let mut after = during.clone();
        for edit in &mut target.edits {
            // What the file will hold is enough.
            let change = self.changes.iter().find(|change| change.place.inside == edit.path);
            let result = match change.map(|change| &change.after) {
                Some(After::File(contents)) => Some(contents.clone()),
                _ => files::read(&self.root.real(&edit.path))?,
            };
            if let Some(result) = result.filter(|file| edit.wrote(&file.bytes)) {
                edit.written = vec![hash(&result.bytes)];
            }
        }
        after.put(target);
        if self.changes.is_empty() {
            return if after == self.record { Ok(()) } else { state.write(&after) };
        }
        let made = state
            .write(&during)
            .and_then(|()| change::make_folders(self.root, &self.folders))
            .and_then(|()| change::make(&self.changes, || self.verify_files(libraries)));
        if let Err(failure) = made {
            change::remove_folders(self.root, &self.folders);
            // If this fails, the record lists changes that were not made, which does no harm.
            let _ = state.write(&self.record);
            return Err(failure);
        }
        // What was written before is a record of the same changes.
        let _ = state.write(&after);
        Ok(())
    }
}

/// Returns the option that names a service, with a space before it.
fn option(service: Option<&str>) -> String {
    service.map_or(String::new(), |name| format!(" --service {name}"))
}

/// Prints what is to be restarted.
fn print_restart(root: &Root, service: Option<&str>) -> Result<(), Failure> {
    match service {
        Some(name) => {
            let restart = match name.ends_with('@') {
                true => format!("'{name}*'"),
                false => name.to_owned(),
            };
            output::line(format_args!(
                "it takes effect with: systemctl daemon-reload && systemctl restart {restart}"
            ))?;
            if root.is_system() && !Path::new("/run/systemd/system").exists() {
                output::line("systemd does not run here: start the service with systemd")?;
            }
        }
        None => {
            let running = root.is_system().then(processes::with_libssl).flatten();
            output::line("it takes effect in programs that start from now on")?;
            if let Some(running) = running {
                output::line(format_args!("these use libssl now, and need a restart: {running}"))?;
            }
        }
    }
    Ok(())
}
