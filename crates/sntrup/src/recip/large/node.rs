//! Nodes of the tree of division steps: two runs of steps, and the product of their matrices.

use core::marker::PhantomData;

use lanes::{Kernel, Lanes, Word};

use super::leaf::{Control, Leaf, LeafMatrix, Steps};
use crate::params::ParameterSet;
use crate::product::{Size, forward, inverse, sums, wipe};

/// Words that kernels may touch beyond the end of a polynomial of short blocks.
pub(super) const SLACK: usize = 64;

/// Which rows of a matrix somebody will use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Upper,
    Both,
}

pub(super) struct Scratch<P, W: Word> {
    pub(super) matrix: [Vec<W>; 4],
    pub(super) column: [Vec<W>; 2],
    pub(super) product: [Vec<W>; 2],
    pub(super) pairs: Vec<W>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, W: Word> Scratch<P, W> {
    pub(super) fn new() -> Self {
        let part = || vec![W::default(); P::WIDE + SLACK];
        Scratch {
            matrix: [part(), part(), part(), part()],
            column: [part(), part()],
            product: [part(), part()],
            pairs: part(),
            parameter_set: PhantomData,
        }
    }
}

pub(super) fn wipe_all<W: Word>(parts: &mut [Vec<W>]) {
    for part in parts {
        wipe(part);
    }
}

impl<P, W: Word> Drop for Scratch<P, W> {
    fn drop(&mut self) {
        wipe_all(&mut self.matrix);
        wipe_all(&mut self.column);
        wipe_all(&mut self.product);
        wipe(&mut self.pairs);
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
    f: Vec<W>,
    g: Vec<W>,
    first: [Vec<W>; 4],
    matrix: [Vec<W>; 4],
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, W: Word, C, const PART: usize> Node<P, W, C, PART> {
    pub(super) fn new(child: C) -> Self {
        let part = || vec![W::default(); 16 * Size::<P, PART>::BLOCK + SLACK];
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

impl<P, W: Word, C, const PART: usize> Drop for Node<P, W, C, PART> {
    fn drop(&mut self) {
        wipe(&mut self.f);
        wipe(&mut self.g);
        wipe_all(&mut self.first);
        wipe_all(&mut self.matrix);
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
        lanes.run(Merge::<P, L, PART> {
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
    first: &'a mut [Vec<L::Word>; 4],
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
        sums::<P, L, PART, 2, 2>(
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
struct Merge<'a, P: ParameterSet, L: Lanes, const PART: usize> {
    entries: [&'a [L::Word]; 4],
    first: &'a [Vec<L::Word>; 4],
    rows: Rows,
    out: [[&'a mut [L::Word]; 2]; 2],
    scratch: &'a mut Scratch<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes, const PART: usize> Kernel<L> for Merge<'_, P, L, PART> {
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
                sums::<P, L, PART, 2, 2>(
                    lanes,
                    [&mut upper[..wide], &mut lower[..wide]],
                    [[&u[..wide], &v[..wide]], [&q[..wide], &r[..wide]]],
                    column,
                    [[true, false], [true, false]],
                );
            } else {
                sums::<P, L, PART, 1, 2>(
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
