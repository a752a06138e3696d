use crate::{Kernel, sealed::Sealed};

/// Limbs in a vector of [`FieldLanes`].
pub const FIELD_LANES: usize = 8;

/// A limb in memory, 64 bits wide when it runs on hardware. `Default` is zero.
pub trait Limb: Copy + Default + Send + Sync + 'static {
    /// A public constant.
    fn constant(value: u64) -> Self;
}

impl Limb for u64 {
    #[inline(always)]
    fn constant(value: u64) -> Self {
        value
    }
}

/// Operations on vectors of eight unsigned integers of 64 bits, of which the low 52 are multiplied: for arithmetic in prime fields.
///
/// As in [`crate::Lanes`] there is no comparison that yields a `bool`, and no index taken from a lane. Kernels keep sums below 2^64
/// and differences from going below zero; on hardware both wrap.
pub trait FieldLanes: Copy + Send + Sync + Sealed + 'static {
    /// Memory element.
    type Limb: Limb;
    /// A vector of eight limbs.
    type Limbs: Copy;
    /// A secret bit for each lane.
    type Bits: Copy;

    /// Runs `kernel` compiled for this instruction set.
    fn run_field<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Reads a vector.
    fn load_limbs(self, from: &[Self::Limb; FIELD_LANES]) -> Self::Limbs;
    /// Writes a vector.
    fn store_limbs(self, to: &mut [Self::Limb; FIELD_LANES], v: Self::Limbs);
    /// Reads a vector of public constants.
    fn constant_limbs(self, from: &[u64; FIELD_LANES]) -> Self::Limbs;
    /// A public constant in every lane.
    fn splat_limb(self, value: u64) -> Self::Limbs;

    /// Sum.
    fn add_limbs(self, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// Difference.
    fn sub_limbs(self, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// `a` modulo 2^BITS.
    fn low_bits<const BITS: u32>(self, a: Self::Limbs) -> Self::Limbs;
    /// `a / 2^BITS`, rounded down.
    fn high_bits<const BITS: u32>(self, a: Self::Limbs) -> Self::Limbs;
    /// `a * 2^BITS`.
    fn times_power<const BITS: u32>(self, a: Self::Limbs) -> Self::Limbs;
    /// Product.
    fn mul_limbs(self, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// `sum + a * b mod 2^52`, for the low 52 bits of `a` and `b`.
    fn mul_add_low(self, sum: Self::Limbs, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// `sum + a * b / 2^52`, for the low 52 bits of `a` and `b`.
    fn mul_add_high(self, sum: Self::Limbs, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;

    /// `b` in lanes whose bit in `lanes`, a public constant, is one; `a` in the others.
    fn blend_limbs(self, lanes: u8, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// Lane `order[i]` of `a`, a public constant, in lane i.
    fn permute_limbs(self, a: Self::Limbs, order: &[u64; FIELD_LANES]) -> Self::Limbs;
    /// Each two neighbours exchanged.
    fn swap_limbs(self, a: Self::Limbs) -> Self::Limbs;

    /// Bit number `bit`, a public constant, of each lane.
    fn bit(self, a: Self::Limbs, bit: u32) -> Self::Bits;
    /// `a` in lanes whose bit is one, `b` in the others.
    fn select_limbs(self, bits: Self::Bits, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// [`FieldLanes::permute_limbs`]: in lanes whose bit is one by the order `one`, in the others by `zero`.
    fn permute_either(
        self,
        bits: Self::Bits,
        a: Self::Limbs,
        one: &[u64; FIELD_LANES],
        zero: &[u64; FIELD_LANES],
    ) -> Self::Limbs;
    /// The four bits of each lane from bit number `at`, a public constant, on.
    fn nibble(self, a: Self::Limbs, at: u32) -> Self::Limbs;
    /// In each lane the entry of a public table that the low three bits of a secret index choose. All of the table is read.
    fn look_up(self, table: &[u64; FIELD_LANES], index: Self::Limbs) -> Self::Limbs;
}
