//! Field lanes in plain Rust, for tests.

use super::Portable;
use crate::field::{FIELD_LANES, SMALL_BITS, Split};
use crate::{EachPart, FieldLanes, FieldParts, Kernel, Lanes};

type Limbs = [u64; FIELD_LANES];

const FACTOR_BITS: u32 = 52;
const FACTOR: u64 = (1 << FACTOR_BITS) - 1;

impl FieldParts for Portable {
    type Lower = Self;

    fn lower(self) -> Self {
        self
    }

    fn each<P: EachPart>(self, mut what: P) {
        what.on(self);
    }
}

/// For tests, as it is slower than plain code without lanes: overflow checks find a limb that
/// leaves its range.
impl FieldLanes for Portable {
    type Limb = u64;
    type Limbs = Limbs;
    /// All ones or zero.
    type Bits = Limbs;

    const SPLIT: Split = Split::Unsigned52;
    const IS_WHOLE: bool = true;

    #[inline(always)]
    fn run_field<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.run(kernel)
    }

    fn load_limbs(self, from: &Limbs) -> Limbs {
        *from
    }

    fn store_limbs(self, to: &mut Limbs, v: Limbs) {
        *to = v;
    }

    fn constant_limbs(self, from: &Limbs) -> Limbs {
        *from
    }

    fn splat_limb(self, value: u64) -> Limbs {
        [value; FIELD_LANES]
    }

    fn add_limbs(self, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| a[i] + b[i])
    }

    fn sub_limbs(self, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| a[i] - b[i])
    }

    fn low_bits<const BITS: u32>(self, a: Limbs) -> Limbs {
        a.map(|a| a & ((1 << BITS) - 1))
    }

    fn high_bits<const BITS: u32>(self, a: Limbs) -> Limbs {
        a.map(|a| a >> BITS)
    }

    fn times<const FACTOR: u64>(self, a: Limbs) -> Limbs {
        a.map(|a| a * FACTOR)
    }

    fn mul_add_small(self, sum: Limbs, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| {
            debug_assert!(
                a[i] < 1 << SMALL_BITS && b[i] < 1 << SMALL_BITS,
                "a factor that is not small"
            );
            sum[i] + a[i] * b[i]
        })
    }

    fn mul_add_low(self, sum: Limbs, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| sum[i] + (product(a[i], b[i]) as u64 & FACTOR))
    }

    fn mul_add_high(self, sum: Limbs, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| sum[i] + (product(a[i], b[i]) >> FACTOR_BITS) as u64)
    }

    fn blend_limbs(self, lanes: u8, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| if lanes >> i & 1 == 1 { b[i] } else { a[i] })
    }

    fn permute_limbs(self, a: Limbs, order: &Limbs) -> Limbs {
        order.map(|lane| a[lane as usize])
    }

    fn swap_limbs(self, a: Limbs) -> Limbs {
        core::array::from_fn(|i| a[i ^ 1])
    }

    fn bit(self, a: Limbs, bit: u32) -> Limbs {
        a.map(|a| (a >> bit & 1).wrapping_neg())
    }

    fn select_limbs(self, bits: Limbs, a: Limbs, b: Limbs) -> Limbs {
        core::array::from_fn(|i| b[i] ^ (bits[i] & (a[i] ^ b[i])))
    }

    fn permute_either(self, bits: Limbs, a: Limbs, one: &Limbs, zero: &Limbs) -> Limbs {
        let one = self.permute_limbs(a, one);
        self.select_limbs(bits, one, self.permute_limbs(a, zero))
    }

    fn nibble(self, a: Limbs, at: u32) -> Limbs {
        a.map(|a| a >> at & 0xf)
    }

    fn look_up(self, table: &Limbs, index: Limbs) -> Limbs {
        let mut found = [0; FIELD_LANES];
        for (entry, &value) in table.iter().enumerate() {
            for (found, index) in found.iter_mut().zip(index) {
                let difference = (index as usize % FIELD_LANES) ^ entry;
                *found |= value & ((difference as u64).wrapping_sub(1) >> 63).wrapping_neg();
            }
        }
        found
    }
}

/// Factors of the hardware have 52 bits: a larger one is a kernel's mistake, which must not go
/// unnoticed.
fn product(a: u64, b: u64) -> u128 {
    debug_assert!(a <= FACTOR && b <= FACTOR, "a factor of more than 52 bits");
    u128::from(a) * u128::from(b)
}
