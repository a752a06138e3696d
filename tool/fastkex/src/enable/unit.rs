//! systemd's units: which services there are, and the environment that they get.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use output::Failure;
use strsim::osa_distance;

use super::root::Root;
use crate::doctor::applications::gets_environment;
use crate::run::changes_user;

/// The folders of units, in systemd's order: a file in an earlier one hides its namesakes.
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// Scripts that some distributions start instead of a unit.
const SCRIPTS: &str = "/etc/init.d";
const END: &str = ".service";
/// The variable that names OpenSSL's configuration.
pub(super) const VARIABLE: &str = "OPENSSL_CONF";
/// Scripts that set the environment of their program, and the file in which they do so.
const ENVIRONMENT_SCRIPTS: [(&str, &str); 1] = [("apachectl", "/etc/apache2/envvars")];
/// The maximum number of names that an error proposes, and their maximum distance.
const MOST_PROPOSED: usize = 3;
const MOST_CHANGES: usize = 3;

/// A service with a unit.
pub(super) struct Unit {
    /// The name without `.service`; a template's ends with `@`.
    pub(super) name: String,
    file: PathBuf,
    /// The drop-ins in the order in which systemd applies them, without ours.
    drop_ins: BTreeMap<OsString, PathBuf>,
}

/// A line that sets [`VARIABLE`].
struct Set {
    place: String,
    value: String,
}

/// The settings of a service that concern us.
#[derive(Default)]
struct Settings {
    environment: Option<Set>,
    environment_files: Vec<(String, String)>,
    /// The place that removes the variable.
    unset: Option<String>,
    programs: Vec<PathBuf>,
    has_user: bool,
    /// The place of a folder that stands for `/`.
    root_folder: Option<String>,
}

impl Unit {
    /// Finds the unit of a service.
    ///
    /// # Errors
    /// There is none, or it cannot be started. The error names similar ones.
    pub(super) fn find(root: &Root, asked_for: &str) -> Result<Self, Failure> {
        let name = asked_for.strip_suffix(END).unwrap_or(asked_for);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:@-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(Failure::new(format!(
                "{asked_for:?} names no service: write its name as systemctl does, such as nginx or stunnel@"
            )));
        }
        let template = name.split_once('@').filter(|(_, instance)| !instance.is_empty());
        let template = template.map(|(base, _)| format!("{base}@"));
        let names = [Some(name.to_owned()), template];
        let mut found = names.iter().flatten().filter_map(|name| file_of(root, name));
        let Some(file) = found.next() else { return Err(unknown(root, name)) };
        if file == Path::new("/dev/null") || root.resolve(&file)?.inside == Path::new("/dev/null") {
            return Err(Failure::new(format!(
                "{name} is masked: 'systemctl unmask {name}' lets it start"
            )));
        }
        let mut drop_ins = BTreeMap::new();
        let folders = names.iter().flatten().map(|name| format!("{name}{END}.d"));
        let folders: Vec<_> = folders.chain([format!("{}.d", &END[1..])]).collect();
        // An earlier folder hides namesakes in later ones.
        for (folder, name) in FOLDERS.iter().flat_map(|f| folders.iter().map(move |n| (f, n))) {
            for path in entries(root, &Path::new(folder).join(name)) {
                let (Some(name), Some(end)) = (path.file_name(), path.extension()) else {
                    continue;
                };
                if end == "conf" {
                    drop_ins.entry(name.to_owned()).or_insert(path);
                }
            }
        }
        Ok(Unit { name: name.to_owned(), file, drop_ins })
    }

    /// Returns the path of our drop-in.
    pub(super) fn drop_in(&self) -> PathBuf {
        drop_in(&self.name)
    }

    /// Checks that a service with our drop-in, which has this text, gets `configuration` from it
    /// and from nowhere else. Returns what else the administrator should know.
    ///
    /// # Errors
    /// The place that sets another value.
    pub(super) fn check(
        &self,
        root: &Root,
        text: &str,
        configuration: &Path,
        module: &Path,
    ) -> Result<Vec<String>, Failure> {
        let ours = self.drop_in();
        let mut without = Settings::default();
        let mut with = Settings::default();
        let mut drop_ins = self.drop_ins.clone();
        if let Some(name) = ours.file_name() {
            drop_ins.insert(name.to_owned(), ours.clone());
        }
        for path in [&self.file].into_iter().chain(drop_ins.values()) {
            let is_ours = *path == ours;
            let text = if is_ours { text.to_owned() } else { text_of(root, path) };
            let shown = root.real(path).display().to_string();
            with.read(&shown, &text);
            if !is_ours {
                without.read(&shown, &text);
            }
        }
        if !gets_environment(&self.name) {
            return Err(Failure::new(format!(
                "the processes of {} do not get the environment of its unit: run 'fastkex enable' without --service, or \
                 add the lines for {0} in docs/applications.md",
                self.name
            )));
        }
        let refuse = |place: &str, what: &str| {
            Err(Failure::new(format!(
                "{place}: {what}: remove that line and repeat the command, or add the module to that configuration"
            )))
        };
        if let Some(set) = &without.environment {
            return refuse(
                &set.place,
                &format!("{} has {VARIABLE}={} already", self.name, set.value),
            );
        }
        for (place, file) in &with.environment_files {
            if let Some(set) = in_file(root, Path::new(file), &text_of(root, Path::new(file))) {
                let what = format!("{VARIABLE}={} comes before our drop-in, by {place}", set.value);
                return refuse(&set.place, &what);
            }
        }
        let script = |program: &&PathBuf| {
            let name = program.file_name()?.to_str()?;
            ENVIRONMENT_SCRIPTS.iter().find(|(script, _)| *script == name)
        };
        for (_, file) in with.programs.iter().filter_map(|program| script(&program)) {
            if let Some(set) = in_file(root, Path::new(file), &text_of(root, Path::new(file))) {
                let what = format!("{VARIABLE}={} comes before our drop-in", set.value);
                return refuse(&set.place, &what);
            }
        }
        if let Some(place) = &with.unset {
            return refuse(place, &format!("{VARIABLE} is removed from the environment"));
        }
        let value = with.environment.as_ref().map(|set| Path::new(&set.value));
        if value != Some(configuration) {
            return Err(Failure::new(format!(
                "a drop-in of {} after {} clears Environment=: remove that line and repeat the command",
                self.name,
                root.real(&ours).display()
            )));
        }
        Ok(self.notes(root, &with, module))
    }

    fn notes(&self, root: &Root, settings: &Settings, module: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        for program in &settings.programs {
            let Ok(place) = root.resolve(program) else { continue };
            let shown = place.real.display();
            if changes_user(&place.real) || has_capabilities(&place.real) {
                notes.push(format!(
                    "warning: {shown} is setuid or has capabilities, so OpenSSL in it ignores {VARIABLE}; \
                     'fastkex enable' without --service reaches it"
                ));
            }
            // stunnel4 is Debian's name for it.
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("stunnel") {
                notes.push(
                    "stunnel's own list of groups comes first: add 'curves = X25519MLKEM768:X25519:P-256' to each \
                     service of its configuration"
                        .to_owned(),
                );
            }
            let profile = program.display().to_string().trim_start_matches('/').replace('/', ".");
            let profile = Path::new("/etc/apparmor.d").join(profile);
            if root.real(&profile).exists() {
                notes.push(format!(
                    "{} confines it where AppArmor is on: allow it to read {} and to map {} \
                     (docs/applications.md, AppArmor)",
                    root.real(&profile).display(),
                    super::own_path(Some(&self.name)).display(),
                    module.display()
                ));
            }
        }
        if settings.has_user && !is_readable_by_all(root, module) {
            notes.push(format!(
                "warning: the service runs as another user, who cannot read {}: chmod a+rX the file and its folders",
                module.display()
            ));
        }
        if let Some(place) = &settings.root_folder {
            notes.push(format!(
                "warning: {place} gives the service another root folder, where the configuration and the module must be"
            ));
        }
        notes
    }
}

/// Returns the path of our drop-in for a service.
pub(super) fn drop_in(name: &str) -> PathBuf {
    Path::new(FOLDERS[0]).join(format!("{name}{END}.d/fastkex.conf"))
}

/// Returns the services for which there is a drop-in with our name.
pub(super) fn with_drop_ins(root: &Root) -> Vec<String> {
    let folders = entries(root, Path::new(FOLDERS[0]));
    let name = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".d")?.strip_suffix(END)?;
        root.real(&drop_in(name)).exists().then(|| name.to_owned())
    };
    folders.iter().filter_map(name).collect()
}

impl Settings {
    /// Applies one file of a unit.
    fn read(&mut self, path: &str, text: &str) {
        let mut section = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let mut line = line.trim().to_owned();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            while let Some(begun) = line.strip_suffix('\\') {
                let next = lines.next().map_or("", |(_, next)| next.trim());
                line = match next.starts_with(['#', ';']) {
                    true => format!("{begun}\\"),
                    false => format!("{begun} {next}"),
                };
            }
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.to_owned();
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            if section == "Service" {
                self.set(key.trim_end(), value.trim_start(), &format!("{path}:{}", number + 1));
            }
        }
    }

    fn set(&mut self, key: &str, value: &str, place: &str) {
        match key {
            "Environment" if value.is_empty() => self.environment = None,
            "Environment" => {
                for word in words(value) {
                    if let Some((VARIABLE, value)) = word.split_once('=') {
                        let (place, value) = (place.to_owned(), value.to_owned());
                        self.environment = Some(Set { place, value });
                    }
                }
            }
            "EnvironmentFile" if value.is_empty() => self.environment_files.clear(),
            "EnvironmentFile" => {
                let file = value.trim_start_matches('-').to_owned();
                self.environment_files.push((place.to_owned(), file));
            }
            "UnsetEnvironment" if value.is_empty() => self.unset = None,
            "UnsetEnvironment" if words(value).iter().any(|word| word == VARIABLE) => {
                self.unset = Some(place.to_owned());
            }
            "ExecStart" if value.is_empty() => self.programs.clear(),
            "ExecStart" => {
                let first = value.split_whitespace().next().unwrap_or_default();
                let program =
                    PathBuf::from(first.trim_start_matches(['-', '@', ':', '+', '!', '|']));
                if program.is_absolute() && !self.programs.contains(&program) {
                    self.programs.push(program);
                }
            }
            "User" => self.has_user = !["", "root", "0"].contains(&value),
            "DynamicUser" => self.has_user |= ["yes", "true", "1", "on"].contains(&value),
            "RootDirectory" | "RootImage" => {
                let is_other = !value.is_empty() && value != "/";
                self.root_folder = is_other.then(|| place.to_owned());
            }
            _ => {}
        }
    }
}

/// Splits a value into words, which may be quoted.
fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in value.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the line of a file of variables, or of a shell script, that sets ours.
fn in_file(root: &Root, path: &Path, text: &str) -> Option<Set> {
    let mut set = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches("export ").trim_start();
        if let Some(value) = line.strip_prefix(VARIABLE).and_then(|rest| rest.strip_prefix('=')) {
            let place = format!("{}:{}", root.real(path).display(), number + 1);
            set = Some(Set { place, value: value.trim_matches(['"', '\'']).to_owned() });
        }
    }
    set
}

/// Returns the text of a file; empty if it cannot be read.
fn text_of(root: &Root, path: &Path) -> String {
    let place = root.resolve(path).ok();
    let contents = place.and_then(|place| super::files::read(&place.real).ok()).flatten();
    contents.map_or(String::new(), |file| String::from_utf8_lossy(&file.bytes).into_owned())
}

/// Returns the paths in a folder; none if it cannot be read.
fn entries(root: &Root, folder: &Path) -> Vec<PathBuf> {
    let real = root.resolve(folder).map(|place| place.real);
    let entries = real.ok().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let mut paths: Vec<_> = entries.flatten().map(|entry| folder.join(entry.file_name())).collect();
    paths.sort();
    paths
}

/// Returns the file of the unit of that name.
fn file_of(root: &Root, name: &str) -> Option<PathBuf> {
    let paths = FOLDERS.iter().map(|folder| Path::new(folder).join(format!("{name}{END}")));
    let mut paths = paths.filter(|path| root.real(path).symlink_metadata().is_ok());
    paths.next()
}

/// Returns the error for a service without a unit.
fn unknown(root: &Root, name: &str) -> Failure {
    let script = root.real(&Path::new(SCRIPTS).join(name));
    if script.exists() {
        return Failure::new(format!(
            "{name} has no unit, only {}: 'fastkex enable' without --service reaches it, \
             or 'export {VARIABLE}=FILE' in /etc/default/{name} if the script reads that",
            script.display()
        ));
    }
    let all: BTreeSet<_> = FOLDERS
        .iter()
        .flat_map(|folder| entries(root, Path::new(folder)))
        .filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(END)?.to_owned()))
        .collect();
    let distance = |known: &String| {
        // `stunnel` is to find `stunnel@` and `stunnel4`, and `apache` is to find `apache2`.
        let is_part =
            name.len() > 2 && (known.starts_with(name) || name.starts_with(known.as_str()));
        let changes = osa_distance(known, name);
        let is_near = changes <= MOST_CHANGES.min(name.len() / 2) || (is_part && known.len() > 2);
        is_near.then_some((changes, known.clone()))
    };
    let mut near: Vec<_> = all.iter().filter_map(distance).collect();
    near.sort();
    let near: Vec<_> = near.into_iter().take(MOST_PROPOSED).map(|(_, name)| name).collect();
    let proposal = match near.is_empty() {
        true => "'systemctl list-unit-files --type=service' lists them".to_owned(),
        false => format!("did you mean {}?", near.join(" or ")),
    };
    Failure::new(format!("no service {name}: {proposal}"))
}

fn has_capabilities(program: &Path) -> bool {
    rustix::fs::getxattr(program, "security.capability", &mut [0u8; 64][..]).is_ok_and(|n| n > 0)
}

/// True if each user can read the file, and enter the folders above it.
fn is_readable_by_all(root: &Root, path: &Path) -> bool {
    let Ok(place) = root.resolve(path) else { return false };
    let mode = |path: &Path| path.metadata().map_or(0, |data| data.permissions().mode());
    let folders = place.inside.ancestors().skip(1);
    mode(&place.real) & 0o004 != 0
        && folders.into_iter().all(|folder| mode(&root.real(folder)) & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        let mut settings = Settings::default();
        settings.read("unit", text);
        settings
    }

    #[test]
    fn the_variable_is_found_as_systemd_finds_it() {
        let value = |text: &str| settings(text).environment.map(|set| (set.place, set.value));
        for (text, expected) in [
            ("[Service]\nEnvironment=OPENSSL_CONF=/a", Some((2, "/a"))),
            ("[Service]\nEnvironment=A=b \"OPENSSL_CONF=/a b\" C=d", Some((2, "/a b"))),
            ("[Service]\nEnvironment=A=b \\\n OPENSSL_CONF=/a", Some((2, "/a"))),
            (
                "[Service]\nEnvironment=OPENSSL_CONF=/a\nEnvironment=OPENSSL_CONF=/b",
                Some((3, "/b")),
            ),
            ("[Service]\nEnvironment=OPENSSL_CONF=/a\nEnvironment=", None),
            ("[Unit]\nEnvironment=OPENSSL_CONF=/a", None),
            ("[Service]\n#Environment=OPENSSL_CONF=/a", None),
            ("[Service]\nEnvironment=OPENSSL_CONF_INCLUDE=/a", None),
        ] {
            let expected = expected.map(|(line, value)| (format!("unit:{line}"), value.to_owned()));
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn programs_and_users_are_read() {
        let found = settings("[Service]\nExecStart=-@/usr/bin/a a -b\nExecStart=/c\nUser=www\n");
        assert_eq!(found.programs, [Path::new("/usr/bin/a"), Path::new("/c")]);
        assert!(found.has_user && found.root_folder.is_none());
        let found = settings("[Service]\nExecStart=/a\nExecStart=\nUser=root\nRootDirectory=/srv");
        assert!(found.programs.is_empty() && !found.has_user);
        assert_eq!(found.root_folder.as_deref(), Some("unit:5"));
    }
}
