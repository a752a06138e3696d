//! The header and the exports of the library, and a C program that uses it.

use artifacts::CLibrary;
use sntrup_kem::{
    ParameterSet, SHARED_SECRET_BYTES, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013,
    Sntrup1277,
};

#[test]
fn the_header_has_the_sizes() {
    fn check<P: ParameterSet>() {
        CLibrary::new("sntrup").check_sizes(
            P::NAME,
            &[
                ("PUBLICKEYBYTES", P::PUBLIC_KEY_BYTES),
                ("SECRETKEYBYTES", P::SECRET_KEY_BYTES),
                ("CIPHERTEXTBYTES", P::CIPHERTEXT_BYTES),
                ("BYTES", SHARED_SECRET_BYTES),
            ],
        );
    }
    check::<Sntrup653>();
    check::<Sntrup761>();
    check::<Sntrup857>();
    check::<Sntrup953>();
    check::<Sntrup1013>();
    check::<Sntrup1277>();
}

#[test]
fn it_exports_what_the_header_declares() {
    CLibrary::new("sntrup").check_exports();
}

#[test]
fn a_c_program_uses_it() {
    CLibrary::new("sntrup").run_program();
}
