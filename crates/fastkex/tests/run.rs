//! `fastkex run`: the provider is active in the program, and everything else is as it was.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

use common::{Tool, assert_refused, stderr, stdout};

#[test]
fn the_provider_is_active_and_the_system_unchanged() {
    let Some(tool) = Tool::with_openssl() else { return };
    let output = tool.output(&["run", "--", "openssl", "list", "-providers"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("name: fastkex") && text.contains("OpenSSL Default Provider"), "{text}");

    // Both ends of a pair of programs negotiate ours without being told.
    let output = tool.output(&["run", "openssl", "list", "-kem-algorithms"]);
    assert!(stdout(&output).contains("X25519SNTRUP761 } @ fastkex"));

    let output = tool.command(&["run", "--", "sh", "-c", "echo $OPENSSL_CONF"]).output().unwrap();
    let path = stdout(&output).trim().to_owned();
    assert!(path.starts_with(tool.folder.path().to_str().unwrap()), "{path}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(tool.module().to_str().unwrap()), "{text}");
    assert!(text.contains("default_properties = ?provider=fastkex"), "{text}");
    let data = std::fs::metadata(&path).unwrap();
    assert_eq!(data.permissions().mode() & 0o777, 0o644);
    // The same again is the same file, and nothing is left beside it.
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
    // Not SIGINT: who runs tests in the background ignores it.
    for (name, signal) in [("TERM", 15), ("KILL", 9), ("USR1", 10)] {
        let output = tool.output(&["run", "--", "sh", "-c", &format!("kill -{name} $$")]);
        assert_eq!(output.status.signal(), Some(signal));
    }
    // A signal to the process reaches the program, which is the process.
    let mut child = tool.command(&["run", "--", "sleep", "60"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
    assert_eq!(name.trim(), "sleep");
    child.kill().unwrap();
    child.wait().unwrap();
    // Arguments with dashes, standard input and output go through.
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
    // Groups of ours that the configuration has already are kept.
    let groups = tool.write(
        "groups.cnf",
        &(std::fs::read_to_string(&base).unwrap() + "Groups = sntrup1277:X25519\n"),
    );
    std::fs::write(
        &groups,
        std::fs::read_to_string(&base).unwrap() + "Groups = sntrup1277:X25519\n",
    )
    .unwrap();
    let output = tool
        .command(&["run", "--", "sh", "-c", "cat $OPENSSL_CONF"])
        .env("OPENSSL_CONF", &groups)
        .output()
        .unwrap();
    assert!(!stdout(&output).contains("Groups"), "{}", stdout(&output));
}

#[test]
fn bad_input_gives_one_line() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_refused(
        &tool.output(&["run", "--groups", "sntrup42", "--", "true"]),
        "unknown group sntrup42",
    );
    assert_refused(
        &tool.output(&["run", "--groups", "X25519:nonsense", "--", "true"]),
        "unknown group nonsense: ours are sntrup653, ",
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
    assert_refused(&tool.output(&["run"]), "CMD");
    assert_refused(
        &tool.output(&["run", "--module", "/no/module.so", "--", "true"]),
        "/no/module.so",
    );
    assert_refused(&tool.output(&["run", "--module", "/etc/passwd", "--", "true"]), "/etc/passwd");
    assert_refused(&tool.output(&["jump"]), "unrecognized subcommand 'jump'");
    assert_refused(&tool.output(&[]), "no command given");

    // A program that is there but cannot be run.
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
    // Files that are no libraries stand before the real ones.
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
