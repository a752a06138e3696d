//! Single-use key pairs and prepared encapsulations, made ahead of time in batches ([`Pool`]).
//!
//! Items are stored as bytes, in memory that is locked where that is allowed, left out of core
//! dumps, and zero in a child of fork. A batch is made in such memory, too. An item that is handed
//! out moves to a [`secret::Secret`] of its own, which a child of fork inherits, and its slot is
//! erased. No item is handed out twice: a slot belongs to the thread that clears its bit, and a
//! process reads only slots that it filled itself. No thread waits for another: one that finds a
//! pool empty makes the item that it needs.
//!
//! ```
//! use kex::{Backend, Sntrup};
//! use keypool::{Batch, Counter, KeyPairs, Pools, Settings};
//! use sntrup::Sntrup761;
//!
//! let settings = Settings { batch: Batch::Fixed(4), ..Settings::default() };
//! let mut builder = Pools::builder(Backend::best(), settings);
//! let pool = builder.add::<KeyPairs<Sntrup<Sntrup761>>>("sntrup761");
//! let pools = builder.finish();
//!
//! // The first request makes a batch of four, the second one is served from stock.
//! let (first, second) = (pool.take()?, pool.take()?);
//! assert!(first.public != second.public);
//! let counts = pool.counts();
//! assert_eq!((counts.get(Counter::Inline), counts.get(Counter::FromPool)), (1, 1));
//! assert_eq!(pool.stock(), 2);
//! pools.flush();
//! assert_eq!(pool.stock(), 0);
//! # Ok::<(), kex::Error>(())
//! ```

mod clock;
mod growth;
mod handshakes;
mod key_material;
mod kind;
mod pool;
mod pools;
mod refiller;
mod settings;
mod slot_pool;
mod statistics;
mod store;

pub use handshakes::{Handshakes, NegotiatedGroup, Role, Watch};
pub use key_material::KeyMaterial;
pub use kind::{Encapsulations, Exchanges, KeyPairs, Kind, Purpose};
pub use pool::Pool;
pub use pools::{Builder, Pools};
pub use settings::{Batch, MAX_AGES, MAX_BATCH, Refill, Settings};
pub use statistics::{
    Counter, Counts, PAGE_NAME, PageError, Record, Snapshot, count_connection, count_handshake,
    read_page, read_page_file, watch_handshakes,
};
