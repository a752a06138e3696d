//! Streamlined NTRU Prime as a KEM.

use core::marker::PhantomData;

use lanes::Backend;
use rand_core::TryCryptoRng;
use sntrup::{
    BatchMemory, Ciphertext, Operations, PreparedEncapsulation, PublicKey, SHARED_SECRET_BYTES,
    SecretKey, SharedSecret,
};

use crate::{Error, Kem, KeyPair, Storable};

/// Streamlined NTRU Prime with parameter set `P`.
pub struct Sntrup<P>(PhantomData<P>);

impl<P: Operations> Kem for Sntrup<P> {
    const PUBLIC_KEY_BYTES: usize = P::PUBLIC_KEY_BYTES;
    const SECRET_KEY_BYTES: usize = P::SECRET_KEY_BYTES;
    const CIPHERTEXT_BYTES: usize = P::CIPHERTEXT_BYTES;
    const SHARED_SECRET_BYTES: usize = SHARED_SECRET_BYTES;

    type PublicKey = PublicKey<P>;
    type SecretKey = SecretKey<P>;
    type PreparedEncapsulation = PreparedEncapsulation<P>;
    type BatchMemory = BatchMemory<P>;

    fn generate_batch<R: TryCryptoRng + ?Sized>(
        memory: &mut BatchMemory<P>,
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<KeyPair<Self>>, Error> {
        let pairs = sntrup::KeyPair::generate_batch_in(memory, backend, count, random)?;
        Ok(pairs
            .into_iter()
            .map(|pair| {
                let (public, secret) = pair.into_parts();
                KeyPair { public, secret }
            })
            .collect())
    }

    fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<PublicKey<P>, Error> {
        Ok(PublicKey::from_bytes_on(backend, bytes)?)
    }

    fn write_public_key(key: &PublicKey<P>, out: &mut [u8]) {
        out.copy_from_slice(key.as_bytes());
    }

    fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<SecretKey<P>, Error> {
        Ok(SecretKey::from_bytes_on(backend, bytes)?)
    }

    fn write_secret_key(key: &SecretKey<P>, out: &mut [u8]) {
        out.copy_from_slice(key.as_bytes());
    }

    fn public_key(key: &SecretKey<P>) -> PublicKey<P> {
        key.public_key()
    }

    fn check(key: &SecretKey<P>, backend: Backend) -> Result<(), Error> {
        Ok(key.check(backend)?)
    }

    fn encapsulate<R: TryCryptoRng + ?Sized>(
        key: &PublicKey<P>,
        backend: Backend,
        random: &mut R,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        write(key.encapsulate(backend, random)?, ciphertext, secret);
        Ok(())
    }

    fn prepare_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<PreparedEncapsulation<P>>, Error> {
        Ok(PreparedEncapsulation::generate_batch(backend, count, random)?)
    }

    fn encapsulate_prepared(
        prepared: PreparedEncapsulation<P>,
        key: &PublicKey<P>,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        write(prepared.encapsulate(key), ciphertext, secret);
        Ok(())
    }

    fn decapsulate(
        key: &SecretKey<P>,
        backend: Backend,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        let ciphertext = Ciphertext::from_bytes(ciphertext)?;
        secret.copy_from_slice(key.decapsulate(backend, &ciphertext).as_bytes());
        Ok(())
    }
}

fn write<P: Operations>(
    (made, shared): (Ciphertext<P>, SharedSecret),
    ciphertext: &mut [u8],
    secret: &mut [u8],
) {
    ciphertext.copy_from_slice(made.as_bytes());
    secret.copy_from_slice(shared.as_bytes());
}

impl<P: Operations> Storable for SecretKey<P> {
    const STORED_BYTES: usize = P::SECRET_KEY_BYTES;

    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(self.as_bytes());
    }

    fn is_protected(&self) -> bool {
        self.is_protected()
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(SecretKey::from_trusted_bytes(bytes)?)
    }
}

impl<P: Operations> Storable for PreparedEncapsulation<P> {
    const STORED_BYTES: usize = Self::BYTES;

    fn store(&self, out: &mut [u8]) {
        self.write(out);
    }

    fn is_protected(&self) -> bool {
        self.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(PreparedEncapsulation::from_trusted_bytes(backend, bytes)?)
    }
}
