//! Tests of keys: generation, import, export, checks and operations.

mod common;

use openssl_runtime::{Check, Error, Format, Key, Selection, Structure, Value};

#[test]
fn raw_keys_round_trip() {
    let Some(context) = common::context() else { return };
    let key = Key::generate(&context, "X25519", None).unwrap();
    assert_eq!((key.algorithm().as_str(), key.provider().as_deref()), ("X25519", Some("default")));
    assert_eq!((key.bits(), key.security_bits(), key.max_size()), (Some(253), Some(128), Some(32)));
    let public = key.octets("pub").unwrap();
    let private = key.private_octets("priv").unwrap();
    assert_eq!((public.len(), private.len()), (32, 32));
    assert_eq!(key.encoded_public_key().unwrap(), public);

    let imported = Key::from_raw_public(&context, "X25519", None, &public).unwrap();
    assert!(key.equals(&imported).unwrap());
    assert!(imported.private_octets("priv").is_err());
    let parts = [("pub", Value::Octets(&public)), ("priv", Value::Octets(&private))];
    let imported = Key::from_data(&context, "X25519", None, Selection::Pair, &parts).unwrap();
    assert!(imported.private_octets("priv").unwrap()[..] == private[..]);
    imported.check(Check::Pairwise).unwrap();
    imported.check(Check::Public).unwrap();
    imported.check(Check::Private).unwrap();
    assert!(imported.duplicate().unwrap().equals(&key).unwrap());

    assert!(Key::from_raw_public(&context, "X25519", None, &public[1..]).is_err());
    let other = Key::generate(&context, "X25519", None).unwrap();
    assert!(!key.equals(&other).unwrap());
    assert!(key.equals(&Key::generate(&context, "X448", None).unwrap()).is_err());
}

#[test]
fn mismatched_pairs_fail_the_pairwise_check() {
    let Some(context) = common::context() else { return };
    let [a, b] = [(); 2].map(|()| Key::generate(&context, "X25519", None).unwrap());
    let (public, private) = (a.octets("pub").unwrap(), b.private_octets("priv").unwrap());
    let parts = [("pub", Value::Octets(&public)), ("priv", Value::Octets(&private))];
    let mixed = Key::from_data(&context, "X25519", None, Selection::Pair, &parts).unwrap();
    let Err(Error::OpenSsl(failure)) = mixed.check(Check::Pairwise) else { panic!() };
    assert!(failure.to_string().starts_with("cannot find the key sound (Pairwise)"), "{failure}");
}

#[test]
fn key_shares_are_set_on_parameters() {
    let Some(context) = common::context() else { return };
    let group = [("group", Value::Text("P-256"))];
    let client = Key::generate_with(&context, "EC", None, &group).unwrap();
    assert_eq!(client.text("group").unwrap(), "prime256v1");
    let mut peer = Key::generate_parameters(&context, "EC", None, &group).unwrap();
    peer.check(Check::Parameters).unwrap();
    assert!(peer.encoded_public_key().is_err());
    let share = client.encoded_public_key().unwrap();
    assert_eq!(share.len(), 65);
    peer.set_encoded_public_key(&share).unwrap();
    assert!(peer.equals(&client).unwrap());
    assert!(peer.set_encoded_public_key(&share[1..]).is_err());

    let server = Key::generate_with(&context, "EC", None, &group).unwrap();
    let mut back = Key::generate_parameters(&context, "EC", None, &group).unwrap();
    back.set_encoded_public_key(&server.encoded_public_key().unwrap()).unwrap();
    assert!(server.derive(&peer).unwrap()[..] == client.derive(&back).unwrap()[..]);
}

#[test]
fn keys_of_different_contexts_are_not_combined() {
    let (Some(ours), Some(theirs)) = (common::context(), common::context()) else { return };
    let [a, b] = [&ours, &theirs].map(|context| Key::generate(context, "X25519", None).unwrap());
    assert!(matches!(a.equals(&b), Err(Error::Input(_))));
    assert!(matches!(a.derive(&b), Err(Error::Input(_))));
    let imported = Key::from_der(&ours, b.to_public_der().unwrap(), None).unwrap();
    let shared = a.derive(&imported).unwrap();
    let imported = Key::from_der(&theirs, a.to_public_der().unwrap(), None).unwrap();
    assert!(b.derive(&imported).unwrap()[..] == shared[..]);
}

#[test]
fn encapsulation_round_trips() {
    let Some(context) = common::context() else { return };
    let key = Key::generate_with(&context, "RSA", None, &[("bits", Value::Number(2048))]).unwrap();
    let (ciphertext, secret) = key.encapsulate_as(Some("RSASVE")).unwrap();
    assert_eq!((ciphertext.len(), secret.len()), (256, 256));
    assert!(key.decapsulate_as(Some("RSASVE"), &ciphertext).unwrap()[..] == secret[..]);
    assert!(key.decapsulate_as(Some("RSASVE"), &ciphertext[1..]).is_err());
    assert!(key.encapsulate_as(Some("no-such-operation")).is_err());
    assert!(Key::generate(&context, "ED25519", None).unwrap().encapsulate().is_err());
}

#[test]
fn signatures_verify() {
    let Some(context) = common::context() else { return };
    let group = [("group", Value::Text("P-256"))];
    let ec = Key::generate_with(&context, "EC", None, &group).unwrap();
    let ed25519 = Key::generate(&context, "ED25519", None).unwrap();
    for (key, digest) in [(ec, Some("SHA256")), (ed25519, None)] {
        let signature = key.sign(digest, b"message").unwrap();
        let public = Key::from_der(&context, key.to_public_der().unwrap(), None).unwrap();
        assert!(public.verify(digest, b"message", &signature).unwrap());
        assert!(!public.verify(digest, b"massage", &signature).unwrap());
        assert!(!public.verify(digest, b"message", b"garbage").unwrap());
        assert!(public.sign(digest, b"message").is_err());
    }
}

#[test]
fn encodings_round_trip() {
    let Some(context) = common::context() else { return };
    let key = Key::generate(&context, "X25519", None).unwrap();
    let pem = key.to_public_pem().unwrap();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{pem}");
    for public in [
        Key::from_pem(&context, &pem, None).unwrap(),
        Key::from_der(&context, key.to_public_der().unwrap(), None).unwrap(),
    ] {
        assert!(public.equals(&key).unwrap());
        assert!(public.to_private_der().is_err());
    }

    let pem = key.to_private_pem().unwrap();
    assert!(pem.starts_with(b"-----BEGIN PRIVATE KEY-----\n"));
    let private = key.private_octets("priv").unwrap();
    for pair in [
        Key::from_pem(&context, &*pem, None).unwrap(),
        Key::from_der(&context, &*key.to_private_der().unwrap(), None).unwrap(),
        Key::decode(&context, Format::Pem, &pem, Some("X25519"), Some("provider=default"), None)
            .unwrap(),
    ] {
        assert!(pair.private_octets("priv").unwrap()[..] == private[..]);
    }
    assert!(Key::decode(&context, Format::Pem, &pem, Some("X448"), None, None).is_err());

    let text = key.encode(Format::Text, Structure::SubjectPublicKeyInfo).unwrap();
    assert!(text.starts_with(b"X25519 Public-Key:"), "{}", String::from_utf8_lossy(&text));
    assert!(matches!(
        Key::decode(&context, Format::Text, &text, None, None, None),
        Err(Error::Input(_))
    ));
    assert!(Key::from_pem(&context, "garbage", None).is_err());
    assert!(Key::from_der(&context, [], None).is_err());
}

#[test]
fn encrypted_keys_need_their_passphrase() {
    let Some(context) = common::context() else { return };
    let key = Key::generate(&context, "X25519", None).unwrap();
    let structure =
        Structure::EncryptedPrivateKeyInfo { cipher: "AES-256-CBC", passphrase: b"open" };
    for format in [Format::Pem, Format::Der] {
        let encoded = key.encode(format, structure).unwrap();
        let decode = |passphrase| Key::decode(&context, format, &encoded, None, None, passphrase);
        let back = decode(Some(b"open")).unwrap();
        assert!(
            back.private_octets("priv").unwrap()[..] == key.private_octets("priv").unwrap()[..]
        );
        assert!(decode(Some(b"shut")).is_err());
        // Must fail instead of asking at the terminal.
        assert!(decode(None).is_err());
    }
    let pem = key.encode(Format::Pem, structure).unwrap();
    assert!(pem.starts_with(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    let structure =
        Structure::EncryptedPrivateKeyInfo { cipher: "no-such-cipher", passphrase: b"open" };
    assert!(key.encode(Format::Pem, structure).is_err());
}

#[test]
fn bad_names_are_explained() {
    let Some(context) = common::context() else { return };
    let Err(error) = Key::generate(&context, "no-such-algorithm", None) else { panic!() };
    let text = error.to_string();
    assert!(text.starts_with("cannot generate a key of no-such-algorithm: unsupported"), "{text}");
    let Err(error) = Key::generate(&context, "X25519\0", None) else { panic!() };
    assert!(matches!(error, Error::Input(_)), "{error}");
    assert!(Key::generate(&context, "X25519", Some("provider=no-such-provider")).is_err());
}
