//! Key generation for many keys at once: one inversion in R/3 and one in R/q, the rest by Montgomery's trick (OpenSSLNTRU,
//! section 3.1).

use lanes::Lanes;
use rand_core::TryCryptoRng;

use crate::error::Error;
use crate::kem::{KeyPair, Secrets};
use crate::params::ParameterSet;
use crate::product::{Coefficients, Transform, Workspace};
use crate::recip::{r3_reciprocal, rq_reciprocal_of_triple};
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
    L: Lanes<Word = i16>,
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
    L: Lanes<Word = i16>,
    R: TryCryptoRng + ?Sized,
{
    for _ in 0..ATTEMPTS {
        let secrets = (0..size).map(|_| draw(random)).collect::<Result<Vec<_>, _>>()?;
        let space = &mut Workspace::new();
        let g: Vec<_> = secrets.iter().map(|s| Transform::of(lanes, &s.g, space)).collect();
        let f: Vec<_> = secrets.iter().map(|s| Transform::of(lanes, &s.f, space)).collect();
        let first = &secrets[0];
        let Some(g_inverses) = reciprocals::<P, L, Small>(lanes, &first.g, &g, space) else {
            continue;
        };
        let Some(f_inverses) = reciprocals::<P, L, Large>(lanes, &first.f, &f, space) else {
            continue;
        };
        for (i, secrets) in secrets.iter().enumerate() {
            let f_inverse = Transform::of(lanes, &f_inverses[i], space);
            let h = Transform::product(lanes, &g[i], &f_inverse).polynomial(lanes, space);
            keys.push(KeyPair::assemble(secrets, &g_inverses[i], &h));
        }
        return Ok(());
    }
    Err(Error::RandomSource)
}

/// Draws what one key pair is made of, in the specification's order.
fn draw<P, R>(random: &mut R) -> Result<Secrets<P>, Error>
where
    P: ParameterSet,
    R: TryCryptoRng + ?Sized,
{
    let g = loop {
        let g = short::small::<P, R>(random)?;
        if r3::is_invertible_by_small_factors(&g) {
            break g;
        }
    };
    let f = short::short(random)?;
    let mut secrets = Secrets::new(f, g);
    random.try_fill_bytes(secrets.rho_mut()).map_err(|_| Error::RandomSource)?;
    Ok(secrets)
}

/// The ring in which a batch is inverted.
trait Ring<P: ParameterSet> {
    /// Brings a product from R/q into the ring.
    fn settle<L: Lanes<Word = i16>>(lanes: L, a: &mut Coefficients<P>);
    /// The inverse, up to a fixed factor; `None` if there is none.
    fn reciprocal<L: Lanes<Word = i16>>(lanes: L, a: &Coefficients<P>) -> Option<Coefficients<P>>;
}

/// R/3.
struct Small;

impl<P: ParameterSet> Ring<P> for Small {
    fn settle<L: Lanes<Word = i16>>(lanes: L, a: &mut Coefficients<P>) {
        lanes.run(r3::Reduce::<P, L>(a));
    }

    fn reciprocal<L: Lanes<Word = i16>>(lanes: L, a: &Coefficients<P>) -> Option<Coefficients<P>> {
        r3_reciprocal(lanes, a)
    }
}

/// R/q; inverses come divided by 3.
struct Large;

impl<P: ParameterSet> Ring<P> for Large {
    fn settle<L: Lanes<Word = i16>>(_: L, _: &mut Coefficients<P>) {}

    fn reciprocal<L: Lanes<Word = i16>>(lanes: L, a: &Coefficients<P>) -> Option<Coefficients<P>> {
        Some(rq_reciprocal_of_triple(lanes, a))
    }
}

/// The inverses of all `elements`, the first of them also given as a polynomial, or `None` if one has no inverse.
fn reciprocals<P, L, R>(
    lanes: L,
    first: &Coefficients<P>,
    elements: &[Transform<P, L>],
    space: &mut Workspace<P>,
) -> Option<Vec<Coefficients<P>>>
where
    P: ParameterSet,
    L: Lanes<Word = i16>,
    R: Ring<P>,
{
    let product = |a: &Transform<P, L>, b: &Transform<P, L>, space: &mut Workspace<P>| {
        let mut c = Transform::product(lanes, a, b).polynomial(lanes, space);
        R::settle(lanes, &mut c);
        c
    };

    // prefixes[i] is the product of elements 0 ..= i.
    let mut prefixes = vec![elements[0].clone()];
    let mut total = first.clone();
    for element in &elements[1..] {
        total = product(&prefixes[prefixes.len() - 1], element, space);
        prefixes.push(Transform::of(lanes, &total, space));
    }

    let mut suffix = R::reciprocal(lanes, &total)?;
    let mut inverses = Vec::with_capacity(elements.len());
    for i in (1..elements.len()).rev() {
        let transform = Transform::of(lanes, &suffix, space);
        inverses.push(product(&prefixes[i - 1], &transform, space));
        suffix = product(&elements[i], &transform, space);
    }
    inverses.push(suffix);
    inverses.reverse();
    Some(inverses)
}
