/* Loads the module and takes a key from it.
 * Usage: environment MODULE. Prints whether the program has more rights than its caller. */
#include "common/check.h"

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <sys/auxv.h>

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    printf(getauxval(AT_SECURE) ? "more rights\n" : "the caller's rights\n");
    fflush(stdout);
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    CHECK(context != NULL);
    OSSL_PROVIDER *module = OSSL_PROVIDER_load(context, argv[1]);
    CHECK(module != NULL);
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(context, "sntrup761", "provider=fastkex");
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    CHECK(EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    EVP_PKEY_free(key);
    CHECK(OSSL_PROVIDER_unload(module) == 1);
    OSSL_LIB_CTX_free(context);
    return 0;
}
