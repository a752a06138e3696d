use std::sync::Arc;

use kex::Backend;

use crate::kind::Kind;
use crate::pool::Pool;
use crate::refiller::{Member, Refiller};
use crate::settings::Settings;

/// Pools that are set up alike and share a thread, which ends when this is dropped.
pub struct Pools {
    members: Vec<Arc<dyn Member>>,
    refiller: Arc<Refiller>,
}

impl Pools {
    /// Begins to set up pools. `backend` computes what they hold.
    pub fn builder(backend: Backend, settings: Settings) -> Builder {
        let refiller = Arc::new(Refiller::new(settings.max_age));
        Builder { backend, settings, members: Vec::<Arc<dyn Member>>::new(), refiller }
    }

    /// Erases what is in stock, as [`Pool::flush`] does for one.
    pub fn flush(&self) {
        self.members.iter().for_each(|member| member.flush());
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
    members: Vec<Arc<dyn Member>>,
    refiller: Arc<Refiller>,
}

impl Builder {
    /// Adds a pool.
    pub fn add<K: Kind>(&mut self, name: &str) -> Arc<Pool<K>> {
        let refiller = self.refiller.clone();
        let pool = Arc::new(Pool::new(name.to_owned(), self.backend, self.settings, refiller));
        self.members.push(pool.clone());
        pool
    }

    /// The pools together.
    pub fn finish(self) -> Pools {
        let Builder { members, refiller, .. } = self;
        refiller.attend(members.iter().map(Arc::downgrade).collect());
        Pools { members, refiller }
    }
}
