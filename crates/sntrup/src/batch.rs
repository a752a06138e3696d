//! Key generation for many keys at once: one inversion in R/3 and one in R/q, the rest by Montgomery's trick (OpenSSLNTRU,
//! section 3.1).

use lanes::Hardware;

use crate::error::Error;
use crate::kem::{KeyPair, Secrets};
use crate::operations::Source;
use crate::params::ParameterSet;
use crate::product::{Coefficients, Transform, Workspace};
use crate::public::public;
use crate::recip::{r3_invert, rq_invert_triple};
use crate::{r3, short};

/// Keys that share an inversion; more would only cost memory.
const CHUNK: usize = 64;
/// Chunks with a g that is not invertible in R/3 before the random source is blamed: one has probability 2^-75.
const ATTEMPTS: usize = 3;

/// `count` key pairs; the same as `count` batches of one from the same stream.
pub(crate) fn key_pairs<P, L>(
    lanes: L,
    count: usize,
    random: &mut Source<'_>,
) -> Result<Vec<KeyPair<P>>, Error>
where
    P: ParameterSet,
    L: Hardware,
{
    let mut keys = Vec::with_capacity(count);
    if count > 0 {
        let mut memory = Memory::boxed(CHUNK.min(count));
        while keys.len() < count {
            let size = CHUNK.min(count - keys.len());
            chunk(lanes, size, random, &mut memory, &mut keys)?;
        }
    }
    Ok(keys)
}

fn chunk<P, L>(
    lanes: L,
    size: usize,
    random: &mut Source<'_>,
    memory: &mut Memory<P>,
    keys: &mut Vec<KeyPair<P>>,
) -> Result<(), Error>
where
    P: ParameterSet,
    L: Hardware,
{
    for _ in 0..ATTEMPTS {
        for i in 0..size {
            let secrets = &mut memory.secrets[i];
            draw(lanes, secrets, random)?;
            memory.g_inverses[i].clone_from(&secrets.g);
            memory.f_inverses[i].clone_from(&secrets.f);
        }
        let Memory { secrets, g_inverses, f_inverses, products } = memory;
        if !products.invert::<L, Small>(lanes, &mut g_inverses[..size]) {
            continue;
        }
        if !products.invert::<L, Large>(lanes, &mut f_inverses[..size]) {
            continue;
        }
        let Products { product: h, other: f_inverse, total: result, space, .. } = products;
        for i in 0..size {
            f_inverse.set(lanes, &f_inverses[i], space);
            h.set(lanes, &secrets[i].g, space);
            h.multiply_by(lanes, f_inverse, space);
            h.invert(lanes, result, space);
            keys.push(KeyPair::assemble(lanes, &secrets[i], &g_inverses[i], result));
        }
        let first = keys.len() - size;
        KeyPair::add_hashes(lanes, &mut keys[first..]);
        return Ok(());
    }
    Err(Error::RandomSource)
}

/// What a chunk works with, on the heap: some applications give their threads little stack.
struct Memory<P: ParameterSet> {
    secrets: Vec<Secrets<P>>,
    g_inverses: Vec<Coefficients<P>>,
    f_inverses: Vec<Coefficients<P>>,
    products: Products<P>,
}

impl<P: ParameterSet> Memory<P> {
    #[inline(never)]
    fn boxed(n: usize) -> Box<Self> {
        Box::new(Memory {
            secrets: vec![Secrets::zero(); n],
            g_inverses: vec![Coefficients::zero(); n],
            f_inverses: vec![Coefficients::zero(); n],
            products: Products {
                factors: vec![Transform::zero(); n],
                prefixes: vec![Transform::zero(); n],
                product: Transform::boxed(),
                other: Transform::boxed(),
                total: Coefficients::zero(),
                space: Workspace::boxed(),
            },
        })
    }
}

/// Draws what one key pair is made of, in the specification's order.
fn draw<P, L>(lanes: L, secrets: &mut Secrets<P>, random: &mut Source<'_>) -> Result<(), Error>
where
    P: ParameterSet,
    L: Hardware,
{
    loop {
        short::small(lanes, &mut secrets.g, random)?;
        // A g that is not invertible is thrown away.
        if public(r3::is_invertible_by_small_factors(lanes, &secrets.g)) {
            break;
        }
    }
    short::short(lanes, &mut secrets.f, random)?;
    random(secrets.rho.as_mut())
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

/// What Montgomery's trick works with.
struct Products<P: ParameterSet> {
    factors: Vec<Transform<P>>,
    prefixes: Vec<Transform<P>>,
    product: Box<Transform<P>>,
    other: Box<Transform<P>>,
    total: Coefficients<P>,
    space: Box<Workspace<P>>,
}

impl<P: ParameterSet> Products<P> {
    /// Replaces all `elements` by their inverses, and says whether it could.
    fn invert<L: Hardware, R: Ring<P>>(
        &mut self,
        lanes: L,
        elements: &mut [Coefficients<P>],
    ) -> bool {
        let Products { factors, prefixes, product, other: suffix, total, space } = self;
        let n = elements.len();

        // Prefix i is the product of elements 0 ..= i, of which the last is needed as a polynomial only.
        for (factor, element) in factors.iter_mut().zip(elements.iter()) {
            factor.set(lanes, element, space);
        }
        total.clone_from(&elements[0]);
        prefixes[0].clone_from(&factors[0]);
        for i in 1..n {
            (**product).clone_from(&prefixes[i - 1]);
            product.multiply_by(lanes, &factors[i], space);
            product.invert(lanes, total, space);
            R::settle(lanes, total);
            if i + 1 < n {
                prefixes[i].set(lanes, total, space);
            }
        }

        // `total` is the inverse of prefix i.
        if !public(R::reciprocal(lanes, total)) {
            return false;
        }
        for i in (1..n).rev() {
            suffix.set(lanes, total, space);
            let prefix = &mut prefixes[i - 1];
            prefix.multiply_by(lanes, suffix, space);
            prefix.invert(lanes, &mut elements[i], space);
            R::settle(lanes, &mut elements[i]);
            factors[i].multiply_by(lanes, suffix, space);
            factors[i].invert(lanes, total, space);
            R::settle(lanes, total);
        }
        elements[0].clone_from(total);
        true
    }
}
