//! ECDH with NIST's curves P-256 and P-384 as key exchanges (RFC 8446, sections 4.2.8.2 and 7.4.2).
//!
//! Two libraries compute it. Graviola's formally verified assembly needs instructions that
//! processors have had since about 2014; elsewhere, and on the portable backend, RustCrypto's
//! portable code does. Both leave copies of scalars and of results on the stack, which is therefore
//! overwritten after each operation.

use core::marker::PhantomData;

use kem_common::Array;
use lanes::Backend;
use p256::elliptic_curve::sec1::ToSec1Point;
use rand_core::TryCryptoRng;
use secret::{Secret, erase_stack_after};

use crate::{Error, KeyExchange, Storable};

/// A curve, with the operations of the libraries on encoded values. Points are not compressed.
pub trait Curve: Send + Sync + Sized + 'static {
    /// Name of the curve.
    const NAME: &'static str;
    /// Code point of the TLS group.
    const CODE_POINT: u16;
    /// Bytes of a coordinate, of a secret scalar and of a shared secret.
    const FIELD_BYTES: usize;
    /// An encoded secret scalar.
    type Scalar: Array<u8>;
    /// An encoded point.
    type Point: Array<u8>;

    /// The public point of a scalar; `None` if the scalar is not between 0 and the order.
    fn public(backend: Backend, scalar: &Self::Scalar) -> Option<Self::Point>;

    /// Whether bytes encode a point of the curve, except the one at infinity.
    fn is_point(point: &Self::Point) -> bool;

    /// Writes the x-coordinate of the product of scalar and point; `None` if one of them is wrong.
    fn multiply(
        backend: Backend,
        scalar: &Self::Scalar,
        point: &Self::Point,
        out: &mut [u8],
    ) -> Option<()>;
}

/// More bytes of stack than an operation of the libraries takes.
const STACK_BYTES: usize = 16 * 1024;

/// Whether Graviola runs on this processor: it panics otherwise.
fn has_graviola(backend: Backend) -> bool {
    if matches!(backend, Backend::Portable(_)) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("adx")
            && std::arch::is_x86_feature_detected!("aes")
            && std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

macro_rules! curves {
    ($($(#[$documentation:meta])* $curve:ident: $name:literal, $code_point:literal, $library:ident, $field_bytes:literal;)*) => {$(
        $(#[$documentation])*
        pub struct $curve;

        impl Curve for $curve {
            const NAME: &'static str = $name;
            const CODE_POINT: u16 = $code_point;
            const FIELD_BYTES: usize = $field_bytes;
            type Scalar = [u8; $field_bytes];
            type Point = [u8; 1 + 2 * $field_bytes];

            fn public(backend: Backend, scalar: &Self::Scalar) -> Option<Self::Point> {
                erase_stack_after::<STACK_BYTES, _>(|| {
                    #[cfg(target_arch = "x86_64")]
                    if has_graviola(backend) {
                        use graviola::key_agreement::$library::StaticPrivateKey;
                        let secret = StaticPrivateKey::from_bytes(scalar).ok()?;
                        return Some(secret.public_key_uncompressed());
                    }
                    let public = $library::SecretKey::from_slice(scalar).ok()?.public_key();
                    public.to_sec1_point(false).as_bytes().try_into().ok()
                })
            }

            fn is_point(point: &Self::Point) -> bool {
                $library::PublicKey::from_sec1_bytes(point).is_ok()
            }

            fn multiply(
                backend: Backend,
                scalar: &Self::Scalar,
                point: &Self::Point,
                out: &mut [u8],
            ) -> Option<()> {
                erase_stack_after::<STACK_BYTES, _>(|| {
                    #[cfg(target_arch = "x86_64")]
                    if has_graviola(backend) {
                        use graviola::key_agreement::$library::{PublicKey, StaticPrivateKey};
                        let peer = PublicKey::from_x962_uncompressed(point).ok()?;
                        let secret = StaticPrivateKey::from_bytes(scalar).ok()?;
                        out.copy_from_slice(&secret.diffie_hellman(&peer).ok()?.0);
                        return Some(());
                    }
                    let peer = $library::PublicKey::from_sec1_bytes(point).ok()?;
                    let secret = $library::SecretKey::from_slice(scalar).ok()?;
                    let shared = $library::ecdh::diffie_hellman(
                        secret.to_nonzero_scalar(),
                        peer.as_affine(),
                    );
                    out.copy_from_slice(shared.raw_secret_bytes());
                    Some(())
                })
            }
        }
    )*};
}

curves! {
    /// P-256, which TLS calls secp256r1.
    P256: "P-256", 0x0017, p256, 32;
    /// P-384, which TLS calls secp384r1.
    P384: "P-384", 0x0018, p384, 48;
}

/// ECDH with the curve `C`.
pub struct Ecdh<C>(PhantomData<C>);

/// A point that was checked.
pub struct Point<C: Curve>(C::Point);

impl<C: Curve> Clone for Point<C> {
    fn clone(&self) -> Self {
        Point(self.0.clone())
    }
}

impl<C: Curve> PartialEq for Point<C> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// A secret scalar and its public point.
pub struct Scalar<C: Curve> {
    secret: Secret<C::Scalar>,
    public: Point<C>,
}

impl<C: Curve> Clone for Scalar<C> {
    fn clone(&self) -> Self {
        let mut secret = Secret::<C::Scalar>::zeroed();
        secret.as_mut().copy_from_slice((*self.secret).as_ref());
        Scalar { secret, public: self.public.clone() }
    }
}

/// Draws of a scalar before the random source counts as broken. One in 2^32 fails.
const DRAWS: usize = 8;

impl<C: Curve> KeyExchange for Ecdh<C> {
    const CODE_POINT: u16 = C::CODE_POINT;
    const PUBLIC_BYTES: usize = 1 + 2 * C::FIELD_BYTES;
    const SECRET_BYTES: usize = C::FIELD_BYTES;
    const SHARED_SECRET_BYTES: usize = C::FIELD_BYTES;

    type Public = Point<C>;
    type Secret = Scalar<C>;

    fn start_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self::Secret>, Error> {
        let mut draw = || {
            let mut secret = Secret::<C::Scalar>::zeroed();
            for _ in 0..DRAWS {
                random.try_fill_bytes(secret.as_mut()).map_err(|_| Error::RandomSource)?;
                // Only a scalar that is thrown away shows that it was out of range.
                if let Some(public) = C::public(backend, &secret) {
                    return Ok(Scalar { secret, public: Point(public) });
                }
            }
            Err(Error::RandomSource)
        };
        (0..count).map(|_| draw()).collect()
    }

    fn public(secret: &Scalar<C>) -> Point<C> {
        secret.public.clone()
    }

    /// Takes uncompressed points only, as TLS 1.3 does.
    fn read_public(bytes: &[u8]) -> Result<Point<C>, Error> {
        let mut point = C::Point::filled(0);
        Error::check_length("ECDH public key", Self::PUBLIC_BYTES, bytes)?;
        point.as_mut().copy_from_slice(bytes);
        if !C::is_point(&point) {
            return Err(Error::NotOnCurve { curve: C::NAME });
        }
        Ok(Point(point))
    }

    fn write_public(public: &Point<C>, out: &mut [u8]) {
        out.copy_from_slice(public.0.as_ref());
    }

    fn read_secret(backend: Backend, bytes: &[u8]) -> Result<Scalar<C>, Error> {
        Error::check_length("ECDH secret key", Self::SECRET_BYTES, bytes)?;
        let mut secret = Secret::<C::Scalar>::zeroed();
        secret.as_mut().copy_from_slice(bytes);
        let public = C::public(backend, &secret).ok_or(Error::OutOfRange { curve: C::NAME })?;
        Ok(Scalar { secret, public: Point(public) })
    }

    fn write_secret(secret: &Scalar<C>, out: &mut [u8]) {
        out.copy_from_slice((*secret.secret).as_ref());
    }

    fn complete(
        secret: &Scalar<C>,
        backend: Backend,
        peer: &Point<C>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let done = C::multiply(backend, &secret.secret, &peer.0, out);
        done.ok_or(Error::NotOnCurve { curve: C::NAME })
    }
}

impl<C: Curve> Storable for Scalar<C> {
    const STORED_BYTES: usize = C::FIELD_BYTES + 1 + 2 * C::FIELD_BYTES;

    fn store(&self, out: &mut [u8]) {
        let (scalar, public) = out.split_at_mut(C::FIELD_BYTES);
        scalar.copy_from_slice((*self.secret).as_ref());
        public.copy_from_slice(self.public.0.as_ref());
    }

    fn is_protected(&self) -> bool {
        self.secret.is_protected()
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Error::check_length("stored ECDH secret", Self::STORED_BYTES, bytes)?;
        let (scalar, point) = bytes.split_at(C::FIELD_BYTES);
        let mut secret = Secret::<C::Scalar>::zeroed();
        secret.as_mut().copy_from_slice(scalar);
        let mut public = C::Point::filled(0);
        public.as_mut().copy_from_slice(point);
        Ok(Scalar { secret, public: Point(public) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digits).collect()
    }

    /// A scalar of each side and their shared secret.
    fn known_answer<C: Curve>([one, other, shared]: [&str; 3]) {
        for backend in Backend::available() {
            let read = |text: &str| Ecdh::<C>::read_secret(backend, &hex(text)).unwrap();
            let (one, other) = (read(one), read(other));
            let mut out = vec![0; C::FIELD_BYTES];
            for (secret, peer) in [(&one, &other), (&other, &one)] {
                Ecdh::<C>::complete(secret, backend, &peer.public, &mut out).unwrap();
                assert_eq!(out, hex(shared));
            }
        }
    }

    #[test]
    fn rfc_5903_section_8() {
        known_answer::<P256>([
            "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433",
            "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53",
            "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de",
        ]);
        known_answer::<P384>([
            "099f3c7034d4a2c699884d73a375a67f7624ef7c6b3c0f160647b67414dce655\
             e35b538041e649ee3faef896783ab194",
            "41cb0779b4bdb85d47846725fbec3c9430fab46cc8dc5060855cc9bda0aa2942\
             e0308312916b8ed2960e4bd55a7448fc",
            "11187331c279962d93d604243fd592cb9d0a926f422e47187521287e7156c5c4\
             d603135569b9e9d09cf5d4a270f59746",
        ]);
    }

    fn both_libraries_agree<C: Curve>() {
        for _ in 0..20 {
            let secret = Ecdh::<C>::start(Backend::best(), &mut getrandom::SysRng).unwrap();
            let peer = Ecdh::<C>::start(Backend::best(), &mut getrandom::SysRng).unwrap().public;
            let results = Backend::available().map(|backend| {
                let mut out = vec![0; C::FIELD_BYTES];
                Ecdh::<C>::complete(&secret, backend, &peer, &mut out).unwrap();
                (out, C::public(backend, &secret.secret).unwrap().as_ref().to_vec())
            });
            let results: Vec<_> = results.collect();
            assert!(results.iter().all(|result| *result == results[0]));
            assert_eq!(results[0].1, secret.public.0.as_ref());
        }
    }

    #[test]
    fn libraries_agree_on_every_backend() {
        both_libraries_agree::<P256>();
        both_libraries_agree::<P384>();
    }

    fn refused<C: Curve>() {
        let secret = Ecdh::<C>::start(Backend::best(), &mut getrandom::SysRng).unwrap();
        let good = secret.public.0.as_ref().to_vec();
        assert!(Ecdh::<C>::read_public(&good).is_ok());
        let change = |at: usize, byte: u8| {
            let mut bad = good.clone();
            bad[at] = byte;
            bad
        };
        let compressed = {
            let mut short = good[..1 + C::FIELD_BYTES].to_vec();
            short[0] = 2 + (good[good.len() - 1] & 1);
            short
        };
        let last = good.len() - 1;
        for bad in [
            change(0, 2),
            change(0, 0),
            change(0, 6),
            change(last, good[last] ^ 1),
            change(1, good[1] ^ 1),
            [&[4][..], &vec![0; 2 * C::FIELD_BYTES]].concat(),
            vec![0xff; good.len()],
            vec![0; good.len()],
            vec![0],
            compressed,
            good[..last].to_vec(),
            [&good[..], &[0]].concat(),
            Vec::new(),
        ] {
            assert!(Ecdh::<C>::read_public(&bad).is_err(), "{bad:02x?}");
        }
        // Zero and values from the order on are no scalars.
        for backend in Backend::available() {
            for scalar in [vec![0; C::FIELD_BYTES], vec![0xff; C::FIELD_BYTES]] {
                let error = Ecdh::<C>::read_secret(backend, &scalar).err();
                assert_eq!(error, Some(Error::OutOfRange { curve: C::NAME }));
            }
            assert!(Ecdh::<C>::read_secret(backend, &[1]).is_err());
        }
    }

    #[test]
    fn values_outside_of_the_group_are_refused() {
        refused::<P256>();
        refused::<P384>();
    }

    /// A source that gives ones, which are no scalar, for a number of draws.
    struct Ones(usize);

    impl rand_core::TryRng for Ones {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("only bytes are drawn")
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            unreachable!("only bytes are drawn")
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.fill(if self.0 > 0 { 0xff } else { 1 });
            self.0 = self.0.saturating_sub(1);
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Ones {}

    #[test]
    fn scalars_out_of_range_are_drawn_again() {
        let of = |ones| Ecdh::<P256>::start(Backend::best(), &mut Ones(ones));
        assert_eq!((*of(3).unwrap().secret), [1; 32]);
        assert_eq!(of(DRAWS).err(), Some(Error::RandomSource));
    }
}
