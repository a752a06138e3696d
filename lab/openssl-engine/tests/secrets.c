/*
 * Whether what the implementation of sntrup761 in libcrypto does depends on secrets: under valgrind, for which all that is random is
 * undefined. Without arguments.
 */
#include "common/program.h"
#include <openssl/rand.h>
#include <valgrind/memcheck.h>

enum { WORDS = 4 * 761, CIPHERTEXT = 1039, SECRET = 32, KEYS = 4 };

static unsigned polynomials;

static int undefined(unsigned char *out, int size)
{
    static unsigned state = 1;

    for (int i = 0; i < size; i++) {
        state = 1664525 * state + 1013904223;
        out[i] = state >> 24;
    }
    VALGRIND_MAKE_MEM_UNDEFINED(out, size);
    polynomials += size == WORDS;
    return 1;
}

int main(void)
{
    static RAND_METHOD method = { .bytes = undefined };
    unsigned char ciphertext[CIPHERTEXT], secrets[2][SECRET];
    int bad = 0;

    CHECK(RUNNING_ON_VALGRIND);
    RAND_set_rand_method(&method);
    for (int i = 0; i < KEYS; i++) {
        unsigned before = VALGRIND_COUNT_ERRORS, drawn = polynomials;
        size_t size = CIPHERTEXT;
        EVP_PKEY *key = generate(NID_sntrup761);
        EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);

        /* Whether a g is thrown away is no secret: a branch for each that was drawn. The last polynomial is f. */
        bad |= VALGRIND_COUNT_ERRORS - before != polynomials - drawn - 1;
        before = VALGRIND_COUNT_ERRORS;
        for (int tampered = 0; tampered < 2; tampered++) {
            CHECK(EVP_PKEY_encrypt_init(context) == 1 && EVP_PKEY_encrypt(context, ciphertext, &size, NULL, 0) == 1);
            size = SECRET;
            CHECK(EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive(context, secrets[0], &size) == 1);
            ciphertext[0] ^= tampered;
            CHECK(EVP_PKEY_decrypt_init(context) == 1);
            CHECK(EVP_PKEY_decrypt(context, NULL, &size, ciphertext, CIPHERTEXT) == 1);
            CHECK(EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive(context, secrets[1], &size) == 1);
            bad |= VALGRIND_COUNT_ERRORS != before;
            VALGRIND_MAKE_MEM_DEFINED(secrets, sizeof(secrets));
            CHECK((memcmp(secrets[0], secrets[1], SECRET) != 0) == tampered);
            size = CIPHERTEXT;
        }
        EVP_PKEY_CTX_free(context);
        EVP_PKEY_free(key);
    }
    /* What does depend on one is seen. */
    VALGRIND_MAKE_MEM_UNDEFINED(secrets, sizeof(secrets));
    polynomials = VALGRIND_COUNT_ERRORS;
    if (secrets[0][0] == 7)
        ERR_clear_error();
    bad |= VALGRIND_COUNT_ERRORS != polynomials + 1;
    puts(bad ? "depends" : "done");
    return bad;
}
