//! Inversion in R/q, by a tree of division steps.
//!
//! The 2p - 1 division steps are done in 16 leaves ([`leaf`]), each on the lowest coefficients
//! only. Each leaf gives a matrix of transition; nodes ([`node`]) apply the matrix of their first
//! half to f and g and multiply the matrices of both halves. The algorithm is `jumpdivsteps` of
//! Bernstein and Yang ("Fast constant-time gcd computation and modular inversion", 2019, section
//! 5). Ranges are proved in `crate::proof::ranges`.

pub(crate) mod leaf;
mod node;

use lanes::{Kernel, Lanes, Word};
use secret::Secret;

use self::leaf::{Control, LeafMatrix, ROW};
use self::node::{Jump, Node, Rows, SLACK, Scratch};
use crate::params::ParameterSet;
use crate::product::{Coefficients, forward, inverse, multiply_accumulate};

/// Replaces `a` by 1 / (3 a) in R/q, which is a field. `a` is not zero; its coefficients, and those
/// of the result, are at most (q - 1) / 2 in absolute value.
pub(crate) fn rq_invert_triple<P: ParameterSet, L: Lanes>(
    lanes: L,
    a: &mut Coefficients<P, L::Word>,
) {
    let mut root = Root::<P, L::Word>::new(a);
    root.invert(lanes);
    for (x, &y) in a.as_mut_slice().iter_mut().zip(root.result[..P::P].iter().rev()) {
        *x = y;
    }
}

struct Constants<P>(P);

impl<P: ParameterSet> Constants<P> {
    /// 2^16 / 3 modulo q, centred.
    const THIRD: i16 = Self::centred((1 << 16) * ((2 * P::Q as i64 * P::Q as i64 + 1) / 3));
    /// 2^32 modulo q, centred: what takes a residue into Montgomery form.
    const SQUARE: i16 = Self::centred(1 << 32);

    const fn centred(a: i64) -> i16 {
        let q = P::Q as i64;
        let a = a % q;
        (if a > q / 2 { a - q } else { a }) as i16
    }
}

/// The tree below the root.
type Tree<P, W> = Node<P, W, Node<P, W, Node<P, W, LeafMatrix<W>, 8>, 4>, 2>;

/// The root of the tree of division steps, not on the stack: some applications give their threads
/// little of it.
struct Root<P: ParameterSet, W: Word> {
    tree: Tree<P, W>,
    f: Secret<[W]>,
    g: Secret<[W]>,
    next: [Secret<[W]>; 2],
    first: [Secret<[W]>; 2],
    result: Secret<[W]>,
    control: Control<W>,
    scratch: Scratch<P, W>,
}

impl<P: ParameterSet, W: Word> Root<P, W> {
    fn new(a: &Coefficients<P, W>) -> Self {
        let part = || Secret::<[W]>::slice(P::WIDE + SLACK);
        let mut root = Root {
            tree: Node::new(Node::new(Node::new(LeafMatrix::new::<P>()))),
            f: part(),
            g: part(),
            next: [part(), part()],
            first: [part(), part()],
            result: part(),
            control: Control {
                minus_delta: Secret::<[W]>::slice(ROW),
                f0: Secret::<[W]>::slice(ROW),
            },
            scratch: Scratch::new(),
        };
        root.control.minus_delta.fill(W::constant(-1));
        root.f[0] = W::constant(1);
        root.f[P::P - 1] = W::constant(-1);
        root.f[P::P] = W::constant(-1);
        for (x, &y) in root.g.iter_mut().zip(a.as_slice().iter().rev()) {
            *x = y;
        }
        root
    }
}

impl<P: ParameterSet, W: Word> Root<P, W> {
    fn invert<L: Lanes<Word = W>>(&mut self, lanes: L) {
        let Root { tree, f, g, next, first, result, control, scratch } = self;
        tree.jump(lanes, f, g, Rows::Both, control, scratch);
        let entries = Jump::<P, L>::entries(tree, P::PADDED);
        lanes.run(ApplyFirstHalf::<P, L> { entries, g, first, next, scratch });
        let [f, g] = next;
        tree.jump(lanes, f, g, Rows::Upper, control, scratch);
        let [u, v, ..] = Jump::<P, L>::entries(tree, P::PADDED);
        lanes.run(Finish::<P, L> { entries: [u, v], first, result, control, scratch });
    }
}

/// Applies the first half's matrix to the original f and g.
struct ApplyFirstHalf<'a, P: ParameterSet, L: Lanes> {
    entries: [&'a [L::Word]; 4],
    g: &'a [L::Word],
    first: &'a mut [Secret<[L::Word]>; 2],
    next: &'a mut [Secret<[L::Word]>; 2],
    scratch: &'a mut Scratch<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for ApplyFirstHalf<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Scratch { column, product, pairs, .. } = self.scratch;
        let [u, v, q, r] = self.entries;
        let pairs = &mut pairs[..P::WIDE];
        let [first_v, first_r] = self.first;
        let operands = [
            (&mut first_v[..P::WIDE], &v[..P::PADDED]),
            (&mut first_r[..P::WIDE], &r[..P::PADDED]),
            (&mut column[0][..P::WIDE], &self.g[..P::PADDED]),
        ];
        for (to, from) in operands {
            forward::<P, L, 1, false>(lanes, to, from, pairs, true);
        }
        let [f, g] = product;
        multiply_accumulate::<P, L, 1, 2, 1>(
            lanes,
            [&mut f[..P::WIDE], &mut g[..P::WIDE]],
            [[&first_v[..P::WIDE]], [&first_r[..P::WIDE]]],
            [&column[0][..P::WIDE]],
            [[true], [false]],
        );
        for i in 0..2 {
            let from = &mut product[i][..P::WIDE];
            inverse::<P, L, 1>(lanes, from, &mut self.next[i][..P::WIDE], true);
        }

        // Add the products of the matrix with f = 1 - x^(p-1) - x^p.
        let (n, p) = (P::PADDED, P::P);
        let [next_f, next_g] = self.next;
        for index in 0..p.div_ceil(L::WORDS) {
            let i = index * L::WORDS;
            let x = lanes.load(&next_f[n + i..]);
            let y = lanes.add(lanes.load(&u[n - p + i..]), lanes.load(&u[n - p - 1 + i..]));
            let mut x = lanes.sub(x, y);
            if index == 0 {
                x = lanes.add(x, lanes.load(&u[n - 1..]));
            }
            lanes.store(&mut next_f[i..], lanes.barrett(x, P::MODULUS));
            let x = lanes.load(&next_g[n + i..]);
            let y = lanes.add(lanes.load(&q[n - p + i..]), lanes.load(&q[n - p + 1 + i..]));
            lanes.store(&mut next_g[i..], lanes.barrett(lanes.sub(x, y), P::MODULUS));
        }
    }
}

/// The entry of the whole matrix that is the inverse, up to the constant that f ends as.
struct Finish<'a, P: ParameterSet, L: Lanes> {
    entries: [&'a [L::Word]; 2],
    first: &'a [Secret<[L::Word]>; 2],
    result: &'a mut [L::Word],
    control: &'a Control<L::Word>,
    scratch: &'a mut Scratch<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Finish<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let q = P::MODULUS;
        let Scratch { matrix, product, pairs, .. } = self.scratch;
        let pairs = &mut pairs[..P::WIDE];
        for i in 0..2 {
            let to = &mut matrix[i][..P::WIDE];
            forward::<P, L, 1, false>(lanes, to, &self.entries[i][..P::PADDED], pairs, true);
        }
        multiply_accumulate::<P, L, 1, 1, 2>(
            lanes,
            [&mut product[0][..P::WIDE]],
            [[&matrix[0][..P::WIDE], &matrix[1][..P::WIDE]]],
            [&self.first[0][..P::WIDE], &self.first[1][..P::WIDE]],
            [[true, false]],
        );
        inverse::<P, L, 1>(lanes, &mut product[0][..P::WIDE], pairs, true);

        // 1 / f_0 = f_0^(q - 2), in Montgomery form.
        let square = lanes.splat(const { Constants::<P>::SQUARE });
        let f0 = lanes.freeze(lanes.load(&self.control.f0), q);
        let base = lanes.montgomery(f0, square, lanes.prepare(square, q), q);
        let base_prepared = lanes.prepare(base, q);
        let exponent = (P::Q - 2) as u32;
        let mut inverse = base;
        for bit in (0..exponent.ilog2()).rev() {
            inverse = lanes.montgomery(inverse, inverse, lanes.prepare(inverse, q), q);
            if exponent >> bit & 1 == 1 {
                inverse = lanes.montgomery(inverse, base, base_prepared, q);
            }
        }
        let third = lanes.splat(const { Constants::<P>::THIRD });
        let inverse = lanes.montgomery(inverse, third, lanes.prepare(third, q), q);
        let inverse_prepared = lanes.prepare(inverse, q);
        let low = const { 2 * (P::PADDED - P::P) + 1 };
        for index in 0..P::P.div_ceil(L::WORDS) {
            let i = index * L::WORDS;
            let x = lanes.montgomery(lanes.load(&pairs[low + i..]), inverse, inverse_prepared, q);
            lanes.store(&mut self.result[i..], lanes.freeze(x, q));
        }
    }
}
