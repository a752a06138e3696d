//! Validity of keys that come from outside.

use kem_common::{Array, Error, public};
use lanes::{Dispatch, Hardware};

use crate::encode::{DecodeRq, DecodeSmall, EncodeRq};
use crate::hash::{Hash, Purpose, hash};
use crate::keys::{PublicKey, SecretKey, object};
use crate::params::ParameterSet;
use crate::product::{Coefficients, Multiplier};
use crate::r3;
use crate::rq::TripleToSmall;

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

/// A public key, decoded and encoded again.
pub(crate) struct Recode<'a, P: ParameterSet>(pub(crate) &'a PublicKey<P>);

impl<P: ParameterSet> Dispatch for Recode<'_, P> {
    type Output = PublicKey<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> PublicKey<P> {
        let mut element = Coefficients::<P>::zero();
        lanes.run(DecodeRq(&mut element, self.0.as_bytes()));
        let mut again = P::PublicKeyBytes::filled(0);
        lanes.run(EncodeRq(&element, again.as_mut()));
        PublicKey(again)
    }
}

/// A key's [`r3::weight_mismatch`] of f, and the hash of its public key.
pub(crate) struct Inspect<'a, P: ParameterSet>(pub(crate) &'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Inspect<'_, P> {
    type Output = (i16, Hash);

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let parts = self.0.parts();
        let mut f = Coefficients::<P>::zero();
        lanes.run(DecodeSmall(&mut f, parts.f));
        let mut public_key_hash = Hash::default();
        hash(lanes, Purpose::PublicKey, &[parts.public_key], &mut public_key_hash);
        (r3::weight_mismatch(&f), public_key_hash)
    }
}

pub(crate) struct Check<'a, P: ParameterSet>(pub(crate) &'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Check<'_, P> {
    type Output = Result<(), Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let parts = self.0.parts();
        let multiplier = &mut Multiplier::<P>::new();
        let (mut product, mut factor) = (Coefficients::zero(), Coefficients::zero());
        lanes.run(DecodeRq(&mut product, parts.public_key));
        lanes.run(DecodeSmall(&mut factor, parts.f));
        multiplier.multiply_by(lanes, &mut product, &factor);
        let third_is_small = {
            // 3 x is small if and only if x is 0 or plus or minus a third.
            let q = i32::from(P::Q);
            product.as_slice().iter().fold(0, |bad, &x| {
                let triple = (3 * i32::from(x)).rem_euclid(q);
                bad | i32::from(triple > 1 && triple < q - 1)
            }) == 0
        };
        lanes.run(TripleToSmall::<P, L>(&mut product));
        lanes.run(DecodeSmall(&mut factor, parts.g_inverse));
        multiplier.multiply_by(lanes, &mut product, &factor);
        lanes.run(r3::Reduce::<P, L>(&mut product));
        product.as_mut_slice()[0] -= 1;
        let is_one = product.as_slice().iter().fold(0, |bits, &x| bits | x) == 0;
        if public(third_is_small & is_one) {
            Ok(())
        } else {
            Err(Error::Inconsistent { object: object::<P>("secret key") })
        }
    }
}
