//! Keys through OpenSSL's own interface: generation, PEM and DER, import and export, encapsulation.

mod common;

use common::{EVERYTHING, context, has_ml_kem, libraries, module, stock_context};
use kex::{TLS_GROUPS, TlsGroup};
use openssl_runtime::{Check, Error, Format, Key, LibraryContext, Selection, Structure, Value};

fn for_each_group(test: impl Fn(&LibraryContext, &TlsGroup)) {
    let Some(libraries) = libraries() else { return };
    let context = context(&libraries);
    for group in TLS_GROUPS {
        test(&context, group);
    }
}

/// As [`for_each_group`], for groups whose keys can be written as files.
fn for_each_group_with_files(test: impl Fn(&LibraryContext, &TlsGroup)) {
    for_each_group(|context, group| {
        if group.identifier.is_some() {
            test(context, group);
        }
    });
}

/// The text that OpenSSL's error queue holds.
fn reasons<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => String::from("no error"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn encapsulation_and_decapsulation_agree() {
    for_each_group(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        let public =
            Key::from_raw_public(context, group.name, None, &key.octets("pub").unwrap()).unwrap();
        let (ciphertext, ours) = public.encapsulate().unwrap();
        assert_eq!(ciphertext.len(), group.ciphertext_bytes);
        assert_eq!(ours.len(), group.shared_secret_bytes);
        // A key that is kept may be used more than once.
        for _ in 0..2 {
            assert_eq!(*key.decapsulate(&ciphertext).unwrap(), *ours);
        }
        // In the KEM's part: it rejects implicitly.
        let mut wrong = ciphertext.clone();
        wrong[ciphertext.len() / 2] ^= 1;
        assert_ne!(*key.decapsulate(&wrong).unwrap(), *ours);

        let text = reasons(key.decapsulate(&ciphertext[1..]));
        let expected =
            format!("ciphertext of {} bytes: expected {}", ciphertext.len() - 1, ciphertext.len());
        assert!(text.contains("invalid ciphertext") && text.contains(&expected), "{text}");
        let text = reasons(public.decapsulate(&ciphertext));
        assert!(text.contains("the key has no private half"), "{text}");
    });
}

#[test]
fn keys_tell_what_they_are() {
    for_each_group(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        assert_eq!(key.algorithm(), group.algorithm());
        assert_eq!(key.provider().as_deref(), Some("fastkex"));
        assert_eq!(key.bits(), Some(8 * group.public_key_bytes as u32));
        assert_eq!(key.security_bits(), Some(group.security_bits));
        assert_eq!(key.max_size(), Some(group.ciphertext_bytes as u32));
        assert_eq!(key.encoded_public_key().unwrap(), key.octets("pub").unwrap());
        assert_eq!(key.octets("pub").unwrap().len(), group.public_key_bytes);
        assert_eq!(key.private_octets("priv").unwrap().len(), group.secret_key_bytes);

        for check in [Check::Parameters, Check::Public, Check::Private, Check::Pairwise] {
            key.check(check).unwrap();
        }
        let (copy, other) =
            (key.duplicate().unwrap(), Key::generate(context, group.name, None).unwrap());
        assert!(key.equals(&copy).unwrap());
        assert!(!key.equals(&other).unwrap());
        assert_eq!(*copy.private_octets("priv").unwrap(), *key.private_octets("priv").unwrap());
    });
}

#[test]
fn keys_survive_pem_and_der() {
    for_each_group_with_files(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        let secret = key.private_octets("priv").unwrap();
        for format in [Format::Der, Format::Pem] {
            let public = key.encode(format, Structure::SubjectPublicKeyInfo).unwrap();
            let read = Key::decode(context, format, &public, None, None, None).unwrap();
            assert!(read.equals(&key).unwrap());
            assert!(read.private_octets("priv").is_err());

            let private = key.encode(format, Structure::PrivateKeyInfo).unwrap();
            let read = Key::decode(context, format, &private, None, None, None).unwrap();
            assert_eq!(*read.private_octets("priv").unwrap(), *secret);
            assert_eq!(read.algorithm(), group.algorithm());
        }
        let pem = key.to_private_pem().unwrap();
        assert!(pem.starts_with(b"-----BEGIN PRIVATE KEY-----\n"));
        assert!(key.to_public_pem().unwrap().starts_with("-----BEGIN PUBLIC KEY-----\n"));

        let public = Key::from_raw_public(context, group.name, None, &key.octets("pub").unwrap());
        assert!(public.unwrap().to_private_pem().is_err());
    });
}

#[test]
fn keys_are_encrypted_or_not_written() {
    let Some(libraries) = libraries() else { return };
    let context = context(&libraries);
    let passphrase = b"correct horse".as_slice();
    for (name, format) in [("sntrup761", Format::Pem), ("X25519SNTRUP857", Format::Der)] {
        let key = Key::generate(&context, name, None).unwrap();
        let secret = key.private_octets("priv").unwrap();
        let encrypt =
            |cipher| key.encode(format, Structure::EncryptedPrivateKeyInfo { cipher, passphrase });
        for cipher in ["AES-256-CBC", "AES-128-CBC"] {
            let encrypted = encrypt(cipher).unwrap();
            assert!(!encrypted.windows(16).any(|window| *window == secret[..16]));
            let read = |passphrase| {
                Key::decode(&context, format, &encrypted, None, None, Some(passphrase))
            };
            assert_eq!(*read(passphrase).unwrap().private_octets("priv").unwrap(), *secret);
            assert!(read(b"wrong").is_err());
        }
        // A cipher that cannot be had must not give a key in the clear.
        let text = reasons(encrypt("DES-EDE3-CBC"));
        assert!(text.contains("expected AES-128-CBC or AES-256-CBC"), "{text}");
    }
}

#[test]
fn keys_print() {
    for_each_group_with_files(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        let text = |structure| {
            let text = key.encode(Format::Text, structure).unwrap();
            String::from_utf8(text.to_vec()).unwrap()
        };
        let private = text(Structure::PrivateKeyInfo);
        let name = group.algorithm();
        let is_ml_kem = name.starts_with("ML-KEM-");
        let (first, public_part) = if is_ml_kem { ("seed", "ek") } else { ("priv", "pub") };
        assert!(private.starts_with(&format!("{name} Private-Key:\n{first}:\n")), "{private}");
        let public = text(Structure::SubjectPublicKeyInfo);
        assert!(public.starts_with(&format!("{name} Public-Key:\n{public_part}:\n")), "{public}");
        assert!(["priv", "seed", "dk"].iter().all(|part| !public.contains(part)));
    });
}

#[test]
fn files_with_wrong_keys_are_refused() {
    for_each_group_with_files(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        let good = key.to_private_der().unwrap();
        let mut short = good.to_vec();
        short.truncate(good.len() - 1);
        assert!(Key::from_der(context, &short, None).is_err());
        // In the public key's hash, which stands last but for X25519's secret or ML-KEM's z.
        let mut flipped = good.to_vec();
        let is_last = group.name.starts_with("sntrup");
        let after = if is_last { 0 } else { 32 };
        let inside = flipped.len() - after - 20;
        flipped[inside] ^= 0x40;
        let text = reasons(Key::from_der(context, &flipped, None));
        assert!(text.contains(&format!("{}: ", group.name)), "{text}");
    });
}

#[test]
fn imports_are_checked() {
    for_each_group(|context, group| {
        let (key, other) = (
            Key::generate(context, group.name, None).unwrap(),
            Key::generate(context, group.name, None).unwrap(),
        );
        let (public, secret) = (key.octets("pub").unwrap(), key.private_octets("priv").unwrap());
        let import = |parts: &[(&str, Value<'_>)]| {
            Key::from_data(context, group.name, None, Selection::Pair, parts)
        };
        let imported = import(&[("priv", Value::Octets(&secret))]).unwrap();
        assert_eq!(imported.octets("pub").unwrap(), public);
        import(&[("priv", Value::Octets(&secret)), ("pub", Value::Octets(&public))]).unwrap();
        import(&[("pub", Value::Octets(&public))]).unwrap();

        let strange = other.octets("pub").unwrap();
        let text =
            reasons(import(&[("priv", Value::Octets(&secret)), ("pub", Value::Octets(&strange))]));
        assert!(text.contains("'pub' is not the public key of 'priv'"), "{text}");
        let text = reasons(import(&[("pub", Value::Octets(&public[1..]))]));
        assert!(text.contains("invalid key") && text.contains("expected"), "{text}");
        let text = reasons(import(&[]));
        assert!(text.contains("neither 'pub' nor 'priv'"), "{text}");

        // Half of one key and half of another pass the import, but not the check.
        let mut mixed = secret.to_vec();
        mixed[..100].copy_from_slice(&other.private_octets("priv").unwrap()[..100]);
        match import(&[("priv", Value::Octets(&mixed))]) {
            Ok(mixed) => assert!(mixed.check(Check::Pairwise).is_err()),
            Err(error) => assert!(error.to_string().contains("inconsistent"), "{error}"),
        }
    });
}

#[test]
fn tls_fills_in_keys_made_for_their_parameters() {
    for_each_group(|context, group| {
        let key = Key::generate(context, group.name, None).unwrap();
        let named = [("group", Value::Text(group.name))];
        let mut empty = Key::generate_parameters(context, group.name, None, &named).unwrap();
        assert!(empty.encapsulate().is_err());
        assert!(empty.octets("pub").is_err());
        empty.set_encoded_public_key(&key.octets("pub").unwrap()).unwrap();
        let (ciphertext, secret) = empty.encapsulate().unwrap();
        assert_eq!(*key.decapsulate(&ciphertext).unwrap(), *secret);

        let text = reasons(Key::generate_parameters(
            context,
            group.name,
            None,
            &[("group", Value::Text("X448"))],
        ));
        assert!(text.contains(&format!("expected {}", group.name)), "{text}");
        let text = reasons(empty.set_encoded_public_key(&[]));
        assert!(text.contains("invalid key"), "{text}");
    });
}

/// The parameter sets of ML-KEM, the only groups whose keys OpenSSL reads and writes itself.
const ML_KEM: [&str; 3] = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"];

/// A context with further keys in the module's section.
fn context_with(libraries: &openssl_runtime::Libraries, keys: &[(&str, &str)]) -> LibraryContext {
    let context = stock_context(libraries);
    context.load_provider_with(module(), &[&EVERYTHING, keys].concat()).unwrap().keep();
    if has_ml_kem(libraries) {
        context.set_default_properties("?provider=fastkex").unwrap();
    }
    context
}

#[test]
fn seeds_make_keys_again() {
    let Some(libraries) = libraries() else { return };
    let context = context(&libraries);
    for name in ML_KEM {
        let key = Key::generate(&context, name, None).unwrap();
        let (seed, secret) =
            (key.private_octets("seed").unwrap(), key.private_octets("priv").unwrap());
        assert_eq!(seed.len(), 64);
        let from = |parts: &[(&str, &[u8])]| {
            let parts: Vec<_> =
                parts.iter().map(|&(name, part)| (name, Value::Octets(part))).collect();
            Key::from_data(&context, name, None, Selection::Pair, &parts)
        };
        let generated =
            Key::generate_with(&context, name, None, &[("seed", Value::Octets(&seed))]).unwrap();
        let imported = from(&[("seed", &seed)]).unwrap();
        let both = from(&[("seed", &seed), ("priv", &secret)]).unwrap();
        for again in [generated, imported, both] {
            assert!(again.equals(&key).unwrap());
            assert_eq!(*again.private_octets("priv").unwrap(), *secret);
            assert_eq!(*again.private_octets("seed").unwrap(), *seed);
            again.check(Check::Pairwise).unwrap();
        }
        // A key that was read from its expanded form has no seed.
        let expanded = from(&[("priv", &secret)]).unwrap();
        assert!(expanded.private_octets("seed").is_err());
        assert!(expanded.equals(&key).unwrap());

        let other = Key::generate(&context, name, None).unwrap();
        let other = other.private_octets("seed").unwrap();
        let text = reasons(from(&[("seed", &other), ("priv", &secret)]));
        assert!(text.contains("the expanded key is not that of the seed"), "{text}");
        let text = reasons(from(&[("seed", &seed[1..])]));
        assert!(text.contains("seed of 63 bytes: expected 64"), "{text}");
        let short = [("seed", Value::Octets(&seed[1..]))];
        let text = reasons(Key::generate_with(&context, name, None, &short));
        assert!(text.contains("seed of 63 bytes: expected 64"), "{text}");
    }
}

#[test]
fn every_form_of_ml_kem_keys_is_written_and_read() {
    let Some(libraries) = libraries() else { return };
    let default = context(&libraries);
    for name in ML_KEM {
        let key = Key::generate(&default, name, None).unwrap();
        let (seed, secret) =
            (key.private_octets("seed").unwrap(), key.private_octets("priv").unwrap());
        let parts = [("seed", Value::Octets(&seed))];
        let mut lengths = Vec::new();
        for (form, has_seed) in [("seed-priv", true), ("priv-only", false), ("seed-only", true)] {
            let context = context_with(&libraries, &[("ml-kem.output_formats", form)]);
            let key = Key::from_data(&context, name, None, Selection::Pair, &parts).unwrap();
            let der = key.to_private_der().unwrap();
            lengths.push(der.len() as isize - secret.len() as isize);
            let read = Key::from_der(&default, &*der, None).unwrap();
            assert_eq!(*read.private_octets("priv").unwrap(), *secret, "{name} {form}");
            assert_eq!(read.private_octets("seed").is_ok(), has_seed, "{name} {form}");
        }
        // Both, the expanded key alone, the seed alone.
        assert!(lengths[0] > lengths[1] + 64 && lengths[1] > 0 && lengths[2] < 0, "{lengths:?}");

        // A key without a seed is not written as one.
        let context = context_with(&libraries, &[("ml-kem.output_formats", "seed-only")]);
        let parts = [("priv", Value::Octets(&secret))];
        let key = Key::from_data(&context, name, None, Selection::Pair, &parts).unwrap();
        let text = reasons(key.to_private_der());
        assert!(text.contains("the key's seed is not known"), "{text}");
    }
}

/// Keys and ciphertexts go between the module and OpenSSL's own ML-KEM.
#[test]
fn openssls_own_ml_kem_reads_and_writes_the_same_files() {
    let Some(libraries) = libraries() else { return };
    if !has_ml_kem(&libraries) {
        artifacts::skipped("this OpenSSL has no ML-KEM itself (from 3.5 on)");
        return;
    }
    let (ours, theirs) = (context(&libraries), stock_context(&libraries));
    for name in ML_KEM {
        for (one, other, provider) in [(&ours, &theirs, "fastkex"), (&theirs, &ours, "default")] {
            let key = Key::generate(one, name, None).unwrap();
            assert_eq!(key.provider().as_deref(), Some(provider));
            let der = key.to_private_der().unwrap();
            let read = Key::from_der(other, &*der, None).unwrap();
            assert_ne!(read.provider(), key.provider());
            // Both write the same bytes.
            assert_eq!(*read.to_private_der().unwrap(), *der);
            let pem = key.to_public_pem().unwrap();
            let public = Key::decode(other, Format::Pem, pem.as_bytes(), None, None, None).unwrap();
            assert_eq!(public.to_public_pem().unwrap(), pem);
            for part in ["seed", "priv"] {
                assert_eq!(
                    *read.private_octets(part).unwrap(),
                    *key.private_octets(part).unwrap(),
                    "{name} {part}"
                );
            }

            let (ciphertext, secret) = public.encapsulate().unwrap();
            assert_eq!(*key.decapsulate(&ciphertext).unwrap(), *secret);
            // Implicit rejection gives the same secret, too.
            let mut wrong = ciphertext;
            wrong[5] ^= 1;
            assert_eq!(*key.decapsulate(&wrong).unwrap(), *read.decapsulate(&wrong).unwrap());
        }
    }
}
