//! The header and the exports of the library, and a C program that uses it, whose results are
//! compared with the oracle's.

use artifacts::CLibrary;
use mlkem_kem::{MlKem512, MlKem768, MlKem1024, ParameterSet, SEED_BYTES, SHARED_SECRET_BYTES};
use reference::ml_kem::{self as oracle, Parameters};

#[test]
fn the_header_has_the_sizes() {
    fn check<P: ParameterSet>() {
        CLibrary::new("mlkem").check_sizes(
            P::NAME,
            &[
                ("PUBLICKEYBYTES", P::ENCAPSULATION_KEY_BYTES),
                ("SECRETKEYBYTES", P::DECAPSULATION_KEY_BYTES),
                ("CIPHERTEXTBYTES", P::CIPHERTEXT_BYTES),
                ("BYTES", SHARED_SECRET_BYTES),
                ("KEYPAIRCOINBYTES", SEED_BYTES),
                ("ENCCOINBYTES", 32),
            ],
        );
    }
    check::<MlKem512>();
    check::<MlKem768>();
    check::<MlKem1024>();
}

#[test]
fn it_exports_what_the_header_declares() {
    CLibrary::new("mlkem").check_exports();
}

/// The lines that the program prints for a parameter set.
fn expected<P: ParameterSet>() -> String {
    let params = Parameters::by_name(P::NAME).unwrap();
    let coins: [u8; 96] = core::array::from_fn(|i| (7 * i + P::ENCAPSULATION_KEY_BYTES) as u8);
    let ([d, z, message], []) = coins.as_chunks::<32>() else { unreachable!() };
    let (ek, dk) = oracle::key_generation(&params, d, z);
    let (ciphertext, shared) = oracle::encapsulate(&params, &ek, message).unwrap();
    let line = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect()
    };
    [&ek[..], &dk, &ciphertext, &shared].map(line).concat()
}

#[test]
fn a_c_program_uses_it() {
    let expected = expected::<MlKem512>() + &expected::<MlKem768>() + &expected::<MlKem1024>();
    for printed in CLibrary::new("mlkem").run_program() {
        assert!(printed == expected, "the library and the oracle differ: {printed}");
    }
}
