//! Tests of composed configurations, by reading them back.

mod common;

use std::path::{Path, PathBuf};

use common::{RELEASES, env, write};
use openssl_conf::{
    Addition, Base, ComposeError, Config, GroupWrong, Interpretation, ProblemKind, Release, compose,
};

const V3_0: Release = Release::new(3, 0);

const DEBIAN: &str = "HOME = .\nopenssl_conf = openssl_init\n[openssl_init]\n# providers = provider_sect\n\
                      [ CA_default ]\ndir = ./demoCA";
const FULL: &str = "openssl_conf = i\n[i]\nproviders = p\nssl_conf = s\nalg_section = a\n[p]\ndefault = d\nlegacy = l\n\
                    [d]\nactivate = 1\n[l]\nactivate = 1\n[s]\nsystem_default = t\n[t]\nMinProtocol = TLSv1.2\n\
                    Curves = P-256\n[a]\ndefault_properties = ?x=y\n";

fn addition(release: Release) -> Addition<'static> {
    Addition {
        release,
        provider: "fastkex",
        module: Some(Path::new("/opt/fastkex.so")),
        keys: &[],
        groups: Some("X25519SNTRUP761:X25519"),
        properties: None,
    }
}

struct Composed {
    base: Config,
    text: String,
    config: Config,
    found: Interpretation,
}

fn try_compose(base: &str, addition: &Addition<'_>) -> Result<Composed, ComposeError> {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "base $a #'.cnf", base);
    let base = Config::load(&path, &env).unwrap();
    let text = compose(Some(Base { config: &base, path: &path }), addition)?;
    let config = Config::parse(&text, Path::new("composed"), &env).unwrap();
    assert!(config.skipped_includes().is_empty(), "{text}");
    let found = Interpretation::new(&config, addition.release);
    Ok(Composed { base, text, config, found })
}

/// Composes a configuration, and checks the properties that hold for every base.
fn composed(base: &str, addition: &Addition<'_>) -> Composed {
    let composed = try_compose(base, addition).unwrap_or_else(|error| panic!("{error}\n{base}"));
    let Composed { base, text, config, found } = &composed;
    let ours = found.provider(addition.provider).unwrap();
    assert!(found.is_active(addition.provider), "{text}");
    assert_eq!(ours.module.as_ref().map(|entry| Path::new(&entry.value)), addition.module);
    for (key, value) in addition.keys {
        assert!(ours.own_parameters().any(|p| p.name == *key && p.value == *value), "{text}");
    }
    if let Some(groups) = addition.groups {
        assert_eq!(found.system_default().unwrap().groups().unwrap().value, groups);
    }
    let before = Interpretation::new(base, addition.release);
    for provider in before.active_providers() {
        assert!(found.is_active(provider), "{provider} is lost\n{text}");
    }
    let mut expected = before.active_providers();
    expected.retain(|name| *name != addition.provider);
    let mut active = found.active_providers();
    active.retain(|name| *name != addition.provider);
    assert_eq!(active, expected, "{text}");
    for section in base.sections() {
        for entry in section.entries() {
            let now = config.section(section.name()).and_then(|section| section.get(&entry.key));
            let added = now.is_none_or(|now| now.origin.file.ends_with("composed"));
            assert!(!added || text.contains(&format!("\n{} = ", entry.key)), "{entry:?}\n{text}");
        }
    }
    composed
}

#[test]
fn debian() {
    for release in RELEASES {
        let composed = composed(DEBIAN, &addition(release));
        let (include, rest) = composed.text.split_once('\n').unwrap();
        assert!(include.starts_with(".include \"/") && include.ends_with("base $a #'.cnf\""));
        let expected = "
[ openssl_init ]
providers = fastkex_providers
ssl_conf = fastkex_ssl

[ fastkex_providers ]
default = fastkex_default
fastkex = fastkex_provider

[ fastkex_default ]
activate = 1

[ fastkex_provider ]
module = /opt/fastkex.so
activate = 1

[ fastkex_ssl ]
system_default = fastkex_system_default

[ fastkex_system_default ]
Groups = X25519SNTRUP761:X25519
";
        assert_eq!(rest, expected);
    }
}

#[test]
fn sections_of_the_base_are_extended() {
    let keys = [("pool".to_owned(), "16".to_owned()), ("pool.path".to_owned(), " $x ".to_owned())];
    let composed = composed(FULL, &Addition { keys: &keys, ..addition(V3_0) });
    let (_, rest) = composed.text.split_once('\n').unwrap();
    let expected = "
[ p ]
fastkex = fastkex_provider

[ fastkex_provider ]
module = /opt/fastkex.so
activate = 1
pool = 16
pool.path = \" $x \"

[ t ]
Groups = X25519SNTRUP761:X25519
";
    assert_eq!(rest, expected);
    assert_eq!(composed.found.active_providers(), ["default", "legacy", "fastkex"]);
    let tls = composed.found.system_default().unwrap();
    assert_eq!(tls.get("MinProtocol").unwrap().value, "TLSv1.2");
    assert_eq!(composed.found.algorithms.len(), 1);
}

#[test]
fn without_a_base_and_without_groups() {
    let text = compose(None, &Addition { groups: None, ..addition(V3_0) }).unwrap();
    assert!(text.starts_with("[ default ]\nopenssl_conf = fastkex_init\n"), "{text}");
    let config = Config::parse(&text, Path::new("composed"), &env).unwrap();
    let found = Interpretation::new(&config, V3_0);
    assert_eq!(found.active_providers(), ["default", "fastkex"]);
    assert!(found.profiles.is_empty());
}

#[test]
fn half_edits_are_completed() {
    composed("openssl_conf = i\n", &addition(V3_0));
    composed("openssl_conf = i\n[i]\nproviders = p\n", &addition(V3_0));
    composed("openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n", &addition(V3_0));
    composed("openssl_conf = i\n[i]\nssl_conf = s\n", &addition(V3_0));
    composed(
        "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\n",
        &addition(V3_0),
    );
    let text =
        composed("openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n", &addition(V3_0));
    assert!(text.text.contains("\n[ d ]\nactivate = 1\n"), "{}", text.text);
}

#[test]
fn a_provider_of_that_name_is_overridden() {
    for listed in ["fastkex = f", "1.fastkex = f", "x = f\nf::identity = fastkex"] {
        let base = format!(
            "openssl_conf = i\n[i]\nproviders = p\n[p]\n{listed}\ndefault = d\n[f]\nmodule = old.so\npool = 1\n\
             [d]\nactivate = 1\n"
        );
        let composed = composed(&base, &addition(V3_0));
        assert_eq!(composed.found.providers.len(), 2, "{}", composed.text);
        let ours = composed.found.provider("fastkex").unwrap();
        assert_eq!(ours.section(), "f");
        assert_eq!(ours.own_parameters().next().unwrap().name, "pool");
    }
}

#[test]
fn sections_that_serve_something_else_are_copied() {
    let base = "openssl_conf = i\n[i]\nproviders = p\nssl_conf = s\n[p]\ndefault = c\nfastkex = c\n[c]\nx = y\n\
                [s]\nserver = t\nsystem_default = t\n[t]\nMinProtocol = TLSv1.3\n";
    let composed = composed(base, &addition(V3_0));
    for name in ["default", "fastkex"] {
        let provider = composed.found.provider(name).unwrap();
        assert_eq!(provider.own_parameters().next().unwrap().name, "x");
        assert_eq!(provider.module.is_some(), name == "fastkex");
    }
    // `default` is copied first; then `fastkex` is the only user of the old section.
    assert_eq!(composed.found.provider("fastkex").unwrap().section(), "c");
    let server = &composed.found.profiles[0];
    assert_eq!(server.name, "server");
    assert!(server.groups().is_none());
    let tls = composed.found.system_default().unwrap();
    assert_eq!(tls.get("MinProtocol").unwrap().value, "TLSv1.3");
}

#[test]
fn names_do_not_collide() {
    let base = "openssl_conf = i\n[i]\nproviders = p\nssl_conf = s\n[p]\nfastkex = o\n[o]\nidentity = other\n\
                [fastkex_provider]\nmine = 1\n[s]\nsystem_default = default\nother = fastkex_system_default\n\
                [fastkex_system_default]\nMinProtocol = TLSv1.2\n[x]\ny = fastkex_provider_2\n";
    let composed = composed(base, &addition(V3_0));
    let ours = composed.found.provider("fastkex").unwrap();
    assert_eq!((ours.entry.key.as_str(), ours.section()), ("2.fastkex", "fastkex_provider_3"));
    assert_eq!(composed.found.provider("other").unwrap().entry.key, "fastkex");
    assert_eq!(composed.found.system_default().unwrap().entry.value, "fastkex_system_default_2");
}

#[test]
fn odd_section_names() {
    let base = "openssl_conf = \"my \\\"init\\\" #1\"\n[my \\\"init\\\" \\#1]\nproviders = \"\"\n[]\nnull = a$b\n\
                .pragma dollarid:on\n[a$b]\nactivate = 1\n";
    let base = format!(".pragma dollarid:on\n{base}");
    composed(&base, &addition(V3_0));
}

#[test]
fn the_release_decides_what_is_active() {
    let base = "openssl_conf = i\n[i]\nproviders = p\n[p]\nnull = n\n[n]\nactivate = 0\n";
    let old = composed(base, &addition(V3_0));
    assert_eq!(old.found.active_providers(), ["null", "fastkex"]);
    let new = composed(base, &Addition { groups: None, ..addition(Release::new(3, 3)) });
    assert_eq!(new.found.active_providers(), ["default", "fastkex"]);
}

#[test]
fn paths_are_quoted() {
    for path in
        ["/opt/a b.so", "/opt/$HOME/#1", "/opt/\"'`\\x", "/opt/new\nline", " relative ", "/ü"]
    {
        composed(DEBIAN, &Addition { module: Some(Path::new(path)), ..addition(V3_0) });
    }
}

fn refused(base: &str, addition: &Addition<'_>) -> ComposeError {
    match try_compose(base, addition) {
        Ok(composed) => panic!("not refused:\n{}", composed.text),
        Err(error) => error,
    }
}

#[test]
fn what_cannot_be_composed() {
    let plain = addition(V3_0);
    for provider in ["", "a.b", "a b", "ü"] {
        let error = refused(DEBIAN, &Addition { provider, ..plain });
        assert_eq!(error, ComposeError::ProviderName(provider.into()));
    }
    for key in ["", "module", "x.activate", "a b", "a=b", ".include", "ü", "a::b"] {
        let keys = [(key.to_owned(), "1".to_owned())];
        let error = refused(DEBIAN, &Addition { keys: &keys, ..plain });
        assert_eq!(error, ComposeError::Key(key.into()));
    }
    let keys = [("pool".to_owned(), "CA_default".to_owned())];
    let error = refused(DEBIAN, &Addition { keys: &keys, ..plain });
    assert!(matches!(error, ComposeError::ValueIsSection { .. }));
    let error = refused(DEBIAN, &Addition { groups: Some("X25519:*P-256"), ..plain });
    assert!(
        matches!(error, ComposeError::Groups(error) if error.wrong == GroupWrong::Needs("*", "3.5"))
    );
    composed(DEBIAN, &Addition { groups: Some("*A / DEFAULT"), ..addition(Release::new(3, 5)) });

    let config = Config::parse(DEBIAN, Path::new("x"), &env).unwrap();
    let base = Base { config: &config, path: Path::new("openssl.cnf") };
    let error = compose(Some(base), &plain).unwrap_err();
    assert_eq!(error, ComposeError::RelativeBase(PathBuf::from("openssl.cnf")));
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/\xFF"));
        let error = compose(None, &Addition { module: Some(path), ..plain }).unwrap_err();
        assert_eq!(error, ComposeError::NotUtf8(path.into()));
    }
}

#[test]
fn a_base_in_which_openssl_stops() {
    let base = "openssl_conf = i\n[i]\noid_section = o\n";
    let ComposeError::Stops(problem) = refused(base, &addition(V3_0)) else { panic!() };
    assert!(matches!(problem.kind, ProblemKind::MissingSection { .. }));
    assert_eq!(problem.origin.line, 3);
    let base = "openssl_conf = i\n[i]\nproviders = p\n[p]\nlegacy = l\n";
    assert!(matches!(refused(base, &addition(V3_0)), ComposeError::Stops(_)));
    // If the addition sets no groups, problems after the providers do not matter.
    let base =
        "openssl_conf = i\n[i]\nproviders = p\nssl_conf = s\n[p]\ndefault = d\n[d]\nactivate = 1\n";
    composed(base, &Addition { groups: None, ..addition(V3_0) });
}

#[test]
fn properties_are_added_to_those_that_are_there() {
    let asking = Addition { properties: Some("?provider=ours"), ..addition(V3_0) };
    let with = |algorithms: &str| {
        let base = format!("openssl_conf = i\n[i]\nalg_section = a\n[a]\n{algorithms}\n");
        let composed = composed(&base, &asking);
        composed.found.default_properties().map(|entry| entry.value.clone())
    };
    assert_eq!(with("").as_deref(), Some("?provider=ours"));
    assert_eq!(with("default_properties = ?x=y").as_deref(), Some("?x=y,?provider=ours"));
    // The base has already chosen a provider, or the clause would undo FIPS mode.
    assert_eq!(with("default_properties = provider=base").as_deref(), Some("provider=base"));
    assert_eq!(with("fips_mode = yes"), None);
    let composed = composed(DEBIAN, &asking);
    assert_eq!(composed.found.default_properties().unwrap().value, "?provider=ours");
}

#[test]
fn a_module_in_openssls_own_folder_needs_no_path() {
    let composed = composed(DEBIAN, &Addition { module: None, ..addition(V3_0) });
    assert!(!composed.text.contains("module"), "{}", composed.text);
}
