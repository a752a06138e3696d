//! Integers modulo p and points by the textbook, in words of 64 bits: shares nothing with what is
//! proved.

use lanes::proof::Residue;
use reference::drbg::Drbg;

use crate::field::{BYTES, Fe, LIMB_BITS};

/// An integer modulo p, below p.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Number([u64; 4]);

/// 2^255 - 19.
const P: [u64; 4] = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

impl Number {
    /// Any integer below 2^512.
    fn reduced(words: [u64; 8]) -> Self {
        // 2^256 is 38, three times: the last carry is at most 1, and nothing comes of it.
        let mut low = [words[0], words[1], words[2], words[3]];
        let mut high = [words[4], words[5], words[6], words[7]];
        for _ in 0..3 {
            let mut carry = 0;
            for i in 0..4 {
                carry += u128::from(low[i]) + 38 * u128::from(high[i]);
                low[i] = carry as u64;
                carry >>= 64;
            }
            high = [carry as u64, 0, 0, 0];
        }
        assert_eq!(high, [0; 4]);
        // At most twice.
        while let Some(less) = Self::minus_p(low) {
            low = less;
        }
        Number(low)
    }

    fn minus_p(words: [u64; 4]) -> Option<[u64; 4]> {
        let mut less = [0; 4];
        let mut borrow = false;
        for i in 0..4 {
            let (d, first) = words[i].overflowing_sub(P[i]);
            let (d, second) = d.overflowing_sub(borrow.into());
            (less[i], borrow) = (d, first || second);
        }
        (!borrow).then_some(less)
    }

    /// The number that bytes are, least first, modulo p.
    pub(crate) fn of_bytes(bytes: &[u8; BYTES]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap());
        }
        Self::reduced(words)
    }

    /// Its bytes, least first.
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The sum of numbers times powers of 2^51.
    pub(crate) fn of_limbs(limbs: &[Number]) -> Self {
        limbs
            .iter()
            .rev()
            .fold(Number::default(), |sum, &limb| sum.mul(Number::of(1 << LIMB_BITS)).add(limb))
    }

    /// The value of an element.
    pub(crate) fn of_fe(fe: &Fe) -> Self {
        Self::of_limbs(&fe.0.map(|limb| Number::of(limb.into())))
    }

    /// A random one.
    pub(crate) fn random(random: &mut Drbg) -> Self {
        let mut bytes = [0; BYTES];
        random.fill(&mut bytes);
        Self::of_bytes(&bytes)
    }

    fn power(self, exponent: [u64; 4]) -> Self {
        let mut power = Number::of(1);
        for i in (0..256).rev() {
            power = power.mul(power);
            if exponent[i / 64] >> (i % 64) & 1 == 1 {
                power = power.mul(self);
            }
        }
        power
    }

    /// The inverse: the power p - 2.
    pub(crate) fn invert(self) -> Self {
        assert_ne!(self, Number::default(), "zero has no inverse");
        self.power([P[0] - 2, P[1], P[2], P[3]])
    }

    pub(crate) fn over(self, other: Self) -> Self {
        self.mul(other.invert())
    }

    pub(crate) fn square(self) -> Self {
        self.mul(self)
    }

    /// A square root, if there is one.
    pub(crate) fn root(self) -> Option<Self> {
        // The power (p + 3) / 8 is a root of this or of its negative; 2^((p - 1) / 4) is one of -1.
        let root = self.power([u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX >> 4]);
        let of_minus_one = Number::of(2).power([u64::MAX - 4, u64::MAX, u64::MAX, u64::MAX >> 3]);
        [root, root.mul(of_minus_one)].into_iter().find(|root| root.square() == self)
    }
}

impl Residue for Number {
    fn of(value: u128) -> Self {
        Self::reduced([value as u64, (value >> 64) as u64, 0, 0, 0, 0, 0, 0])
    }

    fn drawn(words: [u64; 4]) -> Self {
        let [w0, w1, w2, w3] = words;
        Self::reduced([w0, w1, w2, w3, 0, 0, 0, 0])
    }

    fn add(self, other: Self) -> Self {
        let mut sum = [0; 8];
        let mut carry = 0;
        for i in 0..4 {
            carry += u128::from(self.0[i]) + u128::from(other.0[i]);
            sum[i] = carry as u64;
            carry >>= 64;
        }
        Self::reduced(sum)
    }

    fn sub(self, other: Self) -> Self {
        // p - other.
        let mut words = [0; 4];
        let mut borrow = false;
        for i in 0..4 {
            let (d, first) = P[i].overflowing_sub(other.0[i]);
            let (d, second) = d.overflowing_sub(borrow.into());
            (words[i], borrow) = (d, first || second);
        }
        self.add(Number(words))
    }

    fn mul(self, other: Self) -> Self {
        let mut product = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                carry +=
                    u128::from(product[i + j]) + u128::from(self.0[i]) * u128::from(other.0[j]);
                product[i + j] = carry as u64;
                carry >>= 64;
            }
            product[i + 4] = carry as u64;
        }
        Self::reduced(product)
    }
}

/// d = -121665 / 121666.
pub(crate) fn d() -> Number {
    Number::default().sub(Number::of(121_665)).over(Number::of(121_666))
}

/// A point of -x^2 + y^2 = 1 + d x^2 y^2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AffinePoint {
    pub(crate) x: Number,
    pub(crate) y: Number,
}

impl AffinePoint {
    pub(crate) fn identity() -> Self {
        AffinePoint { x: Number::default(), y: Number::of(1) }
    }

    /// The base point of RFC 8032, section 5.1: y is 4/5, and x even.
    pub(crate) fn base() -> Self {
        let y = Number::of(4).over(Number::of(5));
        let x = Self::x_of(y).unwrap();
        let x = if x.0[0] & 1 == 0 { x } else { Number::default().sub(x) };
        AffinePoint { x, y }
    }

    fn x_of(y: Number) -> Option<Number> {
        let square = y.square();
        let one = Number::of(1);
        square.sub(one).over(d().mul(square).add(one)).root()
    }

    /// A random point, of any order.
    pub(crate) fn random(random: &mut Drbg) -> Self {
        loop {
            let y = Number::random(random);
            if let Some(x) = Self::x_of(y) {
                return AffinePoint { x, y };
            }
        }
    }

    /// The sum (RFC 8032, section 5.1.4).
    pub(crate) fn add(self, other: Self) -> Self {
        let one = Number::of(1);
        let product = d().mul(self.x).mul(other.x).mul(self.y).mul(other.y);
        let x = self.x.mul(other.y).add(other.x.mul(self.y));
        let y = self.y.mul(other.y).add(self.x.mul(other.x));
        AffinePoint { x: x.over(one.add(product)), y: y.over(one.sub(product)) }
    }

    pub(crate) fn negated(self) -> Self {
        AffinePoint { x: Number::default().sub(self.x), y: self.y }
    }
}

/// This arithmetic, by numbers that others computed.
#[test]
fn the_definition_is_that_of_the_curve() {
    let minus_one = Number::default().sub(Number::of(1));
    assert_eq!(minus_one.0, [P[0] - 1, P[1], P[2], P[3]]);
    assert_eq!(minus_one.square(), Number::of(1));
    assert_eq!(minus_one.root().unwrap().square(), minus_one);
    // The curve constant d of RFC 8032, section 5.1.
    let expected = [0x75eb_4dca_1359_78a3, 0x0070_0a4d_4141_d8ab, 0x8cc7_4079_7779_e898];
    assert_eq!(d().0[..3], expected);
    assert_eq!(d().0[3], 0x5203_6cee_2b6f_fe73);
    // That it is no square makes the law complete.
    assert_eq!(d().root(), None);
    // A multiple of the base point by its order: 2^252 and the rest.
    let base = AffinePoint::base();
    let order = crate::scalar::ORDER;
    let mut multiple = AffinePoint::identity();
    for i in (0..253).rev() {
        multiple = multiple.add(multiple);
        if order[i / 64] >> (i % 64) & 1 == 1 {
            multiple = multiple.add(base);
        }
    }
    assert_eq!(multiple, AffinePoint::identity());
    assert_eq!(base.x.0[0], 0xc956_2d60_8f25_d51a);
}
