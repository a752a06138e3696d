//! The pools of each group and of X25519. They end with the provider.

use std::any::Any;
use std::sync::Arc;

use kex::{Backend, GroupVisitor, TlsKem, X25519, visit_groups};
use keypool::{Builder, Encapsulations, Exchanges, KeyPairs, Pool, Pools, Settings};

/// The pools, in the order of [`kex::TLS_GROUPS`].
pub(crate) struct GroupPools {
    of_groups: Vec<OfGroup>,
    exchanges: Arc<Pool<Exchanges<X25519>>>,
    _all: Pools,
}

struct OfGroup {
    keys: Arc<dyn Any + Send + Sync>,
    encapsulations: Arc<dyn Any + Send + Sync>,
}

struct Visitor {
    builder: Builder,
    of_groups: Vec<OfGroup>,
}

impl GroupVisitor for Visitor {
    fn visit<K: TlsKem>(&mut self) {
        let keys = self.builder.add::<KeyPairs<K>>(K::GROUP.name);
        let encapsulations = self.builder.add::<Encapsulations<K>>(K::GROUP.name);
        self.of_groups.push(OfGroup { keys, encapsulations });
    }
}

impl GroupPools {
    /// Empty pools: no item is made before the first request.
    pub(crate) fn new(backend: Backend, settings: Settings) -> Self {
        let builder = Pools::builder(backend, settings);
        let mut visitor = Visitor { builder, of_groups: Vec::<OfGroup>::new() };
        visit_groups(&mut visitor);
        let exchanges = visitor.builder.add::<Exchanges<X25519>>("X25519");
        let Visitor { builder, of_groups } = visitor;
        GroupPools { of_groups, exchanges, _all: builder.finish() }
    }

    /// The pool of key pairs of `K`.
    pub(crate) fn keys<K: TlsKem>(&self) -> &Pool<KeyPairs<K>> {
        pool(&self.of_groups[K::INDEX].keys)
    }

    /// The pool of key pairs of X25519 as an algorithm of its own.
    pub(crate) fn exchanges(&self) -> &Pool<Exchanges<X25519>> {
        &self.exchanges
    }

    /// The pool of encapsulations for keys of `K`.
    pub(crate) fn encapsulations<K: TlsKem>(&self) -> &Pool<Encapsulations<K>> {
        pool(&self.of_groups[K::INDEX].encapsulations)
    }
}

fn pool<T: 'static>(pool: &Arc<dyn Any + Send + Sync>) -> &T {
    pool.downcast_ref().expect("each pool is in its group's place")
}
