/* What follows from the secrets of ML-KEM (FIPS 203), for tests that search for it. Time does not
 * matter here. Secrets are left on the stack. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    Q = 3329,
    DEGREE = 256,
    MOST_POLYS = 4,
    SEED_BYTES = 32,
    POLY_BYTES = DEGREE * 12 / 8,
    /* The padding of SHA-3 and of SHAKE, and the bytes of a block. */
    SHA3 = 6,
    SHAKE = 0x1f,
    RATE_256 = 136,
    RATE_512 = 72,
};

/* A parameter set: polynomials of a vector, eta_1, bits of a ciphertext's coefficients. */
struct mlkem {
    size_t k, eta, du, dv;
};

static void keccak(uint64_t a[25])
{
    static const unsigned char rotations[24] = { 1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                                                 27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44 };
    static const unsigned char places[24] = { 10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                                              15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1 };
    unsigned bits = 1;
    for (int round = 0; round < 24; round++) {
        uint64_t c[5], t;
        for (int x = 0; x < 5; x++)
            c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int i = 0; i < 25; i++)
            a[i] ^= c[(i + 4) % 5] ^ (c[(i + 1) % 5] << 1 | c[(i + 1) % 5] >> 63);
        t = a[1];
        for (int i = 0; i < 24; i++) {
            uint64_t moved = t << rotations[i] | t >> (64 - rotations[i]);
            t = a[places[i]];
            a[places[i]] = moved;
        }
        for (int y = 0; y < 25; y += 5) {
            memcpy(c, a + y, sizeof c);
            for (int x = 0; x < 5; x++)
                a[y + x] = c[x] ^ (~c[(x + 1) % 5] & c[(x + 2) % 5]);
        }
        /* The round's constant, from a shift register. */
        for (int j = 0; j < 7; j++) {
            a[0] ^= (uint64_t)(bits & 1) << ((1 << j) - 1);
            bits = bits << 1 ^ (bits >> 7) * 0x171;
        }
    }
}

/* A hash of two strings, one after the other, of no more than a block of output. */
static void sponge(unsigned char *out, size_t out_size, size_t rate, unsigned char padding,
                   const unsigned char *first, size_t first_size, const unsigned char *second,
                   size_t second_size)
{
    uint64_t state[25] = { 0 };
    size_t at = 0;
    for (size_t i = 0; i < first_size + second_size; i++) {
        uint64_t byte = i < first_size ? first[i] : second[i - first_size];
        state[at / 8] ^= byte << 8 * (at % 8);
        if (++at == rate)
            keccak(state), at = 0;
    }
    state[at / 8] ^= (uint64_t)padding << 8 * (at % 8);
    state[rate / 8 - 1] ^= (uint64_t)1 << 63;
    keccak(state);
    for (size_t i = 0; i < out_size; i++) {
        if (i > 0 && i % rate == 0)
            keccak(state);
        out[i] = state[i % rate / 8] >> 8 * (i % 8);
    }
}

/* The bytes of a noise polynomial. */
static void noise(unsigned char *bytes, size_t eta, const unsigned char seed[SEED_BYTES],
                  unsigned char number)
{
    sponge(bytes, 64 * eta, RATE_256, SHAKE, seed, SEED_BYTES, &number, 1);
}

static unsigned field(const unsigned char *bytes, size_t bits, size_t i)
{
    unsigned value = 0;
    for (size_t j = 0; j < bits; j++)
        value |= (bytes[(i * bits + j) / 8] >> (i * bits + j) % 8 & 1) << j;
    return value;
}

static void sample(uint16_t poly[DEGREE], const unsigned char *bytes, size_t eta)
{
    for (size_t i = 0; i < DEGREE; i++) {
        unsigned bits = field(bytes, 2 * eta, i);
        poly[i] = (Q + __builtin_popcount(bits & ((1 << eta) - 1)) - __builtin_popcount(bits >> eta)) % Q;
    }
}

static void unpack(uint16_t poly[DEGREE], const unsigned char *bytes)
{
    for (size_t i = 0; i < DEGREE; i++)
        poly[i] = field(bytes, 12, i);
}

static void pack(unsigned char bytes[POLY_BYTES], const uint16_t poly[DEGREE])
{
    for (size_t i = 0; i < DEGREE; i += 2) {
        *bytes++ = poly[i];
        *bytes++ = poly[i] >> 8 | poly[i + 1] << 4;
        *bytes++ = poly[i + 1] >> 4;
    }
}

static void decompress(uint16_t poly[DEGREE], const unsigned char *bytes, size_t bits)
{
    for (size_t i = 0; i < DEGREE; i++)
        poly[i] = (field(bytes, bits, i) * Q + (1 << (bits - 1))) >> bits;
}

/* 17 to the power of the reversed bits of a number, times 17 if it is for a pair's modulus. */
static unsigned root(unsigned i, int of_pair)
{
    unsigned reversed = 0, result = 1;
    for (int bit = 0; bit < 7; bit++)
        reversed |= (i >> bit & 1) << (6 - bit);
    for (unsigned j = 0; j < (of_pair ? 2 * reversed + 1 : reversed); j++)
        result = result * 17 % Q;
    return result;
}

static void transform(uint16_t poly[DEGREE])
{
    unsigned i = 1;
    for (size_t size = DEGREE / 2; size >= 2; size /= 2)
        for (size_t start = 0; start < DEGREE; start += 2 * size) {
            unsigned zeta = root(i++, 0);
            for (size_t j = start; j < start + size; j++) {
                unsigned t = zeta * poly[j + size] % Q;
                poly[j + size] = (poly[j] + Q - t) % Q;
                poly[j] = (poly[j] + t) % Q;
            }
        }
}

static void transform_back(uint16_t poly[DEGREE])
{
    unsigned i = DEGREE / 2 - 1;
    for (size_t size = 2; size <= DEGREE / 2; size *= 2)
        for (size_t start = 0; start < DEGREE; start += 2 * size) {
            unsigned zeta = root(i--, 0);
            for (size_t j = start; j < start + size; j++) {
                unsigned t = poly[j];
                poly[j] = (t + poly[j + size]) % Q;
                poly[j + size] = zeta * (poly[j + size] + Q - t) % Q;
            }
        }
    /* 1/128. */
    for (size_t j = 0; j < DEGREE; j++)
        poly[j] = poly[j] * 3303 % Q;
}

/* Adds the product of two transformed polynomials. */
static void add_product(uint16_t sum[DEGREE], const uint16_t a[DEGREE], const uint16_t b[DEGREE])
{
    for (size_t i = 0; i < DEGREE; i += 2) {
        unsigned high = a[i + 1] * b[i + 1] % Q * root(i / 2, 1) % Q;
        sum[i] = (sum[i] + a[i] * b[i] + high) % Q;
        sum[i + 1] = (sum[i + 1] + a[i] * b[i + 1] % Q + a[i + 1] * b[i]) % Q;
    }
}

/* The message in a ciphertext, by the packed s of its key (FIPS 203, algorithm 15). */
static void decrypt(const struct mlkem *set, unsigned char message[SEED_BYTES], const unsigned char *s,
                    const unsigned char *ciphertext)
{
    uint16_t sum[DEGREE] = { 0 }, a[DEGREE], b[DEGREE];
    for (size_t i = 0; i < set->k; i++) {
        unpack(a, s + i * POLY_BYTES);
        decompress(b, ciphertext + i * DEGREE / 8 * set->du, set->du);
        transform(b);
        add_product(sum, a, b);
    }
    transform_back(sum);
    decompress(a, ciphertext + set->k * DEGREE / 8 * set->du, set->dv);
    memset(message, 0, SEED_BYTES);
    for (size_t i = 0; i < DEGREE; i++) {
        unsigned difference = (a[i] + Q - sum[i]) % Q;
        message[i / 8] |= (difference > Q / 4 && difference < Q - Q / 4) << i % 8;
    }
}
