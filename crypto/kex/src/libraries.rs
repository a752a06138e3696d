//! The libraries of key encapsulation mechanisms as KEMs: Streamlined NTRU Prime and ML-KEM.

use core::marker::PhantomData;

use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::{Error, Kem, KeyPair, Storable};

/// Makes a library's parameter sets KEMs. The libraries have the same interface, except that the
/// standard of ML-KEM has other names for keys.
macro_rules! kems_of_libraries {
    ($(
        $(#[$documentation:meta])*
        $kem:ident: $library:ident
            public $PublicKey:ident $PUBLIC_KEY_BYTES:ident $public_key:ident
            secret $SecretKey:ident $SECRET_KEY_BYTES:ident
            check $check:ident
            { $($more:tt)* }
    )*) => {$(
        $(#[$documentation])*
        pub struct $kem<P>(PhantomData<P>);

        impl<P: $library::Operations> Kem for $kem<P> {
            const PUBLIC_KEY_BYTES: usize = P::$PUBLIC_KEY_BYTES;
            const SECRET_KEY_BYTES: usize = P::$SECRET_KEY_BYTES;
            const CIPHERTEXT_BYTES: usize = P::CIPHERTEXT_BYTES;
            const SHARED_SECRET_BYTES: usize = $library::SHARED_SECRET_BYTES;

            $($more)*

            type PublicKey = $library::$PublicKey<P>;
            type SecretKey = $library::$SecretKey<P>;
            type PreparedEncapsulation = $library::PreparedEncapsulation<P>;
            type BatchMemory = $library::BatchMemory<P>;

            fn generate_batch<R: TryCryptoRng + ?Sized>(
                memory: &mut Self::BatchMemory,
                backend: Backend,
                count: usize,
                random: &mut R,
            ) -> Result<Vec<KeyPair<Self>>, Error> {
                let pairs = $library::KeyPair::generate_batch_in(memory, backend, count, random)?;
                let pairs = pairs.into_iter().map($library::KeyPair::into_parts);
                Ok(pairs.map(|(public, secret)| KeyPair { public, secret }).collect())
            }

            fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<Self::PublicKey, Error> {
                Ok($library::$PublicKey::from_bytes_on(backend, bytes)?)
            }

            fn write_public_key(key: &Self::PublicKey, out: &mut [u8]) {
                out.copy_from_slice(key.as_bytes());
            }

            fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<Self::SecretKey, Error> {
                Ok($library::$SecretKey::from_bytes_on(backend, bytes)?)
            }

            fn write_secret_key(key: &Self::SecretKey, out: &mut [u8]) {
                out.copy_from_slice(key.as_bytes());
            }

            fn public_key(key: &Self::SecretKey) -> Self::PublicKey {
                key.$public_key()
            }

            fn check(key: &Self::SecretKey, backend: Backend) -> Result<(), Error> {
                Ok(key.$check(backend)?)
            }

            fn encapsulate<R: TryCryptoRng + ?Sized>(
                key: &Self::PublicKey,
                backend: Backend,
                random: &mut R,
                ciphertext: &mut [u8],
                secret: &mut [u8],
            ) -> Result<(), Error> {
                let (made, shared) = key.encapsulate(backend, random)?;
                ciphertext.copy_from_slice(made.as_bytes());
                secret.copy_from_slice(shared.as_bytes());
                Ok(())
            }

            fn prepare_batch<R: TryCryptoRng + ?Sized>(
                backend: Backend,
                count: usize,
                random: &mut R,
            ) -> Result<Vec<Self::PreparedEncapsulation>, Error> {
                Ok($library::PreparedEncapsulation::generate_batch(backend, count, random)?)
            }

            fn encapsulate_prepared(
                prepared: Self::PreparedEncapsulation,
                key: &Self::PublicKey,
                ciphertext: &mut [u8],
                secret: &mut [u8],
            ) -> Result<(), Error> {
                let (made, shared) = prepared.encapsulate(key);
                ciphertext.copy_from_slice(made.as_bytes());
                secret.copy_from_slice(shared.as_bytes());
                Ok(())
            }

            fn decapsulate(
                key: &Self::SecretKey,
                backend: Backend,
                ciphertext: &[u8],
                secret: &mut [u8],
            ) -> Result<(), Error> {
                let ciphertext = $library::Ciphertext::from_bytes(ciphertext)?;
                secret.copy_from_slice(key.decapsulate(backend, &ciphertext).as_bytes());
                Ok(())
            }
        }

        impl<P: $library::Operations> Storable for $library::PreparedEncapsulation<P> {
            const STORED_BYTES: usize = Self::BYTES;

            fn store(&self, out: &mut [u8]) {
                self.write(out);
            }

            fn is_protected(&self) -> bool {
                self.is_protected()
            }

            fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
                Ok(Self::from_trusted_bytes(backend, bytes)?)
            }
        }
    )*};
}

kems_of_libraries! {
    /// Streamlined NTRU Prime with parameter set `P`.
    Sntrup: sntrup
        public PublicKey PUBLIC_KEY_BYTES public_key
        secret SecretKey SECRET_KEY_BYTES
        check check
        {}
    /// ML-KEM with parameter set `P`. The public key is the encapsulation key, the secret key is
    /// the decapsulation key.
    MlKem: mlkem
        public EncapsulationKey ENCAPSULATION_KEY_BYTES encapsulation_key
        secret DecapsulationKey DECAPSULATION_KEY_BYTES
        check check_pairwise
        {
            const SEED_BYTES: usize = mlkem::SEED_BYTES;

            fn read_seed(backend: Backend, seed: &[u8]) -> Result<Self::SecretKey, Error> {
                let (expected, actual) = (Self::SEED_BYTES, seed.len());
                let wrong = |_| Error::Length { object: "seed", expected, actual };
                let seed = seed.try_into().map_err(wrong)?;
                Ok(mlkem::KeyPair::from_seed(backend, seed).into_parts().1)
            }

            fn write_seed(key: &Self::SecretKey, out: &mut [u8]) -> bool {
                out.try_into().is_ok_and(|out| key.write_seed(out))
            }
        }
}

impl<P: sntrup::Operations> Storable for sntrup::SecretKey<P> {
    const STORED_BYTES: usize = P::SECRET_KEY_BYTES;

    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(self.as_bytes());
    }

    fn is_protected(&self) -> bool {
        self.is_protected()
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::from_trusted_bytes(bytes)?)
    }
}

/// A stored key has the seed d as well, which its encoding does not have.
impl<P: mlkem::Operations> Storable for mlkem::DecapsulationKey<P> {
    const STORED_BYTES: usize = Self::STORED_BYTES;

    fn store(&self, out: &mut [u8]) {
        self.write(out);
    }

    fn is_protected(&self) -> bool {
        self.is_protected()
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::from_trusted_bytes(bytes)?)
    }
}
