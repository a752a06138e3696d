//! What the tests share.

use openssl_runtime::{Error, Libraries, LibraryContext};

/// The OpenSSL under test: the one in the directory `FASTKEX_TEST_OPENSSL` names, else the system's. `None`, after
/// a line that says so, when there is none.
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

/// A context of its own with OpenSSL's algorithms.
pub(crate) fn context() -> Option<LibraryContext> {
    let context = LibraryContext::new(&libraries()?).unwrap();
    context.load_provider("default").unwrap().keep();
    Some(context)
}
