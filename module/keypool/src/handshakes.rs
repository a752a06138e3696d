//! Counts of TLS handshakes by negotiated group, also of groups that others compute, in the page of
//! shared memory that holds the counts of pools.

use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use kex::{OTHER_GROUPS, TLS_GROUPS};

/// All groups of both tables, then the two that are none of them.
const GROUPS: usize = TLS_GROUPS.len() + OTHER_GROUPS.len() + 2;
const NONE: usize = GROUPS - 2;
const OTHER: usize = GROUPS - 1;

/// The group that a handshake negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiatedGroup(usize);

impl NegotiatedGroup {
    /// No key exchange that has a group: RSA, or a session resumed before TLS 1.3.
    pub const NONE: NegotiatedGroup = NegotiatedGroup(NONE);
    /// A group without a name here.
    pub const OTHER: NegotiatedGroup = NegotiatedGroup(OTHER);

    /// The group of this code point. `ours` are the code points of [`TLS_GROUPS`], in its order, as
    /// they are configured.
    pub fn of_code_point(code_point: u16, ours: &[u16]) -> Self {
        let own = ours.iter().take(TLS_GROUPS.len()).position(|&other| other == code_point);
        let other = || OTHER_GROUPS.iter().position(|group| group.code_point == code_point);
        own.or_else(|| other().map(|index| TLS_GROUPS.len() + index))
            .map_or(Self::OTHER, NegotiatedGroup)
    }

    /// All groups, in a fixed order.
    pub fn all() -> impl Iterator<Item = NegotiatedGroup> {
        (0..GROUPS).map(NegotiatedGroup)
    }

    /// Its name: `X25519MLKEM768`, `P-256`, `none`, `other`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NONE => "none",
            Self::OTHER => "other",
            NegotiatedGroup(index) => match TLS_GROUPS.get(index) {
                Some(group) => group.name,
                None => OTHER_GROUPS[index - TLS_GROUPS.len()].name,
            },
        }
    }

    /// Whether its key exchange resists a quantum computer, alone or as part of a hybrid.
    pub fn is_post_quantum(self) -> bool {
        let other = self.0.checked_sub(TLS_GROUPS.len());
        other.is_none_or(|index| OTHER_GROUPS.get(index).is_some_and(|group| group.is_post_quantum))
    }
}

/// A side of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Role {
    /// Both sides.
    pub const ALL: [Role; 2] = [Role::Client, Role::Server];

    /// Its name: `client` or `server`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

/// Whether a process counts its handshakes, and why not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing counts them.
    #[default]
    Off,
    /// They are counted.
    On,
    /// libssl's functions were not found.
    NoLibssl,
    /// The module was loaded after libssl had made a context.
    Late,
    /// The process uses QUIC of OpenSSL; from then on new connections are not counted.
    Quic,
}

impl Watch {
    const ALL: [Watch; 5] = [Watch::Off, Watch::On, Watch::NoLibssl, Watch::Late, Watch::Quic];

    fn of(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Watch::Off => "nothing counts them",
            Watch::On => "they are counted",
            Watch::NoLibssl => "libssl's functions were not found in the process",
            Watch::Late => "the module was loaded after the first SSL_CTX",
            Watch::Quic => "the process uses QUIC of OpenSSL, and new connections are not counted",
        })
    }
}

/// The counters of a page.
#[repr(C, align(64))]
pub(crate) struct HandshakeCounters {
    /// A [`Watch`], by its place in [`Watch::ALL`].
    watch: AtomicU32,
    connections: AtomicU64,
    counts: [[AtomicU64; Role::ALL.len()]; GROUPS],
}

impl HandshakeCounters {
    pub(crate) fn watch(&self, watch: u32) {
        if self.watch.load(Ordering::Relaxed) != watch {
            self.watch.store(watch, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, group: NegotiatedGroup, role: Role) {
        self.counts[group.0][role as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the bytes of such counters, which may hold any numbers.
    pub(crate) fn read(bytes: &[u8]) -> Handshakes {
        let at = |at: usize| bytes.get(at..).unwrap_or_default();
        let connections = at(core::mem::offset_of!(Self, connections)).first_chunk();
        let connections = connections.map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let watch = at(core::mem::offset_of!(Self, watch)).first_chunk();
        let watch = Watch::of(watch.map_or(0, |bytes| u32::from_ne_bytes(*bytes)));
        let words = at(core::mem::offset_of!(Self, counts)).as_chunks().0;
        let count = |group: usize, role: usize| {
            let word = words.get(group * Role::ALL.len() + role);
            word.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        let counts = core::array::from_fn(|group| core::array::from_fn(|role| count(group, role)));
        Handshakes { watch, connections, counts }
    }
}

/// The counts of a process's handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshakes {
    /// Whether they are counted.
    pub watch: Watch,
    /// Number of connections that were made to be counted, whether or not a handshake was.
    pub connections: u64,
    counts: [[u64; Role::ALL.len()]; GROUPS],
}

impl Handshakes {
    /// Number of handshakes of a group in which the process had this role.
    pub fn get(&self, group: NegotiatedGroup, role: Role) -> u64 {
        self.counts[group.0][role as usize]
    }
}

/// The present state of the watch in this process and its children, by its place in [`Watch::ALL`].
static WATCH: AtomicU32 = AtomicU32::new(0);

impl Watch {
    /// Makes this the present state.
    pub(crate) fn set(self) {
        WATCH.store(self as u32, Ordering::Relaxed);
    }
}

/// The present state, as it is stored in pages.
pub(crate) fn watch() -> u32 {
    WATCH.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_places() {
        for (i, watch) in Watch::ALL.into_iter().enumerate() {
            assert_eq!((watch as usize, Watch::of(i as u32)), (i, watch));
        }
        assert_eq!(Watch::of(u32::MAX), Watch::Off);
        for (i, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, i);
        }
    }

    #[test]
    fn groups_have_one_name_each() {
        let ours: Vec<_> = TLS_GROUPS.iter().map(|group| group.code_point).collect();
        let mut names: Vec<_> = NegotiatedGroup::all().map(NegotiatedGroup::name).collect();
        for (code_point, name, is_post_quantum) in [
            (0x11EC, "X25519MLKEM768", true),
            (0x0201, "MLKEM768", true),
            (0xFEE1, "sntrup761", true),
            (0x11EE, "curveSM2MLKEM768", true),
            (29, "X25519", false),
            (23, "P-256", false),
            (260, "ffdhe8192", false),
            (0, "other", false),
            (0xFEFF, "other", false),
        ] {
            let group = NegotiatedGroup::of_code_point(code_point, &ours);
            assert_eq!((group.name(), group.is_post_quantum()), (name, is_post_quantum));
        }
        assert_eq!(NegotiatedGroup::NONE.name(), "none");
        assert!(!NegotiatedGroup::NONE.is_post_quantum());
        // A moved code point.
        let moved: Vec<_> =
            ours.iter().map(|&one| if one == 0xFEE1 { 0x0233 } else { one }).collect();
        assert_eq!(NegotiatedGroup::of_code_point(0x0233, &moved).name(), "sntrup761");
        assert_eq!(NegotiatedGroup::of_code_point(0xFEE1, &moved), NegotiatedGroup::OTHER);
        let groups = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((groups, names.len()), (GROUPS, GROUPS));
    }
}
