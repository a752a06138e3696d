//! Helpers that the tests share.

use openssl_runtime::{Error, Libraries, LibraryContext};

/// Returns the OpenSSL under test: the one in the directory that `FASTKEX_TEST_OPENSSL` names,
/// otherwise the system's. Returns `None`, after a message, if there is none.
pub(crate) fn libraries() -> Option<Libraries> {
    if let Some(directory) = std::env::var_os("FASTKEX_TEST_OPENSSL") {
        return Some(Libraries::open_directory(directory).unwrap());
    }
    match Libraries::system() {
        Ok(libraries) => Some(libraries),
        Err(error @ Error::NotFound(_)) => {
            artifacts::skipped(&format!("{error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns a new context with OpenSSL's algorithms.
pub(crate) fn context() -> Option<LibraryContext> {
    let context = LibraryContext::new(&libraries()?).unwrap();
    context.load_provider("default").unwrap().keep();
    Some(context)
}
