//! Tests of the rules of the format, one by one.

mod common;

use std::path::Path;

use common::{config, env, parse, settings, write};
use openssl_conf::{Config, ErrorKind, FILE_LIMIT};

/// Returns the value of `k` in the default section.
fn k(text: &str) -> String {
    config(text).get("default", "k").unwrap_or_else(|| panic!("no k in {text:?}")).value.clone()
}

fn error(text: &str) -> (usize, ErrorKind) {
    let error = parse(text).err().unwrap_or_else(|| panic!("no error in {text:?}"));
    assert!(error.to_string().starts_with(&format!("test.cnf:{}: ", error.line.unwrap())));
    (error.line.unwrap(), error.kind)
}

#[test]
fn sections_merge_and_the_last_assignment_wins() {
    let config = config(
        "a = 1\n[ one ]\na = 2\nb = 3\n[two]\nc = 4\n [\tone ] # again\na = 5\nd = 6\ntwo::c = 7\nthree::e = 8\n",
    );
    assert_eq!(settings(&config, "default"), ["a=1"]);
    // A key that is set again goes to the end.
    assert_eq!(settings(&config, "one"), ["b=3", "a=5", "d=6"]);
    assert_eq!(settings(&config, "two"), ["c=7"]);
    assert_eq!(settings(&config, "three"), ["e=8"]);
    let names: Vec<_> = config.sections().map(|section| section.name()).collect();
    assert_eq!(names, ["default", "one", "two", "three"]);
    assert_eq!(config.get("one", "a").unwrap().origin.to_string(), "test.cnf:8");
    assert_eq!(config.get("two", "a").unwrap().value, "1");
    assert_eq!(config.get("nowhere", "a").unwrap().value, "1");
    assert!(config.section("two").unwrap().get("a").is_none());
    assert!(config.get("two", "d").is_none());
}

#[test]
fn section_headers() {
    let config = config(
        "[ two  words ]\na=1\n[]\nb=2\n[x.y-z]\nc=3\n[e\\]\\[]\nd=4\n[ default ]\ne=5\n[f] g\nh=6\n",
    );
    assert_eq!(settings(&config, "two  words"), ["a=1"]);
    assert_eq!(settings(&config, ""), ["b=2"]);
    assert_eq!(settings(&config, "x.y-z"), ["c=3"]);
    assert_eq!(settings(&config, "e]["), ["d=4"]);
    assert_eq!(settings(&config, "default"), ["e=5"]);
    assert_eq!(settings(&config, "f"), ["h=6"]);
    for text in ["[ a", "[ a # ]", "[a:b]", "[\"a\"]", "[$a]", "[é]", "["] {
        assert_eq!(error(text), (1, ErrorKind::SectionHeader), "{text}");
    }
}

#[test]
fn quotations_escapes_and_comments() {
    for (text, value) in [
        ("k =  a b \t", "a b"),
        ("k=", ""),
        ("k = a#b", "a"),
        ("k = 'a # b' c", "a # b c"),
        (r#"k = "a\"b\n" # c"#, r#"a"bn"#),
        ("k = `a'b`\"c\"", "a'bc"),
        (r"k = a\nb\tc\rd\be\\f\#g\ ", "a\nb\tc\rd\u{8}e\\f#g"),
        (r"k = a\", "a"),
        ("k = it's # not a comment", "its # not a comment"),
        ("k = a\\\n  b\\\nc # d", "a  bc"),
        ("k = a\\\\\nx = y", "a\\"),
        ("k = a\r\nx = y\r\n", "a"),
        ("k = \"a b \" ", "a b "),
        ("# k = b\\\nk = c\nk = d", "d"),
        ("\u{feff}k = é ü", "é ü"),
        ("k = a = b", "a = b"),
        ("k == a", "= a"),
    ] {
        assert_eq!(k(text), value, "{text:?}");
    }
}

#[test]
fn keys_keep_their_escapes() {
    let config = config("a\\=b = c\n!%&*+,-./;?@^~| = d\n = e\n");
    assert_eq!(settings(&config, "default"), ["a\\=b=c", "!%&*+,-./;?@^~|=d", "=e"]);
}

#[test]
fn variables() {
    let head = "a = A\nab = AB\n[ENV]\nset = S\n[s]\na = B\nb = C\n";
    for (value, expanded) in [
        ("$a", "B"),
        ("$a.x", "B.x"),
        ("${a}b $(a)b", "Bb Bb"),
        ("$ab", "AB"),
        ("$default::a ${default::a} $(s::b)", "A A C"),
        ("$s::ab", "AB"),
        ("$nowhere::a", "A"),
        ("$ENV::HOME", "/home/someone"),
        ("${ENV::ODD}", "a $b \"c\" #d"),
        ("$ENV::set", "S"),
        ("$ENV::a", "A"),
        (r"\$a '$a'", "$a $a"),
        ("$a$a", "BB"),
        ("$a:b", "B:b"),
    ] {
        let config = config(&format!("{head}k = {value}\n"));
        assert_eq!(config.get("s", "k").unwrap().value, expanded, "{value}");
    }
    // In `other::k = $v`, the variable is looked up in the section `other`.
    let config = config("[s]\na = 1\n[t]\na = 2\ns::k = $a\n");
    assert_eq!(config.get("s", "k").unwrap().value, "1");

    let none = |section: Option<&str>, name: &str| {
        ErrorKind::NoValue(section.map(str::to_owned), name.to_owned())
    };
    assert_eq!(error("\nk = $b"), (2, none(None, "b")));
    assert_eq!(error("k = $b\nb = 1"), (1, none(None, "b")));
    assert_eq!(error("k = ${ENV::NOT}"), (1, none(Some("ENV"), "NOT")));
    assert_eq!(error("k = a$"), (1, none(None, "")));
    assert_eq!(error("a = 1\nk = ${a"), (2, ErrorKind::MissingBrace('}')));
    assert_eq!(error("a = 1\nk = $(a}"), (2, ErrorKind::MissingBrace(')')));
}

#[test]
fn pragmas() {
    let text = ".pragma dollarid:on\na$b = c\nk = $x ${a$b} $(a$b)\n";
    assert_eq!(k(text), "$x c c");
    assert_eq!(k(".pragma = dollarid : TRUE\nk = $x"), "$x");
    assert_eq!(k(".pragma dollarid:on\n.pragma dollarid:off\na = 1\nk = $a"), "1");
    assert_eq!(k(".pragma dollarid:on\n[a$b]\ndefault::k = 1\n"), "1");
    assert_eq!(k(".pragma unknown:x\nk = 1"), "1");
    for text in [".pragma dollarid", ".pragma :on", ".pragma dollarid:", ".pragma = "] {
        assert_eq!(error(text), (1, ErrorKind::Pragma), "{text}");
    }
    let wrong = ErrorKind::PragmaValue("abspath".into(), "yes".into());
    assert_eq!(error("\n\n.pragma abspath:yes"), (3, wrong));
}

#[test]
fn errors_name_the_line_where_the_statement_begins() {
    assert_eq!(error("a = 1\nb 2\n"), (2, ErrorKind::MissingEquals("2".into())));
    assert_eq!(error("a = 1\n\nb\\\n\\\n c"), (3, ErrorKind::MissingEquals("c".into())));
    assert_eq!(error("b"), (1, ErrorKind::MissingEquals(String::new())));
    assert_eq!(error("ü = 1").0, 1);
    assert_eq!(error("a = 1\n\u{feff}b = 2").0, 2);
    assert_eq!(error("a = 1\nb = \0").1, ErrorKind::NulByte);
}

#[test]
fn values_have_a_limit_once_they_contain_variables() {
    let long = "x".repeat(70_000);
    assert_eq!(k(&format!("k = {long}")).len(), 70_000);
    assert_eq!(error(&format!("a = {long}\nk = $a")), (2, ErrorKind::TooLong));
    let half = "x".repeat(40_000);
    assert_eq!(error(&format!("a = {half}\nk = $a$a")), (2, ErrorKind::TooLong));
    assert_eq!(k(&format!("a = {half}\nk = $a")).len(), 40_000);
}

#[test]
fn long_lines_are_one_line() {
    for length in 505..520 {
        let value = "v".repeat(length);
        assert_eq!(k(&format!("k = {value}\nl = 1\r\n")), value);
        assert_eq!(
            config(&format!("k = {value}\r\nl = 1")).get("default", "l").unwrap().value,
            "1"
        );
    }
}

#[test]
fn included_files_continue_the_section_and_leave_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let inner = write(directory.path(), "in ner.cnf", "b = 2\n[t]\nc = 3");
    let missing = directory.path().join("missing.cnf");
    let text = format!(
        "[s]\na = 1\n.include \"{}\"\nd = 4\n.include = {}\ne = $c\n",
        inner.display(),
        missing.display()
    );
    let main = write(directory.path(), "main.cnf", text);
    let config = Config::load(&main, &env).unwrap();
    assert_eq!(settings(&config, "s"), ["a=1", "b=2"]);
    assert_eq!(settings(&config, "t"), ["c=3", "d=4", "e=3"]);
    assert_eq!(config.files().collect::<Vec<_>>(), [&*main, &*inner]);
    assert_eq!(&*config.get("t", "c").unwrap().origin.file, inner);
    assert_eq!(config.get("t", "d").unwrap().origin.line, 4);
    let [skipped] = config.skipped_includes() else { panic!("{:?}", config.skipped_includes()) };
    assert_eq!((&skipped.path, skipped.origin.line), (&missing, 5));
}

#[test]
fn directories_bring_their_cnf_and_conf_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for (name, text) in [
        ("d/a.cnf", "a = 1"),
        ("d/b.CONF", "b = 1"),
        ("d/.h.cnf", "h = 1"),
        ("d/.cnf", "x = 1"),
        ("d/c.txt", "x = 1"),
        ("d/sub.cnf/x.cnf", "x = 1"),
        ("d/n.cnf", &format!(".include {}/e\nn = 1", root.display())),
        ("e/e.cnf", "x = 1"),
        ("empty/readme", "x"),
    ] {
        write(root, name, text);
    }
    let config = config(&format!(".include {0}/d\n.include {0}/empty\nlast = 1\n", root.display()));
    let mut set = settings(&config, "default");
    assert_eq!(set.pop().unwrap(), "last=1");
    set.sort();
    assert_eq!(set, ["a=1", "b=1", "h=1", "n=1"]);
    let skipped: Vec<_> =
        config.skipped_includes().iter().map(|skipped| skipped.path.clone()).collect();
    assert_eq!(skipped, [root.join("e"), root.join("empty")]);
}

#[test]
fn relative_includes_take_a_prefix() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "a/i.cnf", "k = a");
    write(directory.path(), "b/i.cnf", "k = b");
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    let text = format!(".pragma includedir: {}/\n.include i.cnf\n", a.display());
    assert_eq!(k(&text), "a");
    let env = |name: &str| (name == "OPENSSL_CONF_INCLUDE").then(|| b.display().to_string());
    let config = Config::parse(&text, Path::new("t"), &env).unwrap();
    assert_eq!(config.get("default", "k").unwrap().value, "b");

    assert_eq!(k(&format!(".pragma abspath:on\n.include {}/i.cnf", a.display())), "a");
    assert_eq!(k(&format!(".pragma abspath:on\n{text}")), "a");
    let relative = ErrorKind::RelativeInclude("i.cnf".into());
    assert_eq!(error(".pragma abspath:on\n.include i.cnf"), (2, relative));
}

#[test]
fn endless_includes_end() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let cycle = write(root, "cycle.cnf", format!("a = 1\n.include {}/b.cnf", root.display()));
    let b = write(root, "b.cnf", format!(".include {}", cycle.display()));
    let error = Config::load(&cycle, &env).unwrap_err();
    assert_eq!((&error.file, error.line), (&b, Some(1)));
    assert_eq!(error.kind, ErrorKind::IncludeCycle(cycle));

    // Each file includes the next one ten times.
    for level in 0..8 {
        let line = format!(".include {}/{}.cnf\n", root.display(), level + 1);
        write(root, &format!("{level}.cnf"), line.repeat(10));
    }
    write(root, "8.cnf", "");
    let error = Config::load(&root.join("0.cnf"), &env).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooManyFiles);

    // Each line expands to almost OpenSSL's limit, a thousand times.
    let mut text = format!("a = {}\n", "x".repeat(60_000));
    for line in 0..1000 {
        text += &format!("b{line} = $a\n");
    }
    assert_eq!(parse(&text).unwrap_err().kind, ErrorKind::TooMuchText);
}

#[test]
fn what_is_no_readable_file() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let kind = |path: &Path| Config::load(path, &env).unwrap_err().kind;
    assert!(matches!(kind(&root.join("missing")), ErrorKind::Unreadable(_)));
    assert_eq!(kind(root), ErrorKind::NotAFile);
    assert_eq!(kind(&write(root, "large", vec![b'\n'; FILE_LIMIT + 1])), ErrorKind::TooLarge);
    assert!(Config::load(&write(root, "largest", vec![b'\n'; FILE_LIMIT]), &env).is_ok());
    assert!(Config::load(Path::new("/dev/null"), &env).is_ok());
    let latin = write(root, "latin", b"# \xE4\nk = \xE4b\n");
    assert_eq!(Config::load(&latin, &env).unwrap().get("default", "k").unwrap().value, "\u{FFFD}b");
    let error = Config::load(&write(root, "nul", b"a = 1\nb = \0\n"), &env).unwrap_err();
    assert_eq!((error.line, error.kind), (Some(2), ErrorKind::NulByte));
}
