//! The traits of lanes for arithmetic modulo large primes.

use crate::{Kernel, sealed::Sealed};

/// Limbs in a vector of [`FieldLanes`].
pub const FIELD_LANES: usize = 8;

/// Bits of a factor of [`FieldLanes::mul_add_small`].
pub(crate) const SMALL_BITS: u32 = 26;

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

/// The way in which products are split into a high and a low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Factors are below 2^52, and `a * b = 2^52 high + low`, where `low` is below 2^52.
    Unsigned52,
    /// Factors are below 2^52, products below 2^103, and `a * b = 2^51 high + low`, where `|low|`
    /// is below 2^51. Equal products are split alike.
    Signed51,
}

/// The field lanes of an instruction set: all at once, or the lower half and then the upper half if
/// a register holds only one half.
pub trait FieldParts: Copy + Send + Sync + Sealed + 'static {
    /// Lanes of which the lower half is valid in what kernels write: for kernels whose halves do
    /// the same, or with little to do.
    type Lower: FieldLanes<Limb = u64>;

    /// Whether all are computed at once.
    const IS_WHOLE: bool = Self::Lower::IS_WHOLE;

    /// Lanes of which the lower half is valid in what kernels write.
    fn lower(self) -> Self::Lower;
    /// Does `what` on each part. Together, they read and write all lanes.
    fn each<P: EachPart>(self, what: P);
}

/// Something to do on each part of eight lanes.
pub trait EachPart {
    /// Does it on the given lanes, which may be a half.
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L);
}

/// Operations on vectors of eight unsigned integers of 64 bits, of which the low 52 are multiplied:
/// for arithmetic in prime fields. Lanes that are not [whole](FieldLanes::IS_WHOLE) read, hold and
/// write one half of each vector.
///
/// As in [`crate::Lanes`] there is no comparison that yields a `bool`, and no index taken from a
/// lane. Kernels keep sums below 2^64 and differences from going below zero; on hardware both wrap.
pub trait FieldLanes: Copy + Send + Sync + Sealed + 'static {
    /// Memory element.
    type Limb: Limb;
    /// A vector of eight limbs.
    type Limbs: Copy;
    /// A secret bit for each lane.
    type Bits: Copy;

    /// The way in which products are split into halves.
    const SPLIT: Split;
    /// Whether operations move data between the two halves of a vector. If not, halves are computed
    /// one after the other ([`FieldParts`]), and only orders within halves have a meaning.
    const IS_WHOLE: bool;

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
    /// `a * FACTOR`, which is below 2^32.
    fn times<const FACTOR: u64>(self, a: Self::Limbs) -> Self::Limbs;
    /// `sum + a * b`, for `a` and `b` below 2^26.
    fn mul_add_small(self, sum: Self::Limbs, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// `sum` and the low half of `a * b`, split as [`FieldLanes::SPLIT`] says. The result must not
    /// be negative either.
    fn mul_add_low(self, sum: Self::Limbs, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// `sum` and the high half of `a * b`, split as [`FieldLanes::SPLIT`] says.
    fn mul_add_high(self, sum: Self::Limbs, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;

    /// The sums of `low` and the low halves, and of `high` and the high halves, of each `a` times
    /// the `b` in the same place.
    #[inline(always)]
    fn mul_add_all<const COUNT: usize>(
        self,
        low: Self::Limbs,
        high: Self::Limbs,
        a: [Self::Limbs; COUNT],
        b: [Self::Limbs; COUNT],
    ) -> (Self::Limbs, Self::Limbs) {
        let (mut low, mut high) = (low, high);
        for i in 0..COUNT {
            low = self.mul_add_low(low, a[i], b[i]);
            high = self.mul_add_high(high, a[i], b[i]);
        }
        (low, high)
    }

    /// `b` in lanes whose bit in `lanes`, a public constant, is one; `a` in the others.
    fn blend_limbs(self, lanes: u8, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// Lane `order[i]` of `a`, a public constant, in lane i; of the same half unless
    /// [`FieldLanes::IS_WHOLE`].
    fn permute_limbs(self, a: Self::Limbs, order: &[u64; FIELD_LANES]) -> Self::Limbs;
    /// Each two neighbours exchanged.
    fn swap_limbs(self, a: Self::Limbs) -> Self::Limbs;

    /// Bit number `bit`, a public constant, of each lane.
    fn bit(self, a: Self::Limbs, bit: u32) -> Self::Bits;
    /// `a` in lanes whose bit is one, `b` in the others.
    fn select_limbs(self, bits: Self::Bits, a: Self::Limbs, b: Self::Limbs) -> Self::Limbs;
    /// [`FieldLanes::permute_limbs`]: in lanes whose bit is one by the order `one`, in the others
    /// by `zero`.
    fn permute_either(
        self,
        bits: Self::Bits,
        a: Self::Limbs,
        one: &[u64; FIELD_LANES],
        zero: &[u64; FIELD_LANES],
    ) -> Self::Limbs;
    /// The four bits of each lane from bit number `at`, a public constant, on.
    fn nibble(self, a: Self::Limbs, at: u32) -> Self::Limbs;
    /// In each lane the entry of a public table that the low three bits of a secret index choose.
    /// All of the table is read.
    fn look_up(self, table: &[u64; FIELD_LANES], index: Self::Limbs) -> Self::Limbs;
}
