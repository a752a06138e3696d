/* Uses every function of sntrup.h: keys one by one and in batches, exchanges, rejection, and bad keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sntrup.h"

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
                CHECK(memcmp(sk + i * SK + SK - 32 - (PK + (SK - PK - 32) / 3), pk + i * PK, PK) == 0);          \
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
        sk[0] = 0xff;                                                                                            \
        CHECK(crypto_kem_##set##_dec(theirs, ct, sk) == -1);                                                     \
        memset(pk, 0xff, PK);                                                                                    \
        CHECK(crypto_kem_##set##_enc(ct, ours, pk) == -1);                                                       \
        CHECK(crypto_kem_##set##_keypair(NULL, sk) == -1);                                                       \
        free(pk);                                                                                                \
        free(sk);                                                                                                \
        free(ct);                                                                                                \
    }

TEST(sntrup653)
TEST(sntrup761)
TEST(sntrup857)
TEST(sntrup953)
TEST(sntrup1013)
TEST(sntrup1277)

int main(void)
{
    test_sntrup653();
    test_sntrup761();
    test_sntrup857();
    test_sntrup953();
    test_sntrup1013();
    test_sntrup1277();
    return 0;
}
