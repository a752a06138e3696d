//! Tests of OpenSSL's interpretation of a configuration.

mod common;

use common::{RELEASES, config};
use openssl_conf::{Activation, Interpretation, ModuleKind, ProblemKind, Release};

const V3_0: Release = Release::new(3, 0);
const V3_3: Release = Release::new(3, 3);
const V4_0: Release = Release::new(4, 0);

fn interpret(text: &str, release: Release) -> Interpretation {
    Interpretation::new(&config(text), release)
}

/// Interprets a configuration with these providers.
fn providers(text: &str, release: Release) -> Interpretation {
    let head = "openssl_conf = init\n[init]\nproviders = list\n[list]\n";
    interpret(&format!("{head}{text}"), release)
}

#[test]
fn debian_with_everything_commented_out() {
    let text = "HOME = .\nopenssl_conf = openssl_init\nconfig_diagnostics = 1\noid_section = new_oids\n\
                [openssl_init]\n# providers = provider_sect\n[ CA_default ]\ndir = ./demoCA\n";
    for release in RELEASES {
        let debian = interpret(text, release);
        assert_eq!(debian.init.as_ref().unwrap().value, "openssl_init");
        assert!(debian.default_is_implicit() && debian.is_active("default") && debian.diagnostics);
        assert!(debian.modules.is_empty() && debian.problems.is_empty());
        assert!(debian.system_default().is_none());
    }
}

#[test]
fn half_an_edit_of_debian_stops() {
    let text = "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\nssl_conf = s\n\
                [s]\nsystem_default = t\n[t]\nGroups = X25519\n";
    let half = interpret(text, V3_0);
    let kind =
        ProblemKind::MissingSection { key: "providers".into(), section: "provider_sect".into() };
    assert_eq!(half.problems[0].kind, kind);
    assert_eq!(half.problems[0].origin.line, 3);
    assert!(half.is_active("default"));
    assert!(!half.modules[1].reached && !half.system_default().unwrap().reached);

    let half = providers("default = default_sect\n", V3_0);
    assert_eq!(half.active_providers(), ["default"]);
    assert!(half.problems[0].to_string().contains("no section [default_sect]"));
}

#[test]
fn activation_before_and_since_3_3() {
    let listed = |value: &str, release| {
        providers(
            &format!("base = b\nnull = n\n[b]\nactivate = {value}\n[n]\nactivate = 1"),
            release,
        )
    };
    for (value, since_3_3) in [
        ("1", Activation::Yes),
        ("yes", Activation::Yes),
        ("TRUE", Activation::Yes),
        ("ON", Activation::Yes),
        ("0", Activation::No),
        ("NO", Activation::No),
        ("false", Activation::No),
        ("off", Activation::No),
        ("On", Activation::NotABoolean),
        ("2", Activation::NotABoolean),
        ("", Activation::NotABoolean),
    ] {
        let old = listed(value, Release::new(3, 2));
        assert_eq!(old.provider("base").unwrap().activation(), Some(since_3_3));
        assert_eq!(old.active_providers(), ["base", "null"], "{value}");
        let new = listed(value, V3_3);
        assert_eq!(new.provider("base").unwrap().activation(), Some(since_3_3));
        let active: &[&str] = match since_3_3 {
            Activation::Yes => &["base", "null"],
            Activation::No => &["null"],
            // OpenSSL stops before the second provider.
            Activation::NotABoolean => &["default"],
        };
        assert_eq!(new.active_providers(), active, "{value}");
    }
    let absent = providers("base = b\n[b]\nmodule = x.so\n", V3_0);
    assert_eq!(absent.provider("base").unwrap().activation(), None);
    assert_eq!(absent.active_providers(), ["default"]);
}

#[test]
fn providers_and_their_parameters() {
    let text = "1.fastkex = f\n[f]\nidentity = fk\nmodule = /x/fk.so\na.activate = 1\npool = 16\nnested = n\n\
                none = empty\n[n]\nactivate = off\ndeep = m\n[m]\nx = y\n[empty]\n";
    let found = providers(text, V3_3);
    let provider = found.provider("fk").unwrap();
    assert_eq!(provider.entry.key, "1.fastkex");
    assert_eq!((provider.section(), provider.listed_in.as_str()), ("f", "list"));
    assert_eq!(provider.identity.as_ref().unwrap().value, "fk");
    assert_eq!(provider.module.as_ref().unwrap().value, "/x/fk.so");
    assert!(provider.active);
    let all: Vec<_> = provider.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        all,
        ["identity", "module", "a.activate", "pool", "nested.activate", "nested.deep.x"]
    );
    let own: Vec<_> =
        provider.own_parameters().map(|p| format!("{}={}", p.name, p.value)).collect();
    assert_eq!(own, ["pool=16", "nested.activate=off", "nested.deep.x=y"]);
    let pool = provider.own_parameters().next().unwrap();
    assert_eq!(pool.origin.to_string(), "test.cnf:10");
    let without = providers("a.b.c = d\n[d]\nactivate = 1", V3_0);
    assert_eq!(without.active_providers(), ["b.c"]);
}

#[test]
fn of_one_name_the_first_to_be_activated_counts() {
    let text =
        "base = a\n1.base = b\n2.base = c\n[a]\n[b]\nactivate = 1\n[c]\nactivate = 1\nmodule = x";
    let found = providers(text, V3_0);
    let active: Vec<_> = found.providers.iter().map(|provider| provider.active).collect();
    assert_eq!(active, [false, true, false]);
    assert_eq!(found.active_providers(), ["base"]);
}

#[test]
fn parameters_that_never_end() {
    let recursive = providers("base = b\n[b]\nactivate = 1\nx = c\n[c]\ny = b\n", V3_0);
    assert!(matches!(recursive.problems[0].kind, ProblemKind::Recursion { .. }));
    // OpenSSL had already decided against the implicit `default`.
    assert!(recursive.active_providers().is_empty());

    let mut wide = String::from("base = s0\n");
    for level in 0..40 {
        wide += &format!("[s{level}]\na = s{0}\nb = s{0}\n", level + 1);
    }
    wide += "[s40]\n";
    assert_eq!(providers(&wide, V3_0).problems[0].kind, ProblemKind::TooManySettings);

    let mut deep = String::from("base = s0\n");
    for level in 0..400 {
        deep += &format!("[s{level}]\n = s{}\n", level + 1);
    }
    deep += &format!("[s400]\n{} = 1\n", "x".repeat(300));
    let kind = ProblemKind::LongParameter { provider: "base".into() };
    assert_eq!(providers(&deep, V3_0).problems[0].kind, kind);
}

#[test]
fn lists_that_lead_to_large_sections() {
    let number = |count: usize, line: &str| -> String {
        (0..count).map(|at| line.replace('#', &at.to_string())).collect()
    };
    let head = "openssl_conf = i\n[i]\n";
    for (list, entries) in [("providers.#", "#.base"), ("ssl_conf.#", "profile#")] {
        let modules = number(3000, &format!("{list} = p\n"));
        let entries = number(3000, &format!("{entries} = b\n"));
        let settings = number(3000, "s# = 1\n");
        let text = format!("{head}{modules}[p]\n{entries}[b]\n{settings}");
        assert_eq!(interpret(&text, V3_0).problems[0].kind, ProblemKind::TooManySettings);
    }
}

#[test]
fn modules_are_found_by_the_beginning_of_their_names() {
    let text = "openssl_conf = i\n[i]\nengines = e\nprovid = p\nproviders.2 = q\nssl_conf = s\nalg_section = a\n\
                random = r\n[e]\n[p]\nbase = b\n[q]\nnull = b\n[b]\nactivate = yes\n[s]\nserver = t\n[t]\nx.y = z\n\
                [a]\ndefault_properties = fips=yes\n[r]\n";
    let found = interpret(text, V3_0);
    let kinds: Vec<_> = found.modules.iter().map(|module| module.kind).collect();
    assert_eq!(
        kinds,
        [
            ModuleKind::Engines,
            ModuleKind::Providers,
            ModuleKind::Providers,
            ModuleKind::Ssl,
            ModuleKind::Algorithms,
            ModuleKind::Random
        ]
    );
    assert_eq!(found.active_providers(), ["base", "null"]);
    assert_eq!(found.algorithms[0].value, "fips=yes");
    assert!(found.system_default().is_none() && found.profiles[0].commands[0].name == "y");
    // From 4.0 on there are no engines, and OpenSSL stops at the key.
    let new = interpret(text, V4_0);
    assert_eq!(new.problems[0].kind, ProblemKind::UnknownModule("engines".into()));
    assert_eq!(new.active_providers(), ["default"]);
    let loadable = interpret("openssl_conf = i\n[i]\nmine = m\n[m]\npath = /x.so\n", V4_0);
    assert!(loadable.problems.is_empty());
}

#[test]
fn tls_settings() {
    let text = "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = t\nserver = u\n[t]\nCurves = A\n\
                MinProtocol = TLSv1.2\n1.minprotocol = DTLSv1.2\ngroups = B:C\nECDHParameters = Automatic\n\
                CipherString = DEFAULT:@SECLEVEL=2\n[u]\nCurves = X\nECDHParameters = P-256\n";
    let found = interpret(text, V3_0);
    let profile = found.system_default().unwrap();
    assert!(profile.reached);
    assert_eq!(profile.groups().unwrap().value, "B:C");
    assert_eq!(profile.groups().unwrap().origin.line, 11);
    let versions: Vec<_> =
        profile.all("MinProtocol").map(|command| command.value.as_str()).collect();
    assert_eq!(versions, ["TLSv1.2", "DTLSv1.2"]);
    assert_eq!(profile.get("CIPHERSTRING").unwrap().value, "DEFAULT:@SECLEVEL=2");
    assert!(profile.get("MaxProtocol").is_none());
    assert_eq!(found.profiles[1].groups().unwrap().value, "P-256");
}

#[test]
fn tls_sections_must_not_be_empty() {
    let head =
        "openssl_conf = i\n[i]\nssl_conf = s\nproviders = p\n[p]\nbase = b\n[b]\nactivate = 1\n";
    for (tail, empty) in [
        ("", false),
        ("[s]", true),
        ("[s]\nsystem_default = t", false),
        ("[s]\nsystem_default = t\n[t]", true),
        ("[s]\nsystem_default = u\nother = t\n[t]\n[u]\nGroups = X", true),
    ] {
        let found = interpret(&format!("{head}{tail}"), V3_0);
        let kind = &found.problems[0].kind;
        assert_eq!(matches!(kind, ProblemKind::EmptySection { .. }), empty, "{tail}");
        assert!(empty || matches!(kind, ProblemKind::MissingSection { .. }));
        assert_eq!(found.active_providers(), ["default"], "{tail}");
        assert!(found.profiles.iter().all(|profile| !profile.reached));
    }
}

#[test]
fn algorithm_settings() {
    let alg = |text: &str| {
        interpret(&format!("openssl_conf = i\n[i]\nalg_section = a\n[a]\n{text}"), V3_0).problems
    };
    assert!(alg("fips_mode = no\ndefault_properties = ?fips=yes").is_empty());
    assert!(matches!(alg("fips_mode = on")[0].kind, ProblemKind::NotABoolean { .. }));
    assert!(matches!(alg("fips = 1")[0].kind, ProblemKind::UnknownAlgorithmOption(_)));
}

#[test]
fn nothing_without_openssl_conf() {
    let text = "[x]\nopenssl_conf = i\n[i]\nproviders = p\n";
    let found = interpret(text, V3_0);
    assert!(found.init.is_none() && found.modules.is_empty() && found.problems.is_empty());
    assert!(!found.diagnostics);
}
