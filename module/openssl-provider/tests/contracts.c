/* Checks the promises of libcrypto's manuals to callers of a provider, in C: sizes without
 * buffers, parameters of wrong types, and the values that functions return, which are those of
 * the default provider.
 * Usage: contracts MODULE [buffers]; the configuration is OPENSSL_CONF's. With `buffers` only
 * the tests of buffers run. The second half calls the module's functions without libcrypto,
 * which rejects some calls itself. */
#include "common/check.h"

#include <dlfcn.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>

static const char *const OURS = "provider=fastkex", *const THEIRS = "provider=default";
enum { CIPHERTEXT = 1039, SECRET = 32, SIGNATURE = 64, UNTOUCHED = 0xaa };
static const size_t NOT_SET = 0x7ffffffff000;

static int is_untouched(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != UNTOUCHED)
            return 0;
    return 1;
}

/* The error's text; it is taken off the queue. */
static const char *reason(void)
{
    static char text[256];
    const char *data = "";
    int flags = 0;
    unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
    const char *reason = error == 0 ? "no error" : ERR_reason_error_string(error);
    snprintf(text, sizeof text, "%s: %s", reason != NULL ? reason : "no reason", data);
    ERR_clear_error();
    return text;
}

#define REFUSED(call, expected)                                               \
    do {                                                                      \
        CHECK((call) != 1);                                                   \
        const char *text = reason();                                          \
        if (strstr(text, expected) == NULL) {                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, text); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static EVP_PKEY *generate(const char *name, const char *properties)
{
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, properties);
    CHECK(context != NULL && EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_generate(context, &made) == 1);
    EVP_PKEY_CTX_free(context);
    return made;
}

static void sizes(void)
{
    unsigned char buffer[CIPHERTEXT], secret[CIPHERTEXT];
    EVP_PKEY *key = generate("sntrup761", OURS);
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    memset(secret, UNTOUCHED, sizeof secret);
    CHECK(EVP_PKEY_encapsulate_init(operation, NULL) == 1);
    /* Without a buffer for the ciphertext the sizes are an output only, whatever is there. */
    for (int i = 0; i < 2; i++) {
        size_t size = i == 0 ? NOT_SET : 0, secret_size = size;
        CHECK(EVP_PKEY_encapsulate(operation, NULL, &size, secret, &secret_size) == 1);
        CHECK(size == CIPHERTEXT && secret_size == SECRET && is_untouched(secret, sizeof secret));
        size = secret_size = i == 0 ? NOT_SET : 0;
        CHECK(EVP_PKEY_encapsulate(operation, NULL, &size, NULL, &secret_size) == 1);
        CHECK(size == CIPHERTEXT && secret_size == SECRET);
    }
    /* Nothing is read that nobody has written, as valgrind sees. */
    size_t *unknown = malloc(2 * sizeof *unknown);
    CHECK(unknown != NULL);
    CHECK(EVP_PKEY_encapsulate(operation, NULL, &unknown[0], secret, &unknown[1]) == 1);
    CHECK(unknown[0] == CIPHERTEXT && unknown[1] == SECRET && is_untouched(secret, sizeof secret));
    free(unknown);
    size_t size = CIPHERTEXT, secret_size = SECRET - 1;
    memset(buffer, UNTOUCHED, sizeof buffer);
    REFUSED(EVP_PKEY_encapsulate(operation, buffer, &size, secret, &secret_size),
            "buffer too small: sntrup761: secret buffer of 31 bytes: expected 32");
    CHECK(size == CIPHERTEXT && secret_size == SECRET - 1);
    CHECK(is_untouched(buffer, sizeof buffer) && is_untouched(secret, sizeof secret));
    CHECK(EVP_PKEY_encapsulate(operation, buffer, &size, NULL, NULL) != 1);
    secret_size = sizeof secret;
    CHECK(EVP_PKEY_encapsulate(operation, buffer, &size, secret, &secret_size) == 1);
    CHECK(size == CIPHERTEXT && secret_size == SECRET);
    CHECK(is_untouched(secret + SECRET, sizeof secret - SECRET));
    CHECK(EVP_PKEY_decapsulate_init(operation, NULL) == 1);
    secret_size = NOT_SET;
    CHECK(EVP_PKEY_decapsulate(operation, NULL, &secret_size, buffer, size) == 1);
    CHECK(secret_size == SECRET);
    EVP_PKEY_CTX_free(operation);
    EVP_PKEY_free(key);

    key = generate("X25519", OURS);
    operation = EVP_PKEY_CTX_new_from_pkey(NULL, key, OURS);
    secret_size = NOT_SET;
    CHECK(EVP_PKEY_derive_init(operation) == 1 && EVP_PKEY_derive_set_peer(operation, key) == 1);
    CHECK(EVP_PKEY_derive(operation, NULL, &secret_size) == 1 && secret_size == SECRET);
    EVP_PKEY_CTX_free(operation);
    EVP_PKEY_free(key);

    key = generate("ED25519", OURS);
    EVP_MD_CTX *signing = EVP_MD_CTX_new();
    size = NOT_SET;
    CHECK(EVP_DigestSignInit_ex(signing, NULL, NULL, NULL, OURS, key, NULL) == 1);
    CHECK(EVP_DigestSign(signing, NULL, &size, secret, 1) == 1 && size == SIGNATURE);
    EVP_MD_CTX_free(signing);
    EVP_PKEY_free(key);
}

static OSSL_PARAM *one(OSSL_PARAM param)
{
    static OSSL_PARAM params[2];
    params[0] = param;
    params[1] = OSSL_PARAM_construct_end();
    return params;
}

/* A key that is to be encrypted is not written in the clear, whatever the caller makes of the
 * error. */
static void encoders(void)
{
    static int number = 7;
    static char name[] = "AES-256-CBC", *place = name;
    EVP_PKEY *key = generate("sntrup761", OURS);
    OSSL_PARAM wrong[] = {
        OSSL_PARAM_construct_octet_string(OSSL_ENCODER_PARAM_CIPHER, name, sizeof name - 1),
        OSSL_PARAM_construct_int(OSSL_ENCODER_PARAM_CIPHER, &number),
        OSSL_PARAM_construct_utf8_ptr(OSSL_ENCODER_PARAM_CIPHER, &place, sizeof name - 1),
        OSSL_PARAM_construct_int(OSSL_ENCODER_PARAM_PROPERTIES, &number),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unsigned char *out = NULL;
        size_t size = 0;
        OSSL_ENCODER_CTX *encoder =
            OSSL_ENCODER_CTX_new_for_pkey(key, EVP_PKEY_KEYPAIR, "PEM", "PrivateKeyInfo", NULL);
        CHECK(OSSL_ENCODER_CTX_get_num_encoders(encoder) > 0);
        REFUSED(OSSL_ENCODER_CTX_set_params(encoder, one(wrong[i])), "invalid parameter: ");
        CHECK(OSSL_ENCODER_CTX_set_passphrase(encoder, (unsigned char *)"secret", 6) == 1);
        CHECK(OSSL_ENCODER_to_data(encoder, &out, &size) != 1 && out == NULL);
        ERR_clear_error();
        /* A cipher that can be had puts it right. */
        CHECK(OSSL_ENCODER_CTX_set_params(
                  encoder, one(OSSL_PARAM_construct_utf8_string(OSSL_ENCODER_PARAM_CIPHER, name, 0)))
              == 1);
        CHECK(OSSL_ENCODER_to_data(encoder, &out, &size) == 1 && size > 30);
        CHECK(strncmp((char *)out, "-----BEGIN ENCRYPTED PRIVATE KEY", 32) == 0);
        OPENSSL_free(out);
        OSSL_ENCODER_CTX_free(encoder);
    }
    EVP_PKEY_free(key);
}

static int import(const char *name, OSSL_PARAM *params)
{
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, OURS);
    CHECK(context != NULL && EVP_PKEY_fromdata_init(context) == 1);
    int done = EVP_PKEY_fromdata(context, &made, EVP_PKEY_KEYPAIR, params);
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(context);
    return done;
}

static int generation(const char *name, OSSL_PARAM param)
{
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, OURS);
    CHECK(context != NULL && EVP_PKEY_keygen_init(context) == 1);
    int done = EVP_PKEY_CTX_set_params(context, one(param)) == 1 && EVP_PKEY_generate(context, &made) == 1;
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(context);
    return done;
}

static int begin_signing(EVP_PKEY *key, OSSL_PARAM param)
{
    EVP_MD_CTX *signing = EVP_MD_CTX_new();
    int done = EVP_DigestSignInit_ex(signing, NULL, NULL, NULL, OURS, key, one(param));
    EVP_MD_CTX_free(signing);
    return done;
}

/* A parameter of the wrong type is an error: whoever has set it expects it to count. */
static void types(void)
{
    static const char *const names[] = { "sntrup761", "X25519SNTRUP761", "X25519", "ED25519" };
    for (size_t i = 0; i < 4; i++) {
        unsigned char public[4096], secret[4096];
        size_t public_size, secret_size;
        EVP_PKEY *key = generate(names[i], OURS);
        CHECK(EVP_PKEY_get_octet_string_param(key, "pub", public, sizeof public, &public_size) == 1);
        CHECK(EVP_PKEY_get_octet_string_param(key, "priv", secret, sizeof secret, &secret_size) == 1);
        OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string("pub", public, public_size),
                                OSSL_PARAM_construct_octet_string("priv", secret, secret_size),
                                OSSL_PARAM_construct_end() };
        CHECK(import(names[i], params) == 1);
        params[1].data_type = OSSL_PARAM_UTF8_STRING;
        REFUSED(import(names[i], params), names[i]);
        params[1].data_type = OSSL_PARAM_OCTET_STRING;
        params[0].data_type = OSSL_PARAM_UTF8_STRING;
        REFUSED(import(names[i], params), names[i]);
        if (strcmp(names[i], "ED25519") != 0)
            REFUSED(EVP_PKEY_set_params(key, one(OSSL_PARAM_construct_utf8_string("encoded-pub-key",
                                                                                (char *)public, 32))),
                    "invalid parameter");
        REFUSED(generation(names[i], OSSL_PARAM_construct_octet_string("group", (char *)names[i],
                                                                     strlen(names[i]))),
                "invalid parameter");
        EVP_PKEY_free(key);
    }
    char *place = "0123456789012345678901234567890123456789";
    REFUSED(generation("X25519", OSSL_PARAM_construct_utf8_string("dhkem-ikm", place, 0)),
            "dhkem-ikm: expected bytes");
    REFUSED(generation("X25519", OSSL_PARAM_construct_utf8_ptr("dhkem-ikm", &place, 40)),
            "dhkem-ikm: expected bytes");
    REFUSED(generation("X25519", OSSL_PARAM_construct_octet_ptr("dhkem-ikm", (void **)&place, 40)),
            "dhkem-ikm: expected bytes");
    EVP_PKEY *key = generate("ED25519", OURS);
    REFUSED(begin_signing(key, OSSL_PARAM_construct_octet_string("instance", "Ed25519ph", 9)),
            "instance: expected a string");
    REFUSED(begin_signing(key, OSSL_PARAM_construct_utf8_ptr("instance", &place, 9)),
            "instance: expected a string");
    REFUSED(begin_signing(key, OSSL_PARAM_construct_utf8_string("context-string", "x", 0)),
            "context string: expected bytes");
    EVP_PKEY_free(key);
}

/* The values that are returned, of which programs tell whether an operation is there. */
static void values(const char *name, const char *properties, int *found)
{
    unsigned char signature[SIGNATURE] = { 0 }, secret[SECRET] = { 0 };
    size_t size = sizeof signature, secret_size = sizeof secret;
    EVP_PKEY *key = generate(name, properties);
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, key, properties);
    *found++ = EVP_PKEY_sign_init(operation);
    *found++ = EVP_PKEY_sign(operation, NULL, &size, secret, 0);
    *found++ = EVP_PKEY_sign(operation, signature, &size, secret, sizeof secret);
    *found++ = EVP_PKEY_verify_init(operation);
    *found++ = EVP_PKEY_verify(operation, signature, sizeof signature, secret, sizeof secret);
    *found++ = EVP_PKEY_verify(operation, signature, sizeof signature - 1, secret, sizeof secret);
    *found++ = EVP_PKEY_verify_recover_init(operation);
    *found++ = EVP_PKEY_derive_init(operation);
    *found++ = EVP_PKEY_derive(operation, NULL, &secret_size);
    *found++ = EVP_PKEY_encrypt_init(operation);
    *found++ = EVP_PKEY_decrypt_init(operation);
    *found++ = EVP_PKEY_get_size(key);
    *found++ = EVP_PKEY_get_bits(key);
    *found++ = EVP_PKEY_check(operation);
    *found++ = EVP_PKEY_public_check(operation);
    *found++ = EVP_PKEY_param_check(operation);
    EVP_PKEY_CTX_free(operation);
    EVP_MD_CTX *message = EVP_MD_CTX_new();
    *found++ = EVP_DigestSignInit_ex(message, NULL, NULL, NULL, properties, key, NULL);
    *found++ = EVP_DigestSign(message, NULL, &size, secret, 1);
    size = sizeof signature - 1;
    *found++ = EVP_DigestSign(message, signature, &size, secret, 1);
    *found++ = EVP_DigestSignUpdate(message, secret, 1);
    EVP_MD_CTX_free(message);
    message = EVP_MD_CTX_new();
    *found++ = EVP_DigestVerifyInit_ex(message, NULL, NULL, NULL, properties, key, NULL);
    *found++ = EVP_DigestVerify(message, signature, sizeof signature, secret, 1);
    *found++ = EVP_DigestVerify(message, signature, sizeof signature - 1, secret, 1);
    EVP_MD_CTX_free(message);
    EVP_PKEY_free(key);
    ERR_clear_error();
}

static void compare_values(void)
{
    static const char *const names[] = { "ED25519", "X25519" };
    enum { VALUES = 23 };
    for (int i = 0; i < 2; i++) {
        int ours[VALUES + 1] = { [VALUES] = 99 }, theirs[VALUES + 1] = { [VALUES] = 99 };
        values(names[i], OURS, ours);
        values(names[i], THEIRS, theirs);
        CHECK(ours[VALUES] == 99 && theirs[VALUES] == 99);
        for (int j = 0; j < VALUES; j++)
            if (ours[j] != theirs[j]) {
                fprintf(stderr, "%s: value %d is %d, and the default provider's %d\n", names[i], j, ours[j],
                        theirs[j]);
                exit(1);
            }
    }
}

/* A core that switches the curves on and keeps the latest reason. */
static uint32_t latest;

static void new_error(const OSSL_CORE_HANDLE *core)
{
    (void)core;
}

static void set_error_debug(const OSSL_CORE_HANDLE *core, const char *file, int line, const char *function)
{
    (void)core, (void)file, (void)line, (void)function;
}

static void vset_error(const OSSL_CORE_HANDLE *core, uint32_t reason, const char *format, va_list arguments)
{
    (void)core, (void)format, (void)arguments;
    latest = reason;
}

static int core_params(const OSSL_CORE_HANDLE *core, OSSL_PARAM params[])
{
    (void)core;
    for (; params->key != NULL; params++)
        if (strcmp(params->key, "x25519") == 0 || strcmp(params->key, "ed25519") == 0)
            *(const char **)params->data = "on";
    return 1;
}

typedef void (*any)(void);

static any function(const OSSL_DISPATCH *table, int id)
{
    while (table->function_id != 0 && table->function_id != id)
        table++;
    CHECK(table->function_id == id);
    return table->function;
}

#define FIND(type, table, id) ((OSSL_FUNC_##type##_fn *)function(table, id))

static const OSSL_DISPATCH *implementation(const OSSL_DISPATCH *provider, void *context, int operation,
                                           const char *name)
{
    int no_store;
    const OSSL_ALGORITHM *algorithms = FIND(provider_query_operation, provider,
                                            OSSL_FUNC_PROVIDER_QUERY_OPERATION)(context, operation, &no_store);
    size_t length = strlen(name);
    while (algorithms->algorithm_names != NULL
           && (strncmp(algorithms->algorithm_names, name, length) != 0
               || algorithms->algorithm_names[length] != ':'))
        algorithms++;
    CHECK(algorithms->algorithm_names != NULL);
    return algorithms->implementation;
}

static void *generate_raw(const OSSL_DISPATCH *keys, void *context)
{
    void *generation = FIND(keymgmt_gen_init, keys, OSSL_FUNC_KEYMGMT_GEN_INIT)(
        context, OSSL_KEYMGMT_SELECT_KEYPAIR, NULL);
    CHECK(generation != NULL);
    void *key = FIND(keymgmt_gen, keys, OSSL_FUNC_KEYMGMT_GEN)(generation, NULL, NULL);
    CHECK(key != NULL);
    FIND(keymgmt_gen_cleanup, keys, OSSL_FUNC_KEYMGMT_GEN_CLEANUP)(generation);
    return key;
}

#define RAW_REFUSED(call)                                                     \
    do {                                                                      \
        latest = 0;                                                           \
        CHECK((call) == 0 && latest != 0);                                    \
    } while (0)

static void raw(const char *path)
{
    static const OSSL_DISPATCH core[] = { { OSSL_FUNC_CORE_GET_PARAMS, (any)core_params },
                                          { OSSL_FUNC_CORE_NEW_ERROR, (any)new_error },
                                          { OSSL_FUNC_CORE_SET_ERROR_DEBUG, (any)set_error_debug },
                                          { OSSL_FUNC_CORE_VSET_ERROR, (any)vset_error },
                                          { 0, NULL } };
    void *module = dlopen(path, RTLD_NOW), *context = NULL;
    const OSSL_DISPATCH *provider = NULL;
    CHECK(module != NULL);
    OSSL_provider_init_fn *init = (OSSL_provider_init_fn *)dlsym(module, "OSSL_provider_init");
    CHECK(init != NULL && init(NULL, core, &provider, &context) == 1);

    const OSSL_DISPATCH *keys = implementation(provider, context, OSSL_OP_KEYMGMT, "sntrup761");
    const OSSL_DISPATCH *kem = implementation(provider, context, OSSL_OP_KEM, "sntrup761");
    OSSL_FUNC_kem_encapsulate_fn *encapsulate = FIND(kem_encapsulate, kem, OSSL_FUNC_KEM_ENCAPSULATE);
    OSSL_FUNC_kem_decapsulate_fn *decapsulate = FIND(kem_decapsulate, kem, OSSL_FUNC_KEM_DECAPSULATE);
    void *key = generate_raw(keys, context);
    void *operation = FIND(kem_newctx, kem, OSSL_FUNC_KEM_NEWCTX)(context);
    unsigned char ciphertext[CIPHERTEXT], secret[SECRET], again[SECRET];
    size_t size = CIPHERTEXT, secret_size = SECRET;
    RAW_REFUSED(encapsulate(operation, ciphertext, &size, secret, &secret_size));
    RAW_REFUSED(decapsulate(operation, secret, &secret_size, ciphertext, sizeof ciphertext));
    CHECK(FIND(kem_encapsulate_init, kem, OSSL_FUNC_KEM_ENCAPSULATE_INIT)(operation, key, NULL) == 1);
    memset(ciphertext, UNTOUCHED, sizeof ciphertext);
    RAW_REFUSED(encapsulate(operation, ciphertext, &size, NULL, &secret_size));
    RAW_REFUSED(encapsulate(operation, ciphertext, &size, NULL, NULL));
    RAW_REFUSED(encapsulate(operation, ciphertext, NULL, secret, &secret_size));
    RAW_REFUSED(encapsulate(operation, ciphertext, &size, secret, NULL));
    RAW_REFUSED(encapsulate(operation, NULL, NULL, secret, NULL));
    CHECK(is_untouched(ciphertext, sizeof ciphertext));
    CHECK(encapsulate(operation, NULL, &size, NULL, NULL) == 1 && size == CIPHERTEXT);
    CHECK(encapsulate(operation, NULL, NULL, NULL, &secret_size) == 1 && secret_size == SECRET);
    CHECK(encapsulate(operation, ciphertext, &size, secret, &secret_size) == 1);
    CHECK(FIND(kem_decapsulate_init, kem, OSSL_FUNC_KEM_DECAPSULATE_INIT)(operation, key, NULL) == 1);
    RAW_REFUSED(decapsulate(operation, NULL, NULL, ciphertext, size));
    RAW_REFUSED(decapsulate(operation, again, &secret_size, NULL, 0));
    CHECK(decapsulate(operation, again, NULL, ciphertext, size) == 1 && memcmp(again, secret, SECRET) == 0);
    FIND(kem_freectx, kem, OSSL_FUNC_KEM_FREECTX)(operation);
    FIND(keymgmt_free, keys, OSSL_FUNC_KEYMGMT_FREE)(key);

    keys = implementation(provider, context, OSSL_OP_KEYMGMT, "X25519");
    const OSSL_DISPATCH *exchange = implementation(provider, context, OSSL_OP_KEYEXCH, "X25519");
    key = generate_raw(keys, context);
    operation = FIND(keyexch_newctx, exchange, OSSL_FUNC_KEYEXCH_NEWCTX)(context);
    CHECK(FIND(keyexch_init, exchange, OSSL_FUNC_KEYEXCH_INIT)(operation, key, NULL) == 1);
    CHECK(FIND(keyexch_set_peer, exchange, OSSL_FUNC_KEYEXCH_SET_PEER)(operation, key) == 1);
    RAW_REFUSED(FIND(keyexch_derive, exchange, OSSL_FUNC_KEYEXCH_DERIVE)(operation, NULL, NULL, 0));
    FIND(keyexch_freectx, exchange, OSSL_FUNC_KEYEXCH_FREECTX)(operation);
    FIND(keymgmt_free, keys, OSSL_FUNC_KEYMGMT_FREE)(key);

    keys = implementation(provider, context, OSSL_OP_KEYMGMT, "ED25519");
    const OSSL_DISPATCH *signature = implementation(provider, context, OSSL_OP_SIGNATURE, "ED25519");
    key = generate_raw(keys, context);
    operation = FIND(signature_newctx, signature, OSSL_FUNC_SIGNATURE_NEWCTX)(context, NULL);
    CHECK(FIND(signature_digest_sign_init, signature, OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT)(operation, NULL, key,
                                                                                          NULL) == 1);
    RAW_REFUSED(FIND(signature_digest_sign, signature, OSSL_FUNC_SIGNATURE_DIGEST_SIGN)(operation, NULL, NULL, 0,
                                                                                      secret, 1));
    FIND(signature_freectx, signature, OSSL_FUNC_SIGNATURE_FREECTX)(operation);
    FIND(keymgmt_free, keys, OSSL_FUNC_KEYMGMT_FREE)(key);
    FIND(provider_teardown, provider, OSSL_FUNC_PROVIDER_TEARDOWN)(context);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    sizes();
    if (argc == 2) {
        encoders();
        types();
        compare_values();
    }
    raw(argv[1]);
    return 0;
}
