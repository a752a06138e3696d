//! AES-256 (FIPS 197) in counter mode, sixteen vectors of four blocks at a time.

use core::arch::x86_64::*;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a chunk: as many blocks as registers hold.
pub const CHUNK_BYTES: usize = 64 * BLOCK_BYTES;

const BLOCK_BYTES: usize = 16;
const CHUNK_BLOCKS: u64 = (CHUNK_BYTES / BLOCK_BYTES) as u64;
const ROUND_KEYS: usize = 15;
const VECTORS: usize = 16;

/// The token of a processor that has AES instructions on whole AVX-512 vectors.
#[derive(Clone, Copy, Debug)]
pub struct WideAes(());

/// A key, expanded.
pub type RoundKeys = [[u64; 2]; ROUND_KEYS];

impl WideAes {
    /// The token, if this processor has what it stands for.
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("vaes"))
        .then_some(WideAes(()))
    }

    /// Expands a key to `keys`.
    pub fn expand(self, key: &[u8; KEY_BYTES], keys: &mut RoundKeys) {
        // SAFETY: the token is proof that the processor has the instructions.
        unsafe { expand(key, keys) }
    }

    /// Fills `chunks` with the encrypted numbers `first`, `first + 1`, ... as little-endian blocks.
    pub fn fill(self, keys: &RoundKeys, first: u64, chunks: &mut [[u8; CHUNK_BYTES]]) {
        // SAFETY: the token is proof that the processor has the instructions.
        unsafe { fill(keys, first, chunks) }
    }
}

/// Two round keys follow from the two before (FIPS 197, section 5.2).
#[target_feature(enable = "aes,sse2")]
fn expand(key: &[u8; KEY_BYTES], keys: &mut RoundKeys) {
    /// The words of `key`, each added to all that follow it, and `word` to all of them.
    #[target_feature(enable = "sse2")]
    fn accumulate(key: __m128i, word: __m128i) -> __m128i {
        let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
        let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
        _mm_xor_si128(key, word)
    }

    // SAFETY: sixteen bytes are there each time.
    let (mut even, mut odd) = unsafe {
        (_mm_loadu_si128(key.as_ptr().cast()), _mm_loadu_si128(key[BLOCK_BYTES..].as_ptr().cast()))
    };
    let mut constant = 1;
    for (i, key) in keys.iter_mut().enumerate() {
        let round_key = if i % 2 == 0 { even } else { odd };
        // SAFETY: sixteen bytes are there.
        unsafe { _mm_storeu_si128(key.as_mut_ptr().cast(), round_key) };
        if i % 2 == 0 {
            // The last word of the other key: rotated, substituted, and the round's constant added.
            let word = _mm_aeskeygenassist_si128::<0>(odd);
            let word = _mm_xor_si128(word, _mm_set_epi32(constant, 0, 0, 0));
            even = accumulate(even, _mm_shuffle_epi32::<0xff>(word));
            constant <<= 1;
        } else {
            let word = _mm_aeskeygenassist_si128::<0>(even);
            odd = accumulate(odd, _mm_shuffle_epi32::<0xaa>(word));
        }
    }
}

#[target_feature(enable = "avx512f,vaes")]
fn fill(keys: &RoundKeys, first: u64, chunks: &mut [[u8; CHUNK_BYTES]]) {
    let mut round_keys = [_mm512_setzero_si512(); ROUND_KEYS];
    for (wide, key) in round_keys.iter_mut().zip(keys) {
        // SAFETY: sixteen bytes are there.
        *wide = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_ptr().cast()) });
    }
    let mut first = first;
    for chunk in chunks {
        let mut blocks = [_mm512_setzero_si512(); VECTORS];
        let start = _mm512_set_epi64(
            0,
            first.wrapping_add(3) as i64,
            0,
            first.wrapping_add(2) as i64,
            0,
            first.wrapping_add(1) as i64,
            0,
            first as i64,
        );
        for i in 0..VECTORS {
            let step = 4 * i as i64;
            let numbers =
                _mm512_add_epi64(start, _mm512_set_epi64(0, step, 0, step, 0, step, 0, step));
            blocks[i] = _mm512_xor_si512(numbers, round_keys[0]);
        }
        for key in &round_keys[1..ROUND_KEYS - 1] {
            for block in &mut blocks {
                *block = _mm512_aesenc_epi128(*block, *key);
            }
        }
        for (i, block) in blocks.iter().enumerate() {
            let block = _mm512_aesenclast_epi128(*block, round_keys[ROUND_KEYS - 1]);
            let to = &mut chunk[64 * i..64 * (i + 1)];
            // SAFETY: sixty-four bytes are there; alignment is not needed.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), block) };
        }
        first = first.wrapping_add(CHUNK_BLOCKS);
    }
}
