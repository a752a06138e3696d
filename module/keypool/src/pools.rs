//! Setup of several pools with a common background thread.

use std::sync::Arc;

use kex::Backend;

use crate::kind::Kind;
use crate::pool::Pool;
use crate::refiller::{AnyPool, Refiller};
use crate::settings::Settings;

/// Pools with the same settings that share a background thread. The thread ends when this is
/// dropped.
pub struct Pools {
    pools: Vec<Arc<dyn AnyPool>>,
    refiller: Arc<Refiller>,
}

impl Pools {
    /// Starts to set up pools. `backend` computes their items.
    pub fn builder(backend: Backend, settings: Settings) -> Builder {
        let refiller = Arc::new(Refiller::new(settings.max_age));
        Builder { backend, settings, pools: Vec::<Arc<dyn AnyPool>>::new(), refiller }
    }

    /// Erases the stock of all pools, as [`Pool::flush`] does for one.
    pub fn flush(&self) {
        self.pools.iter().for_each(|pool| pool.flush());
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        self.refiller.stop();
    }
}

/// Sets up pools.
pub struct Builder {
    backend: Backend,
    settings: Settings,
    pools: Vec<Arc<dyn AnyPool>>,
    refiller: Arc<Refiller>,
}

impl Builder {
    /// Adds a pool of that name, which statistics show.
    pub fn add<K: Kind>(&mut self, name: &str) -> Arc<Pool<K>> {
        let refiller = self.refiller.clone();
        let pool = Arc::new(Pool::new(name.to_owned(), self.backend, self.settings, refiller));
        self.pools.push(pool.clone());
        pool
    }

    /// Finishes the setup.
    pub fn finish(self) -> Pools {
        let Builder { pools, refiller, .. } = self;
        refiller.set_pools(pools.iter().map(Arc::downgrade).collect());
        Pools { pools, refiller }
    }
}
