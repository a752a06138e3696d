//! The table of TLS groups.

use sntrup::{Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277};

use crate::{Hybrid, Kem, Sntrup, X25519};

/// A TLS 1.3 group: what is negotiated, and what its key shares are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsGroup {
    /// Its name, also that of the algorithm.
    pub name: &'static str,
    /// A description of the group in words.
    pub description: &'static str,
    /// Its code point unless configured otherwise.
    pub code_point: u16,
    /// Classical security in bits: the core-SVP estimate of the round-3 submission.
    pub security_bits: u32,
    /// Last arc of its object identifier, below [`OID_ROOT`].
    pub oid_arc: u8,
    /// Bytes of the client's key share.
    pub public_key_bytes: usize,
    /// Bytes of the server's key share.
    pub ciphertext_bytes: usize,
    /// Bytes of an encoded secret key.
    pub secret_key_bytes: usize,
    /// Bytes of the shared secret.
    pub shared_secret_bytes: usize,
}

/// Code points for private use (RFC 8446, section 4.2.7).
pub const CODE_POINTS: core::ops::RangeInclusive<u16> = 0xFE00..=0xFEFF;

/// The UUID under which the object identifiers lie: 2.25.{this}.{arc}. No object identifiers are
/// registered for these algorithms.
pub const OID_ROOT: u128 = 0x1ef2_1ab6_9a30_408a_80fe_a499_b69b_0fa6;

impl TlsGroup {
    /// Its object identifier in dotted form.
    pub fn oid(&self) -> String {
        format!("2.25.{OID_ROOT}.{}", self.oid_arc)
    }

    /// The contents of its object identifier in DER: arcs in base 128, the first two merged.
    pub fn oid_der(&self) -> Vec<u8> {
        // Public: an identifier.
        let mut der = vec![2 * 40 + 25]; // Public: as above.
        for arc in [OID_ROOT, self.oid_arc.into()] {
            let digits = (u128::BITS - arc.leading_zeros()).div_ceil(7).max(1);
            for digit in (0..digits).rev() {
                let more = if digit > 0 { 0x80 } else { 0 };
                der.push(more | (arc >> (7 * digit)) as u8 & 0x7f);
            }
        }
        der
    }
}

/// A KEM that is a TLS group.
pub trait TlsKem: Kem {
    /// Its row of [`TLS_GROUPS`].
    const GROUP: &'static TlsGroup;
    /// The row's place.
    const INDEX: usize;
}

/// Does something for each group, with the type that computes it.
pub trait GroupVisitor {
    /// Visits `K::GROUP`.
    fn visit<K: TlsKem>(&mut self);
}

macro_rules! tls_groups {
    ($($name:literal: $kem:ty, $code_point:literal, $security_bits:literal, $arc:literal, $description:literal;)*) => {
        $(impl TlsKem for $kem {
            const GROUP: &'static TlsGroup = &TlsGroup {
                name: $name,
                description: $description,
                code_point: $code_point,
                security_bits: $security_bits,
                oid_arc: $arc,
                public_key_bytes: Self::PUBLIC_KEY_BYTES,
                ciphertext_bytes: Self::CIPHERTEXT_BYTES,
                secret_key_bytes: Self::SECRET_KEY_BYTES,
                shared_secret_bytes: Self::SHARED_SECRET_BYTES,
            };
            const INDEX: usize = place($name);
        })*

        const NAMES: &[&str] = &[$($name),*];

        /// All TLS groups, in the order in which they are listed.
        pub static TLS_GROUPS: &[&TlsGroup] = &[$(<$kem as TlsKem>::GROUP),*];

        /// Shows `visitor` every group of [`TLS_GROUPS`], in order.
        pub fn visit_groups(visitor: &mut impl GroupVisitor) {
            $(visitor.visit::<$kem>();)*
        }
    };
}

/// The groups that a deployment needs unless it has reasons of its own: their names in
/// [`TLS_GROUPS`].
pub const RECOMMENDED_GROUPS: [&str; 2] = ["sntrup761", "X25519SNTRUP761"];

/// The place of a name in the table.
const fn place(name: &str) -> usize {
    let mut place = 0;
    while !is_equal(NAMES[place].as_bytes(), name.as_bytes()) {
        place += 1;
    }
    place
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

tls_groups! {
    "sntrup653": Sntrup<Sntrup653>, 0xFEE0, 129, 1, "Streamlined NTRU Prime 653";
    "sntrup761": Sntrup<Sntrup761>, 0xFEE1, 153, 2, "Streamlined NTRU Prime 761";
    "sntrup857": Sntrup<Sntrup857>, 0xFEE2, 175, 3, "Streamlined NTRU Prime 857";
    "sntrup953": Sntrup<Sntrup953>, 0xFEE3, 196, 4, "Streamlined NTRU Prime 953";
    "sntrup1013": Sntrup<Sntrup1013>, 0xFEE4, 209, 5, "Streamlined NTRU Prime 1013";
    "sntrup1277": Sntrup<Sntrup1277>, 0xFEE5, 270, 6, "Streamlined NTRU Prime 1277";
    "X25519SNTRUP653": Hybrid<Sntrup<Sntrup653>, X25519>, 0xFEE8, 129, 7,
        "Streamlined NTRU Prime 653 with X25519";
    "X25519SNTRUP761": Hybrid<Sntrup<Sntrup761>, X25519>, 0xFEE9, 153, 8,
        "Streamlined NTRU Prime 761 with X25519";
    "X25519SNTRUP857": Hybrid<Sntrup<Sntrup857>, X25519>, 0xFEEA, 175, 9,
        "Streamlined NTRU Prime 857 with X25519";
    "X25519SNTRUP953": Hybrid<Sntrup<Sntrup953>, X25519>, 0xFEEB, 196, 10,
        "Streamlined NTRU Prime 953 with X25519";
    "X25519SNTRUP1013": Hybrid<Sntrup<Sntrup1013>, X25519>, 0xFEEC, 209, 11,
        "Streamlined NTRU Prime 1013 with X25519";
    "X25519SNTRUP1277": Hybrid<Sntrup<Sntrup1277>, X25519>, 0xFEED, 270, 12,
        "Streamlined NTRU Prime 1277 with X25519";
}

/// The group called `name`, in upper or lower case.
pub fn group_named(name: &str) -> Option<&'static TlsGroup> {
    TLS_GROUPS.iter().copied().find(|group| group.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_is_consistent() {
        struct Visitor(Vec<&'static str>);
        impl GroupVisitor for Visitor {
            fn visit<K: TlsKem>(&mut self) {
                assert_eq!(K::GROUP.public_key_bytes, K::PUBLIC_KEY_BYTES);
                assert_eq!(K::GROUP.ciphertext_bytes, K::CIPHERTEXT_BYTES);
                assert_eq!(K::INDEX, self.0.len());
                self.0.push(K::GROUP.name);
            }
        }
        let mut visitor = Visitor(Vec::new());
        visit_groups(&mut visitor);
        assert_eq!(visitor.0, TLS_GROUPS.iter().map(|g| g.name).collect::<Vec<_>>());

        assert!(RECOMMENDED_GROUPS.iter().all(|name| group_named(name).is_some()));
        let points: HashSet<_> = TLS_GROUPS.iter().map(|g| g.code_point).collect();
        let arcs: HashSet<_> = TLS_GROUPS.iter().map(|g| g.oid_arc).collect();
        assert_eq!((points.len(), arcs.len()), (TLS_GROUPS.len(), TLS_GROUPS.len()));
        assert!(points.iter().all(|point| CODE_POINTS.contains(point)));
        // OpenSSL keeps algorithm names, of which the identifier is one, in buffers of 50 bytes.
        assert!(TLS_GROUPS.iter().all(|g| g.oid().len() < 50));
    }

    #[test]
    fn identifiers_encode_the_uuid() {
        let der = TLS_GROUPS[0].oid_der();
        let mut arcs = vec![0u128];
        for byte in &der[1..] {
            let last = arcs.last_mut().unwrap();
            *last = *last << 7 | u128::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                arcs.push(0);
            }
        }
        assert_eq!((der[0], &arcs[..]), (105, &[OID_ROOT, 1, 0][..]));
    }
}
