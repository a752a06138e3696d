//! Hybrids of a KEM and a key exchange.

use core::marker::PhantomData;

use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::{Error, Kem, KeyExchange, KeyPair, Storable};

/// A KEM and a key exchange side by side: the parts of keys, key shares and secrets are
/// concatenated in the order `O`, by default the KEM's part first (as in RFC 9954 for SSH).
///
/// Secret keys carry the key exchange's secret value; its public value is derived.
pub struct Hybrid<A, B, O = KemFirst>(PhantomData<(A, B, O)>);

/// The order of the parts of a hybrid.
pub trait Order: Send + Sync + 'static {
    /// Whether the key exchange's part comes first.
    const EXCHANGE_FIRST: bool;
}

/// The KEM's part comes first.
pub struct KemFirst;

impl Order for KemFirst {
    const EXCHANGE_FIRST: bool = false;
}

/// The key exchange's part comes first, as in the hybrids with NIST's curves
/// (draft-ietf-tls-ecdhe-mlkem, section 4).
pub struct ExchangeFirst;

impl Order for ExchangeFirst {
    const EXCHANGE_FIRST: bool = true;
}

impl<A: Kem, B: KeyExchange, O: Order> Kem for Hybrid<A, B, O> {
    const PUBLIC_KEY_BYTES: usize = A::PUBLIC_KEY_BYTES + B::PUBLIC_BYTES;
    const SECRET_KEY_BYTES: usize = A::SECRET_KEY_BYTES + B::SECRET_BYTES;
    const CIPHERTEXT_BYTES: usize = A::CIPHERTEXT_BYTES + B::PUBLIC_BYTES;
    const SHARED_SECRET_BYTES: usize = A::SHARED_SECRET_BYTES + B::SHARED_SECRET_BYTES;

    type PublicKey = (A::PublicKey, B::Public);
    type SecretKey = (A::SecretKey, B::Secret);
    type PreparedEncapsulation = (A::PreparedEncapsulation, Ephemeral<B>);
    type BatchMemory = A::BatchMemory;

    fn generate_batch<R: TryCryptoRng + ?Sized>(
        memory: &mut A::BatchMemory,
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<KeyPair<Self>>, Error> {
        let pairs = A::generate_batch(memory, backend, count, random)?;
        let secrets = B::start_batch(backend, count, random)?;
        let both = pairs.into_iter().zip(secrets).map(|(a, secret)| {
            let public = (a.public, B::public(&secret));
            KeyPair { public, secret: (a.secret, secret) }
        });
        Ok(both.collect())
    }

    fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<Self::PublicKey, Error> {
        let (a, b) = split::<O>("public key", A::PUBLIC_KEY_BYTES, B::PUBLIC_BYTES, bytes)?;
        Ok((A::read_public_key(backend, a)?, B::read_public(b)?))
    }

    fn write_public_key((a, b): &Self::PublicKey, out: &mut [u8]) {
        let (out_a, out_b) = split_mut::<O>(A::PUBLIC_KEY_BYTES, out);
        A::write_public_key(a, out_a);
        B::write_public(b, out_b);
    }

    fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<Self::SecretKey, Error> {
        let (a, b) = split::<O>("secret key", A::SECRET_KEY_BYTES, B::SECRET_BYTES, bytes)?;
        Ok((A::read_secret_key(backend, a)?, B::read_secret(backend, b)?))
    }

    fn write_secret_key((a, b): &Self::SecretKey, out: &mut [u8]) {
        let (out_a, out_b) = split_mut::<O>(A::SECRET_KEY_BYTES, out);
        A::write_secret_key(a, out_a);
        B::write_secret(b, out_b);
    }

    fn public_key((a, b): &Self::SecretKey) -> Self::PublicKey {
        (A::public_key(a), B::public(b))
    }

    fn check((a, _): &Self::SecretKey, backend: Backend) -> Result<(), Error> {
        A::check(a, backend)
    }

    fn encapsulate<R: TryCryptoRng + ?Sized>(
        (a, b): &Self::PublicKey,
        backend: Backend,
        random: &mut R,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        let (ciphertext_a, ciphertext_b) = split_mut::<O>(A::CIPHERTEXT_BYTES, ciphertext);
        let (secret_a, secret_b) = split_mut::<O>(A::SHARED_SECRET_BYTES, secret);
        A::encapsulate(a, backend, random, ciphertext_a, secret_a)?;
        let secret = B::start(backend, random)?;
        Ephemeral::<B> { secret, backend }.answer(b, ciphertext_b, secret_b)
    }

    fn prepare_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self::PreparedEncapsulation>, Error> {
        let prepared = A::prepare_batch(backend, count, random)?;
        let secrets = B::start_batch(backend, count, random)?;
        let both = prepared.into_iter().zip(secrets);
        Ok(both.map(|(a, secret)| (a, Ephemeral { secret, backend })).collect())
    }

    fn encapsulate_prepared(
        (prepared_a, prepared_b): Self::PreparedEncapsulation,
        (a, b): &Self::PublicKey,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        let (ciphertext_a, ciphertext_b) = split_mut::<O>(A::CIPHERTEXT_BYTES, ciphertext);
        let (secret_a, secret_b) = split_mut::<O>(A::SHARED_SECRET_BYTES, secret);
        A::encapsulate_prepared(prepared_a, a, ciphertext_a, secret_a)?;
        prepared_b.answer(b, ciphertext_b, secret_b)
    }

    fn decapsulate(
        (a, b): &Self::SecretKey,
        backend: Backend,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        let (ciphertext_a, ciphertext_b) =
            split::<O>("ciphertext", A::CIPHERTEXT_BYTES, B::PUBLIC_BYTES, ciphertext)?;
        let (secret_a, secret_b) = split_mut::<O>(A::SHARED_SECRET_BYTES, secret);
        let peer = B::read_public(ciphertext_b)?;
        A::decapsulate(a, backend, ciphertext_a, secret_a)?;
        B::complete(b, backend, &peer, secret_b)
    }
}

/// The key exchange's part of an encapsulation: a secret value for one answer, and the backend that
/// computes it.
pub struct Ephemeral<B: KeyExchange> {
    secret: B::Secret,
    backend: Backend,
}

impl<B: KeyExchange> Ephemeral<B> {
    fn answer(
        &self,
        peer: &B::Public,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        B::write_public(&B::public(&self.secret), ciphertext);
        B::complete(&self.secret, self.backend, peer, secret)
    }
}

impl<B: KeyExchange> Storable for Ephemeral<B> {
    const STORED_BYTES: usize = B::Secret::STORED_BYTES;

    fn store(&self, out: &mut [u8]) {
        self.secret.store(out);
    }

    fn is_protected(&self) -> bool {
        self.secret.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Ephemeral { secret: B::Secret::restore(backend, bytes)?, backend })
    }
}

impl<A: Storable, B: Storable> Storable for (A, B) {
    const STORED_BYTES: usize = A::STORED_BYTES + B::STORED_BYTES;

    fn store(&self, out: &mut [u8]) {
        let (out_a, out_b) = out.split_at_mut(A::STORED_BYTES);
        self.0.store(out_a);
        self.1.store(out_b);
    }

    fn is_protected(&self) -> bool {
        self.0.is_protected() && self.1.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let (a, b) = split::<KemFirst>("stored pair", A::STORED_BYTES, B::STORED_BYTES, bytes)?;
        Ok((A::restore(backend, a)?, B::restore(backend, b)?))
    }
}

/// The parts of `bytes`, the KEM's `a_bytes` and the key exchange's `b_bytes`.
fn split<'a, O: Order>(
    object: &'static str,
    a_bytes: usize,
    b_bytes: usize,
    bytes: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), Error> {
    Error::check_length(object, a_bytes + b_bytes, bytes)?;
    if O::EXCHANGE_FIRST {
        let (b, a) = bytes.split_at(b_bytes);
        Ok((a, b))
    } else {
        Ok(bytes.split_at(a_bytes))
    }
}

/// The parts of `bytes`, of which the KEM's has `a_bytes`.
fn split_mut<O: Order>(a_bytes: usize, bytes: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    if O::EXCHANGE_FIRST {
        let (b, a) = bytes.split_at_mut(bytes.len() - a_bytes);
        (a, b)
    } else {
        bytes.split_at_mut(a_bytes)
    }
}
