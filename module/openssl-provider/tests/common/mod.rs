//! Shared by the tests: stock OpenSSL with the module loaded.

#![allow(dead_code)]

pub(crate) mod c;
pub(crate) mod load;
pub(crate) mod recorder;
pub(crate) mod scene;

use std::path::PathBuf;
use std::sync::LazyLock;

use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext, SslContext};

/// The module, built for release once.
pub(crate) fn module() -> PathBuf {
    static MODULE: LazyLock<PathBuf> = LazyLock::new(|| artifacts::module().unwrap());
    MODULE.clone()
}

/// Keys of the module's section with which it offers all that it has.
pub(crate) const EVERYTHING: [(&str, &str); 2] = [("groups", "all"), ("key_files", "on")];

/// A configuration of OpenSSL with the module, which offers all groups and key files unless these
/// lines in its section say otherwise, and the sections `tls`, if any, for whatever speaks TLS.
pub(crate) fn configuration(ours: &str, tls: &str) -> String {
    let everything = EVERYTHING.map(|(key, value)| format!("{key} = {value}\n")).concat();
    format!(
        "openssl_conf = init\n[init]\nproviders = providers\n{}\
         [providers]\ndefault = default_sect\nfastkex = fastkex_sect\n[default_sect]\nactivate = 1\n\
         [fastkex_sect]\nmodule = {}\n{everything}{ours}\n{tls}[req]\ndistinguished_name = name\n[name]\n",
        if tls.is_empty() { "" } else { "ssl_conf = tls\n" },
        module().display(),
    )
}

/// The OpenSSL under test: that of the folder in `FASTKEX_TEST_OPENSSL`, else the system's. `None`,
/// with a line that says so, if there is none.
pub(crate) fn libraries() -> Option<Libraries> {
    if let Some(folder) = std::env::var_os("FASTKEX_TEST_OPENSSL") {
        return Some(Libraries::open_directory(folder).unwrap());
    }
    match Libraries::system() {
        Ok(libraries) => Some(libraries),
        Err(error) => {
            artifacts::skipped(&format!("{error}"));
            None
        }
    }
}

/// A context with the default provider and all that ours has. Where the default provider has
/// ML-KEM, ours is preferred.
pub(crate) fn context(libraries: &Libraries) -> LibraryContext {
    let context = LibraryContext::new(libraries).unwrap();
    context.load_provider("default").unwrap().keep();
    context.load_provider_with(module(), &EVERYTHING).unwrap().keep();
    if has_ml_kem(libraries) {
        context.set_default_properties("?provider=fastkex").unwrap();
    }
    context
}

/// Whether OpenSSL has ML-KEM and its groups itself.
pub(crate) fn has_ml_kem(libraries: &Libraries) -> bool {
    let version = libraries.version();
    (version.major, version.minor) >= (3, 5)
}

/// A context in which X25519 and Ed25519 are ours, whatever the machine, with further keys in our
/// section.
pub(crate) fn curves_context(libraries: &Libraries, keys: &[(&str, &str)]) -> LibraryContext {
    let context = stock_context(libraries);
    let keys = [&EVERYTHING, &[("x25519", "on"), ("ed25519", "on")], keys].concat();
    context.load_provider_with(module(), &keys).unwrap().keep();
    context.set_default_properties("?provider=fastkex").unwrap();
    context
}

/// A context without ours.
pub(crate) fn stock_context(libraries: &Libraries) -> LibraryContext {
    let context = LibraryContext::new(libraries).unwrap();
    context.load_provider("default").unwrap().keep();
    context
}

pub(crate) fn server(context: &LibraryContext, groups: &str) -> SslContext {
    let certificate = Certificate::self_signed(context, KeyType::EcP256, &["localhost"]).unwrap();
    SslContext::server(context, &certificate).unwrap().groups(groups).unwrap().build()
}

pub(crate) fn client(context: &LibraryContext, groups: &str) -> SslContext {
    SslContext::client(context).unwrap().groups(groups).unwrap().without_verification().build()
}
