//! Random exchanges with every peer, in both directions, rejections included.

use bench::peers::*;
use sntrup::*;

const EXCHANGES: usize = 1000;
/// Exchanges for one key pair of the peer's, whose key generation is slow.
const FOR_A_PEERS_KEY: usize = 10;

fn exchange<A: Peer, B: Peer>() {
    assert_eq!(A::PARAMETER_SET, B::PARAMETER_SET);
    let who = format!("{} with {}", A::PARAMETER_SET, B::NAME);
    let mut theirs = B::key_pair();
    for round in 0..EXCHANGES {
        // Our key, their ciphertext.
        let (public, secret) = A::key_pair();
        let (mut ciphertext, shared) = B::encapsulate(&public);
        assert_eq!(A::decapsulate(&secret, &ciphertext), shared, "{who}");
        // Both read each other's secret keys, so they can be asked for the same rejection.
        let place = round % ciphertext.len();
        ciphertext[place] ^= 1 << (round % 8);
        let rejected = A::decapsulate(&secret, &ciphertext);
        assert_ne!(rejected, shared, "{who}");
        assert_eq!(rejected, B::decapsulate(&secret, &ciphertext), "{who}");

        // Their key, our ciphertext.
        if round % FOR_A_PEERS_KEY == 0 {
            theirs = B::key_pair();
        }
        let (ciphertext, shared) = A::encapsulate(&theirs.0);
        assert_eq!(B::decapsulate(&theirs.1, &ciphertext), shared, "{who}");
        assert_eq!(A::decapsulate(&theirs.1, &ciphertext), shared, "{who}");
    }
}

macro_rules! exchanges {
    ($($name:ident: $set:ty, $peer:ty;)*) => {$(
        #[test]
        fn $name() {
            exchange::<Ours<$set>, $peer>();
        }
    )*};
}

exchanges! {
    sntrup761_crate: Sntrup761, Sntrup761Crate;
    sntrup_crate_653: Sntrup653, SntrupCrate653;
    sntrup_crate_761: Sntrup761, SntrupCrate761;
    sntrup_crate_857: Sntrup857, SntrupCrate857;
    sntrup_crate_953: Sntrup953, SntrupCrate953;
    sntrup_crate_1013: Sntrup1013, SntrupCrate1013;
    sntrup_crate_1277: Sntrup1277, SntrupCrate1277;
    pqclean_653: Sntrup653, PqClean653;
    pqclean_761: Sntrup761, PqClean761;
    pqclean_857: Sntrup857, PqClean857;
    pqclean_953: Sntrup953, PqClean953;
    pqclean_1013: Sntrup1013, PqClean1013;
    pqclean_1277: Sntrup1277, PqClean1277;
}
