//! The trait of lanes with integers of a few bits, packed into bytes.

use crate::Lanes;

/// Words after the wanted ones that [`BitFieldLanes::append_below_vartime`] may write.
pub const SLACK_WORDS: usize = 32;

/// Operations on words that are stored as fields of `BITS` bits, 1 to 12, without padding: the
/// first field in the lowest bits of the first byte.
pub trait BitFieldLanes: Lanes<Word = i16> {
    /// The low half of the product, word by word.
    fn mul_low(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// The high half of the signed product, word by word.
    fn mul_high(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// `(a * b + 2^14) / 2^15`, rounded down, word by word.
    fn mul_rounded(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// Shifted towards the high end by `N` bits, `0 < N < 16`.
    fn shift_left<const N: u32>(self, a: Self::I16) -> Self::I16;
    /// Shifted towards the low end by `N` bits, `0 < N < 16`, as unsigned words.
    fn shift_right<const N: u32>(self, a: Self::I16) -> Self::I16;

    /// Reads `WORDS` fields, `WORDS * BITS / 8` bytes.
    fn unpack<const BITS: usize>(self, from: &[u8]) -> Self::I16;
    /// Writes `WORDS` fields, `WORDS * BITS / 8` bytes; the other bits of each word are zero.
    fn pack<const BITS: usize>(self, to: &mut [u8], a: Self::I16);

    /// Appends the fields of 12 bits that are below `bound` to the first `count` words of `to`, in
    /// order, and returns the new count. `from` has a multiple of 24 bytes, `to` at least
    /// [`SLACK_WORDS`] words more than it has space for.
    ///
    /// Variable-time: for public fields only, because the count shows how many are below.
    fn append_below_vartime(self, from: &[u8], bound: i16, to: &mut [i16], count: usize) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Dispatch, Hardware};

    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    /// Field `i` of `bits` bits.
    fn field(from: &[u8], bits: usize, i: usize) -> i16 {
        let bit = |j: usize| i16::from(from[(i * bits + j) / 8] >> ((i * bits + j) % 8) & 1) << j;
        (0..bits).map(bit).sum()
    }

    fn packs<L: Hardware, const BITS: usize>(lanes: L, state: &mut u64) {
        for _ in 0..100 {
            // Exactly as many bytes as there are, so that one read beyond is a panic.
            let bytes: Vec<u8> = (0..L::WORDS * BITS / 8).map(|_| next(state) as u8).collect();
            let mut words = vec![0; L::WORDS];
            lanes.store(&mut words, lanes.unpack::<BITS>(&bytes));
            let expected: Vec<i16> = (0..L::WORDS).map(|i| field(&bytes, BITS, i)).collect();
            assert_eq!(words, expected, "{BITS} bits");
            let mut again = vec![0; bytes.len()];
            lanes.pack::<BITS>(&mut again, lanes.load(&words));
            assert_eq!(again, bytes, "{BITS} bits");
        }
    }

    struct Pack;

    impl Dispatch for Pack {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let state = &mut 3;
            packs::<L, 1>(lanes, state);
            packs::<L, 4>(lanes, state);
            packs::<L, 5>(lanes, state);
            packs::<L, 6>(lanes, state);
            packs::<L, 10>(lanes, state);
            packs::<L, 11>(lanes, state);
            packs::<L, 12>(lanes, state);
        }
    }

    #[test]
    fn fields_are_packed_without_padding() {
        Backend::available().for_each(|backend| backend.run(Pack));
    }

    struct Append;

    impl Dispatch for Append {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let state = &mut 4;
            for bytes in [0, 24, 48, 168, 504] {
                for wanted in [1, 100, 256, 400] {
                    for start in [0, wanted / 2, wanted - 1] {
                        let from: Vec<u8> = (0..bytes).map(|_| next(state) as u8).collect();
                        let mut expected = vec![7; start];
                        let fields = (0..bytes * 2 / 3).map(|i| field(&from, 12, i));
                        expected.extend(fields.filter(|&field| field < 3329));
                        expected.truncate(wanted);

                        let mut to = vec![7; wanted + SLACK_WORDS];
                        let count = lanes.append_below_vartime(&from, 3329, &mut to, start);
                        assert_eq!(&to[..count], expected);
                    }
                }
            }
        }
    }

    #[test]
    fn fields_below_the_bound_are_appended_in_order() {
        Backend::available().for_each(|backend| backend.run(Append));
    }

    struct Multiply;

    impl Dispatch for Multiply {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let state = &mut 5;
            for _ in 0..1000 {
                let [a, b] = [0; 2].map(|_| next(state) as i16);
                let product = i32::from(a) * i32::from(b);
                let (x, y) = (lanes.splat(a), lanes.splat(b));
                for (found, expected) in [
                    (lanes.mul_low(x, y), product as i16),
                    (lanes.mul_high(x, y), (product >> 16) as i16),
                    (lanes.mul_rounded(x, y), ((product + (1 << 14)) >> 15) as i16),
                    (lanes.shift_left::<3>(x), a << 3),
                    (lanes.shift_right::<5>(x), (a as u16 >> 5) as i16),
                ] {
                    let mut words = vec![0; L::WORDS];
                    lanes.store(&mut words, found);
                    assert_eq!(words, vec![expected; L::WORDS], "{a}, {b}");
                }
            }
        }
    }

    #[test]
    fn products_and_shifts_are_those_of_integers() {
        Backend::available().for_each(|backend| backend.run(Multiply));
    }
}
