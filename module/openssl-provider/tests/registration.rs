//! Which groups, encoders and decoders the module registers, by its section of the configuration.

mod common;

use common::{client, libraries, module, server, stock_context};
use kex::{RECOMMENDED_GROUPS, TLS_GROUPS};
use openssl_runtime::{InMemoryHandshake, Key, LibraryContext};

/// A context with the default provider and ours, with these keys in its section.
fn context_with(keys: &[(&str, &str)]) -> Option<LibraryContext> {
    let context = stock_context(&libraries()?);
    context.load_provider_with(module(), keys).unwrap().keep();
    Some(context)
}

/// The module's groups that libssl knows, except those that it has itself.
fn offered(context: &LibraryContext) -> Vec<&'static str> {
    let Some(libraries) = libraries() else { return Vec::new() };
    let own = stock_context(&libraries).tls_groups();
    let known = context.tls_groups();
    let is_known = |name: &str| known.iter().any(|group| group.name == name);
    let is_own = |name: &str| own.iter().any(|group| group.name == name);
    let names = TLS_GROUPS.iter().map(|group| group.name);
    names.filter(|name| is_known(name) && !is_own(name)).collect()
}

#[test]
fn the_groups_of_the_section_are_offered_and_no_others() {
    let Some(libraries) = libraries() else { return };
    let has_ml_kem = common::has_ml_kem(&libraries);
    let all: Vec<_> = TLS_GROUPS.iter().map(|group| group.name).collect();
    for (keys, expected) in [
        (&[][..], &RECOMMENDED_GROUPS[..]),
        (&[("groups", "all")], &all),
        (&[("groups", "SNTRUP857")], &["sntrup857"]),
        (&[("groups", "X25519SNTRUP1277:sntrup653")], &["sntrup653", "X25519SNTRUP1277"]),
    ] {
        let Some(context) = context_with(keys) else { return };
        let has_itself = |name: &str| {
            has_ml_kem && kex::group_named(name).is_some_and(|group| !group.is_private())
        };
        let announced: Vec<_> = expected.iter().copied().filter(|name| !has_itself(name)).collect();
        assert_eq!(offered(&context), announced, "{keys:?}");
        for name in &all {
            let key = Key::generate(&context, name, Some("provider=fastkex"));
            assert_eq!(key.is_ok(), expected.contains(name), "{name} {keys:?}");
        }
        for name in expected {
            let (client, server) = (client(&context, name), server(&context, name));
            let report = InMemoryHandshake::new(&client, &server).run(&mut |_, _| {}).unwrap();
            assert!(report.is_ok(), "{name}: {} / {}", report.client, report.server);
        }
    }
}

#[test]
fn keys_become_files_only_where_the_section_says_so() {
    for (keys, is_written) in
        [(&[][..], false), (&[("key_files", "off")], false), (&[("key_files", "on")], true)]
    {
        let Some(context) = context_with(keys) else { return };
        let key = Key::generate(&context, "sntrup761", None).unwrap();
        let private = key.to_private_pem();
        assert_eq!(private.is_ok(), is_written, "{keys:?}");
        assert_eq!(key.to_public_pem().is_ok(), is_written, "{keys:?}");
        if let Ok(pem) = private {
            assert!(Key::from_pem(&context, &*pem, None).unwrap().equals(&key).unwrap());
        }
    }
}

#[test]
fn wrong_values_are_refused_with_the_right_ones() {
    for (key, value, expected) in [
        ("groups", "sntrup762", "fastkex: groups = sntrup762: expected all, or some of these"),
        ("groups", "X25519", "fastkex: groups = X25519: expected all, or some of these"),
        ("groups", "sntrup761,sntrup857", "fastkex: groups = sntrup761,sntrup857: expected all"),
        ("key_files", "yes", "fastkex: key_files = yes: expected on or off"),
    ] {
        let Some(libraries) = libraries() else { return };
        let context = stock_context(&libraries);
        let error = context.load_provider_with(module(), &[(key, value)]).err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
