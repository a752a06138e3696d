use crate::Lanes;

/// Operations on vectors of `PAIRS` unsigned integers, for sorting.
pub trait SortLanes: Lanes {
    /// A vector of `PAIRS` unsigned integers.
    type U32: Copy;

    /// Reads a vector of unsigned integers.
    fn load_u32(self, from: &[u32]) -> Self::U32;
    /// Writes a vector of unsigned integers.
    fn store_u32(self, to: &mut [u32], v: Self::U32);
    /// The smaller of each two.
    fn min_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The larger of each two.
    fn max_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The order of lanes reversed within groups of `group` lanes, a power of two and a public constant.
    fn reverse_u32(self, a: Self::U32, group: usize) -> Self::U32;
    /// Lane i exchanged with lane `i ^ distance`; `distance` is a power of two and a public constant.
    fn swap_u32(self, a: Self::U32, distance: usize) -> Self::U32;
    /// `b` in lanes whose number has the bit `bit`, a public constant, `a` in the others.
    fn pick_u32(self, a: Self::U32, b: Self::U32, bit: usize) -> Self::U32;
    /// Pairs of the two lowest bits of `a` and of `b`, each less one.
    fn trits(self, a: Self::U32, b: Self::U32) -> Self::I16;
}
