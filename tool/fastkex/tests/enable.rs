//! Tests of `fastkex enable` and `fastkex disable`, in a folder that stands for `/`.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{NOBODY, Tool, assert_refused, is_root, stderr, stdout};
use openssl_conf::{Config, Interpretation, Release};
use openssl_runtime::{
    Certificate, InMemoryHandshake, KeyType, Libraries, LibraryContext, SslContext,
};

/// A system's configuration, without a line end at its end.
const OPENSSL_CNF: &str = "\
HOME = .
config_diagnostics = 1
openssl_conf = openssl_init

[openssl_init]
# providers = provider_sect

[ CA_default ]
dir = ./demoCA
serial = $dir/serial # the current serial number";
const NGINX: &str = "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/sbin/nginx -g 'daemon on;'\n";
const MODULE: &str = "usr/local/lib/fastkex/fastkex.so";
const DROP_IN: &str = "etc/systemd/system/nginx.service.d/fastkex.conf";
const OWN: &str = "etc/fastkex/openssl.cnf";
const OWN_NGINX: &str = "etc/fastkex/nginx.cnf";
const INCLUDE: &str = ".include /etc/fastkex/openssl.cnf";

/// A small system below a folder.
struct Image {
    tool: Tool,
    root: PathBuf,
    /// OpenSSL's own folder, such as `usr/lib/ssl`.
    openssl: PathBuf,
    /// The folder for the loader that has another OpenSSL, and its release.
    library: Option<(PathBuf, Release)>,
}

/// Creates a folder and those above it, into which only this user can write, whatever the umask.
fn make_folders(path: &Path) {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path).unwrap();
}

type Tree = BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)>;

impl Image {
    fn new() -> Option<Image> {
        match Libraries::system() {
            Ok(libraries) => Some(Self::with(&libraries.config_dir(), None)),
            Err(error) => {
                artifacts::skipped(&error.to_string());
                None
            }
        }
    }

    fn with(config_dir: &Path, library: Option<(PathBuf, Release)>) -> Image {
        let tool = Tool::new();
        let root = tool.path("image");
        let openssl = config_dir.strip_prefix("/").unwrap().to_path_buf();
        let image = Image { tool, root, openssl, library };
        image.write("etc/ssl/openssl.cnf", OPENSSL_CNF);
        make_folders(&image.path("").join(&image.openssl));
        symlink("/etc/ssl/openssl.cnf", image.path("").join(&image.openssl).join("openssl.cnf"))
            .unwrap();
        make_folders(image.path(MODULE).parent().unwrap());
        fs::copy(image.tool.module(), image.path(MODULE)).unwrap();
        fs::set_permissions(image.path(MODULE), Permissions::from_mode(0o755)).unwrap();
        image.write("lib/systemd/system/nginx.service", NGINX);
        image.write(
            "lib/systemd/system/stunnel@.service",
            "[Service]\nExecStart=/usr/bin/stunnel4 %i\n",
        );
        image.write("etc/init.d/old", "#!/bin/sh\n");
        image
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        make_folders(path.parent().unwrap());
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn append(&self, path: &str, text: &str) {
        self.write(path, &(self.read(path) + text));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tool.command(arguments);
        command.args(["--root", self.root.to_str().unwrap()]);
        if let Some((folder, _)) = &self.library {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command, which must succeed, and returns its output.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs the command, which must be refused and change nothing.
    fn refuse(&self, arguments: &[&str], expected: &str) {
        let before = self.tree();
        assert_refused(&self.output(arguments), expected);
        assert!(self.tree() == before, "{arguments:?}: {expected}");
    }

    /// Returns all files, folders and links, but not the module.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut left = vec![self.root.clone()];
        while let Some(path) = left.pop() {
            let data = path.symlink_metadata().unwrap();
            let bytes = match data.file_type() {
                kind if kind.is_symlink() => {
                    path.read_link().unwrap().into_os_string().into_encoded_bytes()
                }
                kind if kind.is_dir() => {
                    left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                    Vec::new()
                }
                _ if path.ends_with(MODULE) => Vec::new(),
                _ => fs::read(&path).unwrap(),
            };
            let name = path.strip_prefix(&self.root).unwrap().to_path_buf();
            tree.insert(name, (data.mode(), data.uid(), data.gid(), bytes));
        }
        tree
    }

    /// Reads the system's configuration as OpenSSL in this system would.
    fn interpretation(&self) -> Interpretation {
        let text = self.read("etc/ssl/openssl.cnf");
        let own = fs::read_to_string(self.path(OWN)).unwrap_or_default();
        let text = text.replace(INCLUDE, &own);
        let config = Config::parse(&text, Path::new("openssl.cnf"), &|_| None).unwrap();
        Interpretation::new(&config, Release::new(3, 0))
    }
}

/// Fails with the names of files that differ.
#[track_caller]
fn assert_same(left: &Tree, right: &Tree) {
    let names = left.keys().chain(right.keys());
    let differ: Vec<_> = names.filter(|name| left.get(*name) != right.get(*name)).collect();
    let shown = |tree: &Tree| {
        let bytes = |name: &&PathBuf| {
            tree.get(*name).map(|(.., bytes)| String::from_utf8_lossy(bytes).into_owned())
        };
        differ.iter().filter_map(bytes).collect::<String>()
    };
    assert!(differ.is_empty(), "{differ:?}\n{}\n{}", shown(left), shown(right));
}

#[test]
fn the_system_is_enabled_and_restored_byte_for_byte() {
    let Some(image) = Image::new() else { return };
    let file = image.path("etc/ssl/openssl.cnf");
    let owner = is_root().then_some(NOBODY);
    std::os::unix::fs::chown(&file, None, owner).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let before = image.tree();

    let text = image.run(&["enable", "--dry-run"]);
    assert!(text.contains(&format!("\n+{INCLUDE}\n")), "{text}");
    assert_same(&image.tree(), &before);

    let text = image.run(&["enable"]);
    assert!(
        text.contains(&format!("\n+{INCLUDE}\n"))
            && text.contains("\nenabled for all programs: X25519MLKEM768"),
        "{text}"
    );
    let data = file.metadata().unwrap();
    assert_eq!((data.mode() & 0o7777, data.gid()), (0o640, owner.unwrap_or(data.gid())));
    assert!(image.path("").join(&image.openssl).join("openssl.cnf").is_symlink());
    assert!(
        image.read("etc/ssl/openssl.cnf").starts_with(&format!("{OPENSSL_CNF}\n# fastkex: begin"))
    );
    let found = image.interpretation();
    assert!(found.is_active("fastkex") && found.is_active("default") && found.diagnostics);
    let module = found.provider("fastkex").unwrap().module.as_ref().unwrap();
    assert_eq!(module.value, format!("/{MODULE}"));
    for (path, mode) in [(OWN, 0o644), ("etc/fastkex", 0o755), ("var/lib/fastkex", 0o755)] {
        assert_eq!(image.path(path).metadata().unwrap().mode() & 0o7777, mode, "{path}");
    }

    // The second time nothing is written.
    let enabled = image.tree();
    let number = |path: &str| image.path(path).metadata().unwrap().ino();
    let numbers = ["etc/ssl/openssl.cnf", OWN, "var/lib/fastkex/enabled.json"].map(number);
    let text = image.run(&["enable"]);
    assert!(text.starts_with("already enabled for all programs"), "{text}");
    assert_same(&image.tree(), &enabled);
    assert_eq!(["etc/ssl/openssl.cnf", OWN, "var/lib/fastkex/enabled.json"].map(number), numbers);

    let text = image.run(&["disable", "--dry-run"]);
    assert!(text.contains(&format!("\n-{INCLUDE}\n")) && image.tree() == enabled, "{text}");
    image.run(&["disable"]);
    assert_same(&image.tree(), &before);
    assert_eq!(image.run(&["disable"]), "nothing is enabled\n");
    assert_same(&image.tree(), &before);
}

#[test]
fn a_service_gets_a_drop_in() {
    let Some(image) = Image::new() else { return };
    let before = image.tree();
    let text = image.run(&["enable", "--service", "nginx.service"]);
    assert!(text.contains("systemctl daemon-reload && systemctl restart nginx\n"), "{text}");
    let drop_in = image.read(DROP_IN);
    assert!(drop_in.ends_with("\n[Service]\nEnvironment=OPENSSL_CONF=/etc/fastkex/nginx.cnf\n"));
    let own = image.read(OWN_NGINX);
    let include = format!("\n.include /{}\n", image.openssl.join("openssl.cnf").display());
    assert!(own.contains(&include) && own.contains("module = /usr/local/lib/fastkex/fastkex.so\n"));
    assert!(image.read("etc/ssl/openssl.cnf") == OPENSSL_CNF);

    // Other options replace the file that depends on them.
    let text = image.run(&["enable", "--service", "nginx", "--groups", "SecP256r1MLKEM768:X25519"]);
    assert!(text.contains("\nenabled for nginx: SecP256r1MLKEM768 by"), "{text}");
    assert_eq!(image.read(DROP_IN), drop_in);
    let own = image.read(OWN_NGINX);
    assert!(own.contains("Groups = SecP256r1MLKEM768:X25519\n"), "{own}");
    assert!(own.contains("groups = X25519MLKEM768:SecP256r1MLKEM768:"), "{own}");

    let text = image.run(&["enable", "--service", "stunnel@"]);
    assert!(text.contains("'stunnel@*'") && text.contains("curves = X25519MLKEM768"), "{text}");
    image.run(&["enable", "--role", "server"]);
    let text = image.run(&["disable", "--service", "haproxy"]);
    let expected = "nginx (--service nginx), stunnel@ (--service stunnel@), all programs";
    assert!(text.contains(expected), "{text}");

    image.run(&["disable", "--service", "nginx"]);
    assert!(!image.path(OWN_NGINX).exists() && !image.path(DROP_IN).parent().unwrap().exists());
    assert!(image.path(OWN).exists() && image.path("etc/fastkex/stunnel@.cnf").exists());
    image.run(&["disable", "--all"]);
    assert_same(&image.tree(), &before);
    assert_eq!(image.run(&["disable", "--all"]), "nothing is enabled\n");
}

#[test]
fn the_order_of_groups_follows_the_role() {
    let Some(image) = Image::new() else { return };
    if Libraries::system().unwrap().version()
        >= (openssl_runtime::Version { major: 3, minor: 5, patch: 0 })
    {
        return artifacts::skipped("OpenSSL 3.5 and later need no list of groups");
    }
    let first = |arguments: &[&str], own: &str| {
        image.run(arguments);
        let text = image.read(own);
        let list = text.lines().find_map(|line| line.strip_prefix("Groups = ")).unwrap().to_owned();
        list.split(':').next().unwrap().to_owned()
    };
    assert_eq!(first(&["enable"], OWN), "X25519");
    assert_eq!(first(&["enable", "--role", "server"], OWN), "X25519MLKEM768");
    assert_eq!(first(&["enable", "--role", "client"], OWN), "X25519");
    assert_eq!(first(&["enable", "--service", "nginx"], OWN_NGINX), "X25519MLKEM768");
    assert_eq!(first(&["enable", "--service", "nginx", "--role", "client"], OWN_NGINX), "X25519");
}

#[test]
fn a_list_of_the_system_stays_if_it_names_our_groups() {
    let Some(image) = Image::new() else { return };
    let list = |groups: &str| {
        let lines = "[openssl_init]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\nGroups = ";
        image.write(
            "etc/ssl/openssl.cnf",
            &format!("openssl_conf = openssl_init\n{lines}{groups}\n"),
        );
    };
    list("P-256:X25519MLKEM768");
    let text = image.run(&["enable"]);
    assert!(text.contains("openssl.cnf:7: 'Groups = P-256:X25519MLKEM768' stays"), "{text}");
    assert!(!image.read(OWN).contains("Groups"));
    list("P-256");
    let text = image.run(&["enable"]);
    assert!(text.contains("openssl.cnf:7: 'Groups = P-256' is replaced by 'Groups = "), "{text}");
}

#[test]
fn a_system_without_a_configuration_gets_one() {
    let Some(image) = Image::new() else { return };
    let file = image.path("etc/ssl/openssl.cnf");
    for remove in [file.clone(), image.path("").join(&image.openssl).join("openssl.cnf")] {
        fs::remove_file(remove).unwrap();
        let before = image.tree();
        image.run(&["enable", "--service", "nginx"]);
        image.run(&["enable"]);
        assert!(!image.read(OWN_NGINX).contains("\n.include"));
        image.run(&["disable", "--all"]);
        assert_same(&image.tree(), &before);
    }
}

#[test]
fn a_link_that_leads_elsewhere_does_not_hide_what_was_changed() {
    let Some(image) = Image::new() else { return };
    let link = image.path("").join(&image.openssl).join("openssl.cnf");
    image.run(&["enable"]);
    image.write("etc/other.cnf", OPENSSL_CNF);
    fs::remove_file(&link).unwrap();
    symlink("../../../etc/other.cnf", &link).unwrap();
    image.run(&["enable"]);
    assert!(image.read("etc/other.cnf").contains(INCLUDE));
    image.run(&["disable"]);
    for file in ["etc/other.cnf", "etc/ssl/openssl.cnf"] {
        assert_eq!(image.read(file), OPENSSL_CNF, "{file}");
    }
}

/// Settings that are in the system's configuration already, also ones of OpenSSL's own modules.
#[test]
fn other_providers_and_a_configuration_by_hand_stay() {
    let Some(image) = Image::new() else { return };
    let file = "etc/ssl/openssl.cnf";
    let has_legacy = Libraries::system().unwrap().modules_dir().join("legacy.so").exists();
    let legacy = if has_legacy { "legacy = legacy_sect\n" } else { "" };
    let by_hand = format!(
        "config_diagnostics = 1\nopenssl_conf = init\n[init]\nproviders = list\n[list]\ndefault = default_sect\n\
         {legacy}fastkex = mine\n[default_sect]\nactivate = 1\n[legacy_sect]\nactivate = 1\n[mine]\n\
         module = /old/fastkex.so\nstatistics = on\nactivate = 1\n"
    );
    image.write(file, &by_hand);
    image.run(&["enable"]);
    let found = image.interpretation();
    let ours = found.provider("fastkex").unwrap();
    assert_eq!(ours.module.as_ref().unwrap().value, format!("/{MODULE}"));
    assert!(ours.own_parameters().any(|parameter| parameter.name == "statistics"));
    assert!(found.is_active("default") && found.is_active("legacy") == has_legacy);
    image.run(&["disable"]);
    assert_eq!(image.read(file), by_hand);
}

#[test]
fn edits_are_never_lost() {
    let Some(image) = Image::new() else { return };
    let file = "etc/ssl/openssl.cnf";
    let original = image.read(file);

    // Lines before, between and after ours.
    image.run(&["enable"]);
    let edited = image.read(file).replace("HOME = .", "HOME = /root");
    let edited =
        edited.replace(INCLUDE, &format!("{INCLUDE}\n[ mine ]\na = b")) + "[ more ]\nc = d\n";
    image.write(file, &edited);
    image.run(&["enable"]);
    assert_eq!(image.read(file), edited);
    image.run(&["disable"]);
    let expected =
        original.replace("HOME = .", "HOME = /root") + "\n[ mine ]\na = b\n[ more ]\nc = d\n";
    assert_eq!(image.read(file), expected);

    // A changed line of ours.
    image.run(&["enable"]);
    let edited = image.read(file).replace(INCLUDE, ".include = /etc/fastkex/openssl.cnf");
    image.write(file, &edited);
    image.refuse(
        &["disable"],
        "etc/ssl/openssl.cnf was edited since 'fastkex enable', and a changed line still names",
    );
    image.refuse(&["disable", "--all"], "remove that line, then repeat 'fastkex disable'");
    image.refuse(&["enable"], "remove that line");

    // The file was replaced by one without our lines, as when a package is upgraded.
    image.write(file, &format!("{OPENSSL_CNF}\n# of the package\n"));
    image.run(&["enable"]);
    assert!(image.read(file).contains(INCLUDE));
    image.run(&["disable"]);
    assert_eq!(image.read(file), format!("{OPENSSL_CNF}\n# of the package\n"));
    image.run(&["enable"]);
    image.write(file, OPENSSL_CNF);
    image.run(&["disable"]);
    assert_eq!(image.read(file), OPENSSL_CNF);
    assert!(!image.path("etc/fastkex").exists() && !image.path("var").exists());
}

#[test]
fn edited_files_of_ours_are_kept() {
    let Some(image) = Image::new() else { return };
    image.run(&["enable", "--service", "nginx"]);
    image.append(OWN_NGINX, "# mine\n");
    image.append(DROP_IN, "LimitMEMLOCK=16M\n");
    let edited = image.tree();
    let text = image.run(&["enable", "--service", "nginx"]);
    assert!(text.contains("etc/fastkex/nginx.cnf was edited since, and stays as it is"), "{text}");
    assert!(text.contains("already enabled for nginx") && image.tree() == edited, "{text}");
    let other = ["enable", "--service", "nginx", "--groups", "X25519MLKEM768"];
    image.refuse(&other, "etc/fastkex/nginx.cnf was edited since 'fastkex enable' wrote it");

    let own = image.read(OWN_NGINX);
    let output = image.output(&["disable", "--service", "nginx"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("nginx.cnf was edited after"), "{}", stderr(&output));
    assert_eq!(image.read("etc/fastkex/nginx.cnf.saved"), own);
    assert_eq!(image.read(DROP_IN), "[Service]\nLimitMEMLOCK=16M\n");
    assert!(!image.path(OWN_NGINX).exists() && !image.path("var").exists());
    image.refuse(
        &["enable", "--service", "nginx"],
        "fastkex.conf exists, and 'fastkex enable' did not write it",
    );
    fs::remove_file(image.path(DROP_IN)).unwrap();
    image.write(OWN_NGINX, "# mine\n");
    image.refuse(
        &["enable", "--service", "nginx"],
        "nginx.cnf exists, and 'fastkex enable' did not write it",
    );
}

#[test]
fn a_lost_record_is_no_obstacle() {
    let Some(image) = Image::new() else { return };
    let (first, second) = (["enable", "--service", "nginx"], ["enable"]);
    for arguments in [&first[..], &second[..]] {
        image.run(arguments);
    }
    fs::remove_dir_all(image.path("var")).unwrap();
    for arguments in [&first[..], &second[..]] {
        assert!(image.run(arguments).contains("already enabled"));
    }
    fs::remove_dir_all(image.path("var")).unwrap();
    image.run(&["disable", "--all"]);
    assert_eq!(image.read("etc/ssl/openssl.cnf"), format!("{OPENSSL_CNF}\n"));
    assert!(!image.path(DROP_IN).exists() && !image.path(OWN).exists());

    image.write("var/lib/fastkex/enabled.json", "{");
    image.refuse(&["disable", "--all"], "enabled.json: EOF");
    image.write("var/lib/fastkex/enabled.json", r#"{"format":2,"targets":[],"folders":[]}"#);
    image.refuse(&["enable"], "format 2, this program has 1");
}

#[test]
fn mistakes_are_refused_in_one_line() {
    let Some(image) = Image::new() else { return };
    for (arguments, expected) in [
        (&["--service", "ngimx"][..], "no service ngimx: did you mean nginx?"),
        (&["--service", "stunnel"], "no service stunnel: did you mean stunnel@?"),
        (&["--service", "zzz"], "no service zzz: 'systemctl list-unit-files"),
        (&["--service", "../x"], "\"../x\" names no service"),
        (&["--service", ""], "\"\" names no service"),
        (&["--service", "old"], "old has no unit, only "),
        (&["--groups", "X25519MLKEM768:nonsense"], "unknown group nonsense"),
        (&["--groups", "X25519"], "none of our groups in 'X25519'"),
        (&["--groups", "::"], "element 1 of the groups is empty"),
        (&["--module", "/absent.so"], "absent.so: No such file"),
        (&["--module", "/etc/ssl/openssl.cnf"], "openssl.cnf: "),
    ] {
        image.refuse(&[&["enable"], arguments].concat(), expected);
    }
    make_folders(&image.path("etc/systemd/system"));
    symlink("/dev/null", image.path("etc/systemd/system/masked.service")).unwrap();
    image.refuse(&["enable", "--service", "masked"], "masked is masked");
    image
        .write("lib/systemd/system/dovecot.service", "[Service]\nExecStart=/usr/sbin/dovecot -F\n");
    image.refuse(
        &["enable", "--service", "dovecot"],
        "the processes of dovecot do not get the environment of its unit",
    );

    // The system's configuration.
    let file = "etc/ssl/openssl.cnf";
    for (text, expected) in [
        ("openssl_conf = i\n[i]\nbogus = x\n", "bogus is no module of this OpenSSL"),
        ("a = b\n[broken\n", "openssl.cnf:2: the section header"),
        (
            "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = provider=default\n",
            "openssl.cnf:5: default_properties = provider=default",
        ),
    ] {
        image.write(file, text);
        image.refuse(&["enable"], expected);
        image.refuse(&["enable", "--service", "nginx"], expected);
    }
    image.write(file, OPENSSL_CNF);

    // The module.
    let module = fs::read(image.path(MODULE)).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let mut bytes = module.clone();
        change(&mut bytes);
        fs::write(image.path(MODULE), bytes).unwrap();
        image.refuse(&["enable"], expected);
    };
    // e_machine in an ELF header.
    with(
        &|bytes| bytes[18..20].copy_from_slice(&243u16.to_le_bytes()),
        "fastkex.so is for Riscv64",
    );
    with(&|bytes| bytes.truncate(4096), "fastkex.so");
    with(&|bytes| bytes.clear(), "fastkex.so");
    fs::remove_file(image.path(MODULE)).unwrap();
    image.refuse(&["enable"], "install the module, or name it with --module");
}

#[test]
fn folders_of_other_users_are_refused() {
    let Some(image) = Image::new() else { return };
    let mode = |path: &str, mode| {
        fs::set_permissions(image.path(path), Permissions::from_mode(mode)).unwrap();
    };
    for (path, expected) in [
        ("etc/ssl", "other users can write to"),
        ("etc", "other users can write to"),
        (MODULE, "other users can change"),
        ("usr/local/lib/fastkex", "other users can change"),
    ] {
        let before = image.path(path).metadata().unwrap().mode();
        mode(path, 0o777);
        image.refuse(&["enable"], expected);
        mode(path, before);
    }
    image.run(&["enable"]);
    mode("etc/ssl", 0o777);
    image.refuse(&["disable"], "other users can write to");
    mode("etc/ssl", 0o755);
    mode("var/lib/fastkex", 0o777);
    image.refuse(&["disable"], "other users can write to");
    mode("var/lib/fastkex", 0o755);
    image.run(&["disable"]);
    if is_root() {
        mode(MODULE, 0o775);
        image.run(&["enable", "--dry-run"]);
        std::os::unix::fs::chown(image.path(MODULE), None, Some(NOBODY)).unwrap();
        image.refuse(&["enable"], "other users can change");
        mode(MODULE, 0o755);
        std::os::unix::fs::chown(image.path(MODULE), Some(NOBODY), None).unwrap();
        image.refuse(&["enable"], "other users can change");
    }
}

#[test]
fn another_configuration_of_the_service_is_not_replaced() {
    let Some(image) = Image::new() else { return };
    let unit = "lib/systemd/system/nginx.service";
    for (path, text, expected) in [
        (
            "etc/systemd/system/nginx.service.d/override.conf",
            "[Service]\nEnvironment=OPENSSL_CONF=/x\n",
            "override.conf:2: nginx has OPENSSL_CONF=/x already",
        ),
        (
            "etc/systemd/system/nginx.service.d/zz.conf",
            "[Service]\nEnvironment=\n",
            "clears Environment=",
        ),
        (
            "run/systemd/system/service.d/a.conf",
            "[Service]\nUnsetEnvironment=OPENSSL_CONF\n",
            "a.conf:2: OPENSSL_CONF is removed",
        ),
        (
            "etc/default/nginx",
            "# x\nOPENSSL_CONF=/y\n",
            "default/nginx:2: OPENSSL_CONF=/y comes before our drop-in",
        ),
        (
            "etc/apache2/envvars",
            "export OPENSSL_CONF=/y\n",
            "envvars:1: OPENSSL_CONF=/y comes before our drop-in",
        ),
    ] {
        image.write(unit, "[Service]\nExecStart=/usr/sbin/nginx\nExecStart=/usr/sbin/apachectl start\nEnvironmentFile=-/etc/default/nginx\n");
        image.write(path, text);
        image.refuse(&["enable", "--service", "nginx"], expected);
        fs::remove_file(image.path(path)).unwrap();
    }
    image.run(&["enable", "--service", "nginx"]);
}

#[test]
fn services_that_ignore_the_configuration_are_named() {
    let Some(image) = Image::new() else { return };
    image.write("usr/sbin/nginx", "");
    image.write(
        "lib/systemd/system/nginx.service",
        &format!("{NGINX}User=www-data\nRootDirectory=/srv\n"),
    );
    image.write("etc/apparmor.d/usr.sbin.nginx", "");
    fs::set_permissions(image.path(MODULE), Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(image.path("usr/sbin/nginx"), Some(NOBODY), None).unwrap();
        fs::set_permissions(image.path("usr/sbin/nginx"), Permissions::from_mode(0o4755)).unwrap();
    }
    let text = image.run(&["enable", "--service", "nginx"]);
    let mut expected = vec![
        "as another user, who cannot read /usr/local/lib/fastkex/fastkex.so",
        "gives the service another root folder",
        "etc/apparmor.d/usr.sbin.nginx confines it",
    ];
    expected.extend(is_root().then_some("OpenSSL in it ignores OPENSSL_CONF"));
    for expected in expected {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn one_run_at_a_time_changes_files() {
    let Some(image) = Image::new() else { return };
    let before = image.tree();
    let services = [None, Some("nginx"), Some("stunnel@"), None];
    let start = |service: Option<&str>| {
        let mut command = image.command(&["enable"]);
        command.args(service.map(|name| ["--service", name]).into_iter().flatten());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let runs: Vec<_> = services.into_iter().map(start).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let record = image.read("var/lib/fastkex/enabled.json");
    assert_eq!(record.matches("\"service\"").count(), 3, "{record}");

    let folder = fs::File::open(image.path("var/lib/fastkex")).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    image.refuse(&["disable", "--all"], "another 'fastkex enable' or 'fastkex disable' is running");
    drop(folder);
    image.run(&["disable", "--all"]);
    assert_same(&image.tree(), &before);
}

/// The system calls by which the command changes files.
/// strace counts each call by itself, so those that follow each other are apart.
const CHANGING: [&str; 7] = [
    "?rename,?renameat,?renameat2",
    "fsync",
    "?unlink,?unlinkat",
    "?mkdir,?mkdirat",
    "?rmdir",
    "?chmod,?fchmodat",
    "fchmod",
];
const KILL: &str = "signal=SIGKILL";

/// Runs the command under strace, which disturbs the `count`-th of some system calls, of a file if
/// one is named. Returns `None` if there was none.
fn disturbed(
    image: &Image,
    arguments: &[&str],
    calls: &str,
    how: &str,
    count: usize,
    file: Option<&str>,
) -> Option<Output> {
    let log = image.tool.path("strace.log");
    let command = image.command(arguments);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(&log);
    strace.arg(format!("-etrace={calls}")).arg(format!("-einject={calls}:{how}:when={count}"));
    strace.args(file.map(|file| format!("-P{}", image.path(file).display())));
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let output = strace.output().unwrap();
    let is_killed = output.status.signal() == Some(9);
    let is_disturbed = is_killed || fs::read_to_string(&log).unwrap().contains("(INJECTED)");
    assert_eq!(is_killed, is_disturbed && how == KILL, "{}", stderr(&output));
    is_disturbed.then_some(output)
}

fn has_strace() -> bool {
    let runs = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let runs = runs.is_ok_and(|output| output.status.success());
    if !runs {
        artifacts::skipped("strace does not run (apt-get install strace)");
    }
    runs
}

/// The commands that run before, and the command that is disturbed.
const SCENARIOS: [(&[&[&str]], &[&str]); 5] = [
    (&[], &["enable"]),
    (&[&["enable"]], &["enable", "--role", "server"]),
    (&[&["enable"]], &["disable"]),
    (&[&["enable"]], &["enable", "--service", "nginx"]),
    (&[&["enable", "--service", "nginx"]], &["disable", "--all"]),
];

/// Calls `check` with each scenario and each call in it. It gets the image after the disturbed
/// command, its output, the files before it and those after it was not disturbed.
fn each_disturbance(how: &str, mut check: impl FnMut(&Image, &[&str], &Output, &Tree, &Tree)) {
    let Some(image) = Image::new() else { return };
    if !has_strace() {
        return;
    }
    make_folders(&image.path("var/lib"));
    let original = image.tree();
    let mut disturbances = 0;
    for (setup, command) in SCENARIOS {
        let prepare = || {
            setup.iter().for_each(|arguments| drop(image.run(arguments)));
            image.tree()
        };
        let before = prepare();
        image.run(command);
        let after = image.tree();
        image.run(&["disable", "--all"]);
        for calls in CHANGING {
            for count in 1.. {
                prepare();
                let output = disturbed(&image, command, calls, how, count, None);
                if let Some(output) = &output {
                    check(&image, command, output, &before, &after);
                    disturbances += 1;
                }
                image.run(&["disable", "--all"]);
                assert_same(&image.tree(), &original);
                if output.is_none() {
                    break;
                }
            }
        }
    }
    assert!(disturbances > 50, "{disturbances}");
}

#[test]
fn a_kill_at_any_step_leaves_the_old_state_or_the_new_one() {
    const SWITCHES: [&str; 2] = ["etc/ssl/openssl.cnf", DROP_IN];
    let mut is_odd = false;
    each_disturbance(KILL, |image, command, _, before, after| {
        let now = image.tree();
        for (switch, own) in SWITCHES.map(Path::new).into_iter().zip([OWN, OWN_NGINX]) {
            let own = Path::new(own);
            let is_one_of =
                |path: &Path| now.get(path) == before.get(path) || now.get(path) == after.get(path);
            assert!(is_one_of(switch) && is_one_of(own), "{command:?}");
            // What names our configuration finds it.
            let names_ours =
                |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("/etc/fastkex/");
            let is_on = now.get(switch).is_some_and(|(.., bytes)| names_ours(bytes));
            assert!(!is_on || now.contains_key(own), "{command:?}");
        }
        // The next run completes what was begun. Every other time it is undone instead.
        is_odd = !is_odd;
        if is_odd {
            image.run(command);
            assert_same(&image.tree(), after);
        }
    });
}

#[test]
fn a_full_disk_changes_nothing() {
    each_disturbance("error=ENOSPC", |image, command, output, before, after| {
        let now = image.tree();
        if output.status.success() {
            // The call was not needed.
            image.run(command);
            assert_same(&image.tree(), after);
            return;
        }
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(output);
        assert!(error.lines().count() == 1 && error.contains("No space left"), "{error}");
        if command[0] == "enable" {
            assert_same(&now, before);
        }
    });
}

#[test]
fn a_change_that_does_not_work_is_undone() {
    let Some(image) = Image::new() else { return };
    if !has_strace() {
        return;
    }
    let before = image.tree();
    let mut found = 0;
    for count in 1..10 {
        let command = ["enable", "--service", "nginx"];
        let output =
            disturbed(&image, &command, "?open,openat", "error=EIO", count, Some(OWN_NGINX));
        let Some(output) = output else { break };
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_same(&image.tree(), &before);
        found += usize::from(stderr(&output).contains("found after the change, which is undone"));
    }
    assert!(found > 0);
}

#[test]
fn each_release_of_openssl_is_enabled() {
    for prefix in artifacts::openssl_releases() {
        let library = prefix.join("lib");
        let version = |option: &str| {
            let mut openssl = Command::new(prefix.join("bin/openssl"));
            let output =
                openssl.args(["version", option]).env("LD_LIBRARY_PATH", &library).output();
            stdout(&output.unwrap())
        };
        let release = Release::parse(&version("-v")).unwrap();
        let folder = version("-d");
        let folder = folder.split('"').nth(1).unwrap();
        let image = Image::with(Path::new(folder), Some((library.clone(), release)));
        // A file that cannot be loaded stands in for the system's version 3.
        let mut folders = library.into_os_string();
        if release.major > 3 {
            image.write("../loader/libcrypto.so.3", "");
            folders = [image.tool.path("loader").as_os_str(), &folders].join(":".as_ref());
        }
        let image = Image { library: Some((folders.into(), release)), ..image };
        let before = image.tree();
        let text = image.run(&["enable"]);
        let shown = format!("with OpenSSL {}.{}.", release.major, release.minor);
        assert!(text.contains(&shown), "{text}");
        // This release's own program reads the files, with the paths of this machine.
        let real = |path: &str| image.path(path).display().to_string();
        let own = image.read(OWN).replace(&format!("/{MODULE}"), &real(MODULE));
        image.write("tmp/own.cnf", &own);
        let include = format!(".include {}", real("tmp/own.cnf"));
        let system = image.read("etc/ssl/openssl.cnf").replace(INCLUDE, &include);
        image.write("tmp/openssl.cnf", &system);
        let list = Command::new(prefix.join("bin/openssl"))
            .args(["list", "-providers"])
            .env("LD_LIBRARY_PATH", prefix.join("lib"))
            .env("OPENSSL_CONF", image.path("tmp/openssl.cnf"))
            .output();
        let list = stdout(&list.unwrap());
        assert!(list.contains("name: fastkex") && list.contains("Default Provider"), "{list}");
        fs::remove_dir_all(image.path("tmp")).unwrap();

        let has_groups = image.read(OWN).contains("Groups = ");
        assert_eq!(has_groups, release < Release::new(3, 5), "{text}");
        let text = image.run(&["enable", "--service", "nginx"]);
        assert!(text.contains("enabled for nginx: X25519MLKEM768 by"), "{text}");
        let list = "sntrup761:X25519MLKEM768";
        let text = image.run(&["enable", "--service", "nginx", "--groups", list]);
        assert!(text.contains("enabled for nginx: sntrup761 by"), "{text}");
        image.run(&["disable", "--all"]);
        assert_same(&image.tree(), &before);
        artifacts::say(&format!(
            "OpenSSL {}.{}: enabled and disabled",
            release.major, release.minor
        ));
    }
}

/// The default for all programs: the order of a server's own list does not matter to clients that
/// send key shares of both groups, as OpenSSL from 3.5 on and browsers do.
#[test]
fn a_server_with_x25519_first_takes_the_key_share_that_comes_first() {
    let Some(image) = Image::new() else { return };
    let libraries = Libraries::system().unwrap();
    let newer = artifacts::openssl_releases().into_iter().rev();
    let newer = newer.filter_map(|prefix| Libraries::open_directory(prefix.join("lib")).ok());
    let newer = { newer }.find(|other| other.version().major > libraries.version().major);
    let Some(newer) = newer else {
        return artifacts::skipped("no OpenSSL 4 beside OpenSSL 3 (make test-matrix)");
    };
    image.run(&["enable"]);
    let own = image.read(OWN).replace(&format!("/{MODULE}"), image.path(MODULE).to_str().unwrap());
    assert!(own.contains("Groups = X25519:X25519MLKEM768:"), "{own}");
    let text = format!("{OPENSSL_CNF}\n{own}");
    let ours = LibraryContext::new(&libraries).unwrap();
    ours.load_config_text(&text).unwrap();
    let theirs = LibraryContext::new(&newer).unwrap();
    let certificate = Certificate::self_signed(&ours, KeyType::EcP256, &["localhost"]).unwrap();
    let server = SslContext::server(&ours, &certificate).unwrap().build();
    let group = |client: &SslContext| {
        let report = InMemoryHandshake::new(client, &server).run(&mut |_, _| {}).unwrap();
        assert!(report.is_ok(), "{report:?}");
        (report.client.group.unwrap().id, report.client.hello_retry)
    };
    let client = || SslContext::client(&theirs).unwrap().without_verification();
    assert_eq!(group(&client().build()), (0x11EC, false));
    // One key share, of X25519: as a client with our configuration.
    let cautious = client().groups("X25519:X25519MLKEM768").unwrap().build();
    assert_eq!(group(&cautious), (0x001D, false));
    let old = client().groups("X25519:P-256").unwrap().build();
    assert_eq!(group(&old), (0x001D, false));
}

/// True if this process may mount file systems that no other sees.
fn has_namespaces() -> bool {
    let can_unshare = Command::new("unshare").args(["-m", "true"]).output();
    let can_unshare = can_unshare.is_ok_and(|output| output.status.success());
    if !can_unshare {
        artifacts::skipped("no mount namespace can be had (run as root)");
    }
    can_unshare
}

#[test]
fn a_file_system_that_takes_no_changes_is_an_error() {
    let Some(image) = Image::new() else { return };
    if !has_namespaces() {
        return;
    }
    make_folders(&image.path("var/lib"));
    let before = image.tree();
    let refuse = |mounts: &str, command: &[&str], expected: &str| {
        let command = image.command(command);
        let output = Command::new("unshare")
            .args(["-m", "sh", "-c", &format!("cd \"$IMAGE\" && {mounts} && exec \"$0\" \"$@\"")])
            .arg(command.get_program())
            .args(command.get_args())
            .env("IMAGE", &image.root)
            .env_remove("FASTKEX_MODULE")
            .output();
        let output = output.unwrap();
        let error = stderr(&output);
        assert!(output.status.code() == Some(2) && error.lines().count() == 1, "{error}");
        assert!(error.contains(expected), "{error}");
    };
    const READ_ONLY: &str = "mount --bind etc etc && mount -o remount,bind,ro etc";
    for (mounts, expected) in [
        (READ_ONLY, "Read-only file system"),
        ("mount -t tmpfs -o ro,mode=755 none var/lib", "Read-only file system"),
        ("mount -t tmpfs -o size=4k,mode=755 none var/lib", "No space left on device"),
    ] {
        refuse(mounts, &["enable"], expected);
        assert_same(&image.tree(), &before);
    }
    image.run(&["enable"]);
    let enabled = image.tree();
    refuse(READ_ONLY, &["disable"], "Read-only file system");
    assert_same(&image.tree(), &enabled);
}

#[test]
fn only_root_changes_the_system() {
    let Some(image) = Image::new() else { return };
    if !is_root() {
        return;
    }
    use std::os::unix::process::CommandExt;
    for command in [["enable"], ["disable"]] {
        let mut command = image.tool.command(&command);
        match command.env_remove("FASTKEX_MODULE").uid(NOBODY).output() {
            Ok(output) if stdout(&output) == "nothing is enabled\n" => {}
            Ok(output) => {
                assert_refused(&output, "only root can change the system's configuration")
            }
            Err(error) => {
                artifacts::skipped(&format!("another user cannot run the command: {error}"))
            }
        }
    }
}

/// Runs a script with a copy of this system's files, which the rest of the system does not see.
#[test]
fn programs_of_this_system_use_the_module() {
    let Some(image) = Image::new() else { return };
    let libraries = Libraries::system().unwrap();
    if !has_namespaces() {
        return;
    }
    image.write("modules/x", "");
    fs::copy(image.path(MODULE), image.path("modules/fastkex.so")).unwrap();
    let script = r#"
        set -e
        mkdir -p "$COPY/etc" && cp -a /etc/. "$COPY/etc" && mount --bind "$COPY/etc" /etc
        mount -t tmpfs -o mode=755 none /var/lib
        mount --bind "$IMAGE/modules" "$MODULES"
        cp "$IMAGE/etc/ssl/openssl.cnf" "$SYSTEM"
        mkdir -p /etc/systemd/system
        cp "$IMAGE/lib/systemd/system/nginx.service" /etc/systemd/system/fastkex-test.service
        group() {
            openssl s_server -accept "$PORT" -cert "$IMAGE/cert.pem" -key "$IMAGE/key.pem" -quiet &
            trap "kill $!" EXIT
            for _ in 1 2 3 4 5 6 7 8 9; do
                sleep 0.2
                openssl s_client -connect "localhost:$PORT" -groups "$1" -trace </dev/null 2>/dev/null |
                    sed -n 's/.*NamedGroup: //p' | tail -1 | grep . && break
            done
        }
        "$FASTKEX" enable --service fastkex-test
        OPENSSL_CONF=/etc/fastkex/fastkex-test.cnf openssl list -providers
        "$FASTKEX" enable
        cat /etc/fastkex/openssl.cnf
        openssl list -providers
        echo "group: $(group X25519MLKEM768:X25519)"
        "$FASTKEX" disable --all
        cmp "$IMAGE/etc/ssl/openssl.cnf" "$SYSTEM"
        ls /etc/fastkex /var/lib/fastkex 2>&1 || echo gone
    "#;
    let keys = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-subj", "/CN=localhost", "-keyout"])
        .arg(image.path("key.pem"))
        .arg("-out")
        .arg(image.path("cert.pem"))
        .output();
    if !keys.is_ok_and(|output| output.status.success()) {
        return artifacts::skipped("no openssl program (apt-get install openssl)");
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = image.tool.command(&[]);
    let program = command.get_program().to_owned();
    command = Command::new("unshare");
    let output = command
        .args(["-m", "sh", "-c", script])
        .env("FASTKEX", program)
        .env("IMAGE", &image.root)
        .env("COPY", image.tool.path("copy"))
        .env("SYSTEM", libraries.config_dir().join("openssl.cnf"))
        .env("MODULES", libraries.modules_dir())
        .env("PORT", port.to_string())
        .env_remove("OPENSSL_CONF")
        .env_remove("FASTKEX_MODULE")
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert_eq!(text.matches("name: fastkex").count(), 2, "{text}");
    // OpenSSL finds the module in its own folder.
    assert!(!text.contains("module = "), "{text}");
    assert!(
        text.contains("group: UNKNOWN (4588)") || text.contains("group: X25519MLKEM768"),
        "{text}"
    );
    assert!(text.ends_with("gone\n"), "{text}{}", stderr(&output));
}
