//! Tests of finding the libraries, of library contexts, configuration and providers.

mod common;

use std::fs;

use openssl_runtime::{
    Certificate, Error, Key, KeyType, Libraries, LibraryContext, MemoryConnection, Operation,
    Provider, ProviderValue, SslContext, SslContextBuilder, TlsStream, handshake_in_memory,
};

#[test]
fn version_and_paths_agree() {
    let Some(libraries) = common::libraries() else { return };
    let version = libraries.version();
    assert!((3..=4).contains(&version.major), "{version}");
    assert!(libraries.version_text().starts_with(&format!("OpenSSL {version}")));
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name(libraries.libcrypto_path()).starts_with("libcrypto"));
    assert!(name(libraries.libssl_path()).starts_with("libssl"));
    assert!(libraries.modules_dir().is_absolute());
    assert!(libraries.config_dir().is_absolute());
    assert!(libraries.default_config_file().is_absolute());

    let again = Libraries::open(libraries.libcrypto_path(), libraries.libssl_path()).unwrap();
    assert_eq!(again.version(), version);
}

#[test]
fn absent_and_foreign_libraries_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = Libraries::open_directory(directory.path()).unwrap_err();
    assert!(matches!(&error, Error::NotFound(tried) if tried.len() == 3), "{error}");
    assert!(error.to_string().contains("apt-get install libssl3"), "{error}");

    let file = directory.path().join("libcrypto.so.3");
    fs::write(&file, "not a library").unwrap();
    let error = Libraries::open(&file, &file).unwrap_err();
    assert!(matches!(&error, Error::Load { path, .. } if *path == file), "{error}");
    assert!(error.to_string().starts_with("cannot load "), "{error}");

    let Some(libraries) = common::libraries() else { return };
    // libssl is not a libcrypto, although it is linked to one.
    let error = Libraries::open(libraries.libssl_path(), &file).unwrap_err();
    assert!(matches!(error, Error::Load { .. }), "{error}");
}

#[test]
fn a_second_library_of_the_same_name_is_refused() {
    let Some(libraries) = common::libraries() else { return };
    let directory = tempfile::tempdir().unwrap();
    for path in [libraries.libcrypto_path(), libraries.libssl_path()] {
        fs::copy(path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    let error = Libraries::open_directory(directory.path()).unwrap_err();
    let Error::MixedLibraries { wanted, bound } = &error else { panic!("{error}") };
    assert!(wanted.starts_with(directory.path()));
    assert_eq!(bound, libraries.libcrypto_path());
}

#[test]
fn providers_tell_about_themselves() {
    let Some(libraries) = common::libraries() else { return };
    let context = LibraryContext::new(&libraries).unwrap();
    let provider = context.load_provider("default").unwrap();
    let info = provider.info();
    assert_eq!(info.name, "default");
    assert_eq!(info.title.as_deref(), Some("OpenSSL Default Provider"));
    assert_eq!(info.version, Some(libraries.version().to_string()));
    assert_eq!(info.running, Some(true));
    assert!(
        provider
            .parameters()
            .contains(&("version".into(), ProviderValue::Text(libraries.version().to_string())))
    );
    assert_eq!(context.active_providers(), [info]);

    let groups = provider.tls_groups();
    let x25519 = groups.iter().find(|group| group.name == "x25519").unwrap();
    assert_eq!((x25519.id, x25519.algorithm.as_str(), x25519.is_kem), (29, "X25519", false));
    assert!(x25519.in_tls13());
    assert_eq!(context.tls_groups(), groups);

    for (operation, name) in [
        (Operation::KeyManagement, "X25519"),
        (Operation::Kem, "RSA"),
        (Operation::KeyExchange, "X25519"),
        (Operation::Signature, "ED25519"),
    ] {
        let algorithms = context.algorithms(operation);
        let found = algorithms.iter().find(|found| found.names.iter().any(|found| found == name));
        assert_eq!(found.unwrap().provider, "default", "{operation:?}");
    }
}

#[test]
fn unloaded_providers_are_gone() {
    let Some(libraries) = common::libraries() else { return };
    let context = LibraryContext::new(&libraries).unwrap();
    let provider = context.load_provider("default").unwrap();
    let key = Key::generate(&context, "X25519", None).unwrap();
    provider.unload().unwrap();
    assert_eq!(context.active_providers(), []);
    let Err(Error::OpenSsl(failure)) = Key::generate(&context, "X25519", None) else { panic!() };
    assert!(failure.has_reason("unsupported"), "{failure}");
    // A key keeps its provider loaded.
    assert_eq!(key.encoded_public_key().unwrap().len(), 32);
}

#[test]
fn refused_providers_are_explained() {
    let Some(context) = common::context() else { return };
    let Err(error) = context.load_provider("no-such-provider") else { panic!() };
    assert!(
        error.to_string().starts_with("cannot load the provider no-such-provider: "),
        "{error}"
    );
    assert!(matches!(&error, Error::OpenSsl(failure) if !failure.queue.is_empty()), "{error}");

    let Err(error) = context.load_provider("/no/such/module.so") else { panic!() };
    assert!(error.to_string().starts_with("/no/such/module.so: "), "{error}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("module.so");
    fs::write(&file, "not a library").unwrap();
    let Err(error) = context.load_provider_with(&file, &[("pool", "off")]) else { panic!() };
    assert!(error.to_string().contains("module.so"), "{error}");
    let Err(error) = context.load_provider_with(&file, &[("two words", "")]) else { panic!() };
    assert!(matches!(error, Error::Input(_)), "{error}");

    context.set_provider_search_path(directory.path()).unwrap();
    let Err(error) = context.load_provider("module") else { panic!() };
    assert!(error.to_string().contains(directory.path().to_str().unwrap()), "{error}");
}

#[test]
fn configuration_activates_providers() {
    let Some(libraries) = common::libraries() else { return };
    let text =
        "openssl_conf = init\n[init]\nproviders = list\n[list]\nbase = on\n[on]\nactivate = 1\n";
    let context = LibraryContext::new(&libraries).unwrap();
    context.load_config_text(text).unwrap();
    let names: Vec<_> = context.active_providers().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["base"]);

    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let context = LibraryContext::new(&libraries).unwrap();
    context.load_config(file.path()).unwrap();
    assert_eq!(context.active_providers().len(), 1);

    let error = context.load_config("/no/such/openssl.cnf").unwrap_err();
    assert!(error.to_string().starts_with("cannot load the configuration /no/such"), "{error}");
    let error = context.load_config_text(&text.replace("[on]", "[off]")).unwrap_err();
    assert!(error.to_string().contains("section"), "{error}");

    // OpenSSL does not fail if a provider does not load.
    let context = LibraryContext::new(&libraries).unwrap();
    context.load_config_text(&text.replace("base", "no-such-provider")).unwrap();
    assert_eq!(context.active_providers(), []);
}

#[test]
fn default_properties_apply() {
    let Some(context) = common::context() else { return };
    context.set_default_properties("provider=no-such-provider").unwrap();
    assert!(Key::generate(&context, "X25519", None).is_err());
    context.set_default_properties("?provider=no-such-provider").unwrap();
    assert_eq!(
        Key::generate(&context, "X25519", None).unwrap().provider().as_deref(),
        Some("default")
    );
}

#[test]
fn contexts_outlive_the_threads_that_use_them() {
    let Some(context) = common::context() else { return };
    let (sender, receiver) = std::sync::mpsc::channel();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn({
        let context = context.clone();
        move || {
            let key = Key::generate(&context, "X25519", None).unwrap();
            // The other thread drops the context's last handles, while this thread still holds a
            // generator.
            sender.send((context, key)).unwrap();
            wait.recv().unwrap();
        }
    });
    drop(context);
    drop(receiver.recv().unwrap());
    done.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn contexts_are_shared_by_threads() {
    let Some(context) = common::context() else { return };
    let server = Certificate::self_signed(&context, KeyType::EcP256, &["a"]);
    let server = SslContext::server(&context, &server.unwrap()).unwrap().build();
    let client = SslContext::client(&context).unwrap().without_verification().build();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let report = handshake_in_memory(&client, &server, &mut |_, _| {});
                    assert!(report.unwrap().is_ok());
                }
            });
        }
    });
}

#[test]
fn objects_go_between_threads() {
    fn both<T: Send + Sync + 'static>() {}
    fn send<T: Send + 'static>() {}
    both::<(Libraries, LibraryContext, Provider, Key, Certificate, SslContext, Error)>();
    send::<(MemoryConnection, TlsStream<std::net::TcpStream>, SslContextBuilder)>();
}
