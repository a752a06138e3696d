//! The table of TLS groups.

use mlkem::{MlKem512, MlKem768, MlKem1024};
use sntrup::{Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277};

use crate::{Ecdh, ExchangeFirst, Hybrid, Kem, MlKem, P256, P384, Sntrup, X25519};

/// A TLS 1.3 group: what is negotiated, and what its key shares are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsGroup {
    /// Its name, as in a list of groups for libssl.
    pub name: &'static str,
    /// The names of its algorithm, separated by colons, as OpenSSL has them.
    pub algorithm_names: &'static str,
    /// A description of the group in words.
    pub description: &'static str,
    /// Its code point, unless it is private and configured otherwise.
    pub code_point: u16,
    /// Classical security in bits. sntrup: the core-SVP estimate of the round-3 submission. ML-KEM:
    /// that of OpenSSL, so that its security levels treat both implementations alike.
    pub security_bits: u32,
    /// The algorithm's object identifier, if there is one. Only such keys can be written as files.
    pub identifier: Option<Identifier>,
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
pub const PRIVATE_CODE_POINTS: core::ops::RangeInclusive<u16> = 0xFE00..=0xFEFF;

/// An object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identifier {
    /// Below [`UUID`]: 2.25.{UUID}.{last arc}. No identifiers are registered for sntrup.
    Uuid(u8),
    /// Below NIST's arc of KEMs: 2.16.840.1.101.3.4.4.{last arc}.
    Nist(u8),
}

/// The UUID under which object identifiers of our own lie.
pub const UUID: u128 = 0x1ef2_1ab6_9a30_408a_80fe_a499_b69b_0fa6;

impl Identifier {
    /// The arcs after the first two, which are merged in DER.
    fn arcs(self) -> (u8, Vec<u128>) {
        // Public: an identifier.
        match self {
            Identifier::Uuid(last) => (2 * 40 + 25, vec![UUID, last.into()]), // Public: as above.
            Identifier::Nist(last) => {
                (2 * 40 + 16, vec![840, 1, 101, 3, 4, 4, last.into()]) // Public: as above.
            }
        }
    }

    /// The identifier in dotted form.
    pub fn dotted(self) -> String {
        let (merged, arcs) = self.arcs();
        let start = format!("2.{}", merged - 2 * 40);
        arcs.iter().fold(start, |text, arc| format!("{text}.{arc}"))
    }

    /// The contents of the identifier in DER: arcs in base 128.
    pub fn der(self) -> Vec<u8> {
        // Public: an identifier.
        let (merged, arcs) = self.arcs();
        let mut der = vec![merged]; // Public: as above.
        for arc in arcs {
            let digits = (u128::BITS - arc.leading_zeros()).div_ceil(7).max(1);
            for digit in (0..digits).rev() {
                let more = if digit > 0 { 0x80 } else { 0 };
                der.push(more | (arc >> (7 * digit)) as u8 & 0x7f);
            }
        }
        der
    }
}

impl TlsGroup {
    /// The first name of its algorithm.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm_names.split(':').next().unwrap_or(self.name)
    }

    /// Whether its code point is for private use: no other software has the group.
    pub fn is_private(&self) -> bool {
        PRIVATE_CODE_POINTS.contains(&self.code_point)
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
    ($(
        $name:literal $(($algorithm_names:literal))?: $kem:ty,
        $code_point:literal, $security_bits:literal, $identifier:expr, $description:literal;
    )*) => {
        $(impl TlsKem for $kem {
            const GROUP: &'static TlsGroup = &TlsGroup {
                name: $name,
                algorithm_names: [$($algorithm_names,)? $name][0],
                description: $description,
                code_point: $code_point,
                security_bits: $security_bits,
                identifier: $identifier,
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
pub const RECOMMENDED_GROUPS: [&str; 3] = ["X25519MLKEM768", "sntrup761", "X25519SNTRUP761"];

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
    "X25519MLKEM768": Hybrid<MlKem<MlKem768>, X25519>, 0x11EC, 192, None, "ML-KEM-768 with X25519";
    "SecP256r1MLKEM768": Hybrid<MlKem<MlKem768>, Ecdh<P256>, ExchangeFirst>, 0x11EB, 192, None,
        "ML-KEM-768 with P-256";
    "SecP384r1MLKEM1024": Hybrid<MlKem<MlKem1024>, Ecdh<P384>, ExchangeFirst>, 0x11ED, 256, None,
        "ML-KEM-1024 with P-384";
    "MLKEM512" ("ML-KEM-512:MLKEM512:id-alg-ml-kem-512"): MlKem<MlKem512>, 0x0200, 128,
        Some(Identifier::Nist(1)), "ML-KEM-512";
    "MLKEM768" ("ML-KEM-768:MLKEM768:id-alg-ml-kem-768"): MlKem<MlKem768>, 0x0201, 192,
        Some(Identifier::Nist(2)), "ML-KEM-768";
    "MLKEM1024" ("ML-KEM-1024:MLKEM1024:id-alg-ml-kem-1024"): MlKem<MlKem1024>, 0x0202, 256,
        Some(Identifier::Nist(3)), "ML-KEM-1024";
    "sntrup653": Sntrup<Sntrup653>, 0xFEE0, 129, Some(Identifier::Uuid(1)), "Streamlined NTRU Prime 653";
    "sntrup761": Sntrup<Sntrup761>, 0xFEE1, 153, Some(Identifier::Uuid(2)), "Streamlined NTRU Prime 761";
    "sntrup857": Sntrup<Sntrup857>, 0xFEE2, 175, Some(Identifier::Uuid(3)), "Streamlined NTRU Prime 857";
    "sntrup953": Sntrup<Sntrup953>, 0xFEE3, 196, Some(Identifier::Uuid(4)), "Streamlined NTRU Prime 953";
    "sntrup1013": Sntrup<Sntrup1013>, 0xFEE4, 209, Some(Identifier::Uuid(5)), "Streamlined NTRU Prime 1013";
    "sntrup1277": Sntrup<Sntrup1277>, 0xFEE5, 270, Some(Identifier::Uuid(6)), "Streamlined NTRU Prime 1277";
    "X25519SNTRUP653": Hybrid<Sntrup<Sntrup653>, X25519>, 0xFEE8, 129, Some(Identifier::Uuid(7)),
        "Streamlined NTRU Prime 653 with X25519";
    "X25519SNTRUP761": Hybrid<Sntrup<Sntrup761>, X25519>, 0xFEE9, 153, Some(Identifier::Uuid(8)),
        "Streamlined NTRU Prime 761 with X25519";
    "X25519SNTRUP857": Hybrid<Sntrup<Sntrup857>, X25519>, 0xFEEA, 175, Some(Identifier::Uuid(9)),
        "Streamlined NTRU Prime 857 with X25519";
    "X25519SNTRUP953": Hybrid<Sntrup<Sntrup953>, X25519>, 0xFEEB, 196, Some(Identifier::Uuid(10)),
        "Streamlined NTRU Prime 953 with X25519";
    "X25519SNTRUP1013": Hybrid<Sntrup<Sntrup1013>, X25519>, 0xFEEC, 209, Some(Identifier::Uuid(11)),
        "Streamlined NTRU Prime 1013 with X25519";
    "X25519SNTRUP1277": Hybrid<Sntrup<Sntrup1277>, X25519>, 0xFEED, 270, Some(Identifier::Uuid(12)),
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
        assert_eq!(points.len(), TLS_GROUPS.len());
        let identifiers: Vec<_> = TLS_GROUPS.iter().filter_map(|g| g.identifier).collect();
        assert_eq!(identifiers.iter().collect::<HashSet<_>>().len(), identifiers.len());
        // OpenSSL keeps algorithm names, of which the identifier is one, in buffers of 50 bytes.
        assert!(identifiers.iter().all(|identifier| identifier.dotted().len() < 50));
    }

    /// Sizes and code points of draft-ietf-tls-ecdhe-mlkem and draft-ietf-tls-mlkem.
    #[test]
    fn groups_of_the_drafts_are_as_the_drafts_have_them() {
        for (name, algorithm, code_point, client_bytes, server_bytes, secret_bytes) in [
            ("X25519MLKEM768", "X25519MLKEM768", 0x11EC, 1216, 1120, 64),
            ("SecP256r1MLKEM768", "SecP256r1MLKEM768", 0x11EB, 1249, 1153, 64),
            ("SecP384r1MLKEM1024", "SecP384r1MLKEM1024", 0x11ED, 1665, 1665, 80),
            ("MLKEM512", "ML-KEM-512", 0x0200, 800, 768, 32),
            ("MLKEM768", "ML-KEM-768", 0x0201, 1184, 1088, 32),
            ("MLKEM1024", "ML-KEM-1024", 0x0202, 1568, 1568, 32),
        ] {
            let group = group_named(name).unwrap();
            assert_eq!((group.algorithm(), group.code_point), (algorithm, code_point));
            assert_eq!(
                (group.public_key_bytes, group.ciphertext_bytes, group.shared_secret_bytes),
                (client_bytes, server_bytes, secret_bytes)
            );
            assert!(!group.is_private());
        }
        assert!(group_named("sntrup761").unwrap().is_private());
    }

    #[test]
    fn identifiers_encode_their_arcs() {
        let nist = Identifier::Nist(2);
        assert_eq!(nist.dotted(), "2.16.840.1.101.3.4.4.2");
        assert_eq!(nist.der(), [0x60, 0x86, 0x48, 1, 101, 3, 4, 4, 2]);
        let der = Identifier::Uuid(1).der();
        let mut arcs = vec![0u128];
        for byte in &der[1..] {
            let last = arcs.last_mut().unwrap();
            *last = *last << 7 | u128::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                arcs.push(0);
            }
        }
        assert_eq!((der[0], &arcs[..]), (105, &[UUID, 1, 0][..]));
        assert_eq!(Identifier::Uuid(1).dotted(), format!("2.25.{UUID}.1"));
    }
}
