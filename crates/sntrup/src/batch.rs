//! Key generation for many keys at once: one inversion in R/3 and one in R/q, the rest by Montgomery's trick (OpenSSLNTRU,
//! section 3.1).

use lanes::Hardware;
use rand_core::TryCryptoRng;

use crate::error::Error;
use crate::kem::{KeyPair, Secrets};
use crate::params::ParameterSet;
use crate::product::{Coefficients, Transform, Workspace};
use crate::recip::{r3_invert, rq_invert_triple};
use crate::{r3, short};

/// Keys that share an inversion; more would only cost memory.
const CHUNK: usize = 64;
/// Chunks with a g that is not invertible in R/3 before the random source is blamed: one has probability 2^-75.
const ATTEMPTS: usize = 3;

/// `count` key pairs; the same as `count` batches of one from the same stream.
pub(crate) fn key_pairs<P, L, R>(
    lanes: L,
    count: usize,
    random: &mut R,
) -> Result<Vec<KeyPair<P>>, Error>
where
    P: ParameterSet,
    L: Hardware,
    R: TryCryptoRng + ?Sized,
{
    let mut keys = Vec::with_capacity(count);
    while keys.len() < count {
        let size = CHUNK.min(count - keys.len());
        chunk(lanes, size, random, &mut keys)?;
    }
    Ok(keys)
}

fn chunk<P, L, R>(
    lanes: L,
    size: usize,
    random: &mut R,
    keys: &mut Vec<KeyPair<P>>,
) -> Result<(), Error>
where
    P: ParameterSet,
    L: Hardware,
    R: TryCryptoRng + ?Sized,
{
    for _ in 0..ATTEMPTS {
        let mut secrets = vec![Secrets::zero(); size];
        for secrets in &mut secrets {
            draw(lanes, secrets, random)?;
        }
        let mut memory = Memory::boxed();
        let Memory { f_inverse, h, result, space } = &mut *memory;

        let mut inverses: Vec<_> = secrets.iter().map(|secrets| secrets.g.clone()).collect();
        if !invert::<P, L, Small>(lanes, &mut inverses, space) {
            continue;
        }
        let g_inverses = inverses;
        let mut inverses: Vec<_> = secrets.iter().map(|secrets| secrets.f.clone()).collect();
        if !invert::<P, L, Large>(lanes, &mut inverses, space) {
            continue;
        }
        for (i, secrets) in secrets.iter().enumerate() {
            f_inverse.set(lanes, &inverses[i], space);
            h.set(lanes, &secrets.g, space);
            h.multiply_by(lanes, f_inverse, space);
            h.invert(lanes, result, space);
            keys.push(KeyPair::assemble(lanes, secrets, &g_inverses[i], result));
        }
        let first = keys.len() - size;
        KeyPair::add_hashes(lanes, &mut keys[first..]);
        return Ok(());
    }
    Err(Error::RandomSource)
}

/// What a batch works with, on the heap: some applications give their threads little stack.
struct Memory<P: ParameterSet> {
    f_inverse: Transform<P>,
    h: Transform<P>,
    result: Coefficients<P>,
    space: Workspace<P>,
}

impl<P: ParameterSet> Memory<P> {
    /// Not inlined, so that what passes over the stack is off it again when the work begins.
    #[inline(never)]
    fn boxed() -> Box<Self> {
        Box::new(Memory {
            f_inverse: Transform::zero(),
            h: Transform::zero(),
            result: Coefficients::zero(),
            space: Workspace::new(),
        })
    }
}

/// Draws what one key pair is made of, in the specification's order.
fn draw<P, L, R>(lanes: L, secrets: &mut Secrets<P>, random: &mut R) -> Result<(), Error>
where
    P: ParameterSet,
    L: Hardware,
    R: TryCryptoRng + ?Sized,
{
    loop {
        short::small(lanes, &mut secrets.g, random)?;
        if r3::is_invertible_by_small_factors(&secrets.g) {
            break;
        }
    }
    short::short(lanes, &mut secrets.f, random)?;
    random.try_fill_bytes(secrets.rho.as_mut()).map_err(|_| Error::RandomSource)
}

/// The ring in which a batch is inverted.
trait Ring<P: ParameterSet> {
    /// Brings a product from R/q into the ring.
    fn settle<L: Hardware>(lanes: L, a: &mut Coefficients<P>);
    /// Replaces an element by its inverse, up to a fixed factor, and says whether it has one.
    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool;
}

/// R/3.
struct Small;

impl<P: ParameterSet> Ring<P> for Small {
    fn settle<L: Hardware>(lanes: L, a: &mut Coefficients<P>) {
        lanes.run(r3::Reduce::<P, L>(a));
    }

    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
        r3_invert(lanes, a)
    }
}

/// R/q; inverses come divided by 3.
struct Large;

impl<P: ParameterSet> Ring<P> for Large {
    fn settle<L: Hardware>(_: L, _: &mut Coefficients<P>) {}

    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
        rq_invert_triple(lanes, a);
        true
    }
}

/// Replaces all `elements` by their inverses, and says whether it could.
fn invert<P, L, R>(lanes: L, elements: &mut [Coefficients<P>], space: &mut Workspace<P>) -> bool
where
    P: ParameterSet,
    L: Hardware,
    R: Ring<P>,
{
    let n = elements.len();
    let mut memory = Products::boxed(n);
    let Products { factors, prefixes, product, total } = &mut *memory;

    // Prefix i is the product of elements 0 ..= i.
    for (factor, element) in factors.iter_mut().zip(elements.iter()) {
        factor.set(lanes, element, space);
    }
    total.clone_from(&elements[0]);
    prefixes[0].clone_from(&factors[0]);
    for i in 1..n {
        product.clone_from(&prefixes[i - 1]);
        product.multiply_by(lanes, &factors[i], space);
        product.invert(lanes, total, space);
        R::settle(lanes, total);
        prefixes[i].set(lanes, total, space);
    }

    // `total` is the inverse of prefix i.
    if !R::reciprocal(lanes, total) {
        return false;
    }
    for i in (1..n).rev() {
        let (before, rest) = prefixes.split_at_mut(i);
        let (prefix, suffix) = (&mut before[i - 1], &mut rest[0]);
        suffix.set(lanes, total, space);
        factors[i].multiply_by(lanes, suffix, space);
        factors[i].invert(lanes, total, space);
        R::settle(lanes, total);
        prefix.multiply_by(lanes, suffix, space);
        prefix.invert(lanes, &mut elements[i], space);
        R::settle(lanes, &mut elements[i]);
    }
    elements[0].clone_from(total);
    true
}

/// The transforms of Montgomery's trick.
struct Products<P: ParameterSet> {
    factors: Vec<Transform<P>>,
    prefixes: Vec<Transform<P>>,
    product: Transform<P>,
    total: Coefficients<P>,
}

impl<P: ParameterSet> Products<P> {
    /// As [`Memory::boxed`].
    #[inline(never)]
    fn boxed(n: usize) -> Box<Self> {
        Box::new(Products {
            factors: vec![Transform::zero(); n],
            prefixes: vec![Transform::zero(); n],
            product: Transform::zero(),
            total: Coefficients::zero(),
        })
    }
}
