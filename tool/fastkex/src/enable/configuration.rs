//! The configuration of OpenSSL that adds the module: its text, and the system's own file.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Group, geteuid};
use object::Object;
use openssl_conf::{Addition, Base, Config, Interpretation, Release, compose};
use openssl_runtime::Libraries;
use output::Failure;

use super::files::{self, Contents};
use super::root::{Place, Root};
use super::{BEGIN, END, own_path};
use crate::groups::{Role, names_ours, openssl_has_ml_kem, recommended};
use crate::module;
use crate::run::{PROPERTIES, PROVIDER, environment};

/// The file name under which OpenSSL finds the module by the provider's name.
const MODULE: &str = "fastkex.so";
/// The folders of an installation, for a root other than `/`.
const MODULE_FOLDERS: [&str; 2] = ["/usr/local/lib/fastkex", "/usr/lib/fastkex"];
const FILE: &str = "openssl.cnf";
const WRITABLE_BY_OTHERS: u32 = 0o002;
const WRITABLE_BY_GROUP: u32 = 0o020;
/// The group that may write to /usr/local on Debian, and is as good as root.
const STAFF: &str = "staff";

/// The system's own configuration.
pub(super) struct System {
    /// The path that is built into OpenSSL.
    pub(super) path: PathBuf,
    /// The file that it leads to.
    pub(super) place: Place,
    pub(super) contents: Option<Contents>,
    /// The text without our lines.
    pub(super) original: Vec<u8>,
    config: Option<Config>,
}

impl System {
    /// # Errors
    /// It cannot be read, is no configuration, or names ours in a line that is not ours.
    pub(super) fn read(root: &Root, libraries: &Libraries) -> Result<Self, Failure> {
        let path = libraries.config_dir().join(FILE);
        let place = root.resolve(&path)?;
        let contents = files::read(&place.real)?;
        let bytes = contents.as_ref().map_or(&[][..], |file| &file.bytes);
        let original = without_lines(bytes, &system_lines());
        let shown = place.real.display();
        if mentions(&original, &own_path(None)) {
            return Err(Failure::new(format!(
                "{shown} names {} in a line that 'fastkex enable' did not write: remove that line",
                own_path(None).display()
            )));
        }
        let text = String::from_utf8_lossy(&original);
        let parse = |_: &Contents| Config::parse(&text, &place.real, &environment);
        let config = contents.as_ref().map(parse).transpose();
        let config = config.map_err(Failure::about("OpenSSL's configuration"))?;
        Ok(System { path, contents, original, config, place })
    }

    /// True if our lines include our own configuration.
    pub(super) fn has_lines(&self) -> bool {
        let include = &system_lines()[1];
        let bytes = self.contents.as_ref().map_or(&[][..], |file| &file.bytes);
        lines(bytes).any(|line| trim_end(line) == include.as_bytes())
    }

    /// Returns the text with our lines at the end, where they may override what is above.
    pub(super) fn with_lines(&self) -> Vec<u8> {
        let mut bytes = self.original.clone();
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        // A backslash at the end of the last line would join our first one to it.
        if bytes.ends_with(b"\\\n") || bytes.ends_with(b"\\\r\n") {
            bytes.push(b'\n');
        }
        for line in system_lines() {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }
}

/// The lines that are added to the system's configuration.
pub(super) fn system_lines() -> [String; 3] {
    [BEGIN.to_owned(), format!(".include {}", own_path(None).display()), END.to_owned()]
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}

fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Removes each line that is one of `ours`.
pub(super) fn without_lines(bytes: &[u8], ours: &[String]) -> Vec<u8> {
    let is_other = |line: &&[u8]| !ours.iter().any(|ours| ours.as_bytes() == trim_end(line));
    lines(bytes).filter(is_other).flatten().copied().collect()
}

/// True if a path stands in a line that is no comment.
pub(super) fn mentions(bytes: &[u8], path: &Path) -> bool {
    let path = path.to_string_lossy();
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.any(|line| line.contains(&*path))
}

/// The module that the configuration names.
pub(super) struct Module {
    /// The path for programs in the system.
    pub(super) inside: PathBuf,
    /// The path for this process.
    pub(super) real: PathBuf,
    /// True if OpenSSL finds it without a path.
    is_found: bool,
}

impl Module {
    /// Finds the module, and checks that only root can replace it and that it is for the same kind
    /// of machine as OpenSSL.
    ///
    /// # Errors
    /// There is none, or it may not be used.
    pub(super) fn find(
        root: &Root,
        libraries: &Libraries,
        asked_for: Option<&Path>,
    ) -> Result<Self, Failure> {
        let inside = match root.is_system() {
            true => module::find(asked_for, libraries)?,
            false => Self::inside(root, libraries, asked_for)?,
        };
        let place = root.resolve(&inside)?;
        let folder = root.resolve(&libraries.modules_dir())?.inside;
        let is_found = place.inside == folder.join(MODULE);
        let module = Module { inside: place.inside.clone(), real: place.real.clone(), is_found };
        check_owners(root, &place)?;
        let of = |path: &Path| -> Result<_, Failure> {
            let bytes = std::fs::read(path).map_err(Failure::about(path.display()))?;
            let file = object::File::parse(&*bytes).map_err(Failure::about(path.display()))?;
            Ok((file.architecture(), file.is_64(), file.is_little_endian()))
        };
        let (ours, theirs) = (of(&module.real)?, of(libraries.libcrypto_path())?);
        if ours != theirs {
            return Err(Failure::new(format!(
                "{} is for {:?}, {} for {:?}: install the module for that kind of machine",
                module.real.display(),
                ours.0,
                libraries.libcrypto_path().display(),
                theirs.0
            )));
        }
        Ok(module)
    }

    /// Returns the folder in which OpenSSL is to find the module by the provider's name, for this
    /// process; `None` if the configuration names the module by its path.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.real.parent().filter(|_| self.is_found)
    }

    /// Finds the module in a root other than `/`. A path that was asked for may be given with the
    /// root or without it.
    fn inside(
        root: &Root,
        libraries: &Libraries,
        asked_for: Option<&Path>,
    ) -> Result<PathBuf, Failure> {
        if let Some(path) = asked_for {
            let absolute = std::path::absolute(path).map_err(Failure::about(path.display()))?;
            let real = absolute.canonicalize().unwrap_or(absolute.clone());
            let below = real.strip_prefix(root.real(Path::new("/"))).ok();
            return Ok(below.map_or(absolute, |below| Path::new("/").join(below)));
        }
        let folders =
            [libraries.modules_dir()].into_iter().chain(MODULE_FOLDERS.map(PathBuf::from));
        let candidates: Vec<_> = folders.map(|folder| folder.join(MODULE)).collect();
        let exists = |path: &&PathBuf| root.resolve(path).is_ok_and(|place| place.real.is_file());
        candidates.iter().find(exists).cloned().ok_or_else(|| {
            let shown: Vec<_> =
                candidates.iter().map(|path| root.real(path).display().to_string()).collect();
            Failure::new(format!(
                "no {}: install the module, or name it with --module",
                shown.join(", no ")
            ))
        })
    }
}

/// Checks that no other user can replace the module: each program that reads the configuration
/// executes it.
fn check_owners(root: &Root, place: &Place) -> Result<(), Failure> {
    let us = geteuid().as_raw();
    let staff = Group::from_name(STAFF).ok().flatten().map(|group| group.gid.as_raw());
    let is_trusted = |group| group == 0 || Some(group) == staff;
    for inside in place.inside.ancestors() {
        let path = root.real(inside);
        let data = path.metadata().map_err(Failure::about(path.display()))?;
        let is_open = data.mode() & WRITABLE_BY_OTHERS != 0
            || data.mode() & WRITABLE_BY_GROUP != 0 && !is_trusted(data.gid());
        if ![0, us].contains(&data.uid()) || is_open {
            return Err(Failure::new(format!(
                "{}: other users can change {}, so programs of root must not load it: install the module \
                 ('make install', or a package)",
                place.real.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

/// The choices of the command line.
pub(super) struct Wanted<'a> {
    pub(super) service: Option<&'a str>,
    pub(super) role: Option<Role>,
    pub(super) groups: Option<&'a str>,
    pub(super) release: Release,
}

/// The text of our own configuration.
pub(super) struct Text {
    pub(super) text: String,
    /// The settings of the system that it replaces, and the meaning of the choice of groups.
    pub(super) notes: Vec<String>,
}

impl Wanted<'_> {
    /// Composes the text of our own configuration.
    ///
    /// # Errors
    /// The module cannot be added to the system's configuration.
    pub(super) fn text(&self, system: &System, module: &Module) -> Result<Text, Failure> {
        let release = self.release;
        let base = system.config.as_ref().map(|config| Base { config, path: &system.path });
        let interpretation =
            system.config.as_ref().map(|config| Interpretation::new(config, release));
        let before = interpretation.as_ref().and_then(Interpretation::system_default);
        let before = before.and_then(|profile| profile.groups());
        let listed = interpretation.as_ref().and_then(|found| found.provider(PROVIDER));

        let mut notes = Vec::new();
        let is_kept = before.is_some_and(|list| names_ours(&list.value, release));
        let chosen = self.groups.or_else(|| {
            // From 3.5 on OpenSSL's own list begins with the group.
            let is_needed = if before.is_some() { !is_kept } else { !openssl_has_ml_kem(release) };
            is_needed.then(|| recommended(self.role(), release))
        });
        match (before, chosen) {
            (Some(list), Some(chosen)) if list.value != chosen => notes.push(format!(
                "{}: 'Groups = {}' is replaced by 'Groups = {chosen}'",
                list.origin, list.value
            )),
            (Some(list), None) => {
                notes.push(format!("{}: 'Groups = {}' stays as it is", list.origin, list.value))
            }
            _ => {}
        }
        if self.groups.is_none() && chosen.is_some() && !openssl_has_ml_kem(release) {
            notes.push(self.meaning());
        }

        let has_key = listed.is_some_and(|provider| {
            provider.own_parameters().any(|parameter| parameter.name == settings::GROUPS.name)
        });
        let offered = chosen.map(settings::groups_for).filter(|offered| {
            let default = settings::default_groups();
            !has_key && default.len() != offered.split(':').count()
        });
        let keys: Vec<_> = offered
            .map(|offered| (settings::GROUPS.name.to_owned(), offered))
            .into_iter()
            .collect();
        // A module that the system's configuration names would come before the folder of modules.
        let is_named = listed.is_some_and(|provider| provider.module.is_some());
        let addition = Addition {
            release,
            provider: PROVIDER,
            module: (!module.is_found || is_named).then_some(&*module.inside),
            keys: &keys,
            groups: chosen,
            properties: Some(PROPERTIES),
        };
        let composed = compose(base, &addition).map_err(Failure::new)?;
        let body = match base {
            // The first line includes the system's configuration.
            Some(_) if self.service.is_none() => {
                composed.split_once('\n').map_or("", |(_, rest)| rest).trim_start().to_owned()
            }
            _ => composed,
        };
        let (option, reader) = match self.service {
            Some(name) => (format!(" --service {name}"), format!("the service {name}")),
            None => (String::new(), system.place.inside.display().to_string()),
        };
        let text = format!(
            "# Written by 'fastkex enable{option}' for {reader}.\n\
             # 'fastkex disable{option}' removes it, and 'fastkex enable{option}' writes it again.\n\
             {body}"
        );
        Ok(Text { text, notes })
    }

    /// The side of connections that the groups are for. The system's configuration is that of all
    /// programs, and the client's list slows down none of them: a server takes the first of the
    /// client's key shares whose group it has, whatever the order of its own list.
    fn role(&self) -> Role {
        self.role.unwrap_or(match self.service {
            Some(_) => Role::Server,
            None => Role::Client,
        })
    }

    /// The meaning of the order of the groups, for OpenSSL before 3.5.
    fn meaning(&self) -> String {
        const SERVERS: &str =
            "servers use X25519MLKEM768 with clients that send a key share of it, as browsers do";
        let (offers, connects) = match self.service {
            Some(name) => (format!("{name} offers"), format!("{name} connects")),
            None => ("programs offer".to_owned(), "programs connect".to_owned()),
        };
        match self.role() {
            Role::Client => format!(
                "{SERVERS}; to other servers {offers} X25519 first, so no connection takes longer"
            ),
            Role::Server => format!(
                "{SERVERS}; where {connects} to a server without the group, that takes one more round trip, which \
                 '--role client' avoids"
            ),
        }
    }
}

/// Returns the configuration that results, for this process: one text, with the module's path below
/// the root.
pub(super) fn flattened(system: &System, own: &str, module: &Module) -> String {
    let base = String::from_utf8_lossy(&system.original);
    let (inside, real) = (module.inside.to_string_lossy(), module.real.to_string_lossy());
    let include = format!(".include {}", system.path.display());
    let mut text = format!("{base}\n\n");
    for line in own.lines().filter(|line| line.replace('"', "") != include) {
        let line = match line.trim_start().starts_with("module") {
            true => line.replace(&*inside, &real),
            false => line.to_owned(),
        };
        text += &line;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_ours_are_removed() {
        let ours = system_lines().to_vec();
        let text = format!("a = b\n{}\n{}\nx = y\n{}\n", ours[0], ours[1], ours[2]);
        assert_eq!(without_lines(text.as_bytes(), &ours), b"a = b\nx = y\n");
        let changed = format!("a = b\n{} # mine\n", ours[1]);
        assert_eq!(without_lines(changed.as_bytes(), &ours), changed.as_bytes());
        assert!(mentions(changed.as_bytes(), &own_path(None)));
        assert!(!mentions(format!("# {}\n", ours[1]).as_bytes(), &own_path(None)));
    }
}
