/* X25519 and Ed25519 with what only C programs ask for: the variants of Ed25519, keys derived as
 * HPKE does, encapsulation, copies of operations in progress. What the default provider of the
 * same release does is done by ours, byte for byte.
 * Usage: curves; the configuration is OPENSSL_CONF's. Prints what was compared. */
#include "common/check.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <string.h>

static const char *const OURS = "provider=fastkex", *const THEIRS = "provider=default";
enum { SIGNATURE = 64, SECRET = 32 };
static unsigned char seed[32] = { 1, 2, 3, 4 }, message[300] = "message", hash[64] = "hash";
/* Longer by one than any context. */
static unsigned char context[256] = "context";

static EVP_PKEY *key(const char *name, const char *properties)
{
    EVP_PKEY *made = EVP_PKEY_new_raw_private_key_ex(NULL, name, properties, seed, sizeof seed);
    CHECK(made != NULL);
    return made;
}

static OSSL_PARAM *parameters(const char *instance, size_t context_size)
{
    static OSSL_PARAM params[3];
    size_t count = 0;
    if (instance != NULL)
        params[count++] = OSSL_PARAM_construct_utf8_string("instance", (char *)instance, 0);
    if (context_size != 0)
        params[count++] = OSSL_PARAM_construct_octet_string("context-string", context, context_size);
    params[count] = OSSL_PARAM_construct_end();
    return params;
}

/* With EVP_DigestSign; whether it was done. */
static int sign(const char *properties, const char *instance, size_t context_size, unsigned char *out)
{
    EVP_PKEY *signer = key("ED25519", properties);
    EVP_MD_CTX *operation = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
    size_t size = SIGNATURE;
    int done = EVP_DigestSignInit_ex(operation, NULL, NULL, NULL, properties, signer,
                                     parameters(instance, context_size)) == 1
        && EVP_MD_CTX_copy_ex(copy, operation) == 1
        && EVP_DigestSign(copy, out, &size, message, sizeof message) == 1;
    CHECK(!done || size == SIGNATURE);
    EVP_MD_CTX_free(copy);
    EVP_MD_CTX_free(operation);
    EVP_PKEY_free(signer);
    ERR_clear_error();
    return done;
}

static int verify(const char *properties, const char *instance, size_t context_size,
                  const unsigned char *signature)
{
    EVP_PKEY *signer = key("ED25519", properties);
    EVP_MD_CTX *operation = EVP_MD_CTX_new();
    int done = EVP_DigestVerifyInit_ex(operation, NULL, NULL, NULL, properties, signer,
                                       parameters(instance, context_size)) == 1
        && EVP_DigestVerify(operation, signature, SIGNATURE, message, sizeof message) == 1;
    EVP_MD_CTX_free(operation);
    EVP_PKEY_free(signer);
    ERR_clear_error();
    return done;
}

/* Every variant, with every context, signed by each and verified by the other. Before 3.2 the
 * default provider has the plain one only. */
static int variants(int all)
{
    static const char *const instances[] = { NULL, "Ed25519", "ed25519CTX", "Ed25519ph", "Ed448", "x" };
    static const size_t sizes[] = { 0, 1, 7, 255, 256 };
    int compared = 0;
    for (size_t i = 0; i < (all ? sizeof instances / sizeof *instances : 1); i++)
        for (size_t j = 0; j < (all ? sizeof sizes / sizeof *sizes : 1); j++) {
            unsigned char ours[SIGNATURE], theirs[SIGNATURE];
            int done = sign(OURS, instances[i], sizes[j], ours);
            /* To be told that Ed448 is none of a key of Ed25519 takes the default provider until
             * it signs. */
            CHECK(done == sign(THEIRS, instances[i], sizes[j], theirs)
                  || (instances[i] != NULL && strcmp(instances[i], "Ed448") == 0 && !done));
            compared++;
            if (!done)
                continue;
            CHECK(memcmp(ours, theirs, SIGNATURE) == 0);
            CHECK(verify(OURS, instances[i], sizes[j], theirs));
            CHECK(verify(THEIRS, instances[i], sizes[j], ours));
            CHECK(!verify(OURS, "Ed25519ctx", 9, theirs) && !verify(OURS, "Ed25519ph", 9, theirs));
        }
    return compared;
}

/* With EVP_PKEY_sign, which takes a hash: Ed25519ph only. */
static int sign_hash(const char *properties, const char *instance, size_t size, unsigned char *out)
{
    EVP_PKEY *signer = key("ED25519", properties);
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, signer, properties);
    size_t written = SIGNATURE;
    int done = EVP_PKEY_sign_init_ex(operation, parameters(instance, 0)) == 1
        && EVP_PKEY_sign(operation, out, &written, hash, size) == 1;
    EVP_PKEY_CTX_free(operation);
    EVP_PKEY_free(signer);
    ERR_clear_error();
    return done;
}

static void hashes(void)
{
    static const char *const instances[] = { NULL, "Ed25519", "Ed25519ctx", "Ed25519ph" };
    static const size_t sizes[] = { 0, 32, 63, 64 };
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            unsigned char ours[SIGNATURE], theirs[SIGNATURE];
            int done = sign_hash(OURS, instances[i], sizes[j], ours);
            CHECK(done == sign_hash(THEIRS, instances[i], sizes[j], theirs));
            CHECK(done == (i == 3 && j == 3));
            CHECK(!done || memcmp(ours, theirs, SIGNATURE) == 0);
        }
}

#if OPENSSL_VERSION_NUMBER >= 0x30400000L
/* With an algorithm that is named, of whichever provider has it. */
static void named(const char *algorithm, const char *properties, size_t context_size, int expected)
{
    unsigned char signatures[2][SIGNATURE];
    for (int i = 0; i < 2; i++) {
        EVP_PKEY *signer = key("ED25519", i == 0 ? OURS : THEIRS);
        EVP_SIGNATURE *method = EVP_SIGNATURE_fetch(NULL, algorithm, i == 0 ? properties : THEIRS);
        EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, signer, NULL);
        size_t size = SIGNATURE;
        CHECK(method != NULL);
        int done = EVP_PKEY_sign_message_init(operation, method, parameters(NULL, context_size)) == 1
            && EVP_PKEY_sign(operation, signatures[i], &size, message, sizeof message) == 1;
        CHECK(done == expected);
        if (done) {
            CHECK(EVP_PKEY_verify_message_init(operation, method, parameters(NULL, context_size)) == 1);
            CHECK(EVP_PKEY_verify(operation, signatures[i], size, message, sizeof message) == 1);
        }
        /* The algorithm is the instance. */
        CHECK(EVP_PKEY_sign_message_init(operation, method, parameters("Ed25519", 0)) != 1);
        EVP_PKEY_CTX_free(operation);
        EVP_SIGNATURE_free(method);
        EVP_PKEY_free(signer);
        ERR_clear_error();
    }
    CHECK(!expected || memcmp(signatures[0], signatures[1], SIGNATURE) == 0);
}
#endif

static int from_material(const char *properties, const char *name, unsigned char *material, size_t size,
                         unsigned char *out)
{
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(NULL, name, properties);
    EVP_PKEY *made = NULL;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string("dhkem-ikm", material, size),
                            OSSL_PARAM_construct_end() };
    size_t written = 0;
    CHECK(EVP_PKEY_keygen_init(generation) == 1 && EVP_PKEY_CTX_set_params(generation, params) == 1);
    int done = EVP_PKEY_generate(generation, &made) == 1;
    if (done)
        CHECK(EVP_PKEY_get_octet_string_param(made, "priv", out, 32, &written) == 1 && written == 32);
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(generation);
    ERR_clear_error();
    return done;
}

/* RFC 9180, section A.1.1: the sender's ephemeral key. */
static void derived_keys(int default_derives)
{
    static unsigned char material[64] = {
        0x72, 0x68, 0x60, 0x0d, 0x40, 0x3f, 0xce, 0x43, 0x15, 0x61, 0xae, 0xf5, 0x83, 0xee, 0x16, 0x13,
        0x52, 0x7c, 0xff, 0x65, 0x5c, 0x13, 0x43, 0xf2, 0x98, 0x12, 0xe6, 0x67, 0x06, 0xdf, 0x32, 0x34 };
    static const unsigned char public[32] = {
        0x37, 0xfd, 0xa3, 0x56, 0x7b, 0xdb, 0xd6, 0x28, 0xe8, 0x86, 0x68, 0xc3, 0xc8, 0xd7, 0xe9, 0x7d,
        0x1d, 0x12, 0x53, 0xb6, 0xd4, 0xea, 0x6d, 0x44, 0xc1, 0x50, 0xf7, 0x41, 0xf1, 0xbf, 0x44, 0x31 };
    unsigned char ours[32], theirs[32], found[32];
    size_t size = 32;
    CHECK(from_material(OURS, "X25519", material, 32, ours));
    EVP_PKEY *made = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", OURS, ours, 32);
    CHECK(EVP_PKEY_get_raw_public_key(made, found, &size) == 1 && memcmp(found, public, 32) == 0);
    EVP_PKEY_free(made);
    for (size_t i = 31; default_derives && i <= 64; i++) {
        int done = from_material(OURS, "X25519", material, i, ours);
        CHECK(done == from_material(THEIRS, "X25519", material, i, theirs) && done == (i >= 32));
        CHECK(!done || memcmp(ours, theirs, 32) == 0);
    }
    CHECK(!from_material(OURS, "X25519", material, 31, ours));
    CHECK(!from_material(OURS, "ED25519", material, 32, ours));
}

static void derive(EVP_PKEY *own, EVP_PKEY *peer, unsigned char *out)
{
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
    size_t size = SECRET - 1;
    CHECK(EVP_PKEY_derive_init(operation) == 1 && EVP_PKEY_derive_set_peer(operation, peer) == 1);
    CHECK(EVP_PKEY_derive(operation, out, &size) != 1);
    EVP_PKEY_CTX *copy = EVP_PKEY_CTX_dup(operation);
    CHECK(copy != NULL);
    EVP_PKEY_CTX_free(operation);
    CHECK(EVP_PKEY_derive(copy, NULL, &size) == 1 && size == SECRET);
    CHECK(EVP_PKEY_derive(copy, out, &size) == 1 && size == SECRET);
    EVP_PKEY_CTX_free(copy);
    ERR_clear_error();
}

/* Rounds of what makes and frees everything. */
static void exchanges(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        unsigned char first[SECRET], second[SECRET];
        EVP_PKEY *ours = EVP_PKEY_Q_keygen(NULL, OURS, "X25519");
        EVP_PKEY *theirs = EVP_PKEY_Q_keygen(NULL, THEIRS, "X25519");
        CHECK(ours != NULL && theirs != NULL);
        derive(ours, theirs, first);
        derive(theirs, ours, second);
        CHECK(memcmp(first, second, SECRET) == 0);
        EVP_PKEY_free(ours);
        EVP_PKEY_free(theirs);
    }
}

#if OPENSSL_VERSION_NUMBER >= 0x30200000L
/* DHKEM is the default provider's, with keys of either. */
static void encapsulation(void)
{
    EVP_PKEY *ours = key("X25519", OURS);
    unsigned char ciphertext[32], first[64], second[64];
    size_t ciphertext_size = sizeof ciphertext, size = sizeof first, again = sizeof second;
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, ours, NULL);
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("operation", "DHKEM", 0),
                            OSSL_PARAM_construct_end() };
    CHECK(EVP_PKEY_encapsulate_init(operation, params) == 1);
    CHECK(EVP_PKEY_encapsulate(operation, ciphertext, &ciphertext_size, first, &size) == 1);
    CHECK(EVP_PKEY_decapsulate_init(operation, params) == 1);
    CHECK(EVP_PKEY_decapsulate(operation, second, &again, ciphertext, ciphertext_size) == 1);
    CHECK(size == again && memcmp(first, second, size) == 0);
    EVP_PKEY_CTX_free(operation);
    EVP_PKEY_free(ours);
}
#endif

int main(int argc, char **argv)
{
    unsigned long release = OpenSSL_version_num();
    int compared = variants(release >= 0x30200000L);
    if (release < 0x30200000L) {
        /* The requested variant, or a failure. */
        unsigned char plain[SIGNATURE], other[SIGNATURE];
        CHECK(sign(OURS, NULL, 0, plain) && sign(OURS, "Ed25519ctx", 3, other));
        CHECK(memcmp(plain, other, SIGNATURE) != 0 && !sign(OURS, "Ed25519", 3, other));
    }
    if (release >= 0x30400000L)
        hashes();
#if OPENSSL_VERSION_NUMBER >= 0x30400000L
    named("ED25519", OURS, 0, 1);
    named("ED25519", OURS, 3, 0);
    named("ED25519ph", "?provider=fastkex", 3, 1);
    named("ED25519ctx", "?provider=fastkex", 3, 1);
    named("ED25519ctx", "?provider=fastkex", 0, 0);
#endif
    derived_keys(release >= 0x30200000L);
#if OPENSSL_VERSION_NUMBER >= 0x30200000L
    encapsulation();
#endif
    exchanges(argc > 1 ? atoi(argv[1]) : 100);
    printf("%d combinations of instances and contexts\n", compared);
    return 0;
}
