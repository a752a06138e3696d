//! Scalars: digits have the value of what was recoded, and arithmetic modulo L is that of the
//! definition, at the edges.

use reference::drbg::Drbg;

use crate::scalar::{self, DIGITS, ORDER, Recoded, Words};

/// Integers of up to 544 bits in two's complement, in places of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integer([i64; 17]);

impl Integer {
    const ZERO: Integer = Integer([0; 17]);

    fn of_words(words: &[u64]) -> Self {
        let mut places = [0; 17];
        for (i, word) in words.iter().enumerate() {
            places[2 * i] = (word & 0xffff_ffff) as i64;
            places[2 * i + 1] = (word >> 32) as i64;
        }
        Integer(places)
    }

    /// `self * factor + addend`, with all places but the last one in 0 .. 2^32.
    fn mul_add(self, factor: i64, addend: Integer) -> Self {
        let mut carry = 0;
        let mut places = [0; 17];
        for i in 0..17 {
            let sum = self.0[i] * factor + addend.0[i] + carry;
            (places[i], carry) = if i < 16 { (sum & 0xffff_ffff, sum >> 32) } else { (sum, 0) };
        }
        Integer(places)
    }

    fn is_negative(self) -> bool {
        self.0[16] < 0
    }

    /// The remainder of an integer below 2^512 modulo L, bit by bit.
    fn modulo_order(self) -> Words {
        let order = Integer::of_words(&ORDER);
        let mut rest = Integer::ZERO;
        for i in (0..512).rev() {
            let bit = self.0[i / 32] >> (i % 32) & 1;
            rest = rest.mul_add(2, Integer::of_words(&[bit as u64]));
            let less = order.mul_add(-1, rest);
            if !less.is_negative() {
                rest = less;
            }
        }
        core::array::from_fn(|i| rest.0[2 * i] as u64 | (rest.0[2 * i + 1] as u64) << 32)
    }

    fn product(self, words: &Words) -> Self {
        let mut product = Integer::ZERO;
        for bit in (0..256).rev() {
            let one = words[bit / 64] >> (bit % 64) & 1 == 1;
            product = product.mul_add(2, if one { self } else { Integer::ZERO });
        }
        product
    }
}

/// The sum of 2b - 15 times 16^i over all digits b.
fn value(digits: &Recoded) -> Integer {
    let mut value = Integer::ZERO;
    for i in (0..DIGITS).rev() {
        let digit = scalar::digit(digits, i);
        assert!(digit < 16);
        let term = Integer::of_words(&[2 * digit]).mul_add(1, minus_fifteen());
        value = value.mul_add(16, term);
    }
    value
}

fn minus_fifteen() -> Integer {
    Integer::of_words(&[15]).mul_add(-1, Integer::ZERO)
}

/// Words of zeros and of ones, and these with each byte in each place.
fn every_byte_in_every_place() -> impl Iterator<Item = Words> {
    [0, u64::MAX].into_iter().flat_map(|rest| {
        (0..32).flat_map(move |place: usize| {
            (0..256u64).map(move |byte| {
                let mut words = [rest; 4];
                let at = 8 * (place % 8);
                words[place / 8] = words[place / 8] & !(0xff << at) | byte << at;
                words
            })
        })
    })
}

#[test]
fn digits_of_odd_scalars_have_their_value() {
    for words in every_byte_in_every_place() {
        let odd = scalar::odd(&words);
        assert_eq!(odd, [words[0] | 1, words[1], words[2], words[3]]);
        assert_eq!(value(&scalar::recode_odd(&odd)), Integer::of_words(&odd), "{odd:x?}");
    }
    let even = scalar::recode_odd(&[2, 0, 0, 0]);
    assert_ne!(value(&even), Integer::of_words(&[2]));
}

/// Scalars of the base point: L is added to even ones.
#[test]
fn digits_of_scalars_have_their_value_modulo_the_order() {
    let order = Integer::of_words(&ORDER);
    let mut all: Vec<Words> = every_byte_in_every_place().collect();
    // Carries go through all words.
    for word in 0..4 {
        for change in [0, 1, 2, 3] {
            let mut words = ORDER.map(|word| !word);
            words[word] = words[word].wrapping_add(change).wrapping_sub(1);
            all.push(words);
            words[..word].fill(u64::MAX);
            all.push(words);
        }
    }
    let mut checked = 0;
    for words in all {
        // Below 2^256 - L.
        let scalar = Integer::of_words(&words);
        let sum = scalar.mul_add(1, order);
        if sum.0[8] > 0 {
            continue;
        }
        checked += 1;
        let expected = if words[0] & 1 == 0 { sum } else { scalar };
        assert_eq!(value(&scalar::recode(&words)), expected, "{words:x?}");
    }
    assert!(checked > 8000, "{checked}");
    // Clamped ones are below, and multiples of eight.
    for words in every_byte_in_every_place() {
        let clamped = scalar::read(&scalar::clamp(&scalar::write(&words)));
        assert!(clamped[0].trailing_zeros() >= 3 && clamped[3] >> 62 == 1);
        let kept = [clamped[0] ^ words[0], clamped[1] ^ words[1], clamped[2] ^ words[2]];
        assert!(kept[0] < 8 && kept[1..] == [0, 0]);
        assert_eq!((clamped[3] ^ words[3]) << 2, 0);
    }
}

/// Words at the edges of what the operations take, and random ones.
fn edges() -> Vec<Words> {
    let [l0, l1, l2, l3] = ORDER;
    let mut edges = vec![
        [0; 4],
        [1, 0, 0, 0],
        [l0 - 1, l1, l2, l3],
        ORDER,
        [l0 + 1, l1, l2, l3],
        [u64::MAX, u64::MAX, u64::MAX, l3 - 1],
        [u64::MAX; 4],
        [0, 0, 0, l3],
        [u64::MAX, 0, u64::MAX, 0],
    ];
    let mut random = Drbg::new(&[30; 48]);
    for _ in 0..16 {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        edges.push(scalar::read(&bytes));
    }
    edges
}

#[test]
fn arithmetic_modulo_the_order() {
    let edges = edges();
    let is_reduced = |words: &Words| {
        Integer::of_words(&ORDER).mul_add(-1, Integer::of_words(words)).is_negative()
    };
    for a in &edges {
        assert_eq!(scalar::is_reduced_vartime(a), is_reduced(a), "{a:x?}");
        for b in &edges {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&scalar::write(a));
            bytes[32..].copy_from_slice(&scalar::write(b));
            let all = [*a, *b].concat();
            assert_eq!(scalar::reduce(&bytes), Integer::of_words(&all).modulo_order());
            for c in edges.iter().filter(|c| is_reduced(b) && is_reduced(c)).take(8) {
                let expected = Integer::of_words(a).product(b).mul_add(1, Integer::of_words(c));
                assert_eq!(scalar::mul_add(a, b, c), expected.modulo_order());
            }
        }
    }
}
