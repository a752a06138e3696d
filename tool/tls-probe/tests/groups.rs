//! The tables of groups beside OpenSSL's own: that of the system, or of the folder
//! `FASTKEX_TEST_OPENSSL`.

use kex::group_name;
use openssl_runtime::{Libraries, LibraryContext};
use tls_probe::TLS_1_3;

#[test]
fn openssls_groups_are_in_the_tables() {
    let libraries = match std::env::var_os("FASTKEX_TEST_OPENSSL") {
        Some(folder) => Libraries::open_directory(folder),
        None => Libraries::system(),
    };
    let Ok(libraries) = libraries else {
        return artifacts::skipped("no OpenSSL (apt-get install openssl)");
    };
    let context = LibraryContext::new(&libraries).unwrap();
    let groups = context.load_provider("default").unwrap().tls_groups();
    let is_for_13 = |max_tls: i32| max_tls == 0 || max_tls >= i32::from(TLS_1_3);
    let mut count = 0;
    for group in groups.iter().filter(|group| is_for_13(group.max_tls)) {
        // OpenSSL has some groups by several names.
        let own = group_name(group.id).unwrap_or_default();
        let names: Vec<_> = groups.iter().filter(|other| other.id == group.id).collect();
        let is_named = names.iter().any(|other| other.name.eq_ignore_ascii_case(own));
        assert!(is_named, "{:#06x}: {own:?}, and not one of {names:?}", group.id);
        count += 1;
    }
    // Those of RFC 8446.
    assert!(count >= 10, "{groups:?}");
}
