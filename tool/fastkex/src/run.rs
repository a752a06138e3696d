//! `fastkex run`: runs a program with the provider active, without any change to the system.

pub(crate) mod file;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use kex::TLS_GROUPS;
use openssl_conf::{
    Addition, Base, Config, Interpretation, Provider, Release, compose, split_groups,
};
use openssl_runtime::{Libraries, LibraryContext, SslContext};

use crate::groups::{Role, names_ours, recommended};
use crate::module;
use output::{Failure, Outcome};

/// The provider's name in configurations.
pub(crate) const PROVIDER: &str = "fastkex";
/// The property query that prefers our implementation of algorithms that the default provider has
/// too.
pub(crate) const PROPERTIES: &str = "?provider=fastkex";

/// Run a program with the provider active, without changes to the system
///
/// The program reads the system's configuration and a small file that adds the provider to it. The
/// file belongs to this user, and may be deleted when no program needs it any more. It is in the
/// folder fastkex of one of these directories: $XDG_RUNTIME_DIR, $XDG_STATE_HOME, /run (only for
/// root), ~/.local/state. The first directory is used in which no other user can replace the file.
/// The program replaces this process, so its exit status and signals are its own.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Groups to offer and accept, in order of preference and in the syntax of OpenSSL's Groups
    /// [default: X25519MLKEM768, then OpenSSL's]
    #[arg(long, value_name = "LIST")]
    groups: Option<String>,
    /// The module [default: the one beside this program or in the folders of an installation]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    program: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(&self) -> Outcome {
        let (name, arguments) =
            self.program.split_first().ok_or(Failure::new("no program given"))?;
        let libraries = Libraries::system().map_err(|error| Failure::new(error.to_string()))?;
        let module = module::find(self.module.as_deref(), &libraries)?;
        let program = find_program(name)?;
        warn_of_setuid(&program);

        let text = configuration(&libraries, &module, &program, self.groups.as_deref())?;
        check(&libraries, &module, &text, self.groups.as_deref())?;
        let path = file::write(&text)?;

        // Replaces this process, so the program's exit status and signals are its own.
        let error =
            Command::new(&program).arg0(name).args(arguments).env("OPENSSL_CONF", &path).exec();
        Err(Failure::new(format!("{}: {error}", program.display())))
    }
}

pub(crate) fn release(libraries: &Libraries) -> Release {
    let version = libraries.version();
    Release::new(version.major, version.minor)
}

/// Looks up an environment variable for a configuration file.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the text of the system's configuration with the provider added.
fn configuration(
    libraries: &Libraries,
    module: &Path,
    program: &Path,
    groups: Option<&str>,
) -> Result<String, Failure> {
    let release = release(libraries);
    let path = libraries.default_config_file();
    let named = std::env::var_os("OPENSSL_CONF").is_some();
    let config = if named || path.exists() {
        let config = Config::load(&path, &environment)
            .map_err(|error| Failure::new(format!("OpenSSL's configuration: {error}")))?;
        Some(config)
    } else {
        None
    };
    let path = std::path::absolute(&path)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let base = config.as_ref().map(|config| Base { config, path: &path });

    let interpretation = config.as_ref().map(|config| Interpretation::new(config, release));
    let system_default = interpretation.as_ref().and_then(Interpretation::system_default);
    let list = system_default.and_then(|profile| profile.groups()).map(|list| list.value.as_str());
    let is_kept = list.is_some_and(|list| names_ours(list, release));
    let groups = groups.or_else(|| (!is_kept).then(|| recommended(Role::Server, release)));
    let provider = interpretation.as_ref().and_then(|found| found.provider(PROVIDER));
    let keys = keys(program, provider);
    let (module, properties) = (Some(module), Some(PROPERTIES));
    let addition =
        Addition { release, provider: PROVIDER, module, keys: &keys, groups, properties };
    compose(base, &addition).map_err(|error| Failure::new(error.to_string()))
}

/// Returns the keys of the module's section that the section does not have: all groups, because the
/// program's own configuration may name any of them, and key files for the program `openssl`.
fn keys(program: &Path, configured: Option<&Provider>) -> Vec<(String, String)> {
    let is_openssl = program.file_name().is_some_and(|name| name == "openssl");
    let files = is_openssl.then_some((settings::KEY_FILES, "on"));
    let wanted = [(settings::GROUPS, settings::ALL_GROUPS)].into_iter().chain(files);
    let is_set = |key: settings::Key| {
        let parameters = configured.map(|provider| provider.own_parameters());
        parameters.into_iter().flatten().any(|parameter| parameter.name == key.name)
    };
    let missing = wanted.filter(|&(key, _)| !is_set(key));
    missing.map(|(key, value)| (key.name.to_owned(), value.to_owned())).collect()
}

/// Applies the configuration as the program will, to find errors in it. OpenSSL in the program does
/// not report them.
fn check(
    libraries: &Libraries,
    module: &Path,
    text: &str,
    groups: Option<&str>,
) -> Result<(), Failure> {
    let fail = |error: openssl_runtime::Error| Failure::new(error.to_string());
    let context = LibraryContext::new(libraries).map_err(fail)?;
    context.load_config_text(text).map_err(fail)?;
    let active = context.active_providers();
    if !active.iter().any(|provider| provider.name == PROVIDER) {
        return Err(match context.load_provider(&module.to_string_lossy()) {
            Ok(_) => Failure::new("the provider is not active in the composed configuration"),
            Err(error) => fail(error),
        });
    }
    let Some(groups) = groups else { return Ok(()) };
    let client = SslContext::client(&context).map_err(fail)?;
    if client.groups(groups).is_ok() {
        return Ok(());
    }
    Err(Failure::new(match unknown_groups(&context, groups, release(libraries)) {
        Ok(unknown) if unknown.is_empty() => format!("OpenSSL refuses the groups '{groups}'"),
        Ok(unknown) => format!(
            "unknown group {}: ours are {}",
            unknown.join(", "),
            TLS_GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(", ")
        ),
        Err(problem) => problem,
    }))
}

/// Returns the names in a list that libssl does not know in `context`. Fails with the error of a
/// malformed list.
pub(crate) fn unknown_groups(
    context: &LibraryContext,
    list: &str,
    release: Release,
) -> Result<Vec<String>, String> {
    let groups =
        split_groups(list, release.group_syntax()).map_err(|error| format!("groups: {error}"))?;
    let known =
        |name: &str| SslContext::client(context).and_then(|client| client.groups(name)).is_ok();
    Ok(groups
        .into_iter()
        .filter(|group| !group.built_in_list && !group.remove && !known(&group.name))
        .map(|group| group.name)
        .collect())
}

/// Returns the file of the program `name`, found as a shell does.
pub(crate) fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    let is_executable = |path: &Path| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let shown = Path::new(name).display();
    if name.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match path.metadata() {
            Err(error) => Err(Failure::new(format!("{shown}: {error}"))),
            Ok(_) if is_executable(&path) => Ok(path),
            Ok(_) => Err(Failure::new(format!("{shown}: not an executable file"))),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
        .ok_or_else(|| Failure::new(format!("{shown}: no such program in PATH")))
}

/// Warns of a program that changes its user, because OpenSSL in it ignores OPENSSL_CONF.
fn warn_of_setuid(program: &Path) {
    if changes_user(program) {
        output::note(format_args!(
            "warning: {} changes its user (setuid), so OpenSSL in it ignores OPENSSL_CONF",
            program.display()
        ));
    }
}

/// True if a program runs as another user or group than its caller.
pub(crate) fn changes_user(program: &Path) -> bool {
    const SETUID: u32 = 0o4000;
    const SETGID: u32 = 0o2000;

    let (Ok(program), Ok(ours)) = (program.metadata(), fs::metadata("/proc/self")) else {
        return false;
    };
    program.mode() & SETUID != 0 && program.uid() != ours.uid()
        || program.mode() & SETGID != 0 && program.gid() != ours.gid()
}
