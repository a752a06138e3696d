//! Vector work that keeps the units awake.

use core::hint::black_box;

use lanes::{Backend, Dispatch, Hardware, Kernel, Modulus};

/// Uses the vector units once, at little cost.
pub(crate) fn touch(backend: Backend) {
    work(backend, 1);
}

/// Keeps the vector units busy for a time proportional to `rounds`.
pub(crate) fn work(backend: Backend, rounds: usize) {
    black_box(backend.run(Work(black_box(rounds))));
}

/// Upper bound of 16-bit words in a vector.
const MOST_WORDS: usize = 64;
/// Enough independent chains to hide the latency of a product.
const CHAINS: usize = 8;

struct Work(usize);

impl Dispatch for Work {
    type Output = [i16; MOST_WORDS];

    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        lanes.run(self)
    }
}

impl<L: Hardware> Kernel<L> for Work {
    type Output = [i16; MOST_WORDS];

    #[inline(always)]
    fn run(self, lanes: L) -> Self::Output {
        const { assert!(L::WORDS <= MOST_WORDS) };
        let factor = lanes.splat(3);
        let mut chains = [lanes.zero(); CHAINS];
        for _ in 0..self.0 {
            for chain in &mut chains {
                *chain = lanes.dot(*chain, factor, factor);
            }
        }
        let mut words = [0; MOST_WORDS];
        for chain in chains {
            let reduced = lanes.reduce(chain, chain, const { Modulus::new(4591) });
            let sum = lanes.add(lanes.load(&words), reduced);
            lanes.store(&mut words, sum);
        }
        words
    }
}
