//! The pools of the process.

use core::fmt;
use core::time::Duration;

use fork::{PerProcess, Process};
use kex::{Backend, GroupVisitor, TlsKem, visit_groups};
use keypool::{Batch, Builder, MAX_AGES, MAX_BATCH, Pools, Settings};

use crate::exchange::{OfGroup, PooledGroup};

/// Without a lock, which a child of fork could inherit held.
static POOLS: PerProcess<GroupPools> = PerProcess::new();

/// The pools of all groups.
pub(crate) struct GroupPools {
    settings: Settings,
    /// In the order of [`kex::TLS_GROUPS`].
    of_groups: Vec<Box<dyn PooledGroup>>,
    all: Pools,
}

/// The pools of this process. Those of a child of fork have its parent's settings.
pub(crate) fn current() -> &'static GroupPools {
    POOLS.get_or_make(Process::current(), |inherited| {
        GroupPools::new(inherited.map_or_else(Settings::default, |pools| pools.settings))
    })
}

/// Sets up the pools of this process, before their first use.
///
/// ```
/// use fastkex_rustls::{Refill, Settings};
///
/// // A background thread makes the keys.
/// fastkex_rustls::configure(Settings { refill: Refill::Background, ..Settings::default() })?;
/// # Ok::<(), fastkex_rustls::SettingsError>(())
/// ```
///
/// # Errors
/// A value is out of its range, or the pools are in use with other settings.
pub fn configure(settings: Settings) -> Result<(), SettingsError> {
    if let Batch::Fixed(size) = settings.batch
        && !(1..=MAX_BATCH).contains(&size)
    {
        return Err(SettingsError::Batch(size));
    }
    if !MAX_AGES.contains(&settings.max_age) {
        return Err(SettingsError::MaxAge(settings.max_age));
    }
    let pools = POOLS.get_or_make(Process::current(), |_| GroupPools::new(settings));
    if pools.settings == settings { Ok(()) } else { Err(SettingsError::InUse) }
}

/// Erases the stock of this process's pools.
pub fn flush() {
    if let Some(pools) = POOLS.get(Process::current()) {
        pools.all.flush();
    }
}

/// Why settings were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// A batch of this size, in items.
    Batch(usize),
    /// This maximal age.
    MaxAge(Duration),
    /// The pools are in use with other settings.
    InUse,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsError::Batch(size) => {
                write!(f, "batch of {size} items: expected 1 to {MAX_BATCH}")
            }
            SettingsError::MaxAge(age) => {
                let (least, most) = (MAX_AGES.start(), MAX_AGES.end());
                write!(f, "max_age of {age:?}: expected {least:?} to {most:?}")
            }
            SettingsError::InUse => f.write_str(
                "the pools are in use with other settings: expected settings before the first use",
            ),
        }
    }
}

impl core::error::Error for SettingsError {}

struct Visitor {
    backend: Backend,
    builder: Builder,
    of_groups: Vec<Box<dyn PooledGroup>>,
}

impl GroupVisitor for Visitor {
    fn visit<K: TlsKem>(&mut self) {
        self.of_groups.push(Box::new(OfGroup::<K>::new(self.backend, &mut self.builder)));
    }
}

impl GroupPools {
    /// Empty pools: no item is made before the first request.
    fn new(settings: Settings) -> Self {
        let backend = Backend::best();
        let builder = Pools::builder(backend, settings);
        let of_groups = Vec::<Box<dyn PooledGroup>>::new();
        let mut visitor = Visitor { backend, builder, of_groups };
        visit_groups(&mut visitor);
        let Visitor { builder, of_groups, .. } = visitor;
        GroupPools { settings, of_groups, all: builder.finish() }
    }

    /// The group at that place of [`kex::TLS_GROUPS`].
    pub(crate) fn group(&self, place: usize) -> &dyn PooledGroup {
        &*self.of_groups[place]
    }
}

#[cfg(test)]
mod tests {
    use keypool::Counter;

    use super::*;

    #[test]
    fn key_shares_come_from_stock() {
        let settings = Settings { batch: Batch::Fixed(4), ..Settings::default() };
        let pools = GroupPools::new(settings);
        for (place, row) in kex::TLS_GROUPS.iter().enumerate() {
            let group = pools.group(place);
            for _ in 0..4 {
                let started = group.start().unwrap();
                let answer = group.answer(started.pub_key()).unwrap();
                let secret = started.complete(&answer.pub_key).unwrap();
                assert_eq!(secret.secret_bytes(), answer.secret.secret_bytes(), "{}", row.name);
                assert_eq!(secret.secret_bytes().len(), row.shared_secret_bytes);
            }
            for counts in pools.group(place).counts() {
                assert_eq!((counts.get(Counter::Inline), counts.get(Counter::FromPool)), (1, 3));
            }
            // A refused share takes nothing.
            assert!(group.answer(&[]).is_err());
            assert_eq!(pools.group(place).counts()[1].get(Counter::FromPool), 3);
        }
        pools.group(0).start().unwrap();
        assert_eq!(pools.group(0).counts()[0].stock(), 3);
        pools.all.flush();
        assert_eq!(pools.group(0).counts()[0].stock(), 0);
    }
}
