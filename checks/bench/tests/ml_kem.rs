//! ML-KEM of every implementation beside ours, with random and with hostile inputs.

use std::path::Path;

use bench::kem::ml_kem::*;
use bench::openssl::OpenSsl;
use mlkem::{Backend, MlKem512, MlKem768, MlKem1024};

/// Key pairs of fastkex and of each peer that are compared, each with hostile inputs.
const ROUNDS: usize = 200;

fn agrees<P: mlkem::Operations>(peer: &impl MlKem) {
    for backend in Backend::available() {
        assert_agreement(&Ours::<P>::on(backend), peer, ROUNDS);
    }
}

macro_rules! peers {
    ($($name:ident: $set:ty, $peer:expr;)*) => {$(
        #[test]
        fn $name() {
            agrees::<$set>(&$peer);
        }
    )*};
}

peers! {
    graviola_768: MlKem768, Graviola;
    libcrux_512: MlKem512, Libcrux512;
    libcrux_768: MlKem768, Libcrux768;
    libcrux_1024: MlKem1024, Libcrux1024;
    rust_crypto_512: MlKem512, RustCrypto512;
    rust_crypto_768: MlKem768, RustCrypto768;
    rust_crypto_1024: MlKem1024, RustCrypto1024;
}

#[cfg(feature = "peers")]
peers! {
    aws_lc_512: MlKem512, AwsLc::<MlKem512>::new();
    aws_lc_768: MlKem768, AwsLc::<MlKem768>::new();
    aws_lc_1024: MlKem1024, AwsLc::<MlKem1024>::new();
    liboqs_512: MlKem512, Liboqs::<MlKem512>::new();
    liboqs_768: MlKem768, Liboqs::<MlKem768>::new();
    liboqs_1024: MlKem1024, Liboqs::<MlKem1024>::new();
}

/// Compares with the system's OpenSSL, or the one in the folder that the variable names.
fn with_openssl<P: mlkem::Operations>() {
    let openssl = match std::env::var_os("FASTKEX_TEST_OPENSSL") {
        Some(folder) => OpenSsl::in_directory(Path::new(&folder)),
        None => OpenSsl::system(),
    };
    let openssl = openssl.unwrap();
    match OpenSslMlKem::<P>::of(&openssl) {
        Some(peer) => agrees::<P>(&peer),
        None => println!("skipped: {openssl} has no {}", P::NAME),
    }
}

#[test]
fn openssl() {
    with_openssl::<MlKem512>();
    with_openssl::<MlKem768>();
    with_openssl::<MlKem1024>();
}

/// Checks that the comparison finds a difference: an implementation that forgets a check.
mod comparison {
    use super::*;

    /// fastkex without a part of it.
    struct Mistaken {
        ours: Ours<MlKem512>,
        mistake: Mistake,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Mistake {
        None,
        AcceptsAnyPublicKey,
        AcceptsAnySecretKey,
        CutsCiphertexts,
        RejectsDifferently,
    }

    impl MlKem for Mistaken {
        type SecretKey = mlkem::DecapsulationKey<MlKem512>;

        fn name(&self) -> String {
            "mistaken".into()
        }

        fn algorithm(&self) -> &'static str {
            MlKem::algorithm(&self.ours)
        }

        fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
            MlKem::key_pair(&self.ours)
        }

        fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
            MlKem::secret_key_bytes(&self.ours, secret)
        }

        fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
            if self.mistake == Mistake::AcceptsAnySecretKey {
                let stored = [bytes, &[0; 33]].concat();
                return mlkem::DecapsulationKey::from_trusted_bytes(&stored).ok();
            }
            let mut bytes = bytes.to_vec();
            if let (Mistake::RejectsDifferently, Some(z)) = (self.mistake, bytes.last_mut()) {
                *z ^= 1;
            }
            MlKem::secret_key(&self.ours, &bytes)
        }

        fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, [u8; 32])> {
            let answer = MlKem::encapsulate(&self.ours, public);
            if self.mistake == Mistake::AcceptsAnyPublicKey && answer.is_none() {
                return Some((Vec::new(), [0; 32]));
            }
            answer
        }

        fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<[u8; 32]> {
            let ciphertext = match self.mistake {
                Mistake::CutsCiphertexts => &ciphertext[..ciphertext.len().min(768)],
                _ => ciphertext,
            };
            MlKem::decapsulate(&self.ours, secret, ciphertext)
        }
    }

    fn compare(mistake: Mistake) {
        let ours = Ours::on(Backend::best());
        assert_agreement(&ours, &Mistaken { ours, mistake }, 5);
    }

    #[test]
    fn without_a_mistake_agrees() {
        compare(Mistake::None);
    }

    #[test]
    #[should_panic(expected = "public key")]
    fn public_keys_are_compared() {
        compare(Mistake::AcceptsAnyPublicKey);
    }

    #[test]
    #[should_panic(expected = "secret key")]
    fn secret_keys_are_compared() {
        compare(Mistake::AcceptsAnySecretKey);
    }

    #[test]
    #[should_panic(expected = "ciphertext with")]
    fn rejections_are_compared() {
        compare(Mistake::RejectsDifferently);
    }

    #[test]
    #[should_panic(expected = "ciphertext of")]
    fn lengths_are_compared() {
        compare(Mistake::CutsCiphertexts);
    }
}
