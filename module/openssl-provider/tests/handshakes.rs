//! Counts of handshakes by group, in a C program with connections of all kinds: what is counted,
//! and that the application's callbacks do not notice.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::c::{self, Program};
use keypool::{Handshakes, NegotiatedGroup, Role, Watch, read_page};
use openssl_runtime::Libraries;

/// The program, and configurations in its folder.
struct Scenes {
    program: Program,
    libraries: Libraries,
}

impl Scenes {
    /// `None`, with a line that says so, if something is missing.
    fn new() -> Option<Self> {
        let libraries = common::libraries()?;
        let libssl = libraries.libssl_path().display().to_string();
        let program = c::compile_with("handshakes", &[&libssl])?;
        let separate = common::configuration("activate = 1\nstatistics = on", "");
        fs::write(program.folder.path().join("separate.cnf"), separate).unwrap();
        Some(Scenes { program, libraries })
    }

    fn folder(&self) -> &Path {
        self.program.folder.path()
    }

    /// A command that runs a scene, with these words before it.
    fn command(&self, before: &[&str], scene: &str) -> Command {
        let program = self.program.path.to_str().unwrap();
        let words = [before, &[program, scene]].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg(self.folder())
            .env("SEPARATE_CONF", self.folder().join("separate.cnf"))
            .env("OPENSSL_CONF", "/dev/null");
        command
    }

    /// Runs a scene with the module in the default context.
    fn run(&self, scene: &str, statistics: &str) -> Output {
        let configuration = self.program.configure(&format!("statistics = {statistics}"));
        checked(self.command(&[], scene).env("OPENSSL_CONF", configuration))
    }

    fn counts(&self, page: &str) -> Handshakes {
        read_page(&fs::read(self.folder().join(page)).unwrap()).unwrap().handshakes
    }

    /// Whether libssl has objects that do not say that they are for QUIC.
    fn has_untyped_objects(&self) -> bool {
        let version = self.libraries.version();
        (version.major, version.minor) >= (3, 5)
    }
}

fn checked(command: &mut Command) -> Output {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
    ran
}

/// The counts that are not zero: name, of clients, of servers.
fn named(counts: &Handshakes) -> Vec<(&'static str, u64, u64)> {
    let of = |group: NegotiatedGroup| {
        let [client, server] = Role::ALL.map(|role| counts.get(group, role));
        (group.name(), client, server)
    };
    NegotiatedGroup::all().map(of).filter(|(_, client, server)| client + server > 0).collect()
}

#[test]
fn each_handshake_is_counted_once() {
    let Some(scenes) = Scenes::new() else { return };
    scenes.run("kinds", "on");
    let counts = scenes.counts("page");
    assert_eq!(counts.watch, Watch::On);
    let mut names = named(&counts);
    names.sort_unstable();
    let expected = [
        ("P-256", 1, 1),
        // Once in TLS 1.3, twice in 1.2.
        ("P-384", 3, 3),
        ("P-521", 1, 1),
        ("X25519", 3, 3),
        ("X25519MLKEM768", 3, 3),
        ("X448", 1, 1),
        ("ffdhe2048", 1, 1),
        // RSA key exchange, and a resumption in TLS 1.2.
        ("none", 2, 2),
        ("sntrup761", 1, 1),
    ];
    assert_eq!(names, expected);
}

/// The application's callbacks are called with the same events, in the same order, as without the
/// counts; one on the connection replaces ours.
#[test]
fn the_applications_callbacks_notice_nothing() {
    let Some(scenes) = Scenes::new() else { return };
    for scene in ["kinds", "callbacks"] {
        let without = scenes.run(scene, "off").stdout;
        let with = scenes.run(scene, "on").stdout;
        assert!(with.len() > 1000, "{}", String::from_utf8_lossy(&with));
        assert_eq!(String::from_utf8_lossy(&with), String::from_utf8_lossy(&without), "{scene}");
    }
    // Six connections; in one of them the client has a callback of its own.
    assert_eq!(named(&scenes.counts("page")), [("X25519", 5, 6)]);
}

#[test]
fn a_child_counts_its_own() {
    let Some(scenes) = Scenes::new() else { return };
    scenes.run("forks", "on");
    for (page, handshakes) in [("page", 2), ("child", 1)] {
        let counts = scenes.counts(page);
        assert_eq!(named(&counts), [("X25519", handshakes, handshakes)]);
        assert_eq!(counts.connections, 2 * handshakes);
    }
}

#[test]
fn counts_end_with_the_last_load_and_go_on_with_the_next() {
    let Some(scenes) = Scenes::new() else { return };
    checked(&mut scenes.command(&[], "unloads"));
    assert_eq!(named(&scenes.counts("page")), [("X25519", 21, 21)]);
}

#[test]
fn nothing_is_counted_where_an_object_could_be_of_quic() {
    let Some(scenes) = Scenes::new() else { return };
    let untyped = scenes.has_untyped_objects();
    checked(&mut scenes.command(&[], "late"));
    let late = scenes.counts("page");
    let expected = if untyped { (Watch::Late, 0) } else { (Watch::On, 1) };
    let x25519 = NegotiatedGroup::all().find(|group| group.name() == "X25519").unwrap();
    assert_eq!((late.watch, late.get(x25519, Role::Client)), expected);

    scenes.run("quic", "on");
    let quic = scenes.counts("page");
    let expected = if untyped { (Watch::Quic, 1) } else { (Watch::On, 2) };
    assert_eq!((quic.watch, quic.get(x25519, Role::Client)), expected);
}

/// Under valgrind no object of libssl is written beyond its end, and after the module is unloaded
/// nothing of it is used that was freed.
#[test]
fn no_memory_is_used_wrongly() {
    if !c::there("valgrind") {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    let Some(scenes) = Scenes::new() else { return };
    // Valgrind takes long for vectors of doubles.
    let configuration = scenes.program.configure("statistics = on\nbackend = portable");
    let leaks = "definite,indirect,possible";
    for (scene, configuration) in [
        ("quic", &*configuration),
        ("callbacks", &*configuration),
        ("unloads", "/dev/null".as_ref()),
    ] {
        let valgrind = [
            "valgrind",
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            &format!("--show-leak-kinds={leaks}"),
            &format!("--errors-for-leak-kinds={leaks}"),
        ];
        checked(scenes.command(&valgrind, scene).env("OPENSSL_CONF", configuration));
    }
}

/// Threads load the configuration, connect, and load and unload the module at once.
#[test]
fn threads_do_not_wait_for_each_other() {
    let Some(scenes) = Scenes::new() else { return };
    for _ in 0..5 {
        scenes.run("threads", "on");
        assert_eq!(named(&scenes.counts("page")), [("X25519", 32, 32)]);
    }
    if !c::there("valgrind") {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    // Helgrind's opinion of data races is not asked for: it does not know atomics. A lock that is
    // taken in two orders is an error.
    let configuration = scenes.program.configure("statistics = on\nbackend = portable");
    let helgrind = ["valgrind", "--tool=helgrind", "--history-level=none"];
    let ran = checked(scenes.command(&helgrind, "threads").env("OPENSSL_CONF", configuration));
    let said = c::errors(&ran);
    assert!(said.contains("ERROR SUMMARY"), "{said}");
    let orders = said.matches("lock order").count();
    assert_eq!(orders, 0, "{said}");
}

/// A program that both libraries are linked into, such as Node's own builds, is searched itself; if
/// it shows no functions by name, nothing is counted.
#[test]
fn programs_with_openssl_inside_are_searched() {
    let Some(libraries) = common::libraries() else { return };
    let folder = libraries.libcrypto_path().parent().unwrap().to_path_buf();
    let archives = ["libssl.a", "libcrypto.a"].map(|name| folder.join(name));
    if !archives.iter().all(|archive| archive.exists()) {
        artifacts::skipped("no libssl.a (apt-get install libssl-dev)");
        return;
    }
    let Some(scenes) = Scenes::new() else { return };
    let include = folder.join("../include");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/handshakes.c");
    for (option, watch) in
        [("-Wl,--export-dynamic", Watch::On), ("-Wl,--no-export-dynamic", Watch::NoLibssl)]
    {
        let mut compiler = Command::new("gcc");
        if std::env::var_os("FASTKEX_TEST_OPENSSL").is_some() {
            compiler.arg("-I").arg(&include);
        }
        compiler.args(["-g", "-pthread", "-o"]).args([&scenes.program.path, &source]);
        compiler.args([option, "-Wl,--whole-archive"]).args(&archives);
        let compiled = compiler.args(["-Wl,--no-whole-archive", "-ldl"]).output().unwrap();
        if !compiled.status.success() {
            let why = c::errors(&compiled);
            artifacts::skipped(&format!("no static program: {}", why.lines().next().unwrap_or("")));
            return;
        }
        scenes.run("kinds", "on");
        let counts = scenes.counts("page");
        assert_eq!(counts.watch, watch);
        assert_eq!(named(&counts).is_empty(), watch != Watch::On);
    }
}
