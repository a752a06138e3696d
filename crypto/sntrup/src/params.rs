//! The one table of parameter sets. A parameter set is a type; everything else derives from its
//! constants.

use core::fmt::Debug;

use kem_common::{Array, Element};
use lanes::{Modulus, Word};

use crate::plan::encoded_bytes;

/// A parameter set of Streamlined NTRU Prime.
///
/// Sealed: there are six. The ring is Z\[x\]/(x^p - x - 1), taken modulo 3 (R/3) and modulo q
/// (R/q).
pub trait ParameterSet: Copy + Debug + PartialEq + Eq + Send + Sync + 'static {
    /// Its name, in lower case: `sntrup761`.
    const NAME: &'static str;
    /// Degree of the ring: a prime.
    const P: usize;
    /// The larger modulus: a prime.
    const Q: i16;
    /// Weight of Short: how many of its coefficients are not zero.
    const W: usize;
    /// Coefficients of a residue: the multiplier works modulo 96 factors of degree `M`.
    const M: usize;
    /// Rows of sixteen lanes in which p integers are sorted: 1, 3, 5 or 7 times a power of two.
    const SORT_ROWS: usize;
    /// Which optional reductions the multiplier needs for this q and M.
    const REDUCTIONS: Reductions;
    /// The irreducible factors of x^p - x - 1 modulo 3 of degree 50 and less, constant coefficient
    /// first.
    const SMALL_FACTORS: &'static [&'static str];
    /// Linear forms that compute the residues modulo the small factors, factor by factor. For each
    /// word of 64 coefficients there are two bit planes (not zero; negative) of the coefficients of
    /// all forms: [`Self::RESIDUE_ROW`] words each, one for each form.
    const RESIDUE_FORMS: &'static [u64];

    /// Bytes of an encoded Small: two bits a coefficient.
    const SMALL_BYTES: usize = Self::P.div_ceil(4);
    /// Bytes of an encoded element of R/q.
    const PUBLIC_KEY_BYTES: usize = encoded_bytes(Self::P, Self::Q as u32);
    /// Bytes of an encoded Rounded.
    const ROUNDED_BYTES: usize = encoded_bytes(Self::P, Self::Q as u32 / 3 + 1);
    /// Bytes of a ciphertext: Rounded and a confirmation hash.
    const CIPHERTEXT_BYTES: usize = Self::ROUNDED_BYTES + HASH_BYTES;
    /// Bytes of a secret key: f, 1/g, the public key, rho and the public key's hash.
    const SECRET_KEY_BYTES: usize = 3 * Self::SMALL_BYTES + Self::PUBLIC_KEY_BYTES + HASH_BYTES;
    /// Bytes of randomness for one Short, or for the uniform Small g.
    const SAMPLE_BYTES: usize = 4 * Self::P;
    /// Coefficients of all residues modulo the small factors.
    const RESIDUES: usize = total_degree(Self::SMALL_FACTORS);
    /// [`Self::RESIDUES`], filled up to whole vectors.
    const RESIDUE_ROW: usize = Self::RESIDUES.next_multiple_of(8);
    /// Words of 64 coefficients, for polynomials of p + 1 coefficients as bit planes.
    const PLANE_WORDS: usize = Self::P / 64 + 1;

    /// q with the constants of its reductions.
    const MODULUS: Modulus = Modulus::new(Self::Q);
    /// Coefficients of a sixteenth of the multiplier's modulus.
    const BLOCK: usize = 6 * Self::M;
    /// Coefficients of a padded polynomial: 8 blocks.
    const PADDED: usize = 8 * Self::BLOCK;
    /// Coefficients of a transform, or of a product before its reduction: 16 blocks.
    const WIDE: usize = 16 * Self::BLOCK;

    /// [`Self::PADDED`] elements.
    type Padded<E: Word>: Array<E>;
    /// [`Self::WIDE`] elements.
    type Wide<E: Word>: Array<E>;
    /// `16 * SORT_ROWS` elements.
    type Sorted<E: Element>: Array<E>;
    /// [`Self::PLANE_WORDS`] words.
    type Plane: Array<u64>;
    /// [`Self::SAMPLE_BYTES`] bytes.
    type SampleBytes: Array<u8>;
    /// [`Self::SMALL_BYTES`] bytes.
    type SmallBytes: Array<u8>;
    /// [`Self::PUBLIC_KEY_BYTES`] bytes.
    type PublicKeyBytes: Array<u8>;
    /// [`Self::SECRET_KEY_BYTES`] bytes.
    type SecretKeyBytes: Array<u8>;
    /// [`Self::CIPHERTEXT_BYTES`] bytes.
    type CiphertextBytes: Array<u8>;
}

/// Bytes of the hashes inside keys and ciphertexts, and of a shared secret.
pub const HASH_BYTES: usize = 32;

/// Barrett reductions without which some word of the multiplier could overflow: no more than these,
/// as the proofs show.
#[derive(Clone, Copy, Debug)]
pub struct Reductions {
    /// On the pointwise product of transforms.
    pub after_pointwise: bool,
    /// On the inverse transform's output.
    pub after_inverse: bool,
}

#[cfg_attr(test, allow(dead_code, reason = "tests may run on some sets only"))]
impl Reductions {
    const NONE: Reductions = Reductions { after_pointwise: false, after_inverse: false };
    const POINTWISE: Reductions = Reductions { after_pointwise: true, after_inverse: false };
    const BOTH: Reductions = Reductions { after_pointwise: true, after_inverse: true };
}

/// The sum of the factors' degrees.
const fn total_degree(factors: &[&str]) -> usize {
    let mut sum = 0;
    let mut i = 0;
    while i < factors.len() {
        sum += factors[i].len() - 1;
        i += 1;
    }
    sum
}

/// Coefficients in {-1, 0, 1} of degrees below 64 as bit planes: which are not zero, which are
/// negative.
#[derive(Clone, Copy)]
struct Planes {
    nonzero: u64,
    negative: u64,
}

impl Planes {
    const ONE: Planes = Planes { nonzero: 1, negative: 0 };

    /// A monic polynomial without its highest coefficient.
    const fn rest(factor: &[u8]) -> Planes {
        let mut rest = Planes { nonzero: 0, negative: 0 };
        let mut i = 0;
        while i < factor.len() - 1 {
            rest.nonzero |= ((factor[i] != b'0') as u64) << i;
            rest.negative |= ((factor[i] == b'-') as u64) << i;
            i += 1;
        }
        rest
    }

    const fn negated(self) -> Planes {
        Planes { nonzero: self.nonzero, negative: self.nonzero ^ self.negative }
    }

    /// The sum modulo 3.
    const fn plus(self, other: Planes) -> Planes {
        // Of equals it is their negative, of opposites zero.
        let one = self.nonzero ^ other.nonzero;
        let equal = self.nonzero & other.nonzero & !(self.negative ^ other.negative);
        Planes {
            nonzero: one | equal,
            negative: (one & (self.negative | other.negative)) | (equal & !self.negative),
        }
    }

    /// The product with x modulo x^degree + `rest`.
    const fn times_x(self, degree: usize, rest: Planes) -> Planes {
        let (top, below) = (1 << (degree - 1), !(1 << degree));
        let shifted =
            Planes { nonzero: (self.nonzero << 1) & below, negative: (self.negative << 1) & below };
        if self.nonzero & top == 0 {
            shifted
        } else if self.negative & top == 0 {
            shifted.plus(rest.negated())
        } else {
            shifted.plus(rest)
        }
    }
}

/// For each word of 64 coefficients, for each factor and each j below its degree: the coefficients
/// of x^j in x^i modulo the factor, as bit planes (not zero; negative). All factors are monic.
const fn residue_forms<const ROW: usize, const WORDS: usize>(
    factors: &[&str],
    p: usize,
) -> [[[u64; ROW]; 2]; WORDS] {
    let mut forms = [[[0; ROW]; 2]; WORDS];
    let (mut first, mut index) = (0, 0);
    while index < factors.len() {
        let factor = factors[index].as_bytes();
        let degree = factor.len() - 1;
        let rest = Planes::rest(factor);
        let mut power = Planes::ONE;
        let mut i = 0;
        while i < p {
            let mut left = power.nonzero;
            while left != 0 {
                let j = left.trailing_zeros() as usize;
                forms[i / 64][0][first + j] |= 1 << (i % 64);
                forms[i / 64][1][first + j] |= ((power.negative >> j) & 1) << (i % 64);
                left &= left - 1;
            }
            power = power.times_x(degree, rest);
            i += 1;
        }
        first += degree;
        index += 1;
    }
    forms
}

macro_rules! parameter_sets {
    ($($type:ident $name:literal $feature:literal p $p:literal q $q:literal w $w:literal m $m:literal rows $rows:literal $reductions:ident
       [$($factor:literal),*];)*) => {$(
        #[doc = concat!("Streamlined NTRU Prime with p = ", $p, ", q = ", $q, ", w = ", $w, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type;

        #[cfg(any(not(test), feature = $feature))]
        impl ParameterSet for $type {
            const NAME: &'static str = $name;
            const P: usize = $p;
            const Q: i16 = $q;
            const W: usize = $w;
            const M: usize = $m;
            const SORT_ROWS: usize = $rows;
            const REDUCTIONS: Reductions = Reductions::$reductions;
            const SMALL_FACTORS: &'static [&'static str] = &[$($factor),*];
            const RESIDUE_FORMS: &'static [u64] =
                residue_forms::<{ Self::RESIDUE_ROW }, { Self::PLANE_WORDS }>(
                    Self::SMALL_FACTORS,
                    Self::P,
                )
                .as_flattened()
                .as_flattened();

            type Padded<E: Word> = [E; Self::PADDED];
            type Wide<E: Word> = [E; Self::WIDE];
            type Sorted<E: Element> = [E; 16 * Self::SORT_ROWS];
            type Plane = [u64; Self::PLANE_WORDS];
            type SampleBytes = [u8; Self::SAMPLE_BYTES];
            type SmallBytes = [u8; Self::SMALL_BYTES];
            type PublicKeyBytes = [u8; Self::PUBLIC_KEY_BYTES];
            type SecretKeyBytes = [u8; Self::SECRET_KEY_BYTES];
            type CiphertextBytes = [u8; Self::CIPHERTEXT_BYTES];
        }
    )*};
}

parameter_sets! {
    Sntrup653 "sntrup653" "test-653" p 653 q 4621 w 288 m 14 rows 48 NONE
        ["--0+", "+0-0-000+000+-+0+", "-+00-0+0+++-0+0+0-0-0+++"];
    Sntrup761 "sntrup761" "test-761" p 761 q 4591 w 286 m 16 rows 48 NONE
        ["--0---+-+-0-++++-0++"];
    Sntrup857 "sntrup857" "test-857" p 857 q 5167 w 322 m 18 rows 56 POINTWISE
        ["+00+-000+++-0-+--00++0+-0+"];
    Sntrup953 "sntrup953" "test-953" p 953 q 6343 w 396 m 20 rows 64 BOTH
        ["+0-+0+", "++--+-0+0+-+", "+++-+-0-0++0-++++0++++++++"];
    Sntrup1013 "sntrup1013" "test-1013" p 1013 q 7177 w 448 m 22 rows 64 BOTH
        ["-+00+", "-+++-+00-+-0-000000+0+", "+0-+-0-0+--+++00+-0+--++",
         "+0---+0-000+0+++-++0+0-0+---0+00-00-00++"];
    Sntrup1277 "sntrup1277" "test-1277" p 1277 q 7879 w 492 m 28 rows 80 BOTH
        ["--0+", "-00++", "-+---00+", "+++-00+0+"];
}
