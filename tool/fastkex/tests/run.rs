//! Tests of `fastkex run`: the provider is active in the program, and the system is unchanged.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{NOBODY, Tool, assert_misused, assert_refused, is_root, make_folder, stderr, stdout};

#[test]
fn the_provider_is_active_and_the_system_unchanged() {
    let Some(tool) = Tool::with_openssl() else { return };
    let output = tool.output(&["run", "--", "openssl", "list", "-providers"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("name: fastkex") && text.contains("OpenSSL Default Provider"), "{text}");

    // Programs can use our groups without any other setting.
    let output = tool.output(&["run", "openssl", "list", "-kem-algorithms"]);
    assert!(stdout(&output).contains("X25519MLKEM768 @ fastkex"));

    let output = tool.command(&["run", "--", "sh", "-c", "echo $OPENSSL_CONF"]).output().unwrap();
    let path = stdout(&output).trim().to_owned();
    assert!(path.starts_with(tool.home.path().to_str().unwrap()), "{path}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(tool.module().to_str().unwrap()), "{text}");
    assert!(text.contains("default_properties = ?provider=fastkex"), "{text}");
    let data = std::fs::metadata(&path).unwrap();
    assert_eq!(data.permissions().mode() & 0o777, 0o600);
    // A second run uses the same file, and leaves no other file beside it.
    let again = tool.command(&["run", "--", "sh", "-c", "echo $OPENSSL_CONF"]).output().unwrap();
    assert_eq!(stdout(&again).trim(), path);
    let folder = std::path::Path::new(&path).parent().unwrap();
    assert!(std::fs::read_dir(folder).unwrap().all(|entry| {
        entry.unwrap().path().extension().is_some_and(|extension| extension == "cnf")
    }));
}

#[test]
fn exit_status_and_signals_are_the_programs_own() {
    let Some(tool) = Tool::with_openssl() else { return };
    for status in [0, 1, 2, 77] {
        let output = tool.output(&["run", "--", "sh", "-c", &format!("exit {status}")]);
        assert_eq!(output.status.code(), Some(status));
    }
    // Not SIGINT: tests that run in the background ignore it.
    for (name, signal) in [("TERM", 15), ("KILL", 9), ("USR1", 10)] {
        let output = tool.output(&["run", "--", "sh", "-c", &format!("kill -{name} $$")]);
        assert_eq!(output.status.signal(), Some(signal));
    }
    // A signal to the process reaches the program, because the program has replaced the process.
    let mut child = tool.command(&["run", "--", "sleep", "60"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
    assert_eq!(name.trim(), "sleep");
    child.kill().unwrap();
    child.wait().unwrap();
    // Arguments with dashes, standard input and standard output are passed on.
    let output = tool.output(&["run", "echo", "--groups", "-n", "--", "x"]);
    assert_eq!(stdout(&output), "--groups -n -- x\n");
}

#[test]
fn the_configuration_that_was_there_stays() {
    let Some(tool) = Tool::with_openssl() else { return };
    let base = tool.write(
        "base.cnf",
        "openssl_conf = start\n[start]\nproviders = list\nssl_conf = tls\n[list]\nbase = base_sect\n\
         default = default_sect\n[base_sect]\nactivate = 1\n[default_sect]\nactivate = 1\n\
         [tls]\nsystem_default = tls_defaults\n[tls_defaults]\nMinProtocol = TLSv1.3\n",
    );
    let output = tool
        .command(&["run", "--", "openssl", "list", "-providers"])
        .env("OPENSSL_CONF", &base)
        .output()
        .unwrap();
    let text = stdout(&output);
    for name in ["  base\n", "  default\n", "  fastkex\n"] {
        assert!(text.contains(name), "{text}");
    }
    let output = tool
        .command(&["run", "--groups", "sntrup761", "--", "sh", "-c", "cat $OPENSSL_CONF"])
        .env("OPENSSL_CONF", &base)
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(text.contains(base.to_str().unwrap()), "{text}");
    assert!(text.contains("[ tls_defaults ]") && text.contains("sntrup761"), "{text}");
    // If the configuration already sets groups of ours, they are kept.
    let groups = tool.write(
        "groups.cnf",
        &(std::fs::read_to_string(&base).unwrap() + "Groups = sntrup1277:X25519\n"),
    );
    let output = tool
        .command(&["run", "--", "sh", "-c", "cat $OPENSSL_CONF"])
        .env("OPENSSL_CONF", &groups)
        .output()
        .unwrap();
    assert!(!stdout(&output).contains("Groups"), "{}", stdout(&output));
}

#[test]
fn the_module_offers_what_the_program_needs() {
    let Some(tool) = Tool::with_openssl() else { return };
    let keys = |program: &str, groups: &[&str], base: Option<&Path>| {
        let arguments = [&["run"], groups, &["--", program, "-c", "cat $OPENSSL_CONF"]].concat();
        let mut command = tool.command(&arguments);
        if let Some(base) = base {
            command.env("OPENSSL_CONF", base);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let keys =
            text.lines().filter(|line| line.starts_with("groups") || line.starts_with("key_files"));
        keys.map(|line| line.replace(' ', "")).collect::<Vec<_>>()
    };
    let more = ["--groups", "sntrup1277:X25519SNTRUP653"];
    assert_eq!(keys("sh", &[], None), ["groups=all"]);
    assert_eq!(keys("sh", &more, None), ["groups=all"]);
    // Values of the system's configuration stay.
    let module = tool.module().display();
    let base = tool.write(
        "base.cnf",
        &format!(
            "openssl_conf = init\n[init]\nproviders = list\n[list]\ndefault = on\nfastkex = ours\n[on]\nactivate = 1\n[ours]\nmodule = {module}\n\
             activate = 1\ngroups = all\n"
        ),
    );
    assert_eq!(keys("sh", &more, Some(&base)), [""; 0]);

    let key = tool.path("key.pem");
    let arguments = ["run", "--", "openssl", "genpkey", "-algorithm", "sntrup857", "-out"];
    let output = tool.output(&[&arguments[..], &[key.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(std::fs::read_to_string(key).unwrap().starts_with("-----BEGIN PRIVATE KEY-----"));
}

#[test]
fn bad_input_is_an_error() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_refused(
        &tool.output(&["run", "--groups", "sntrup42", "--", "true"]),
        "unknown group sntrup42",
    );
    assert_refused(
        &tool.output(&["run", "--groups", "X25519:nonsense", "--", "true"]),
        "unknown group nonsense: ours are X25519MLKEM768, ",
    );
    assert_refused(&tool.output(&["run", "--groups", "", "--", "true"]), "group");
    assert_refused(&tool.output(&["run", "--groups", "X25519::P-256", "--", "true"]), "group");
    assert_refused(
        &tool.output(&["run", "--", "no-such-program"]),
        "no-such-program: no such program",
    );
    assert_refused(
        &tool.output(&["run", "--", "/no/such/program"]),
        "/no/such/program: No such file",
    );
    assert_refused(&tool.output(&["run", "--", "/etc/passwd"]), "not an executable file");
    assert_misused(&tool.output(&["run"]), "CMD");
    assert_refused(
        &tool.output(&["run", "--module", "/no/module.so", "--", "true"]),
        "/no/module.so",
    );
    assert_refused(&tool.output(&["run", "--module", "/etc/passwd", "--", "true"]), "/etc/passwd");
    assert_misused(&tool.output(&["jump"]), "unrecognized subcommand 'jump'");
    // Without a command, help is printed as an error.
    let output = tool.output(&[]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("Usage: fastkex <COMMAND>"), "{}", stderr(&output));
    // Errors of usage contain clap's suggestions.
    let output = tool.output(&["doctr"]);
    assert!(stderr(&output).contains("a similar subcommand exists: 'doctor'"));

    // A program that exists but cannot be executed.
    let script = tool.write("script", "#!/no/interpreter\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_refused(&tool.output(&["run", script.to_str().unwrap()]), "script");
}

#[test]
fn unreadable_configurations_give_one_line() {
    let Some(tool) = Tool::with_openssl() else { return };
    let with = |path: &str| {
        tool.command(&["run", "--", "true"]).env("OPENSSL_CONF", path).output().unwrap()
    };
    assert_refused(&with("/no/such/openssl.cnf"), "/no/such/openssl.cnf: cannot be read");
    assert_refused(&with(tool.folder.path().to_str().unwrap()), "configuration");
    let broken = tool.write("broken.cnf", "[unclosed\nx = 1\n");
    assert_refused(&with(broken.to_str().unwrap()), "broken.cnf:1");
    let stops = tool.write("stops.cnf", "openssl_conf = a\n[a]\noid_section = nowhere\n");
    assert_refused(&with(stops.to_str().unwrap()), "nowhere");
}

#[test]
fn without_openssl_it_says_so() {
    let tool = Tool::new();
    // Files that are not libraries precede the real ones.
    for name in ["libcrypto.so.3", "libssl.so.3", "libcrypto.so.4", "libssl.so.4"] {
        tool.write(&format!("lib/{name}"), "no library");
    }
    for arguments in [&["run", "--", "true"][..], &["doctor"]] {
        let output =
            tool.command(arguments).env("LD_LIBRARY_PATH", tool.path("lib")).output().unwrap();
        if arguments[0] == "run" {
            assert_refused(&output, "no OpenSSL 3.0 or later found");
        } else {
            let text = stdout(&output);
            assert_eq!(output.status.code(), Some(1));
            assert!(text.contains("WRONG  OpenSSL: no OpenSSL 3.0 or later found"), "{text}");
        }
    }
}

/// Returns the path of the program's configuration, with some variables in the environment.
fn place(tool: &Tool, user: Option<u32>, variables: &[(&str, &Path)]) -> PathBuf {
    let mut command = tool.command(&["run", "--", "sh", "-c", "echo $OPENSSL_CONF"]);
    command.env_remove("XDG_RUNTIME_DIR").env_remove("HOME").env_remove("TMPDIR");
    command.envs(variables.iter().copied());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{variables:?}: {}", stderr(&output));
    PathBuf::from(stdout(&output).trim())
}

#[test]
fn the_configuration_is_in_no_folder_that_is_open_to_others() {
    let Some(tool) = Tool::with_openssl() else { return };
    let good = tool.home.path().join("good");
    let found = |runtime: &Path, state: &Path| {
        let variables = [("XDG_RUNTIME_DIR", runtime), ("XDG_STATE_HOME", state)];
        place(&tool, None, &variables).parent().unwrap().to_path_buf()
    };
    let runtime = tool.home.path().join("runtime");
    make_folder(&runtime, 0o700, None);
    assert_eq!(found(&runtime, &good), runtime.join("fastkex"));

    let at = |name: &str| tool.home.path().join(name);
    let bad = |name: &str, mode: u32| {
        make_folder(&at(name), mode, None);
        at(name)
    };
    let below_sticky = bad("sticky", 0o1777).join("below");
    make_folder(&below_sticky, 0o700, None);
    symlink(bad("linked", 0o700), at("link")).unwrap();
    std::fs::write(at("file"), "").unwrap();
    let taken = bad("taken", 0o700);
    std::fs::write(taken.join("fastkex"), "").unwrap();
    for runtime in [
        bad("entered-by-others", 0o755),
        bad("written-by-group", 0o770),
        below_sticky,
        at("link"),
        at("file"),
        at("absent"),
        taken,
        PathBuf::from("relative"),
        PathBuf::new(),
    ] {
        assert_eq!(found(&runtime, &good), good.join("fastkex"), "{}", runtime.display());
        // Nothing is written to a folder that is not used.
        assert!(std::fs::read_dir(runtime.join("fastkex")).is_err(), "{}", runtime.display());
    }
    // A file that is not ours is replaced, and the target of a link stays.
    let path = place(&tool, None, &[("XDG_STATE_HOME", &good)]);
    let text = std::fs::read_to_string(&path).unwrap();
    let victim = tool.write("victim", &text);
    std::fs::remove_file(&path).unwrap();
    symlink(&victim, &path).unwrap();
    assert_eq!(place(&tool, None, &[("XDG_STATE_HOME", &good)]), path);
    assert!(path.symlink_metadata().unwrap().is_file());
    assert!(victim.symlink_metadata().unwrap().is_file());
}

#[test]
fn folders_of_other_users_are_not_used() {
    let Some(tool) = Tool::with_openssl() else { return };
    if !is_root() {
        return;
    }
    let at = |name: &str| tool.home.path().join(name);
    let good = at("good");
    for folder in ["runtime", "theirs/fastkex", "theirs-inside/fastkex"] {
        make_folder(&at(folder), 0o700, Some(NOBODY));
    }
    make_folder(&at("theirs"), 0o755, Some(NOBODY));
    for name in ["runtime", "theirs", "theirs-inside"] {
        let variables = [("XDG_RUNTIME_DIR", at(name)), ("XDG_STATE_HOME", good.clone())];
        let variables = variables.each_ref().map(|(name, path)| (*name, path.as_path()));
        assert_eq!(
            place(&tool, None, &variables).parent().unwrap(),
            good.join("fastkex"),
            "{name}"
        );
    }

    // Another user has created the folder that would be ours in a shared folder.
    let shared = at("shared");
    make_folder(&shared, 0o1777, None);
    make_folder(&shared.join("fastkex-0"), 0o755, Some(NOBODY));
    let variables = [("TMPDIR", shared.as_path()), ("XDG_STATE_HOME", &good)];
    assert_eq!(place(&tool, None, &variables).parent().unwrap(), good.join("fastkex"));
}

/// A user with a home folder, and a user without any folder.
#[test]
fn without_a_runtime_folder_it_is_below_home() {
    let Some(tool) = Tool::with_openssl() else { return };
    if !is_root() {
        return;
    }
    make_folder(tool.home.path(), 0o755, None);
    let home = tool.home.path().join("home");
    make_folder(&home, 0o755, Some(NOBODY));
    let path = place(&tool, Some(NOBODY), &[("HOME", &home)]);
    assert_eq!(path.parent().unwrap(), home.join(".local/state/fastkex"));
    for folder in [".local", ".local/state", ".local/state/fastkex"] {
        let mode = home.join(folder).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }

    let roots = tool.home.path().join("roots");
    make_folder(&roots, 0o755, None);
    let refused = |variables: &[(&str, &Path)], expected: &str| {
        let mut command = tool.command(&["run", "--", "true"]);
        command.env_remove("XDG_RUNTIME_DIR").env_remove("HOME").env_remove("TMPDIR");
        command.envs(variables.iter().copied());
        assert_refused(&command.uid(NOBODY).gid(NOBODY).output().unwrap(), expected);
    };
    // The home folder in this user's passwd entry does not exist.
    refused(&[], "HOME: not set; passwd: /nonexistent");
    refused(&[("HOME", Path::new("/"))], "HOME: / is no home folder");
    refused(&[("HOME", Path::new("home"))], "HOME: not an absolute path");
    refused(&[("HOME", &roots)], "Permission denied");
    refused(&[("XDG_RUNTIME_DIR", &roots)], "XDG_RUNTIME_DIR: ");
    refused(&[], "set XDG_STATE_HOME to a folder that only you can write to");
}

/// Child processes of a program read the configuration again after the file and its folder were
/// deleted. No other user can put another file there.
#[test]
fn nobody_can_replace_a_configuration_that_has_gone() {
    const FORGED: &str = "openssl_conf = a\n[a]\nproviders = b\n[b]\nbase = c\n[c]\nactivate = 1\n";
    const IS_FORGED: &str = "OpenSSL Base Provider";

    let Some(tool) = Tool::with_openssl() else { return };
    if !is_root() {
        return;
    }
    make_folder(tool.home.path(), 0o755, None);
    let shared = tool.home.path().join("shared");
    make_folder(&shared, 0o1777, None);
    let forge = |path: &Path| {
        let mut other = Command::new("sh");
        other.args(["-c", "umask 0; mkdir -p \"$(dirname \"$0\")\"; printf \"$1\" > \"$0\""]);
        other.arg(path).arg(FORGED).stderr(Stdio::null()).uid(NOBODY).gid(NOBODY);
        other.status().unwrap();
    };
    // The other user can do so in a folder that everybody may write to.
    let forged = shared.join("folder/forged.cnf");
    forge(&forged);
    let output = Command::new("openssl")
        .args(["list", "-providers"])
        .env("OPENSSL_CONF", &forged)
        .output()
        .unwrap();
    assert!(stdout(&output).contains(IS_FORGED), "{}", stdout(&output));

    let script = "rm -r \"$(dirname \"$OPENSSL_CONF\")\"; echo $OPENSSL_CONF; read go; openssl list -providers";
    let mut program = tool
        .command(&["run", "--", "sh", "-c", script])
        .env_remove("XDG_RUNTIME_DIR")
        .env("XDG_STATE_HOME", tool.home.path().join("state"))
        .env("TMPDIR", &shared)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(program.stdout.take().unwrap());
    let mut path = String::new();
    output.read_line(&mut path).unwrap();
    let path = Path::new(path.trim());
    assert!(path.is_absolute() && !path.exists(), "{}", path.display());
    forge(path);
    program.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    program.wait().unwrap();
    assert!(text.contains("Providers:") && !text.contains(IS_FORGED), "{text}");
}
