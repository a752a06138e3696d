//! Polynomials as byte strings.

use super::error::{Error, check_bytes};
use super::{Parameters, is_small};

/// Encode sends out a byte as soon as a set has this many elements.
const LIMIT: u32 = 1 << 14;

/// Joins two sets of a and b elements into one, and says what of it leaves as bytes: the number of
/// bytes, and the size of the set that remains (below `LIMIT`).
fn joined(a: u32, b: u32) -> (usize, u32) {
    let (mut bytes, mut size) = (0, a * b);
    while size >= LIMIT {
        bytes += 1;
        size = size.div_ceil(256);
    }
    (bytes, size)
}

/// The sizes for the next level of the recursion: neighbours joined, an odd last one as it is.
fn next_sizes(sizes: &[u32]) -> Vec<u32> {
    let next = |pair: &[u32]| match *pair {
        [a, b] => joined(a, b).1,
        _ => pair[0],
    };
    sizes.chunks(2).map(next).collect()
}

/// The number of bytes that hold one element of a set of this size.
fn single_bytes(size: u32) -> usize {
    (0..).find(|&bytes| 256_u32.pow(bytes) >= size).expect("sizes are below 2^14") as usize
}

fn check_sizes(sizes: &[u32]) {
    assert!(sizes.iter().all(|m| (1..LIMIT).contains(m)), "sizes from 1 to 2^14 - 1");
}

/// The number of bytes that [`encode()`] makes of one element each of sets of these sizes.
pub(super) fn encoded_bytes(sizes: &[u32]) -> usize {
    encode(&vec![0; sizes.len()], sizes).len()
}

/// Encode: the integers R\[i\] with 0 <= R\[i\] < M\[i\] as a byte string whose length depends on M
/// alone.
///
/// Neighbours are joined, r\[2i\] + M\[2i\] r\[2i+1\]; the low bytes of what is too large go out,
/// the rest is encoded after them, recursively.
///
/// # Panics
///
/// If the lists differ in length, an M\[i\] is not from 1 to 2^14 - 1, or an R\[i\] is not below
/// its M\[i\].
pub fn encode(r: &[u32], m: &[u32]) -> Vec<u8> {
    assert_eq!(r.len(), m.len(), "one size for each integer");
    assert!(r.iter().zip(m).all(|(r, m)| r < m), "integers below their sizes");
    check_sizes(m);
    match m.len() {
        0 => vec![],
        1 => r[0].to_le_bytes()[..single_bytes(m[0])].to_vec(),
        _ => {
            let (mut bytes, mut rest) = (vec![], vec![]);
            for (r, m) in r.chunks(2).zip(m.chunks(2)) {
                let (&[r_0, r_1], &[m_0, m_1]) = (r, m) else {
                    rest.push(r[0]);
                    break;
                };
                let mut value = r_0 + m_0 * r_1;
                for _ in 0..joined(m_0, m_1).0 {
                    bytes.push((value % 256) as u8);
                    value /= 256;
                }
                rest.push(value);
            }
            bytes.extend(encode(&rest, &next_sizes(m)));
            bytes
        }
    }
}

/// Decode: the inverse of [`encode()`] for the sizes M.
///
/// Every string of the right length decodes to integers in range, as the specification has it;
/// different strings may decode to the same integers. `encode(&decode(s, m)?, m) == s` tells
/// whether s is canonical.
///
/// # Errors
///
/// [`Error::WrongLength`].
///
/// # Panics
///
/// If an M\[i\] is not from 1 to 2^14 - 1.
pub fn decode(s: &[u8], m: &[u32]) -> Result<Vec<u32>, Error> {
    check_sizes(m);
    check_bytes("encoded list", s, encoded_bytes(m))?;
    Ok(decode_checked(s, m))
}

fn decode_checked(s: &[u8], m: &[u32]) -> Vec<u32> {
    let little_endian =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| 256 * value + u32::from(byte));
    match m.len() {
        0 => vec![],
        1 => vec![little_endian(s) % m[0]],
        _ => {
            let mut s = s;
            let mut low = vec![];
            for pair in m.chunks_exact(2) {
                let (bytes, rest) = s.split_at(joined(pair[0], pair[1]).0);
                low.push((little_endian(bytes), 256_u32.pow(bytes.len() as u32)));
                s = rest;
            }
            let rest = decode_checked(s, &next_sizes(m));
            let mut r = vec![];
            for (i, pair) in m.chunks(2).enumerate() {
                let &[m_0, m_1] = pair else {
                    r.push(rest[i]);
                    break;
                };
                let (low, scale) = low[i];
                let value = low + scale * rest[i];
                r.push(value % m_0);
                r.push(value / m_0 % m_1);
            }
            r
        }
    }
}

/// Small_encode: coefficients plus 1 in two bits each, four to a byte, the first one lowest.
///
/// # Panics
///
/// If `a` is not Small with p coefficients.
pub fn small_encode(params: &Parameters, a: &[i32]) -> Vec<u8> {
    assert!(is_small(params, a), "a Small polynomial of {}", params.name);
    let byte = |four: &[i32]| four.iter().rev().fold(0, |byte, c| 4 * byte + (c + 1) as u8);
    a.chunks(4).map(byte).collect()
}

/// Small_decode: p coefficients from [`Parameters::small_bytes`] bytes.
///
/// # Errors
///
/// [`Error::WrongLength`]; [`Error::NotSmallEncoded`] for what is no output of [`small_encode`]:
/// the specification defines no decoding for it.
pub fn small_decode(params: &Parameters, bytes: &[u8]) -> Result<Vec<i32>, Error> {
    small_decode_named(params, bytes, "encoded Small polynomial")
}

/// [`small_decode`] with the input's name for errors.
pub(super) fn small_decode_named(
    params: &Parameters,
    bytes: &[u8],
    what: &'static str,
) -> Result<Vec<i32>, Error> {
    check_bytes(what, bytes, params.small_bytes())?;
    let mut a = vec![];
    for (offset, &byte) in bytes.iter().enumerate() {
        let mut pairs = byte;
        for _ in 0..4.min(params.p - a.len()) {
            if pairs % 4 == 3 {
                return Err(Error::NotSmallEncoded { what, offset });
            }
            a.push(i32::from(pairs % 4) - 1);
            pairs /= 4;
        }
        if pairs != 0 {
            return Err(Error::NotSmallEncoded { what, offset });
        }
    }
    Ok(a)
}

/// Rq_encode: an element of R/q, as [`encode()`] of its balanced coefficients plus (q-1)/2.
///
/// # Panics
///
/// If `a` has not p coefficients from -(q-1)/2 to (q-1)/2.
pub fn rq_encode(params: &Parameters, a: &[i32]) -> Vec<u8> {
    encode(&lifted(params, a), &params.rq_sizes())
}

/// Rq_decode: balanced coefficients from [`Parameters::public_key_bytes`] bytes, canonical or not
/// (see [`decode`]).
///
/// # Errors
///
/// [`Error::WrongLength`].
pub fn rq_decode(params: &Parameters, bytes: &[u8]) -> Result<Vec<i32>, Error> {
    check_bytes("encoded element of R/q", bytes, params.public_key_bytes())?;
    let r = decode(bytes, &params.rq_sizes())?;
    Ok(r.iter().map(|&r| r as i32 - params.half_q()).collect())
}

/// Rounded_encode: a Rounded polynomial, as [`encode()`] of a third of its coefficients plus
/// (q-1)/2.
///
/// # Panics
///
/// If `a` has not p coefficients that are multiples of 3 from -(q-1)/2 to (q-1)/2.
pub fn rounded_encode(params: &Parameters, a: &[i32]) -> Vec<u8> {
    assert!(a.iter().all(|c| c % 3 == 0), "multiples of 3");
    let thirds: Vec<u32> = lifted(params, a).iter().map(|r| r / 3).collect();
    encode(&thirds, &params.rounded_sizes())
}

/// Rounded_decode: balanced multiples of 3 from [`Parameters::rounded_bytes`] bytes, canonical or
/// not (see [`decode`]).
///
/// # Errors
///
/// [`Error::WrongLength`].
pub fn rounded_decode(params: &Parameters, bytes: &[u8]) -> Result<Vec<i32>, Error> {
    check_bytes("encoded Rounded polynomial", bytes, params.rounded_bytes())?;
    let r = decode(bytes, &params.rounded_sizes())?;
    Ok(r.iter().map(|&r| 3 * r as i32 - params.half_q()).collect())
}

/// Balanced coefficients plus (q-1)/2: 0 to q-1.
fn lifted(params: &Parameters, a: &[i32]) -> Vec<u32> {
    let lift = |c: &i32| u32::try_from(c + params.half_q()).expect("balanced coefficients");
    a.iter().map(lift).collect()
}
