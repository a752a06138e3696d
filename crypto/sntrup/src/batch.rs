//! Key generation for many keys at once: one inversion in R/3 and one in R/q, the rest by
//! Montgomery's trick (OpenSSLNTRU, section 3.1).

use kem_common::{Erase, Error, Source, public, wipe};
use lanes::{Dispatch, Hardware};
use secret::Secret;
use zerocopy::FromZeros;

use crate::encode::{DecodeSmall, EncodeSmall};
use crate::keys::KeyPair;
use crate::params::ParameterSet;
use crate::product::{Coefficients, Transform, Workspace};
use crate::r3;
use crate::recip::{r3_invert, rq_invert_triple};
use crate::short::{self, SamplingSpace};

/// Keys that share an inversion in each ring. Slots of more keys do not fit into the second-level
/// cache, which costs as much as is saved.
const CHUNK: usize = 128;
/// Chunks with a g that is not invertible in R/3 before the random source is blamed: one has
/// probability 2^-75.
const ATTEMPTS: usize = 3;

/// Generates key pairs. Not inlined: its memory is then off the stack while other operations run.
pub(crate) struct Generate<'a, P: ParameterSet> {
    pub(crate) count: usize,
    pub(crate) random: &'a mut Source<'a>,
    pub(crate) memory: &'a mut BatchMemory<P>,
}

impl<P: ParameterSet> Dispatch for Generate<'_, P> {
    type Output = Result<Vec<KeyPair<P>>, Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        key_pairs(lanes, self.count, self.random, self.memory)
    }
}

/// `count` key pairs; the same as `count` batches of one from the same stream.
fn key_pairs<P, L>(
    lanes: L,
    count: usize,
    random: &mut Source<'_>,
    kept: &mut BatchMemory<P>,
) -> Result<Vec<KeyPair<P>>, Error>
where
    P: ParameterSet,
    L: Hardware,
{
    let mut keys = Vec::<KeyPair<P>>::with_capacity(count);
    if count == 0 {
        return Ok(keys);
    }
    let slots = CHUNK.min(count);
    let memory = match &mut kept.0 {
        Some(memory) if memory.slots.len() >= slots => memory,
        kept => {
            // Not both at a time.
            *kept = None;
            kept.insert(Memory::new(slots))
        }
    };
    let mut result = Ok(());
    while result.is_ok() && keys.len() < count {
        let size = CHUNK.min(count - keys.len());
        result = chunk(lanes, size, random, memory, &mut keys);
    }
    memory.erase(slots);
    result.map(|()| keys)
}

/// Memory for batches of keys, to be kept between batches: fresh memory from the system costs time,
/// and each thread's allocator would keep some. Between batches it holds zeros.
pub struct BatchMemory<P: ParameterSet>(Option<Memory<P>>);

impl<P: ParameterSet> Default for BatchMemory<P> {
    /// No memory yet. The first batch allocates about 10 KB for each key, of at most 128 keys.
    fn default() -> Self {
        BatchMemory(None)
    }
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
    let first = keys.len();
    let Memory { slots, space } = memory;
    let slots = &mut slots[..size];
    for _ in 0..ATTEMPTS {
        keys.truncate(first);
        for slot in &mut *slots {
            keys.push(sample_key(lanes, slot, space, random)?);
        }
        let keys = &mut keys[first..];
        if invert::<P, L, Mod3>(lanes, slots, space, keys) {
            invert::<P, L, ModQ>(lanes, slots, space, keys);
            KeyPair::add_hashes(lanes, keys);
            return Ok(());
        }
    }
    Err(Error::RandomSource)
}

/// The memory of a chunk, not on the stack: some applications give their threads little of it.
struct Memory<P: ParameterSet> {
    slots: Secret<[Slot<P>]>,
    space: Secret<Space<P>>,
}

/// The values of a key that are needed until its chunk is complete.
#[derive(FromZeros)]
struct Slot<P: ParameterSet> {
    g: Transform<P>,
    f: Transform<P>,
    /// The product of this key's element and those before it, in the ring at hand.
    prefix: Transform<P>,
}

/// Scratch memory of the steps for one key.
#[derive(FromZeros)]
struct Space<P: ParameterSet> {
    /// One polynomial comes from a step, the other from the one before.
    element: Coefficients<P>,
    total: Coefficients<P>,
    scratch: Scratch<P>,
    /// Random bytes for the polynomial that is sampled.
    bytes: P::SampleBytes,
    sampling: SamplingSpace<P>,
}

/// Transforms to work with.
#[derive(FromZeros)]
struct Scratch<P: ParameterSet> {
    factor: Transform<P>,
    product: Transform<P>,
    workspace: Workspace<P>,
}

impl<P: ParameterSet> Erase for Space<P> {
    fn erase(&mut self) {
        let Scratch { factor, product, workspace } = &mut self.scratch;
        let parts: [&mut dyn Erase; 6] =
            [&mut self.element, &mut self.total, factor, product, workspace, &mut self.sampling];
        parts.into_iter().for_each(Erase::erase);
        wipe(self.bytes.as_mut());
    }
}

impl<P: ParameterSet> Memory<P> {
    /// Overwrites the memory of a chunk of up to `used` keys.
    fn erase(&mut self, used: usize) {
        for Slot { g, f, prefix } in &mut self.slots[..used] {
            g.erase();
            f.erase();
            prefix.erase();
        }
        self.space.erase();
    }

    /// For chunks of up to `n` keys.
    fn new(n: usize) -> Self {
        Memory { slots: Secret::<[Slot<P>]>::slice(n), space: Secret::zeroed() }
    }
}

/// Samples g, f and rho of a key pair, in the order of the specification. The returned key holds f
/// and rho, and g in the place of 1/g.
fn sample_key<P, L>(
    lanes: L,
    slot: &mut Slot<P>,
    space: &mut Space<P>,
    random: &mut Source<'_>,
) -> Result<KeyPair<P>, Error>
where
    P: ParameterSet,
    L: Hardware,
{
    let Space { element, bytes, sampling, scratch: Scratch { workspace, .. }, .. } = space;
    let mut key = KeyPair::blank();
    loop {
        random(bytes.as_mut())?;
        short::small_derand(lanes, element, bytes);
        // Only an invertible g is kept.
        if public(r3::is_invertible_by_small_factors(lanes, element)) {
            break;
        }
    }
    slot.g.set(lanes, element, workspace);
    lanes.run(EncodeSmall(element, key.parts_mut().g_inverse));
    random(bytes.as_mut())?;
    short::short_derand(lanes, element, bytes, sampling);
    slot.f.set(lanes, element, workspace);
    let parts = key.parts_mut();
    lanes.run(EncodeSmall(element, parts.f));
    random(parts.rho)?;
    Ok(key)
}

/// A ring in which a chunk is inverted.
trait Ring<P: ParameterSet> {
    /// The element that is inverted.
    fn factor(slot: &Slot<P>) -> &Transform<P>;
    /// Its encoding.
    fn encoding(key: &mut KeyPair<P>) -> &mut [u8];
    /// Reduces a product computed in R/q to the ring.
    fn reduce<L: Hardware>(lanes: L, a: &mut Coefficients<P>);
    /// Replaces an element by its inverse, up to a fixed factor, and says whether it has one.
    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool;
    /// Stores the inverse of a key's element: 1/g in the secret key, or h = g / (3 f) in both keys.
    fn store_inverse<L: Hardware>(
        lanes: L,
        inverse: &mut Coefficients<P>,
        slot: &Slot<P>,
        key: &mut KeyPair<P>,
        scratch: &mut Scratch<P>,
    );

    /// Writes the product of two elements to `out`; `product` and `workspace` are memory for it.
    fn multiply<L: Hardware>(
        lanes: L,
        out: &mut Coefficients<P>,
        [a, b]: [&Transform<P>; 2],
        product: &mut Transform<P>,
        workspace: &mut Workspace<P>,
    ) {
        product.set_product(lanes, a, b, workspace);
        product.invert(lanes, out, workspace);
        Self::reduce(lanes, out);
    }
}

/// The ring R/3.
struct Mod3;

impl<P: ParameterSet> Ring<P> for Mod3 {
    fn factor(slot: &Slot<P>) -> &Transform<P> {
        &slot.g
    }

    fn encoding(key: &mut KeyPair<P>) -> &mut [u8] {
        key.parts_mut().g_inverse
    }

    fn reduce<L: Hardware>(lanes: L, a: &mut Coefficients<P>) {
        lanes.run(r3::Reduce::<P, L>(a));
    }

    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
        r3_invert(lanes, a)
    }

    fn store_inverse<L: Hardware>(
        lanes: L,
        inverse: &mut Coefficients<P>,
        _: &Slot<P>,
        key: &mut KeyPair<P>,
        _: &mut Scratch<P>,
    ) {
        lanes.run(EncodeSmall(inverse, key.parts_mut().g_inverse));
    }
}

/// The ring R/q. Inverses are divided by 3.
struct ModQ;

impl<P: ParameterSet> Ring<P> for ModQ {
    fn factor(slot: &Slot<P>) -> &Transform<P> {
        &slot.f
    }

    fn encoding(key: &mut KeyPair<P>) -> &mut [u8] {
        key.parts_mut().f
    }

    fn reduce<L: Hardware>(_: L, _: &mut Coefficients<P>) {}

    fn reciprocal<L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
        rq_invert_triple(lanes, a);
        true
    }

    fn store_inverse<L: Hardware>(
        lanes: L,
        inverse: &mut Coefficients<P>,
        slot: &Slot<P>,
        key: &mut KeyPair<P>,
        scratch: &mut Scratch<P>,
    ) {
        let Scratch { factor, product, workspace } = scratch;
        factor.set(lanes, inverse, workspace);
        Self::multiply(lanes, inverse, [factor, &slot.g], product, workspace);
        key.set_public(lanes, inverse);
    }
}

/// Inverts the elements of all `keys` by Montgomery's trick: one inversion and three products for
/// each further key (Bernstein, Brumley, Chen and Tuveri, "OpenSSLNTRU", section 3.1). Returns
/// whether all are invertible.
fn invert<P: ParameterSet, L: Hardware, R: Ring<P>>(
    lanes: L,
    slots: &mut [Slot<P>],
    space: &mut Space<P>,
    keys: &mut [KeyPair<P>],
) -> bool {
    let Space { element, total, scratch, .. } = space;
    let n = slots.len();

    // Prefix i is the product of elements 0 ..= i. The first one is the element, the last one is
    // needed as a polynomial only.
    lanes.run(DecodeSmall(total, R::encoding(&mut keys[0])));
    for i in 1..n {
        let Scratch { product, workspace, .. } = &mut *scratch;
        let factors = [prefix::<P, R>(slots, i - 1), R::factor(&slots[i])];
        R::multiply(lanes, total, factors, product, workspace);
        if i + 1 < n {
            slots[i].prefix.set(lanes, total, workspace);
        }
    }

    // `total` is the inverse of prefix i.
    if !public(R::reciprocal(lanes, total)) {
        return false;
    }
    for i in (1..n).rev() {
        let Scratch { factor: suffix, product, workspace } = &mut *scratch;
        suffix.set(lanes, total, workspace);
        let before = prefix::<P, R>(slots, i - 1);
        R::multiply(lanes, element, [before, suffix], product, workspace);
        R::multiply(lanes, total, [R::factor(&slots[i]), suffix], product, workspace);
        R::store_inverse(lanes, element, &slots[i], &mut keys[i], scratch);
    }
    R::store_inverse(lanes, total, &slots[0], &mut keys[0], scratch);
    true
}

fn prefix<P: ParameterSet, R: Ring<P>>(slots: &[Slot<P>], i: usize) -> &Transform<P> {
    if i == 0 { R::factor(&slots[0]) } else { &slots[i].prefix }
}
