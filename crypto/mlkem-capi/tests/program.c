/* Uses every function of mlkem.h, and prints what given random bytes make. */
#include "mlkem.h"

#define PUBLIC_KEY_AT(PK, SK) (SK - 64 - PK)
/* The hash of the public key. */
#define SPOIL_SECRET_KEY(sk, PK, SK) ((sk)[SK - 64] ^= 1)

#include "kem_api.h"

static void print(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

/* Prints the keys, the ciphertext and the shared secret, each on a line. */
#define TEST_DERAND(set)                                                                                         \
    static void test_derand_##set(void)                                                                          \
    {                                                                                                            \
        enum {                                                                                                   \
            PK = crypto_kem_##set##_PUBLICKEYBYTES,                                                              \
            SK = crypto_kem_##set##_SECRETKEYBYTES,                                                              \
            CT = crypto_kem_##set##_CIPHERTEXTBYTES,                                                             \
            SS = crypto_kem_##set##_BYTES,                                                                       \
            COINS = crypto_kem_##set##_KEYPAIRCOINBYTES + crypto_kem_##set##_ENCCOINBYTES                        \
        };                                                                                                       \
        unsigned char *pk = malloc(PK), *sk = malloc(SK), *ct = malloc(CT), ours[SS], theirs[SS], coins[COINS];  \
        unsigned char *of_enc = coins + crypto_kem_##set##_KEYPAIRCOINBYTES;                                     \
        CHECK(pk && sk && ct);                                                                                   \
        for (size_t i = 0; i < COINS; i++)                                                                       \
            coins[i] = (unsigned char)(7 * i + PK);                                                              \
        CHECK(crypto_kem_##set##_keypair_derand(pk, sk, coins) == 0);                                            \
        CHECK(crypto_kem_##set##_enc_derand(ct, ours, pk, of_enc) == 0);                                         \
        CHECK(crypto_kem_##set##_dec(theirs, ct, sk) == 0);                                                      \
        CHECK(memcmp(ours, theirs, SS) == 0);                                                                    \
        print(pk, PK);                                                                                           \
        print(sk, SK);                                                                                           \
        print(ct, CT);                                                                                           \
        print(ours, SS);                                                                                         \
        CHECK(crypto_kem_##set##_check_pk(pk) == 0);                                                             \
        CHECK(crypto_kem_##set##_check_sk(sk) == 0);                                                             \
        CHECK(crypto_kem_##set##_check_pk(NULL) == -1);                                                          \
        CHECK(crypto_kem_##set##_check_sk(NULL) == -1);                                                          \
        CHECK(crypto_kem_##set##_keypair_derand(NULL, sk, coins) == -1);                                         \
        CHECK(crypto_kem_##set##_keypair_derand(pk, NULL, coins) == -1);                                         \
        CHECK(crypto_kem_##set##_keypair_derand(pk, sk, NULL) == -1);                                            \
        CHECK(crypto_kem_##set##_enc_derand(NULL, ours, pk, of_enc) == -1);                                      \
        CHECK(crypto_kem_##set##_enc_derand(ct, NULL, pk, of_enc) == -1);                                        \
        CHECK(crypto_kem_##set##_enc_derand(ct, ours, NULL, of_enc) == -1);                                      \
        CHECK(crypto_kem_##set##_enc_derand(ct, ours, pk, NULL) == -1);                                          \
        SPOIL_SECRET_KEY(sk, PK, SK);                                                                            \
        CHECK(crypto_kem_##set##_check_sk(sk) == -1);                                                            \
        SPOIL_SECRET_KEY(sk, PK, SK);                                                                            \
        /* A coefficient of q or more, in both keys. */                                                          \
        memset(sk + PUBLIC_KEY_AT(PK, SK), 0xff, 2);                                                             \
        CHECK(crypto_kem_##set##_check_sk(sk) == -1);                                                            \
        CHECK(crypto_kem_##set##_dec(theirs, ct, sk) == -1);                                                     \
        memset(pk, 0xff, 2);                                                                                     \
        CHECK(crypto_kem_##set##_check_pk(pk) == -1);                                                            \
        CHECK(crypto_kem_##set##_enc_derand(ct, ours, pk, of_enc) == -1);                                        \
        CHECK(memcmp(ours, theirs, SS) == 0);                                                                    \
        free(pk);                                                                                                \
        free(sk);                                                                                                \
        free(ct);                                                                                                \
    }

TEST(mlkem512)
TEST(mlkem768)
TEST(mlkem1024)
TEST_DERAND(mlkem512)
TEST_DERAND(mlkem768)
TEST_DERAND(mlkem1024)

int main(void)
{
    test_mlkem512();
    test_mlkem768();
    test_mlkem1024();
    test_derand_mlkem512();
    test_derand_mlkem768();
    test_derand_mlkem1024();
    return 0;
}
