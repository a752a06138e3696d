//! ML-KEM's ring: its transform against schoolbook products, encodings, compression and sampling.

use reference::ml_kem::{
    self, N, Parameters, Polynomial, Q, add, bit_reverse, bits_to_bytes, byte_decode, byte_encode,
    bytes_to_bits, compress, decompress, inverse_ntt, multiply_ntts, ntt, prf, sample_ntt,
    sample_poly_cbd, subtract, xof,
};
use shake::digest::XofReader;

/// Polynomials with the coefficients of a stream, and the extreme ones.
fn polynomials(count: u8) -> Vec<Polynomial> {
    let random = (0..count).map(|i| {
        let mut stream = xof(&[b"polynomials", &[i][..]].concat());
        std::array::from_fn(|_| {
            let mut bytes = [0; 4];
            stream.read(&mut bytes);
            (u32::from_le_bytes(bytes) % u32::from(Q)) as u16
        })
    });
    [[0; N], [1; N], [Q - 1; N]].into_iter().chain(random).collect()
}

/// X to a power.
fn power(exponent: usize) -> Polynomial {
    std::array::from_fn(|i| u16::from(i == exponent))
}

/// zeta to a power, by repeated multiplication.
fn zeta(exponent: usize) -> u16 {
    (0..exponent).fold(1, |power, _| (power * u32::from(ml_kem::ZETA)) % u32::from(Q)) as u16
}

/// The product modulo X^256 + 1, from its definition.
fn schoolbook(f: &Polynomial, g: &Polynomial) -> Polynomial {
    let mut h = [0_i64; N];
    for i in 0..N {
        for j in 0..N {
            let sign = if i + j < N { 1 } else { -1 };
            h[(i + j) % N] += sign * i64::from(f[i]) * i64::from(g[j]);
        }
    }
    h.map(|c| c.rem_euclid(i64::from(Q)) as u16)
}

#[test]
fn zeta_is_a_primitive_256th_root() {
    assert_eq!((zeta(128), zeta(256)), (Q - 1, 1));
    let reversed: Vec<usize> = (0..128).map(bit_reverse).collect();
    assert_eq!(reversed[..8], [0, 64, 32, 96, 16, 80, 48, 112]);
    assert!((0..128).all(|i| bit_reverse(reversed[i]) == i));
}

/// The transform of X^e has, modulo X^2 - gamma, the entry gamma^(e/2), times X if e is odd.
#[test]
fn transform_of_the_basis() {
    for exponent in 0..N {
        let transform = ntt(&power(exponent));
        for i in 0..128 {
            let value = zeta((2 * bit_reverse(i) + 1) * (exponent / 2) % 256);
            let expected = if exponent % 2 == 0 { [value, 0] } else { [0, value] };
            assert_eq!(transform[2 * i..2 * i + 2], expected, "X^{exponent}, entry {i}");
        }
        assert_eq!(inverse_ntt(&transform), power(exponent));
    }
}

#[test]
fn transform_is_linear_and_has_an_inverse() {
    let polynomials = polynomials(20);
    for f in &polynomials {
        assert_eq!(inverse_ntt(&ntt(f)), *f);
        assert_eq!(ntt(&inverse_ntt(f)), *f);
        for g in &polynomials {
            assert_eq!(ntt(&add(f, g)), add(&ntt(f), &ntt(g)));
            assert_eq!(ntt(&subtract(f, g)), subtract(&ntt(f), &ntt(g)));
            assert_eq!(subtract(&add(f, g), g), *f);
        }
    }
}

#[test]
fn products() {
    let polynomials = polynomials(20);
    for f in &polynomials {
        for g in &polynomials {
            let product = inverse_ntt(&multiply_ntts(&ntt(f), &ntt(g)));
            assert_eq!(product, schoolbook(f, g));
        }
    }
    // X^255 X = -1.
    let product = multiply_ntts(&ntt(&power(255)), &ntt(&power(1)));
    assert_eq!(inverse_ntt(&product), subtract(&[0; N], &power(0)));
}

#[test]
fn bits_by_hand() {
    assert_eq!(bytes_to_bits(&[0b0000_0110, 0x80])[..8], [0, 1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(bytes_to_bits(&[0b0000_0110, 0x80])[8..], [0, 0, 0, 0, 0, 0, 0, 1]);
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(bits_to_bytes(&bytes_to_bits(&bytes)), bytes);
    // Two coefficients of 12 bits in three bytes: low bits first.
    let f = std::array::from_fn(|i| if i == 0 { 0x123 } else { 0xabc });
    assert_eq!(byte_encode(12, &f)[..6], [0x23, 0xc1, 0xab, 0xbc, 0xca, 0xab]);
}

#[test]
fn encodings_round_trip() {
    for d in 1..=12 {
        let modulus = if d < 12 { 1 << d } else { Q };
        let polynomials = polynomials(20);
        let cases = polynomials.iter().map(|f| f.map(|c| c % modulus));
        for f in cases.chain([[modulus - 1; N]]) {
            let bytes = byte_encode(d, &f);
            assert_eq!(bytes.len(), 32 * d as usize);
            assert_eq!(byte_decode(d, &bytes), f);
        }
        // All bits 1: 2^d - 1, reduced if d is 12.
        assert_eq!(byte_decode(d, &vec![0xff; 32 * d as usize]), [((1 << d) - 1) % modulus; N]);
    }
}

/// The distance modulo q.
fn distance(a: u16, b: u16) -> u16 {
    let difference = a.abs_diff(b);
    difference.min(Q - difference)
}

/// Compression against exact rational rounding: y = round(2^d x / q) means that
/// -q <= 2 (2^d x - q y) < q, and likewise for decompression.
#[test]
fn all_compressed_values() {
    let q = i64::from(Q);
    for d in 1..12 {
        let power = 1_i64 << d;
        for x in 0..Q {
            let y = compress(d, x);
            assert!(i64::from(y) < power);
            let rest = |y: i64| 2 * (power * i64::from(x) - q * y);
            // The rounded value may be 2^d, which is 0 modulo 2^d.
            let candidates = [i64::from(y), i64::from(y) + power];
            assert!(candidates.iter().any(|&y| (-q..q).contains(&rest(y))), "{d} {x}: {y}");
            let most = (q + power) / (2 * power);
            assert!(i64::from(distance(decompress(d, y), x)) <= most, "{d} {x}: {y}");
        }
        for y in 0..1 << d {
            let x = decompress(d, y);
            assert!(x < Q);
            let rest = 2 * (q * i64::from(y) - power * i64::from(x));
            assert!((-power..power).contains(&rest), "{d} {y}: {x}");
            assert_eq!(compress(d, x), y, "{d}");
        }
    }
    let ends =
        [(1, 832, 0), (1, 833, 1), (1, 2496, 1), (1, 2497, 0), (10, 3328, 0), (11, 3328, 2047)];
    for (d, x, y) in ends {
        assert_eq!(compress(d, x), y, "{d} {x}");
    }
    assert_eq!((decompress(1, 0), decompress(1, 1), decompress(4, 8)), (0, 1665, 1665));
}

/// SampleNTT against a rejection written as a filter of all candidates.
#[test]
fn uniform_samples() {
    let mut blocks_met = [0; 6];
    for i in 0..1000_u16 {
        let mut seed = [7; 34];
        seed[..2].copy_from_slice(&i.to_le_bytes());
        let mut bytes = [0; 5 * 168];
        xof(&seed).read(&mut bytes);
        let candidates: Vec<u16> = bytes
            .chunks(3)
            .flat_map(|c| {
                let word = u32::from_le_bytes([c[0], c[1], c[2], 0]);
                [(word % 4096) as u16, (word / 4096) as u16]
            })
            .collect();
        let (accepted, values): (Vec<_>, Vec<_>) =
            candidates.into_iter().enumerate().filter(|(_, value)| *value < Q).take(N).unzip();
        let blocks = (accepted[N - 1] / 2 * 3 + 3_usize).div_ceil(168);
        assert_eq!(sample_ntt(&seed), (values.try_into().unwrap(), blocks));
        blocks_met[blocks] += 1;
    }
    assert!(blocks_met[3] > 900 && blocks_met[4] > 0, "{blocks_met:?}");
}

#[test]
fn binomial_samples() {
    for eta in [2, 3] {
        assert_eq!(sample_poly_cbd(eta, &vec![0; 64 * eta]), [0; N]);
        assert_eq!(sample_poly_cbd(eta, &vec![0xff; 64 * eta]), [0; N]);
        let bytes = prf(eta, &[9; 32], 1);
        assert_eq!(bytes.len(), 64 * eta);
        let f = sample_poly_cbd(eta, &bytes);
        let eta = eta as u16;
        assert!(f.iter().all(|&c| c <= eta || c >= Q - eta));
        assert!(f.contains(&eta) && f.contains(&(Q - eta)));
    }
    // Bits 1, 1, 0, 0: 2; bits 0, 0, 1, 0: -1.
    let mut bytes = [0; 128];
    bytes[0] = 0b0100_0011;
    assert_eq!(sample_poly_cbd(2, &bytes)[..3], [2, Q - 1, 0]);
    // Bits 1, 1, 1, 0, 0, 0: 3; bits 0, 0, 0, 1, 1, 0: -2.
    let mut bytes = [0; 192];
    (bytes[0], bytes[1]) = (0b0000_0111, 0b0000_0110);
    assert_eq!(sample_poly_cbd(3, &bytes)[..3], [3, Q - 2, 0]);
}

#[test]
fn the_matrix_takes_the_column_first() {
    let rho = [5; 32];
    for params in Parameters::ALL {
        let matrix = ml_kem::matrix(&params, &rho);
        assert_eq!(matrix.len(), params.k);
        for (i, row) in matrix.iter().enumerate() {
            assert_eq!(row.len(), params.k);
            for (j, entry) in row.iter().enumerate() {
                let seed = [&rho[..], &[j as u8, i as u8]].concat();
                assert_eq!(*entry, sample_ntt(&seed.try_into().unwrap()).0);
            }
        }
    }
}
