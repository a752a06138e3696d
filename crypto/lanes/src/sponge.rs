//! The traits of lanes that permute states of Keccak.

use crate::{Kernel, Lanes, U64Lanes};

/// Integers in a row of [`KeccakLanes::load_streams`]: as many as the widest vector has.
pub const STREAMS: usize = 8;

/// Operations for sponges: a state of 25 integers in each lane.
pub trait KeccakLanes: U64Lanes {
    /// `a ^ b`.
    fn xor_two_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// `a ^ (!b & c)`.
    fn chi_u64(self, a: Self::U64, b: Self::U64, c: Self::U64) -> Self::U64;
    /// `value` in the first lane, zero in the others.
    fn first_u64(self, value: u64) -> Self::U64;
    /// The first lane of `first`, the other lanes of `others`.
    fn beside_first_u64(self, first: Self::U64, others: Self::U64) -> Self::U64;
    /// Reads `U64S` little-endian integers from each of `U64S` streams, `stride` bytes apart, and
    /// writes them as `U64S` vectors: the integers of stream `i` to lane `i`.
    fn load_streams(self, from: &[u8], stride: usize, to: &mut [[u64; STREAMS]]);
    /// Writes `U64S` vectors as `U64S` little-endian integers of each stream: the inverse of
    /// [`KeccakLanes::load_streams`].
    fn store_streams(self, from: &[[u64; STREAMS]], to: &mut [u8], stride: usize);
}

/// Lanes of a processor, by the number of states that are permuted at once.
pub trait SpongeLanes: Lanes {
    /// Lanes for many states: a permutation takes the least time for each.
    type Many: KeccakLanes;
    /// Lanes for a serial chain of permutations in the first lane: as many states as take about
    /// the time of one.
    type Chain: KeccakLanes;

    /// The token for many states.
    fn many(self) -> Self::Many;
    /// The token for a chain.
    fn chain(self) -> Self::Chain;

    /// Runs `kernel` on lanes for many states, or on better ones of as many states.
    #[inline(always)]
    fn run_many<K: SpongeKernel>(self, kernel: K) -> K::Output {
        self.run(OnMany(kernel))
    }
    /// Runs `kernel` on lanes for a chain, or on better ones of as many states.
    #[inline(always)]
    fn run_chain<K: SpongeKernel>(self, kernel: K) -> K::Output {
        self.run(OnChain(kernel))
    }
}

/// A computation with states of Keccak only.
///
/// Implementations mark `run` `#[inline(always)]`, so that it is compiled for the lanes that it
/// runs on.
pub trait SpongeKernel {
    /// The result of the kernel.
    type Output;

    /// Runs the kernel on the given lanes.
    fn run<S: KeccakLanes>(self, lanes: S) -> Self::Output;
}

/// A kernel on the lanes for many states.
pub(crate) struct OnMany<K>(pub(crate) K);

impl<L: SpongeLanes, K: SpongeKernel> Kernel<L> for OnMany<K> {
    type Output = K::Output;

    #[inline(always)]
    fn run(self, lanes: L) -> K::Output {
        self.0.run(lanes.many())
    }
}

/// A kernel on the lanes for a chain.
struct OnChain<K>(K);

impl<L: SpongeLanes, K: SpongeKernel> Kernel<L> for OnChain<K> {
    type Output = K::Output;

    #[inline(always)]
    fn run(self, lanes: L) -> K::Output {
        self.0.run(lanes.chain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Dispatch, Hardware};

    /// Distinct integers.
    fn integers(seed: u64) -> [u64; STREAMS] {
        core::array::from_fn(|i| (seed + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    struct States;

    impl SpongeKernel for States {
        type Output = ();

        #[inline(always)]
        fn run<S: KeccakLanes>(self, lanes: S) {
            check(lanes);
        }
    }

    #[inline(always)]
    fn check<S: KeccakLanes>(lanes: S) {
        let store = |v| {
            let mut words = [0; STREAMS];
            lanes.store_u64(&mut words, v);
            words[..S::U64S].to_vec()
        };
        let each = |f: &dyn Fn(usize) -> u64| (0..S::U64S).map(f).collect::<Vec<_>>();
        let [a, b, c] = [integers(0), integers(100), integers(200)];
        let [x, y, z] = [lanes.load_u64(&a), lanes.load_u64(&b), lanes.load_u64(&c)];
        assert_eq!(store(lanes.xor_two_u64(x, y)), each(&|i| a[i] ^ b[i]));
        assert_eq!(store(lanes.chi_u64(x, y, z)), each(&|i| a[i] ^ (!b[i] & c[i])));
        assert_eq!(store(lanes.splat_u64(a[1])), each(&|_| a[1]));
        assert_eq!(store(lanes.first_u64(a[1])), each(&|i| if i == 0 { a[1] } else { 0 }));
        let beside = each(&|i| if i == 0 { a[0] } else { b[i] });
        assert_eq!(store(lanes.beside_first_u64(x, y)), beside);

        let stride = 8 * S::U64S + 24;
        let bytes: Vec<u8> = (0..S::U64S * stride).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut vectors = [[0; STREAMS]; STREAMS];
        lanes.load_streams(&bytes, stride, &mut vectors);
        let mut again = vec![0; bytes.len()];
        lanes.store_streams(&vectors, &mut again, stride);
        for stream in 0..S::U64S {
            for word in 0..S::U64S {
                let at = stream * stride + 8 * word;
                let integer = u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
                assert_eq!(vectors[word][stream], integer);
                assert_eq!(again[at..at + 8], bytes[at..at + 8]);
            }
        }
    }

    struct Check;

    impl Dispatch for Check {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            lanes.run_many(States);
            lanes.run_chain(States);
        }
    }

    #[test]
    fn states_are_lanes() {
        Backend::available().for_each(|backend| backend.run(Check));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn states_are_lanes_of_narrow_vectors() {
        match crate::avx512::Vl::detect() {
            Some(narrow) => narrow.run(States),
            None => println!("skipped: this processor has no AVX-512 VL"),
        }
    }
}
