//! Single-use key pairs and prepared encapsulations, made ahead of time in batches ([`Pool`]).
//!
//! What is kept is kept as bytes, in memory that is locked where that is allowed, left out of core dumps, and zero in a child of fork. An
//! item leaves by move, its slot erased. No item is handed out twice: a slot belongs to whoever clears its bit, and a process only ever
//! looks at slots that it filled itself. Nobody waits for anybody: who finds a pool empty makes what it needs.

mod arena;
mod clock;
mod growth;
mod hand;
mod kind;
mod material;
mod pool;
mod pools;
mod refiller;
mod settings;
mod shelf;
mod statistics;
mod store;

pub use hand::InHand;
pub use kind::{Encapsulations, Exchanges, Halves, KeyPairs, Kind, Purpose};
pub use material::Material;
pub use pool::Pool;
pub use pools::{Builder, Pools};
pub use settings::{Batch, MAX_AGES, MAX_BATCH, Refill, Settings};
pub use statistics::{
    Counter, Counts, PAGE_NAME, PageError, Record, Snapshot, read_page, read_page_file,
};
