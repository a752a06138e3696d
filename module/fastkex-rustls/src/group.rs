//! The groups as rustls sees them.

use core::fmt;

use kex::{RECOMMENDED_GROUPS, TLS_GROUPS};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};

use crate::pools;

/// A group: its place in [`TLS_GROUPS`].
struct Group(usize);

/// The groups, in the order of [`TLS_GROUPS`].
static GROUPS: [Group; TLS_GROUPS.len()] = {
    let mut groups = [const { Group(0) }; TLS_GROUPS.len()];
    let mut place = 0;
    while place < groups.len() {
        groups[place].0 = place;
        place += 1;
    }
    groups
};

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        pools::current().group(self.0).start()
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        pools::current().group(self.0).answer(share)
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        TLS_GROUPS[self.0].code_point.into()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TLS_GROUPS[self.0].name)
    }
}

/// All groups, in the order of [`TLS_GROUPS`].
pub fn groups() -> impl ExactSizeIterator<Item = &'static dyn SupportedKxGroup> {
    GROUPS.iter().map(|group| group as &dyn SupportedKxGroup)
}

/// The groups of [`RECOMMENDED_GROUPS`], in this order.
pub fn recommended_groups() -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
    RECOMMENDED_GROUPS.iter().filter_map(|name| group_named(name))
}

/// The group called `name` in [`TLS_GROUPS`], in upper or lower case.
pub fn group_named(name: &str) -> Option<&'static dyn SupportedKxGroup> {
    let is_named = |group: &&Group| TLS_GROUPS[group.0].name.eq_ignore_ascii_case(name);
    GROUPS.iter().find(is_named).map(|group| group as &dyn SupportedKxGroup)
}

/// The groups by name. [`groups`] and [`group_named`] have all of [`TLS_GROUPS`].
pub mod kx_group {
    use super::{GROUPS, SupportedKxGroup, TLS_GROUPS};

    /// The place of a group in the table, when compiled. A name that is not there does not compile.
    const fn place(name: &str) -> usize {
        let mut place = 0;
        while !name.as_bytes().eq_ignore_ascii_case(TLS_GROUPS[place].name.as_bytes()) {
            place += 1;
        }
        place
    }

    macro_rules! statics {
        ($($name:ident $description:literal)*) => {$(
            #[doc = $description]
            pub static $name: &dyn SupportedKxGroup = &GROUPS[place(stringify!($name))];
        )*};
    }

    statics! {
        X25519MLKEM768 "ML-KEM-768 with X25519."
        SECP256R1MLKEM768 "ML-KEM-768 with P-256."
        SECP384R1MLKEM1024 "ML-KEM-1024 with P-384."
        MLKEM512 "ML-KEM-512."
        MLKEM768 "ML-KEM-768."
        MLKEM1024 "ML-KEM-1024."
        SNTRUP653 "Streamlined NTRU Prime 653."
        SNTRUP761 "Streamlined NTRU Prime 761."
        SNTRUP857 "Streamlined NTRU Prime 857."
        SNTRUP953 "Streamlined NTRU Prime 953."
        SNTRUP1013 "Streamlined NTRU Prime 1013."
        SNTRUP1277 "Streamlined NTRU Prime 1277."
        X25519SNTRUP653 "Streamlined NTRU Prime 653 with X25519."
        X25519SNTRUP761 "Streamlined NTRU Prime 761 with X25519."
        X25519SNTRUP857 "Streamlined NTRU Prime 857 with X25519."
        X25519SNTRUP953 "Streamlined NTRU Prime 953 with X25519."
        X25519SNTRUP1013 "Streamlined NTRU Prime 1013 with X25519."
        X25519SNTRUP1277 "Streamlined NTRU Prime 1277 with X25519."
    }
}
