//! Tests of OpenSSL 1.1.1: its clients do handshakes with servers of the system's OpenSSL, and
//! missing functions give clear errors.

mod common;

use openssl_runtime::{
    Certificate, Error, Key, KeyType, Libraries, LibraryContext, Operation, SslContext, TlsVersion,
    handshake_in_memory,
};

/// Returns OpenSSL 1.1.1, from either build.
fn legacy() -> Option<Libraries> {
    let Some(prefix) = [true, false].into_iter().find_map(artifacts::legacy_openssl) else {
        artifacts::skipped("no OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build)");
        return None;
    };
    Some(Libraries::open_directory(prefix.join("lib")).unwrap())
}

#[test]
fn it_says_what_it_is() {
    let Some(libraries) = legacy() else { return };
    assert!(libraries.is_legacy());
    assert_eq!(libraries.version().to_string(), "1.1.1");
    assert!(libraries.version_text().starts_with("OpenSSL 1.1.1w "));
    for (path, name) in [
        (libraries.libcrypto_path(), "libcrypto.so.1.1"),
        (libraries.libssl_path(), "libssl.so.1.1"),
    ] {
        assert!(path.ends_with(name), "{}", path.display());
    }
    let Some(system) = common::libraries() else { return };
    assert!(!system.is_legacy());
}

#[test]
fn its_clients_shake_hands() {
    let (Some(libraries), Some(context)) = (legacy(), common::context()) else { return };
    let process = LibraryContext::new(&libraries).unwrap();
    for (kind, algorithm, bits) in [
        (KeyType::EcP256, "EC", 256),
        (KeyType::Rsa2048, "RSA", 2048),
        (KeyType::Ed25519, "ED25519", 253),
    ] {
        let certificate = Certificate::self_signed(&context, kind, &["localhost"]).unwrap();
        let server = SslContext::server(&context, &certificate).unwrap().build();
        for (list, id, name) in
            [("X25519", 0x001D, "x25519"), ("P-256:X25519", 0x0017, "secp256r1")]
        {
            let client = SslContext::client(&process).unwrap().groups(list).unwrap();
            let client = client.trust(&certificate).unwrap().build();
            let report = handshake_in_memory(&client, &server, &mut |_, _| {}).unwrap();
            assert!(report.is_ok(), "{}; {}", report.client, report.server);
            let group = report.client.group.unwrap();
            assert_eq!((group.id, group.name.as_deref()), (id, Some(name)));
            assert_eq!(report.client.version, Some(TlsVersion::Tls13));
            let kinds: Vec<_> = report.client.messages.iter().map(|message| message.kind).collect();
            assert_eq!(kinds, [1, 2, 8, 11, 15, 20, 20]);

            let mut connection =
                openssl_runtime::MemoryConnection::new(&client, Some("localhost")).unwrap();
            let mut other = openssl_runtime::MemoryConnection::new(&server, None).unwrap();
            connection.handshake().unwrap();
            other.feed(&connection.take_outgoing()).unwrap();
            other.handshake().unwrap();
            connection.feed(&other.take_outgoing()).unwrap();
            connection.handshake().unwrap();
            let key = connection.peer_key().unwrap();
            assert_eq!((key.algorithm.as_str(), key.bits), (algorithm, bits));
        }
    }
}

#[test]
fn its_failures_are_explained() {
    let (Some(libraries), Some(context)) = (legacy(), common::context()) else { return };
    let process = LibraryContext::new(&libraries).unwrap();
    let certificate = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"]).unwrap();
    let server = SslContext::server(&context, &certificate).unwrap().build();
    // The client has no trusted certificates.
    let client = SslContext::client(&process).unwrap().build();
    let report = handshake_in_memory(&client, &server, &mut |_, _| {}).unwrap();
    let text = report.client.to_string();
    assert!(!report.is_ok() && text.contains("certificate verify failed"), "{text}");

    let Err(error) = SslContext::client(&process).unwrap().groups("no-such-group") else {
        panic!()
    };
    assert!(error.to_string().contains("set the groups \"no-such-group\""), "{error}");
    let error = process.load_config("/no/such/openssl.cnf").unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");
    let text = "openssl_conf = init\n[init]\nengines = list\n[list]\nnone = none\n[none]\n\
        dynamic_path = /no/such/engine.so\n";
    let error = process.load_config_text(text).unwrap_err();
    assert!(error.to_string().contains("/no/such/engine.so"), "{error}");
}

#[test]
fn what_it_has_not_is_named() {
    let Some(libraries) = legacy() else { return };
    let context = LibraryContext::new(&libraries).unwrap();
    let refused = |error: Error, function: &str| {
        let expected = format!("this OpenSSL has no function {function}");
        assert!(error.to_string().contains(&expected), "{error}");
    };
    refused(context.load_provider("default").err().unwrap(), "OSSL_PROVIDER_load");
    refused(Key::generate(&context, "X25519", None).err().unwrap(), "EVP_PKEY_CTX_new_from_name");
    refused(
        context.set_default_properties("?provider=default").unwrap_err(),
        "EVP_set_default_properties",
    );
    let Err(error) = SslContext::client_with_properties(&context, "?provider=default") else {
        panic!()
    };
    refused(error, "SSL_CTX_new_ex");
    assert!(context.active_providers().is_empty() && context.tls_groups().is_empty());
    assert!(context.algorithms(Operation::Kem).is_empty());
    // A function that was missing earlier does not appear in a later failure.
    let Err(error) = SslContext::client(&context).unwrap().groups("no-such-group") else {
        panic!()
    };
    assert!(!error.to_string().contains("has no function"), "{error}");
}
