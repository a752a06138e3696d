//! Key exchanges of one group, with items of its pools.

use std::sync::Arc;

use kex::{Backend, ExchangePart, KeyPair, TlsKem};
use keypool::{Builder, Encapsulations, KeyPairs, Pool};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use secret::Secret;

/// A group with its pools.
pub(crate) trait PooledGroup: Send + Sync {
    /// Starts the client's key exchange.
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error>;

    /// Answers the client's key share.
    fn answer(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error>;

    /// The counts of key pairs and of encapsulations.
    #[cfg(test)]
    fn counts(&self) -> [keypool::Counts; 2];
}

/// The pools of `K`.
pub(crate) struct OfGroup<K: TlsKem> {
    backend: Backend,
    keys: Arc<Pool<KeyPairs<K>>>,
    encapsulations: Arc<Pool<Encapsulations<K>>>,
}

impl<K: TlsKem> OfGroup<K> {
    pub(crate) fn new(backend: Backend, builder: &mut Builder) -> Self {
        let keys = builder.add(K::GROUP.name);
        let encapsulations = builder.add(K::GROUP.name);
        OfGroup { backend, keys, encapsulations }
    }
}

impl<K: TlsKem> PooledGroup for OfGroup<K> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let pair = self.keys.take().map_err(error)?;
        let share = public_bytes(K::PUBLIC_KEY_BYTES, |out| K::write_public_key(&pair.public, out));
        let exchange = K::EXCHANGE.map(|part| {
            let write = |out: &mut [u8]| {
                K::write_exchange_public(&pair.public, out);
            };
            (part, public_bytes(part.public_bytes, write))
        });
        Ok(Box::new(Started { backend: self.backend, pair, share, exchange }))
    }

    fn answer(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        // A share that is refused takes nothing from the pool.
        let key = K::read_public_key(self.backend, share).map_err(error)?;
        let prepared = self.encapsulations.take().map_err(error)?;
        let mut secret = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
        let mut ciphertext = vec![0; K::CIPHERTEXT_BYTES]; // Public: the server's key share.
        K::encapsulate_prepared(prepared, &key, &mut ciphertext, &mut secret).map_err(error)?;
        Ok(CompletedKeyExchange {
            group: K::GROUP.code_point.into(),
            pub_key: ciphertext,
            secret: SharedSecret::from(&*secret),
        })
    }

    #[cfg(test)]
    fn counts(&self) -> [keypool::Counts; 2] {
        [self.keys.counts(), self.encapsulations.counts()]
    }
}

/// A client's key exchange that waits for the server's key share.
struct Started<K: TlsKem> {
    backend: Backend,
    pair: KeyPair<K>,
    // Public: key shares.
    share: Vec<u8>,
    // Public: as above.
    exchange: Option<(ExchangePart, Vec<u8>)>,
}

impl<K: TlsKem> ActiveKeyExchange for Started<K> {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let mut secret = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
        self.pair.decapsulate(self.backend, share, &mut secret).map_err(error)?;
        Ok(SharedSecret::from(&*secret))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        self.exchange.as_ref().map(|(part, share)| (part.code_point.into(), &share[..]))
    }

    fn complete_hybrid_component(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let bytes = self.exchange.as_ref().map_or(0, |(part, _)| part.shared_secret_bytes);
        let mut secret = Secret::<[u8]>::slice(bytes);
        K::complete_exchange(&self.pair.secret, self.backend, share, &mut secret).map_err(error)?;
        Ok(SharedSecret::from(&*secret))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        K::GROUP.code_point.into()
    }
}

/// Public bytes that `write` writes.
fn public_bytes(count: usize, write: impl FnOnce(&mut [u8])) -> Vec<u8> {
    // Public: for key shares.
    let mut bytes = vec![0; count];
    write(&mut bytes);
    bytes
}

fn error(error: kex::Error) -> Error {
    match error {
        kex::Error::RandomSource => Error::FailedToGetRandomBytes,
        // The input is the peer's share.
        _ => PeerMisbehaved::InvalidKeyShare.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_random_source_is_not_the_peers() {
        assert_eq!(error(kex::Error::RandomSource), Error::FailedToGetRandomBytes);
        assert_eq!(error(kex::Error::SmallOrder), PeerMisbehaved::InvalidKeyShare.into());
        let length = kex::Error::Length { object: "ciphertext", expected: 2, actual: 1 };
        assert_eq!(error(length), PeerMisbehaved::InvalidKeyShare.into());
    }
}
