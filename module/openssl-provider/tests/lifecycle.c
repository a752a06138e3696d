/* Loads and unloads the module over and over in two library contexts at once, using it now and
 * then.
 * Usage: lifecycle CONFIGURATION ROUNDS */
#include "common/check.h"

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <string.h>

static void use(OSSL_LIB_CTX *context, const char *group)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(context, group, NULL);
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    CHECK(EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(context, key, NULL);
    CHECK(operation != NULL && EVP_PKEY_encapsulate_init(operation, NULL) == 1);
    size_t ciphertext_size = 0, secret_size = 0;
    CHECK(EVP_PKEY_encapsulate(operation, NULL, &ciphertext_size, NULL, &secret_size) == 1);
    unsigned char *ciphertext = malloc(ciphertext_size), *ours = malloc(secret_size), *theirs = malloc(secret_size);
    CHECK(EVP_PKEY_encapsulate(operation, ciphertext, &ciphertext_size, ours, &secret_size) == 1);
    CHECK(EVP_PKEY_decapsulate_init(operation, NULL) == 1);
    CHECK(EVP_PKEY_decapsulate(operation, theirs, &secret_size, ciphertext, ciphertext_size) == 1);
    CHECK(memcmp(ours, theirs, secret_size) == 0);
    /* A refused ciphertext and a refused configuration leave their reasons in the queue. */
    CHECK(EVP_PKEY_decapsulate(operation, theirs, &secret_size, ciphertext, 1) <= 0);
    CHECK(ERR_peek_error() != 0);
    ERR_clear_error();
    free(ciphertext);
    free(ours);
    free(theirs);
    EVP_PKEY_CTX_free(operation);
    EVP_PKEY_free(key);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    const char *configuration = argv[1];
    const char *groups[] = { "sntrup653", "X25519SNTRUP761", "sntrup1277" };
    for (long round = 0; round < atol(argv[2]); round++) {
        OSSL_LIB_CTX *contexts[2] = { OSSL_LIB_CTX_new(), OSSL_LIB_CTX_new() };
        OSSL_PROVIDER *ours[2], *theirs[2];
        for (int i = 0; i < 2; i++) {
            CHECK(contexts[i] != NULL);
            CHECK((theirs[i] = OSSL_PROVIDER_load(contexts[i], "default")) != NULL);
            CHECK(OSSL_LIB_CTX_load_config(contexts[i], configuration) == 1);
            CHECK((ours[i] = OSSL_PROVIDER_load(contexts[i], "fastkex")) != NULL);
        }
        if (round % 100 == 0) {
            use(contexts[round / 100 % 2], groups[round / 100 % 3]);
        }
        /* In turn: first in, first out and last in, first out. */
        for (int i = 0; i < 2; i++) {
            int which = round % 2 ? i : 1 - i;
            CHECK(OSSL_PROVIDER_unload(ours[which]) == 1);
            CHECK(OSSL_PROVIDER_unload(theirs[which]) == 1);
            OSSL_LIB_CTX_free(contexts[which]);
        }
    }
    return 0;
}
