/* A test of the functions that all C libraries have: keys one by one and in batches, exchanges,
 * rejection, and bad keys. A program defines PUBLIC_KEY_AT(PK, SK), the place of the public key in
 * a secret key, and SPOIL_SECRET_KEY(sk, PK, SK), which makes a secret key wrong in a way that dec
 * finds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define TEST(set)                                                                                                \
    static void test_##set(void)                                                                                 \
    {                                                                                                            \
        enum {                                                                                                   \
            PK = crypto_kem_##set##_PUBLICKEYBYTES,                                                              \
            SK = crypto_kem_##set##_SECRETKEYBYTES,                                                              \
            CT = crypto_kem_##set##_CIPHERTEXTBYTES,                                                             \
            SS = crypto_kem_##set##_BYTES,                                                                       \
            N = 5                                                                                                \
        };                                                                                                       \
        unsigned char *pk = malloc(N * PK), *sk = malloc(N * SK), *ct = malloc(CT + 1);                          \
        unsigned char ours[SS], theirs[SS], rejected[SS];                                                        \
        CHECK(pk && sk && ct);                                                                                   \
        for (size_t n = 1; n <= N; n += N - 1) {                                                                 \
            CHECK(n == 1 ? crypto_kem_##set##_keypair(pk, sk) == 0                                               \
                         : crypto_kem_##set##_keypair_batch(pk, sk, n) == 0);                                    \
            for (size_t i = 0; i < n; i++) {                                                                     \
                CHECK(memcmp(sk + i * SK + PUBLIC_KEY_AT(PK, SK), pk + i * PK, PK) == 0);                        \
                CHECK(i == 0 || memcmp(pk, pk + i * PK, PK) != 0);                                               \
                ct[CT] = 0x5a;                                                                                   \
                CHECK(crypto_kem_##set##_enc(ct, ours, pk + i * PK) == 0);                                       \
                CHECK(ct[CT] == 0x5a);                                                                           \
                CHECK(crypto_kem_##set##_dec(theirs, ct, sk + i * SK) == 0);                                     \
                CHECK(memcmp(ours, theirs, SS) == 0);                                                            \
                ct[i] ^= 1;                                                                                      \
                CHECK(crypto_kem_##set##_dec(rejected, ct, sk + i * SK) == 0);                                   \
                CHECK(memcmp(ours, rejected, SS) != 0);                                                          \
            }                                                                                                    \
        }                                                                                                        \
        CHECK(crypto_kem_##set##_keypair_batch(pk, sk, 0) == 0);                                                 \
        CHECK(crypto_kem_##set##_keypair(NULL, sk) == -1);                                                       \
        CHECK(crypto_kem_##set##_keypair(pk, NULL) == -1);                                                       \
        CHECK(crypto_kem_##set##_keypair_batch(NULL, sk, N) == -1);                                              \
        CHECK(crypto_kem_##set##_enc(NULL, ours, pk) == -1);                                                     \
        CHECK(crypto_kem_##set##_enc(ct, NULL, pk) == -1);                                                       \
        CHECK(crypto_kem_##set##_enc(ct, ours, NULL) == -1);                                                     \
        CHECK(crypto_kem_##set##_dec(NULL, ct, sk) == -1);                                                       \
        CHECK(crypto_kem_##set##_dec(theirs, NULL, sk) == -1);                                                   \
        CHECK(crypto_kem_##set##_dec(theirs, ct, NULL) == -1);                                                   \
        /* Nothing is written. */                                                                                \
        memset(ours, 0x5a, SS);                                                                                  \
        memcpy(theirs, ours, SS);                                                                                \
        SPOIL_SECRET_KEY(sk, PK, SK);                                                                            \
        CHECK(crypto_kem_##set##_dec(theirs, ct, sk) == -1);                                                     \
        memset(pk, 0xff, PK);                                                                                    \
        CHECK(crypto_kem_##set##_enc(ct, theirs, pk) == -1);                                                     \
        CHECK(memcmp(ours, theirs, SS) == 0);                                                                    \
        free(pk);                                                                                                \
        free(sk);                                                                                                \
        free(ct);                                                                                                \
    }
