//! Key shares of a client.

use kex::{
    Backend, Ecdh, GroupVisitor, KeyExchange, KeyPair, P256, P384, TlsKem, X25519, visit_groups,
};
use random::OperationRandom;

/// A client's key share. Its secret is not kept: no handshake is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The code point of its group.
    pub group: u16,
    /// The public value.
    pub bytes: Vec<u8>,
}

/// Makes a key share of this group; `None` if this project does not compute the group, or without
/// random numbers.
pub fn key_share(group: u16) -> Option<Share> {
    let exchanges = [exchange::<X25519>, exchange::<Ecdh<P256>>, exchange::<Ecdh<P384>>];
    let bytes = exchanges.iter().find_map(|make| make(group)).or_else(|| kem(group))?;
    Some(Share { group, bytes })
}

fn exchange<X: KeyExchange>(group: u16) -> Option<Vec<u8>> {
    if group != X::CODE_POINT {
        return None;
    }
    let secret = X::start(Backend::best(), &mut OperationRandom::new()).ok()?;
    let mut share = vec![0; X::PUBLIC_BYTES];
    X::write_public(&X::public(&secret), &mut share);
    Some(share)
}

fn kem(group: u16) -> Option<Vec<u8>> {
    struct Visitor {
        group: u16,
        share: Option<Vec<u8>>,
    }
    impl GroupVisitor for Visitor {
        fn visit<K: TlsKem>(&mut self) {
            if K::GROUP.code_point != self.group {
                return;
            }
            let pair = KeyPair::<K>::generate(Backend::best(), &mut OperationRandom::new());
            self.share = pair.ok().map(|pair| {
                let mut share = vec![0; K::PUBLIC_KEY_BYTES];
                K::write_public_key(&pair.public, &mut share);
                share
            });
        }
    }
    let mut visitor = Visitor { group, share: None };
    visit_groups(&mut visitor);
    visitor.share
}

#[cfg(test)]
mod tests {
    use kex::{OTHER_GROUPS, TLS_GROUPS};

    use super::*;

    #[test]
    fn shares_have_the_sizes_of_their_groups() {
        for group in TLS_GROUPS {
            let share = key_share(group.code_point).unwrap();
            assert_eq!(
                (share.group, share.bytes.len()),
                (group.code_point, group.public_key_bytes)
            );
            assert_ne!(key_share(group.code_point), Some(share));
        }
        let sizes: Vec<_> = OTHER_GROUPS
            .iter()
            .filter_map(|group| Some((group.name, key_share(group.code_point)?.bytes.len())))
            .collect();
        assert_eq!(sizes, [("X25519", 32), ("P-256", 65), ("P-384", 97)]);
        assert_eq!(key_share(0x0A0A), None);
    }
}
