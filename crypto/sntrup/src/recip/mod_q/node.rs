//! Nodes of the tree of division steps: two runs of steps, and the product of their matrices.

use core::marker::PhantomData;

use lanes::{Kernel, Lanes, Word};
use secret::Secret;

use super::leaf::{Control, Leaf, LeafMatrix, Steps};
use crate::params::ParameterSet;
use crate::product::{Size, forward, inverse, multiply_accumulate};

/// Words that kernels may touch beyond the end of a polynomial of short blocks.
pub(super) const SLACK: usize = 64;

/// The rows of a matrix that are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Upper,
    Both,
}

pub(super) struct Scratch<P, W: Word> {
    pub(super) matrix: [Secret<[W]>; 4],
    pub(super) column: [Secret<[W]>; 2],
    pub(super) product: [Secret<[W]>; 2],
    pub(super) pairs: Secret<[W]>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, W: Word> Scratch<P, W> {
    pub(super) fn new() -> Self {
        let part = || Secret::<[W]>::slice(P::WIDE + SLACK);
        Scratch {
            matrix: [part(), part(), part(), part()],
            column: [part(), part()],
            product: [part(), part()],
            pairs: part(),
            parameter_set: PhantomData,
        }
    }
}

/// Runs division steps, and gives their matrix.
pub(super) trait Jump<P: ParameterSet, L: Lanes> {
    fn jump(
        &mut self,
        lanes: L,
        f: &[L::Word],
        g: &[L::Word],
        rows: Rows,
        control: &mut Control<L::Word>,
        scratch: &mut Scratch<P, L::Word>,
    );

    /// The matrix: the upper `words` words of its entries and what follows.
    fn entries(&self, words: usize) -> [&[L::Word]; 4];
}

impl<P: ParameterSet, L: Lanes> Jump<P, L> for LeafMatrix<L::Word> {
    fn jump(
        &mut self,
        lanes: L,
        f: &[L::Word],
        g: &[L::Word],
        _: Rows,
        control: &mut Control<L::Word>,
        _: &mut Scratch<P, L::Word>,
    ) {
        lanes.run(Leaf::<P, L::Word> { f, g, control, matrix: self, parameter_set: PhantomData });
    }

    fn entries(&self, words: usize) -> [&[L::Word]; 4] {
        let low = Steps::<P>::CAPACITY - words;
        let [u, v, q, r] = &self.entries;
        [&u[low..], &v[low..], &q[low..], &r[low..]]
    }
}

pub(super) struct Node<P, W: Word, C, const PART: usize> {
    child: C,
    f: Secret<[W]>,
    g: Secret<[W]>,
    first: [Secret<[W]>; 4],
    matrix: [Secret<[W]>; 4],
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, W: Word, C, const PART: usize> Node<P, W, C, PART> {
    pub(super) fn new(child: C) -> Self {
        let part = || Secret::<[W]>::slice(16 * Size::<P, PART>::BLOCK + SLACK);
        Node {
            child,
            f: part(),
            g: part(),
            first: [part(), part(), part(), part()],
            matrix: [part(), part(), part(), part()],
            parameter_set: PhantomData,
        }
    }
}

impl<P, L, C, const PART: usize> Jump<P, L> for Node<P, L::Word, C, PART>
where
    P: ParameterSet,
    L: Lanes,
    C: Jump<P, L>,
{
    fn jump(
        &mut self,
        lanes: L,
        f: &[L::Word],
        g: &[L::Word],
        rows: Rows,
        control: &mut Control<L::Word>,
        scratch: &mut Scratch<P, L::Word>,
    ) {
        let words = const { 8 * Size::<P, PART>::BLOCK };
        self.child.jump(lanes, f, g, Rows::Both, control, scratch);
        let entries = self.child.entries(words);
        let [out_f, out_g] = [&mut self.f[..], &mut self.g[..]];
        let first = &mut self.first;
        lanes.run(Apply::<P, L, PART> { entries, f, g, first, out: [out_f, out_g], scratch });
        self.child.jump(lanes, &self.f, &self.g, rows, control, scratch);
        let entries = self.child.entries(words);
        let [u, v, q, r] = &mut self.matrix;
        lanes.run(MatrixProduct::<P, L, PART> {
            entries,
            first: &self.first,
            rows,
            out: [[&mut u[..], &mut q[..]], [&mut v[..], &mut r[..]]],
            scratch,
        });
    }

    fn entries(&self, words: usize) -> [&[L::Word]; 4] {
        let low = 16 * Size::<P, PART>::BLOCK - words;
        let [u, v, q, r] = &self.matrix;
        [&u[low..], &v[low..], &q[low..], &r[low..]]
    }
}

/// Transforms the matrix into `first`, and applies it to f and g.
struct Apply<'a, P: ParameterSet, L: Lanes, const PART: usize> {
    entries: [&'a [L::Word]; 4],
    f: &'a [L::Word],
    g: &'a [L::Word],
    first: &'a mut [Secret<[L::Word]>; 4],
    out: [&'a mut [L::Word]; 2],
    scratch: &'a mut Scratch<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes, const PART: usize> Kernel<L> for Apply<'_, P, L, PART> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Scratch { column, product, pairs, .. } = self.scratch;
        let wide = const { 16 * Size::<P, PART>::BLOCK };
        let pairs = &mut pairs[..P::WIDE + SLACK];
        for i in 0..4 {
            let to = &mut self.first[i][..wide];
            let from = &self.entries[i][..wide / 2 + SLACK / 2];
            forward::<P, L, PART, false>(lanes, to, from, pairs, true);
        }
        for i in 0..2 {
            let to = &mut column[i][..wide];
            let from = if i == 0 { self.f } else { self.g };
            forward::<P, L, PART, true>(lanes, to, &from[..wide + SLACK / 2], pairs, true);
        }
        let [f, g] = product;
        let [u, v, q, r] = self.first;
        multiply_accumulate::<P, L, PART, 2, 2>(
            lanes,
            [&mut f[..wide], &mut g[..wide]],
            [[&u[..wide], &v[..wide]], [&q[..wide], &r[..wide]]],
            [&column[0][..wide], &column[1][..wide]],
            [[true, true], [false, false]],
        );
        let [out_f, out_g] = self.out;
        for i in 0..2 {
            let from = &mut product[i][..P::WIDE + SLACK];
            let to = if i == 0 { &mut *out_f } else { &mut *out_g };
            inverse::<P, L, PART>(lanes, from, &mut to[..wide + SLACK], true);
        }
    }
}

/// The product of two matrices, column by column.
struct MatrixProduct<'a, P: ParameterSet, L: Lanes, const PART: usize> {
    entries: [&'a [L::Word]; 4],
    first: &'a [Secret<[L::Word]>; 4],
    rows: Rows,
    out: [[&'a mut [L::Word]; 2]; 2],
    scratch: &'a mut Scratch<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes, const PART: usize> Kernel<L> for MatrixProduct<'_, P, L, PART> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Scratch { matrix, product, pairs, .. } = self.scratch;
        let wide = const { 16 * Size::<P, PART>::BLOCK };
        let pairs = &mut pairs[..P::WIDE + SLACK];
        let rows = if self.rows == Rows::Both { 2 } else { 1 };
        for i in 0..2 * rows {
            let to = &mut matrix[i][..wide];
            let from = &self.entries[i][..wide / 2 + SLACK / 2];
            forward::<P, L, PART, false>(lanes, to, from, pairs, true);
        }
        let [u, v, q, r] = matrix;
        let out = self.out;
        for i in 0..2 {
            let column = [&self.first[i][..wide], &self.first[2 + i][..wide]];
            let [upper, lower] = product;
            if rows == 2 {
                multiply_accumulate::<P, L, PART, 2, 2>(
                    lanes,
                    [&mut upper[..wide], &mut lower[..wide]],
                    [[&u[..wide], &v[..wide]], [&q[..wide], &r[..wide]]],
                    column,
                    [[true, false], [true, false]],
                );
            } else {
                multiply_accumulate::<P, L, PART, 1, 2>(
                    lanes,
                    [&mut upper[..wide]],
                    [[&u[..wide], &v[..wide]]],
                    column,
                    [[true, false]],
                );
            }
            for row in 0..rows {
                let from = &mut product[row][..P::WIDE + SLACK];
                inverse::<P, L, PART>(lanes, from, &mut out[i][row][..wide + SLACK], true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;
    use crate::proof::definition::{Definition, ROWS};

    /// Residues modulo x^M - c.
    struct Residues<P, const PART: usize>(PhantomData<P>, i64);

    impl<P: ParameterSet, const PART: usize> Residues<P, PART> {
        fn of(&self, a: &[i16]) -> Vec<i64> {
            let mut residue = vec![0; Size::<P, PART>::M];
            for row in a.rchunks_exact(Size::<P, PART>::M) {
                for (x, &y) in residue.iter_mut().zip(row) {
                    *x = (*x * self.1 + i64::from(y)) % Definition::<P>::Q;
                }
            }
            residue
        }

        fn product(&self, a: &[i64], b: &[i64]) -> Vec<i64> {
            let m = Size::<P, PART>::M;
            let mut product = vec![0; m];
            for i in 0..m {
                for j in 0..m {
                    let factor = if i + j < m { 1 } else { self.1 };
                    product[(i + j) % m] += a[i] * b[j] % Definition::<P>::Q * factor;
                }
            }
            product
        }

        /// Panics unless `constant * out` is `a[0] b[0] + a[1] b[1]`, each term times x if it is to
        /// be raised.
        fn expect(
            &self,
            out: &[i16],
            constant: i64,
            a: [&[i16]; 2],
            b: [&[i16]; 2],
            raised: [bool; 2],
        ) {
            let mut x = vec![0; Size::<P, PART>::M];
            x[1] = 1;
            let mut difference: Vec<_> = self.of(out).iter().map(|y| y * constant).collect();
            for term in 0..2 {
                let mut product = self.product(&self.of(a[term]), &self.of(b[term]));
                if raised[term] {
                    product = self.product(&product, &x);
                }
                for (x, y) in difference.iter_mut().zip(product) {
                    *x -= y;
                }
            }
            let right = difference.iter().all(|x| x % Definition::<P>::Q == 0);
            assert!(right, "{} {PART} {}", P::NAME, self.1);
        }
    }

    struct Check<P, const PART: usize>(PhantomData<P>);

    impl<P: ParameterSet, const PART: usize> Dispatch for Check<P, PART> {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let n = 8 * Size::<P, PART>::BLOCK;
            let mut state = 1u64;
            // As large as what there is in the tree, and beyond the end as well.
            let bound = u64::from(P::MODULUS.barrett_bound(1 << 15).unsigned_abs());
            let mut random = |length: usize| -> Vec<i16> {
                let mut next = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 33) % (2 * bound + 1)) as i16 - bound as i16
                };
                (0..length + SLACK / 2).map(|_| next()).collect()
            };
            let part = || Secret::<[i16]>::slice(2 * n + SLACK);
            let mut scratch = Scratch::<P, i16>::new();
            let mut transforms = [part(), part(), part(), part()];
            for round in 0..4 {
                let matrices = [0, 1].map(|_| [0; 4].map(|_| random(n)));
                let (f, g) = (random(2 * n), random(2 * n));
                let [first, second] =
                    matrices.each_ref().map(|entries| entries.each_ref().map(|x| &x[..]));
                let (mut new_f, mut new_g) = (part(), part());
                lanes.run(Apply::<P, L, PART> {
                    entries: first,
                    f: &f,
                    g: &g,
                    first: &mut transforms,
                    out: [&mut new_f, &mut new_g],
                    scratch: &mut scratch,
                });
                let rows = if round % 2 == 0 { Rows::Both } else { Rows::Upper };
                let [mut u, mut v, mut q, mut r] = [part(), part(), part(), part()];
                lanes.run(MatrixProduct::<P, L, PART> {
                    entries: second,
                    first: &transforms,
                    rows,
                    out: [[&mut u, &mut q], [&mut v, &mut r]],
                    scratch: &mut scratch,
                });

                let first = first.map(|entry| &entry[..n]);
                let second = second.map(|entry| &entry[..n]);
                let fg = [&f[..2 * n], &g[..2 * n]];
                for root in Definition::<P>::roots().as_flattened() {
                    let residues = Residues::<P, PART>(PhantomData, *root);
                    // x^n
                    let power = Definition::<P>::power(*root, 8 * ROWS);
                    residues.expect(&new_f[..2 * n], power, [first[0], first[1]], fg, [true; 2]);
                    residues.expect(&new_g[..2 * n], power, [first[2], first[3]], fg, [false; 2]);
                    for (i, upper, lower) in [(0, &u, &q), (1, &v, &r)] {
                        let column = [first[i], first[2 + i]];
                        let raised = [true, false];
                        residues.expect(&upper[..2 * n], 1, [second[0], second[1]], column, raised);
                        if rows == Rows::Both {
                            let row = [second[2], second[3]];
                            residues.expect(&lower[..2 * n], 1, row, column, raised);
                        }
                    }
                }
            }
        }
    }

    struct Nodes;

    impl Claim for Nodes {
        fn check<P: ParameterSet>(&self) {
            for backend in Backend::available() {
                backend.run(Check::<P, 2>(PhantomData));
                backend.run(Check::<P, 4>(PhantomData));
                backend.run(Check::<P, 8>(PhantomData));
            }
        }
    }

    /// Polynomials of degree 2 in the inputs, modulo q, that differ are the same at a random point
    /// with a probability of 2 / q.
    #[test]
    fn nodes_apply_and_multiply_matrices() {
        for_every_set(&Nodes);
    }
}
