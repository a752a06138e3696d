//! Tests of `fastkex doctor`: it reports correct settings, and for wrong ones the line to change.

mod common;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Tool, stdout};
use serde_json::Value;

/// Returns a configuration with the module; tests can change its sections.
fn configuration(tool: &Tool, provider: &str, default: &str, tls: &str) -> String {
    format!(
        "openssl_conf = init\n[init]\nproviders = list\nssl_conf = tls\n\
         [list]\ndefault = default_sect\nfastkex = fastkex_sect\n[default_sect]\n{default}\n\
         [fastkex_sect]\nmodule = {}\n{provider}\n[tls]\nsystem_default = tls_sect\n[tls_sect]\n{tls}\n",
        tool.module().display(),
    )
}

const ACTIVE: &str = "activate = 1";
const GROUPS: &str = "Groups = X25519MLKEM768:X25519";

fn doctor(tool: &Tool, config: &str, arguments: &[&str]) -> Output {
    let path = tool.write("openssl.cnf", config);
    tool.command(&["doctor"]).args(arguments).env("OPENSSL_CONF", path).output().unwrap()
}

/// Returns the wrong findings, as `check: message / fix`.
fn wrong(output: &Output) -> Vec<String> {
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), common::stderr(output)));
    let findings = report["findings"].as_array().unwrap();
    let wrong: Vec<_> = findings
        .iter()
        .filter(|finding| finding["status"] == "wrong")
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            assert!(!text("fix").is_empty(), "no fix: {finding}");
            format!("{}: {} / {}", text("check"), text("message"), text("fix"))
        })
        .collect();
    assert_eq!(report["ok"], wrong.is_empty());
    assert_eq!(output.status.code(), Some(i32::from(!wrong.is_empty())));
    wrong
}

#[test]
fn all_is_well_where_it_is() {
    let Some(tool) = Tool::with_openssl() else { return };
    let config = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let output = doctor(&tool, &config, &["--json"]);
    assert_eq!(wrong(&output), Vec::<String>::new());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["check"].as_str().unwrap())
        .collect();
    assert_eq!(
        checks,
        [
            "OpenSSL",
            "module",
            "handshake",
            "processor",
            "configuration",
            "provider",
            "other providers",
            "offers",
            "groups",
            "X25519",
            "Ed25519"
        ]
    );
    let text = stdout(&doctor(&tool, &config, &[]));
    assert!(text.contains("18 of 18 groups"), "{text}");
    assert!(text.contains("two programs with it negotiate X25519MLKEM768, by fastkex"), "{text}");
    assert!(text.contains("X25519MLKEM768, sntrup761, X25519SNTRUP761; key files off"), "{text}");
    assert!(text.ends_with("all is well\n"), "{text}");
    let more = configuration(
        &tool,
        "activate = 1\ngroups = sntrup857:X25519MLKEM768\nkey_files = on",
        ACTIVE,
        GROUPS,
    );
    let text = stdout(&doctor(&tool, &more, &[]));
    assert!(text.contains("X25519MLKEM768, sntrup857; key files on"), "{text}");
    let is_old = text.contains("OpenSSL: OpenSSL 3.0");
    assert_eq!(text.contains("key files slow down every TLS client"), is_old, "{text}");
    // The configuration that `run` composes has no wrong findings either.
    let composed = tool
        .command(&["run", "--", env!("CARGO_BIN_EXE_fastkex"), "doctor", "--json"])
        .output()
        .unwrap();
    assert_eq!(wrong(&composed), Vec::<String>::new());
}

#[test]
fn whose_curves_serve_is_told_with_the_reason() {
    let Some(tool) = Tool::with_openssl() else { return };
    let told = |provider: &str, more: &str| {
        let provider = format!("{ACTIVE}\n{provider}");
        let config = configuration(&tool, &provider, ACTIVE, GROUPS);
        let config = config.replace("ssl_conf = tls\n", &format!("ssl_conf = tls\n{more}"));
        let text = stdout(&doctor(&tool, &config, &[]));
        ["X25519", "Ed25519"].map(|name| {
            let is_it = |line: &&str| line.contains(&format!(" {name}: "));
            let line = text.lines().find(is_it).unwrap_or_else(|| panic!("{name}: {text}"));
            line.to_owned()
        })
    };
    const ASKED: &str =
        "alg_section = algorithms\n[algorithms]\ndefault_properties = ?provider=fastkex\n";
    for line in told("x25519 = on\ned25519 = on", ASKED) {
        assert!(line.starts_with("ok ") && line.contains("fastkex serves, on "), "{line}");
        assert!(line.ends_with("default_properties = ?provider=fastkex chooses it"), "{line}");
    }
    for line in told("x25519 = on\ned25519 = on", "") {
        assert!(line.starts_with("note ") && line.contains(": default serves: "), "{line}");
        assert!(line.contains("'alg_section = evp_properties' in section [init]"), "{line}");
    }
    let [x25519, ed25519] = told("x25519 = off\ned25519 = on", ASKED);
    assert!(x25519.ends_with("default serves: x25519 = off in section [fastkex_sect]"), "{x25519}");
    assert!(ed25519.contains("fastkex serves, on "), "{ed25519}");
    for line in told("backend = portable", ASKED) {
        assert!(line.contains("default serves: it is the faster one with portable"), "{line}");
    }
    let other = ASKED.replace("?provider=fastkex", "?provider=default");
    for line in told("x25519 = on\ned25519 = on", &other) {
        assert!(line.ends_with("says default_properties = ?provider=default"), "{line}");
    }
}

#[test]
fn what_is_wrong_is_named_with_the_line_to_change() {
    let Some(tool) = Tool::with_openssl() else { return };
    let good = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let module = tool.module().to_str().unwrap();
    for (what, config, message, fix) in [
        (
            "default provider inactive",
            good.replace("[default_sect]\nactivate = 1", "[default_sect]"),
            "other providers: the default provider is not active",
            "[default_sect]\nactivate = 1",
        ),
        (
            "module not found",
            good.replace(module, "/no/such/fastkex.so"),
            "there is no module /no/such/fastkex.so",
            module,
        ),
        (
            "not activated",
            good.replace("fastkex.so\nactivate = 1", "fastkex.so\n"),
            "provider: fastkex is listed at",
            "[fastkex_sect]\nactivate = 1",
        ),
        (
            "not listed",
            good.replace("fastkex = fastkex_sect\n", ""),
            "does not list fastkex",
            "fastkex = fastkex_sect",
        ),
        (
            "group that is not offered",
            good.replace(GROUPS, "Groups = X25519MLKEM768:sntrup857"),
            "the module does not offer sntrup857: OpenSSL silently ignores the whole list",
            "[fastkex_sect]\ngroups = X25519MLKEM768:sntrup761:sntrup857:X25519SNTRUP761",
        ),
        (
            "no such group for the module",
            good.replace("fastkex.so\nactivate = 1", "fastkex.so\nactivate = 1\ngroups = sntrup8"),
            "groups = sntrup8: expected all, or some of these, separated by colons",
            "groups",
        ),
        (
            "unknown name",
            good.replace(GROUPS, "Groups = X25519MLKEM768:sntrup762"),
            "unknown sntrup762: OpenSSL silently ignores the whole list",
            "[tls_sect]\nGroups = ",
        ),
        (
            "ours not among the groups",
            good.replace(GROUPS, "Groups = X25519:P-256"),
            "none of ours in 'X25519:P-256'",
            "[tls_sect]\nGroups = ",
        ),
        (
            "no groups",
            good.replace(GROUPS, "MinProtocol = TLSv1.2"),
            "no Groups are set",
            "[tls_sect]\nGroups = ",
        ),
        (
            "ours not first",
            good.replace(GROUPS, "Groups = X25519:X25519MLKEM768"),
            "two programs with it negotiate ",
            "put ours first",
        ),
        (
            "no TLS 1.3",
            good.replace(GROUPS, &format!("{GROUPS}\nMaxProtocol = TLSv1.2")),
            "'MaxProtocol = TLSv1.2': no TLS 1.3, and so none of our groups",
            "[tls_sect]\nMaxProtocol = TLSv1.3",
        ),
        (
            "a bad value",
            good.replace("fastkex.so\nactivate = 1", "fastkex.so\nactivate = 1\nbackend = fast"),
            "backend: unknown backend 'fast'",
            "section [fastkex_sect]",
        ),
        (
            "an unknown key",
            good.replace("fastkex.so\nactivate = 1", "fastkex.so\nactivate = 1\nspeed = 11"),
            "unknown key 'speed' in section [fastkex_sect]",
            "or remove it",
        ),
        (
            "a missing section",
            good.replace("ssl_conf = tls\n", "ssl_conf = none\n"),
            "OpenSSL stops reading",
            "mend ",
        ),
    ] {
        let found = wrong(&doctor(&tool, &config, &["--json"]));
        assert!(
            found.iter().any(|line| line.contains(message) && line.contains(fix)),
            "{what}: {found:#?}"
        );
    }
    let missing = tool
        .command(&["doctor", "--json"])
        .env("OPENSSL_CONF", "/no/such/file.cnf")
        .output()
        .unwrap();
    assert!(wrong(&missing).iter().any(|line| line.contains("/no/such/file.cnf")));
}

/// A client of OpenSSL before 3.5 sends one key share, so its groups are recommended in another
/// order than a server's, with the cost of a wrong guess.
#[test]
fn clients_get_their_own_groups() {
    let Some(tool) = Tool::with_openssl() else { return };
    let start = "openssl_conf = a\n[a]\nproviders = b\n[b]\ndefault = c\n[c]\nactivate = 1\n";
    let list = |arguments: &[&str]| {
        let text = stdout(&doctor(&tool, start, arguments));
        let line = text.lines().find(|line| line.trim().starts_with("Groups = "));
        line.unwrap_or_else(|| panic!("{text}")).trim().to_owned()
    };
    let is_old = stdout(&tool.output(&["doctor"])).contains("OpenSSL: OpenSSL 3.0");
    if !is_old {
        assert_eq!(list(&["--role", "client"]), "Groups = DEFAULT");
        return;
    }
    assert!(list(&[]).starts_with("Groups = X25519MLKEM768:X25519:P-256:"));
    assert_eq!(list(&[]), list(&["--role", "server"]));
    assert!(list(&["--role", "client"]).starts_with("Groups = X25519:X25519MLKEM768:P-256:"));

    for (groups, expected) in [
        ("Groups = X25519:X25519MLKEM768", "'X25519:X25519MLKEM768': the server decides"),
        ("Groups = X25519MLKEM768:X25519", "clients send a key share of X25519MLKEM768"),
    ] {
        let config = configuration(&tool, ACTIVE, ACTIVE, groups);
        let output = doctor(&tool, &config, &["--role", "client"]);
        let text = stdout(&output);
        assert!(output.status.success() && text.contains(expected), "{text}");
        assert!(text.contains("165 ms instead of 123 ms"), "{text}");
    }
}

/// The module ignores keys that it does not know, so only `doctor` can report them.
#[test]
fn unknown_keys_are_reported_with_the_nearest_known_one() {
    let Some(tool) = Tool::with_openssl() else { return };
    let section = "activate = 1\nbatch = 16\nbacth = 32\ncode_points.sntrup671 = 0xFE00\n\
                   more = more_section\n[more_section]\ninner = 1\n[fastkex_sect]\npool = on";
    let config = configuration(&tool, section, ACTIVE, GROUPS);
    let output = doctor(&tool, &config, &["--json"]);
    let file = tool.path("openssl.cnf").display().to_string();
    let line = |text: &str| 1 + config.lines().position(|line| line == text).unwrap();
    let found = wrong(&output);
    assert_eq!(found.len(), 3, "{found:#?}");
    for (found, (text, key, nearest)) in found.iter().zip([
        ("bacth = 32", "bacth", "batch ("),
        ("code_points.sntrup671 = 0xFE00", "code_points.sntrup671", "code_points.sntrup761 ("),
        // No key resembles this one.
        ("inner = 1", "more.inner", ""),
    ]) {
        let expected = format!(
            "keys: {file}:{}: unknown key '{key}' in section [fastkex_sect], which the module \
             ignores / rename it to {nearest}",
            line(text)
        );
        assert!(found.starts_with(&expected), "{found}: {expected}");
    }
    let text = stdout(&output);
    assert!(text.contains("active, listed at"), "{text}");
}

/// Debian's own configuration lists no providers. The lines to add correct it.
#[test]
fn the_lines_to_add_do_it() {
    let Some(tool) = Tool::with_openssl() else { return };
    for start in [
        "",
        "openssl_conf = openssl_init\n[openssl_init]\n[ca]\nx = 1\n",
        "openssl_conf = a\n[a]\nproviders = b\n[b]\ndefault = c\n[c]\nactivate = 1\n",
        "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMinProtocol = TLSv1.2\n",
    ] {
        let output = doctor(&tool, start, &["--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let fix =
            findings.iter().find(|f| f["check"] == "provider").unwrap()["fix"].as_str().unwrap();
        let lines = fix.split_once(":\n").unwrap().1;
        // Lines before the first section go first, the others last.
        let (first, last) = lines.split_at(lines.find('[').unwrap());
        let mended = format!("{first}{start}{last}");
        let found = wrong(&doctor(&tool, &mended, &["--json"]));
        assert!(found.is_empty(), "{mended}: {found:#?}");
    }
}

/// Copies the system's program `openssl` to a path below a root: a program with the system's
/// libssl.
fn copy_program(tool: &Tool, to: &str) {
    let (program, libssl) = stock_program_and_libssl("openssl");
    let name = libssl.file_name().unwrap().to_str().unwrap().to_owned();
    let root = to.split('/').next().unwrap();
    for (from, to) in [(program, to.to_owned()), (libssl, format!("{root}/usr/lib/{name}"))] {
        let to = tool.path(&to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

/// The text of a stock nginx's main file.
const NGINX: &str =
    "events {}\nhttp {\nssl_protocols TLSv1.2 TLSv1.3;\ninclude conf.d/*.conf;\n}\n";

#[test]
fn applications_that_override_are_found() {
    let Some(tool) = Tool::with_openssl() else { return };
    let good = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let conf = tool.path("openssl.cnf").display().to_string();
    for (application, program, files, expected) in [
        (
            "nginx",
            "usr/sbin/nginx",
            vec![
                ("etc/nginx/nginx.conf", NGINX),
                // The second server is not the socket's default server.
                (
                    "etc/nginx/conf.d/a.conf",
                    "server { listen 443 ssl; ssl_ecdh_curve X25519:P-256; }\n\
                     server { listen 443 ssl; ssl_ecdh_curve X25519MLKEM768; }\n\
                     server { listen 444 ssl; ssl_ecdh_curve sntrup762:X25519; }\n\
                     server { listen 445 ssl; ssl_conf_command Groups sntrup857:X25519; }\n",
                ),
            ],
            vec![
                "listen *:443: 'ssl_ecdh_curve X25519:P-256;' at ",
                "a.conf:1\nssl_ecdh_curve X25519MLKEM768:X25519:P-256;",
                "listen *:444: 'ssl_ecdh_curve sntrup762:X25519;' at ",
                "names what OpenSSL does not know: sntrup762",
                "a.conf:3\nssl_ecdh_curve X25519MLKEM768:X25519;",
                "a.conf:4\nssl_conf_command Groups sntrup857:X25519MLKEM768:X25519;\n\
                 [fastkex_sect]\ngroups = X25519MLKEM768:sntrup761:sntrup857:X25519SNTRUP761",
                "OPENSSL_CONF is set here, but not for it / fastkex enable --service nginx; or by hand:\n\
                 systemctl edit nginx\n",
            ],
        ),
        (
            "apache2",
            "usr/sbin/apache2",
            vec![(
                "etc/apache2/apache2.conf",
                "<VirtualHost *:443>\nSSLEngine on\nSSLOpenSSLConfCmd Groups P-256\n</VirtualHost>\n",
            )],
            vec!["SSLOpenSSLConfCmd Groups X25519MLKEM768:P-256", "\nexport OPENSSL_CONF="],
        ),
        (
            "stunnel",
            "usr/bin/stunnel4",
            vec![("etc/stunnel/a.conf", "[a]\naccept = 1\n")],
            vec!["a.conf:1\ncurves = X25519MLKEM768:X25519:P-256"],
        ),
        (
            "haproxy",
            "usr/sbin/haproxy",
            vec![(
                "etc/haproxy/haproxy.cfg",
                "frontend f\n  bind :443 ssl crt x curves P-256\n  bind :444 ssl crt x no-tlsv13\n",
            )],
            vec![
                "haproxy.cfg:2\nbind :443 ssl crt x curves X25519MLKEM768:P-256",
                "bind :444 at ",
                "no TLS 1.3",
            ],
        ),
        ("unbound", "usr/sbin/unbound", vec![], vec!["/etc/default/unbound\nOPENSSL_CONF="]),
        (
            "curl",
            "usr/bin/curl",
            vec![("root/.curlrc", "curves = X25519\n")],
            vec!["root/.curlrc:1", "curves = X25519:X25519MLKEM768"],
        ),
        (
            "postgresql",
            "usr/lib/postgresql/15/bin/postgres",
            vec![("etc/postgresql/15/main/postgresql.conf", "ssl = on\n")],
            vec!["sets its own default groups", "ssl_groups = 'X25519MLKEM768:X25519:P-256'"],
        ),
    ] {
        let root = format!("root-{application}");
        for module in [program, "usr/lib/apache2/modules/mod_ssl.so"] {
            copy_program(&tool, &format!("{root}/{module}"));
        }
        for (name, text) in files {
            tool.write(&format!("{root}/{name}"), text);
        }
        let root = tool.path(&root);
        let arguments = ["--json", "--app", application, "--root", root.to_str().unwrap()];
        let output = doctor(&tool, &good, &arguments);
        let found = wrong(&output);
        for expected in expected {
            // From 3.5 on a client's first group is not its only guess.
            let new = expected.replace("X25519:X25519MLKEM768", "X25519MLKEM768:X25519");
            let is_there = found.iter().any(|line| line.contains(expected) || line.contains(&new));
            assert!(is_there, "{application}: {expected}: {found:#?}");
        }
        if application == "nginx" {
            let text = stdout(&output);
            assert!(
                text.contains("has no effect: connections to *:443 have the groups of its"),
                "{text}"
            );
        }
    }

    // Correct settings are reported too: the service reads the configuration, and the groups are
    // named.
    let root = tool.path("right");
    copy_program(&tool, "right/usr/sbin/haproxy");
    tool.write("right/etc/default/haproxy", &format!("OPENSSL_CONF={conf}\n"));
    tool.write(
        "right/etc/haproxy/haproxy.cfg",
        "global\n  ssl-default-bind-curves X25519SNTRUP761:X25519\nfrontend f\n  bind :1 ssl crt x\n",
    );
    let arguments = ["--app", "haproxy", "--root", root.to_str().unwrap()];
    let text = stdout(&doctor(&tool, &good, &arguments));
    assert!(text.contains(&format!("the service reads {conf}")), "{text}");
    assert!(
        text.contains("bind :1 at ")
            && text.contains("'ssl-default-bind-curves X25519SNTRUP761:X25519' at "),
        "{text}"
    );
    assert!(text.contains("without X25519MLKEM768, so browsers get none of our groups"), "{text}");

    // A service that starts as another user must be able to read the configuration.
    copy_program(&tool, "redis/usr/bin/redis-server");
    tool.write("redis/lib/systemd/system/redis-server.service", "");
    if common::is_root() {
        let path = tool.write("openssl.cnf", &good);
        let root = tool.path("redis");
        let told = |mode: u32| {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let arguments = ["--json", "--app", "redis", "--root", root.to_str().unwrap()];
            wrong(&doctor(&tool, &good, &arguments))
                .iter()
                .any(|line| line.contains("starts as user redis, who may not read "))
        };
        assert!(told(0o600) && !told(0o644));
    }
    // A unit reads the file that it names, and this file replaces what a drop-in sets.
    {
        let root = tool.path("redis");
        tool.write("redis/etc/default/redis-server", "OPENSSL_CONF=/default.cnf\n");
        tool.write(
            "redis/etc/systemd/system/redis-server.service.d/a.conf",
            "[Service]\nEnvironment=\"OPENSSL_CONF=/drop-in.cnf\"\n",
        );
        tool.write(
            "redis/etc/systemd/system/redis-server.service.d/z.conf.old",
            "[Service]\nEnvironment=OPENSSL_CONF=/old.cnf\n",
        );
        for (unit, expected) in [
            ("[Service]\n", "reads /drop-in.cnf, not "),
            ("[Service]\nEnvironmentFile=-/etc/default/redis-server\n", "reads /default.cnf, not "),
        ] {
            tool.write("redis/lib/systemd/system/redis-server.service", unit);
            let arguments = ["--json", "--app", "redis", "--root", root.to_str().unwrap()];
            let found = wrong(&doctor(&tool, &good, &arguments));
            assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {found:#?}");
        }
    }

    let empty = tool.path("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let arguments = ["--json", "--app", "stunnel", "--root", empty.to_str().unwrap()];
    let found = wrong(&doctor(&tool, &good, &arguments));
    assert!(found.iter().any(|line| line.contains("apt-get install stunnel4")), "{found:#?}");
}

/// If stunnel has a property query of its own, the doctor finds it in the program.
#[test]
fn a_query_of_an_applications_own_is_told() {
    let Some(tool) = Tool::with_openssl() else { return };
    let root = tool.path("root");
    let told = |program: &str, properties: &str| {
        tool.write("root/usr/bin/stunnel4", program);
        let config =
            configuration(&tool, "activate = 1\nx25519 = on\ned25519 = on", ACTIVE, GROUPS);
        let asked = format!(
            "ssl_conf = tls\nalg_section = algorithms\n[algorithms]\ndefault_properties = {properties}\n[init]\n"
        );
        let config = config.replace("ssl_conf = tls\n", &asked);
        stdout(&doctor(&tool, &config, &["--app", "stunnel", "--root", root.to_str().unwrap()]))
    };
    const OURS: &str = "?provider=fastkex";
    let text = told("before\0provider!=fips\0after", OURS);
    for name in ["X25519", "ED25519"] {
        let message =
            format!("default_properties: {name} is served by default, not fastkex; the groups");
        assert!(text.contains(&message), "{text}");
    }
    for text in [told("another release", OURS), told("provider!=fips", "?provider=default")] {
        assert!(!text.contains("is served by"), "{text}");
    }
}

/// Variables for tests of the module do not change the report about a configuration.
#[test]
fn the_backend_is_the_configurations() {
    let Some(tool) = Tool::with_openssl() else { return };
    let properties =
        "alg_section = algorithms\n[algorithms]\ndefault_properties = ?provider=fastkex\n[init]\n";
    let config = configuration(&tool, "activate = 1\nx25519 = on", ACTIVE, GROUPS)
        .replace("ssl_conf = tls\n", &format!("ssl_conf = tls\n{properties}"));
    let path = tool.write("openssl.cnf", &config);
    let told = |variable: Option<&str>| {
        let mut command = tool.command(&["doctor"]);
        command.env("OPENSSL_CONF", &path).envs(variable.map(|value| ("FASTKEX_BACKEND", value)));
        let text = stdout(&command.output().unwrap());
        let line = text.lines().find(|line| line.contains(" X25519: ")).unwrap().to_owned();
        assert!(line.contains("fastkex serves, on "), "{line}");
        line
    };
    if told(None).contains("on portable") {
        artifacts::skipped("this machine has no backend but portable");
        return;
    }
    assert_eq!(told(Some("portable")), told(None));
}

/// Returns the finding about the application's libssl.
fn libssl_finding(tool: &Tool, application: &str, root: &Path) -> Value {
    let config = configuration(tool, ACTIVE, ACTIVE, GROUPS);
    let arguments = ["--json", "--app", application, "--root", root.to_str().unwrap()];
    let output = doctor(tool, &config, &arguments);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["check"] == application);
    finding.unwrap_or_else(|| panic!("{}", stdout(&output))).clone()
}

/// Returns the system's program of this name, and its libssl.
fn stock_program_and_libssl(name: &str) -> (PathBuf, PathBuf) {
    let folders = std::env::var_os("PATH").unwrap();
    let mut programs = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let program = programs.find(|path| path.is_file()).unwrap().canonicalize().unwrap();
    let text = stdout(&Command::new("ldd").arg(&program).output().unwrap());
    let line = text.lines().find(|line| line.contains("libssl.so")).unwrap();
    let libssl = line.split_once(" => ").unwrap().1.split(" (").next().unwrap();
    (program, Path::new(libssl).canonicalize().unwrap())
}

/// Files below a root are read and resolved there: links do not lead out of the root.
#[test]
fn the_libssl_below_a_root_is_found() {
    let Some(tool) = Tool::with_openssl() else { return };
    let (program, libssl) = stock_program_and_libssl("openssl");
    let name = libssl.file_name().unwrap().to_str().unwrap();
    let root = tool.path("root");
    let copy = |from: &Path, to: &str| {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    let finding = || libssl_finding(&tool, "haproxy", &root);
    let assert_found = |status: &str, expected: &str| {
        let finding = finding();
        assert_eq!(finding["status"], status, "{finding}");
        assert!(finding["message"].as_str().unwrap().contains(expected), "{finding}");
    };

    copy(&program, "usr/sbin/haproxy");
    assert_found("wrong", &format!("needs {name}, which is not there below"));
    // A link to the system's libssl is resolved below the root, where this file does not exist.
    std::fs::create_dir_all(root.join("lib64")).unwrap();
    symlink(&libssl, root.join("lib64").join(name)).unwrap();
    assert_found("wrong", &format!("needs {name}, which is not there below"));
    std::fs::remove_file(root.join("lib64").join(name)).unwrap();
    // The loader searches each of these folders before the previous one.
    for (file, folder) in
        [(&libssl, "usr/lib"), (&libssl, "usr/lib/some-linux-gnu"), (&libssl, "opt/openssl/lib")]
    {
        if folder.starts_with("opt") {
            tool.write("root/etc/ld.so.conf.d/openssl.conf", "# ours\n/opt/openssl/lib # here\n");
        }
        copy(file, &format!("{folder}/{name}"));
        assert_found("ok", &format!("uses {}/{folder}/{name}", root.display()));
    }
    // Another build is reported. A file for another kind of machine is skipped, and the next one is
    // used.
    let mut other = std::fs::read(&libssl).unwrap();
    other.push(0);
    std::fs::write(root.join("opt/openssl/lib").join(name), &other).unwrap();
    assert_found("wrong", "its configuration and version may differ");
    other[18] ^= 0xff;
    std::fs::write(root.join("opt/openssl/lib").join(name), &other).unwrap();
    assert_found("ok", &format!("uses {}/usr/lib/some-linux-gnu/{name}", root.display()));

    // These are not programs: a text, the beginning of a program, and a pipe without a writer. A
    // configuration file is a pipe too.
    let program_bytes = std::fs::read(&program).unwrap();
    tool.write("root/usr/sbin/haproxy", "#!/bin/sh\n");
    assert_found("wrong", "usr/sbin/haproxy: no ELF file");
    for bytes in [20, 64, 1000, program_bytes.len() / 2] {
        std::fs::write(root.join("usr/sbin/haproxy"), &program_bytes[..bytes]).unwrap();
        assert_eq!(finding()["status"], "wrong", "{bytes} bytes");
    }
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    std::fs::create_dir_all(root.join("etc/haproxy")).unwrap();
    pipe(&root.join("etc/haproxy/pipe.cfg"));
    std::fs::remove_file(root.join("usr/sbin/haproxy")).unwrap();
    pipe(&root.join("usr/sbin/haproxy"));
    assert_found("wrong", "no regular file");
}

/// A program can have its own interpreter. A loader that is asked about the program may execute
/// this interpreter.
#[test]
fn nothing_below_a_root_is_executed() {
    let Some(tool) = Tool::with_openssl() else { return };
    const STOCK: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
    let (program, libssl) = stock_program_and_libssl("openssl");
    let mut bytes = std::fs::read(&program).unwrap();
    let place = bytes.windows(STOCK.len()).position(|window| window == STOCK);
    let interpreter = tool.path("i");
    let path = interpreter.to_str().unwrap().as_bytes();
    let trace = tool.path("trace");
    let source = tool.write(
        "i.c",
        &format!(
            "static long call(long n, long a, long b, long c) {{ long r; __asm__ volatile (\"syscall\" \
             : \"=a\"(r) : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\"); return r; }}\n\
             void _start(void) {{ call(2, (long)\"{}\", 0101, 0600); call(60, 0, 0, 0); }}\n",
            trace.display()
        ),
    );
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-nostdlib", "-static", "-fno-stack-protector", "-o"]);
    let compiled = compiler.arg(&interpreter).arg(&source).status();
    let (Some(place), true) = (place, path.len() < STOCK.len()) else {
        artifacts::skipped("no interpreter of a program can be replaced (x86-64, a short TMPDIR)");
        return;
    };
    if !compiled.is_ok_and(|status| status.success()) {
        artifacts::skipped("no C compiler (apt-get install gcc)");
        return;
    }
    bytes[place..place + STOCK.len()].fill(0);
    bytes[place..place + path.len()].copy_from_slice(path);
    let root = tool.path("root");
    let hostile = tool.write("root/usr/sbin/haproxy", "");
    std::fs::write(&hostile, bytes).unwrap();
    let ldd = tool.write("bin/ldd", &format!("#!/bin/sh\ntouch {}\n", trace.display()));
    for path in [&hostile, &ldd] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        // The program leaves a trace when it is executed.
        assert!(Command::new(path).status().unwrap().success());
        std::fs::remove_file(&trace).unwrap();
    }

    std::fs::create_dir_all(root.join("usr/lib")).unwrap();
    std::fs::copy(&libssl, root.join("usr/lib").join(libssl.file_name().unwrap())).unwrap();
    let mut path = ldd.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let config = tool.write("openssl.cnf", &configuration(&tool, ACTIVE, ACTIVE, GROUPS));
    let output = tool
        .command(&["doctor", "--app", "haproxy", "--root", root.to_str().unwrap()])
        .env("OPENSSL_CONF", config)
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(!trace.exists(), "{}", stdout(&output));
    assert!(stdout(&output).contains("haproxy: uses "), "{}", stdout(&output));
}

/// Lines of files may contain characters that control a terminal.
#[test]
fn control_characters_are_escaped() {
    let Some(tool) = Tool::with_openssl() else { return };
    copy_program(&tool, "root/usr/sbin/nginx");
    tool.write("root/etc/nginx/nginx.conf", NGINX);
    tool.write(
        "root/etc/nginx/conf.d/a\x1b[2J.conf",
        "server { listen 443 ssl; ssl_ecdh_curve X25519\x1b[2J\u{9b}2J; }\n",
    );
    let root = tool.path("root");
    let config = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let text =
        stdout(&doctor(&tool, &config, &["--app", "nginx", "--root", root.to_str().unwrap()]));
    assert!(text.contains(r"'ssl_ecdh_curve X25519\u{1b}[2J\u{9b}2J;' at "), "{text}");
    assert!(text.contains(r"a\u{1b}[2J.conf:1"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn unknown_applications_are_refused() {
    let tool = Tool::new();
    let root = tool.path("root");
    std::fs::create_dir_all(&root).unwrap();
    let root = root.to_str().unwrap();
    for name in ["no-such-program", "/no/such/program", "../nginx"] {
        let output = tool.output(&["doctor", "--app", name, "--root", root]);
        common::assert_refused(&output, &format!("--app {name}: no such program below"));
    }
    let output = tool.output(&["doctor", "--app", "no-such-program", "--root", root]);
    common::assert_refused(&output, "or one of nginx, apache2, stunnel, haproxy, unbound, curl, ");
    let output = tool.output(&["doctor", "--app", "nginx", "--root", "/no/such/folder"]);
    common::assert_refused(&output, "/no/such/folder: No such file");
}

/// OpenSSL takes `groups = all` for the name of a section, if there is one.
#[test]
fn a_section_with_the_name_of_a_value_is_found() {
    let Some(tool) = Tool::with_openssl() else { return };
    let config = configuration(&tool, "activate = 1\ngroups = all", ACTIVE, GROUPS);
    assert_eq!(wrong(&doctor(&tool, &config, &["--json"])), Vec::<String>::new());
    let config = format!("{config}[all]\nX = 1\n");
    let found = wrong(&doctor(&tool, &config, &["--json"]));
    let expected = "there is a section [all], so OpenSSL takes 'groups = all' for its settings";
    assert!(found.len() == 1 && found[0].contains(expected), "{found:#?}");
    assert!(found[0].contains("rename the section [all]"), "{found:#?}");
}

/// Programs with another TLS library are told apart: the module cannot serve them.
#[test]
fn programs_with_another_library_are_told_apart() {
    let Some(tool) = Tool::with_openssl() else { return };
    tool.write("root/usr/bin/program", "");
    tool.write("root/usr/bin/script", "#!/usr/bin/env -S sh -e\nwget x\n");
    tool.write("root/bin/sh", "");
    let (program, _) = stock_program_and_libssl("openssl");
    let mut bytes = std::fs::read(program).unwrap();
    // In a copy of the program the name of the library that it needs is another.
    let name = bytes.windows(9).position(|window| window == b"libssl.so").unwrap();
    let end = name + bytes[name..].iter().position(|&byte| byte == 0).unwrap();
    assert!(end - name >= 10);
    bytes[name..end].fill(0);
    bytes[name..name + 10].copy_from_slice(b"libssl3.so");
    std::fs::write(tool.path("root/usr/bin/program"), &bytes).unwrap();
    let root = tool.path("root");
    let config = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let told = |name: &str| {
        let arguments = ["--app", name, "--root", root.to_str().unwrap()];
        stdout(&doctor(&tool, &config, &arguments))
    };
    let text = told("program");
    assert!(
        text.contains("uses NSS (libssl3.so): OpenSSL's configuration and the module"),
        "{text}"
    );
    // A program that opens libssl while it runs.
    bytes[name..name + 10].copy_from_slice(b"nothing.so");
    bytes.extend(b"\0libssl.so.3\0");
    std::fs::write(tool.path("root/usr/bin/opener"), &bytes).unwrap();
    assert!(told("opener").contains("opener shows no sign of a TLS library"));
    let (_, libssl) = stock_program_and_libssl("openssl");
    std::fs::create_dir_all(tool.path("root/usr/lib")).unwrap();
    std::fs::copy(&libssl, tool.path("root/usr/lib/libssl.so.3")).unwrap();
    let text = told("opener");
    let expected = format!("uses {}/usr/lib/libssl.so.3", root.display());
    assert!(text.contains(&expected), "{text}");
    let text = told("/usr/bin/script");
    assert!(text.contains("/usr/bin/script is a script, which starts other programs"), "{text}");
}

/// A process of this test, ended with it.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts `openssl s_server` with a configuration, and waits until it has read it.
fn server(tool: &Tool, config: &Path, libraries: Option<&Path>) -> Running {
    use std::io::{BufRead, BufReader};
    let key = tool.path("key.pem");
    if !key.exists() {
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
            ])
            .args(["-subj", "/CN=localhost", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(tool.path("cert.pem"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let mut command = Command::new("openssl");
    command
        .args(["s_server", "-accept", "127.0.0.1:0", "-key"])
        .arg(&key)
        .arg("-cert")
        .arg(tool.path("cert.pem"))
        .env("OPENSSL_CONF", config)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let running = Running(child);
    let is_ready = lines.map_while(Result::ok).any(|line| line.starts_with("ACCEPT"));
    assert!(is_ready);
    running
}

#[test]
fn a_running_process_is_examined() {
    let Some(tool) = Tool::with_openssl() else { return };
    let with = tool.write("with.cnf", &configuration(&tool, ACTIVE, ACTIVE, GROUPS));
    let without = tool.write("without.cnf", "openssl_conf = init\n[init]\n");
    let libraries = tool.path("libraries");
    std::fs::create_dir_all(&libraries).unwrap();
    let (_, libssl) = stock_program_and_libssl("openssl");
    let copy = libraries.join(libssl.file_name().unwrap());
    std::fs::copy(&libssl, &copy).unwrap();
    let config = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let told = |running: &Running| {
        stdout(&doctor(&tool, &config, &["--pid", &running.0.id().to_string()]))
    };

    // The configuration must be older than the process, which counts in seconds.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let good = server(&tool, &with, None);
    let text = told(&good);
    assert!(text.contains("has loaded ") && text.ends_with("all is well\n"), "{text}");
    assert!(text.contains("OPENSSL_CONF in its environment at its start"), "{text}");
    std::thread::sleep(std::time::Duration::from_secs(2));
    tool.write("with.cnf", &config);
    let text = told(&good);
    assert!(text.contains("with.cnf has changed since it started"), "{text}");
    drop(good);

    let bad = server(&tool, &without, Some(&libraries));
    std::fs::remove_file(&copy).unwrap();
    let text = told(&bad);
    assert!(text.contains("has not loaded the module: its configuration "), "{text}");
    assert!(text.contains("does not activate it"), "{text}");
    let shown = copy.display();
    let expected = format!("{shown} has been replaced or deleted since it started");
    assert!(text.contains(&expected), "{expected}: {text}");

    let sleep = Running(Command::new("sleep").arg("100").spawn().unwrap());
    let text = told(&sleep);
    assert!(text.contains("has no TLS library mapped"), "{text}");
    let missing = doctor(&tool, &config, &["--pid", "4194305"]);
    common::assert_refused(&missing, "no process 4194305");
    // The kernel's threads have no program.
    let kernel = doctor(&tool, &config, &["--pid", "2"]);
    assert_eq!(kernel.status.code(), Some(2), "{}", stdout(&kernel));
}

/// Returns the lists of groups in the lines of a fix.
fn proposed_lists(fix: &str) -> Vec<String> {
    const KEYS: [&str; 6] =
        ["Groups", "groups", "curves", "ssl_ecdh_curve", "ssl-default-bind-curves", "ssl_groups"];
    let mut lists = Vec::new();
    for line in fix.lines() {
        let words: Vec<_> =
            line.split([' ', ';', '=', '\'']).filter(|word| !word.is_empty()).collect();
        let pairs = words.windows(2).filter(|pair| KEYS.contains(&pair[0]));
        lists.extend(pairs.map(|pair| pair[1].to_owned()));
    }
    lists
}

/// Whatever list there is, the one that is proposed in its place has X25519MLKEM768.
#[test]
fn no_fix_removes_the_group_of_browsers() {
    let Some(tool) = Tool::with_openssl() else { return };
    copy_program(&tool, "root/usr/sbin/haproxy");
    let root = tool.path("root");
    let mut proposed = 0;
    for list in [
        "X25519MLKEM768:sntrup762:X25519",
        "sntrup857:X25519MLKEM768:P-257",
        "X25519:X25519MLKEM768:P-256",
        "X25519SNTRUP761:P-257:X25519",
        "P-256",
        "DEFAULT:-X25519MLKEM768",
        "X25519MLKEM768::",
    ] {
        tool.write(
            "root/etc/haproxy/haproxy.cfg",
            &format!("frontend f\n  bind :1 ssl crt x curves {list}\n  server s x:443 ssl curves {list}\n"),
        );
        let config = configuration(&tool, ACTIVE, ACTIVE, &format!("Groups = {list}"));
        for role in ["server", "client"] {
            let arguments =
                ["--json", "--role", role, "--app", "haproxy", "--root", root.to_str().unwrap()];
            for line in wrong(&doctor(&tool, &config, &arguments)) {
                let (_, fix) = line.split_once(" / ").unwrap();
                for new in proposed_lists(fix) {
                    proposed += 1;
                    let has_it = new.contains("X25519MLKEM768") && !new.contains("-X25519MLKEM768");
                    assert!(has_it || new == "DEFAULT", "{list}: {new}: {line}");
                    for kept in ["X25519SNTRUP761", "sntrup857"] {
                        let is_kept = !list.contains(kept) || new.contains(kept);
                        assert!(is_kept, "{list}: {new}: {line}");
                    }
                }
            }
        }
    }
    assert!(proposed > 20, "{proposed}");
}

/// Stock nginx negotiates the group that the doctor says is effective.
#[test]
fn nginx_takes_what_the_doctor_says() {
    let Some(tool) = Tool::with_openssl() else { return };
    if Command::new("nginx").arg("-v").output().is_err() {
        artifacts::skipped("no nginx (apt-get install nginx)");
        return;
    }
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let plain = tool.write("plain.cnf", "openssl_conf = init\n[init]\n");
    // Makes key and certificate.
    drop(server(&tool, &plain, None));
    let folder = tool.folder.path().display();
    let text = format!(
        "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;\nevents {{}}\n\
         http {{ access_log off; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;\n\
         ssl_protocols TLSv1.2 TLSv1.3; ssl_ecdh_curve P-521;\n\
         server {{ listen 127.0.0.1:{port} ssl; server_name a.test; ssl_ecdh_curve P-384; }}\n\
         server {{ listen 127.0.0.1:{port} ssl; server_name b.test; ssl_ecdh_curve X25519; }} }}\n"
    );
    let path = tool.write("root/etc/nginx/nginx.conf", &text);
    let nginx = Command::new("nginx").arg("-c").arg(&path).env("OPENSSL_CONF", &plain).spawn();
    let _nginx = Running(nginx.unwrap());
    let connects = || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    };
    assert!((0..100).any(|_| connects()), "nginx does not listen on {port}");
    for name in ["a.test", "b.test"] {
        let output = Command::new("openssl")
            .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-servername", name])
            .args(["-groups", "X25519:P-521:P-384"])
            .env("OPENSSL_CONF", &plain)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = stdout(&output);
        assert!(text.contains("secp384r1"), "{name}: {text}");
    }
    copy_program(&tool, "root/usr/sbin/nginx");
    let config = configuration(&tool, ACTIVE, ACTIVE, GROUPS);
    let root = tool.path("root");
    let text =
        stdout(&doctor(&tool, &config, &["--app", "nginx", "--root", root.to_str().unwrap()]));
    let effective = format!("listen 127.0.0.1:{port}: 'ssl_ecdh_curve P-384;' at ");
    assert!(text.contains(&effective), "{text}");
    for idle in
        ["'ssl_ecdh_curve P-521;' has no effect: ", "'ssl_ecdh_curve X25519;' has no effect: "]
    {
        assert!(text.contains(idle), "{idle}: {text}");
    }
}
