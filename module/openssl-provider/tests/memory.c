/* Allocations of the module fail, each in its turn: the operation fails with an error in
 * OpenSSL's queue, and the program goes on.
 * Usage: memory; the configuration is OPENSSL_CONF's. Prints how many allocations failed. */
#define _GNU_SOURCE
#include "common/check.h"

#include <errno.h>
#include <dlfcn.h>
#include <link.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Smaller ones are contexts and messages, which the module does without only by ending the
 * program. */
enum { LARGE = 512 };

static uintptr_t module_start, module_end;
/* Which large allocation of the module's fails, counted down; none if it is 0. */
static int countdown;
static int failed;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static int fails(size_t size, void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    if (countdown == 0 || size < LARGE || address < module_start || address >= module_end || --countdown != 0)
        return 0;
    failed++;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size, __builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

/* Memory for secrets: aligned allocations of the heap, as there are no mappings. */
int posix_memalign(void **place, size_t alignment, size_t size)
{
    static int (*next)(void **, size_t, size_t);
    if (next == NULL)
        next = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    return fails(size, __builtin_return_address(0)) ? ENOMEM : next(place, alignment, size);
}

/* Mappings for secrets are larger; the C library and the loader do not call this function. */
enum { LARGE_MAPPING = 64 << 10 };

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (next == NULL)
        next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if ((flags & MAP_ANONYMOUS) && size >= LARGE_MAPPING) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return next(address, size, protection, flags, descriptor, offset);
}

static int find_module(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (strstr(object->dlpi_name, "fastkex.so") == NULL)
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        module_start = object->dlpi_addr + header->p_vaddr;
        module_end = module_start + header->p_memsz;
    }
    return 1;
}

static EVP_PKEY *key;
static const char *output, *structure, *cipher;

static int encode(void)
{
    unsigned char *out = NULL;
    size_t size = 0;
    int is_public = structure != NULL && strcmp(structure, "SubjectPublicKeyInfo") == 0;
    int selection = is_public ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
    OSSL_ENCODER_CTX *encoder = OSSL_ENCODER_CTX_new_for_pkey(key, selection, output, structure, NULL);
    CHECK(encoder != NULL && OSSL_ENCODER_CTX_get_num_encoders(encoder) > 0);
    if (cipher != NULL) {
        CHECK(OSSL_ENCODER_CTX_set_cipher(encoder, cipher, NULL) == 1);
        CHECK(OSSL_ENCODER_CTX_set_passphrase(encoder, (const unsigned char *)"x", 1) == 1);
    }
    int done = OSSL_ENCODER_to_data(encoder, &out, &size) == 1;
    CHECK(done == (out != NULL));
    OPENSSL_free(out);
    OSSL_ENCODER_CTX_free(encoder);
    return done;
}

/* Libcrypto asks one decoder after the other, so that one that has no memory may be made up for
 * by the next. */
static void decode(void)
{
    unsigned char *der = NULL;
    size_t size = 0;
    OSSL_ENCODER_CTX *encoder = OSSL_ENCODER_CTX_new_for_pkey(key, EVP_PKEY_KEYPAIR, "DER", "PrivateKeyInfo", NULL);
    CHECK(OSSL_ENCODER_to_data(encoder, &der, &size) == 1);
    OSSL_ENCODER_CTX_free(encoder);
    for (int i = 0; i < 2; i++) {
        const unsigned char *rest = der;
        size_t rest_size = size;
        EVP_PKEY *found = NULL;
        OSSL_DECODER_CTX *decoder =
            OSSL_DECODER_CTX_new_for_pkey(&found, "DER", "PrivateKeyInfo", NULL, EVP_PKEY_KEYPAIR, NULL, NULL);
        int before = failed;
        countdown = 1 - i;
        int done = OSSL_DECODER_from_data(decoder, &rest, &rest_size) == 1;
        countdown = 0;
        CHECK(i == 0 ? failed == before + 1 : done);
        OSSL_DECODER_CTX_free(decoder);
        EVP_PKEY_free(found);
        ERR_clear_error();
    }
    OPENSSL_free(der);
}

static int tell(void)
{
    static unsigned char out[8192];
    size_t size = 0;
    return EVP_PKEY_get_octet_string_param(key, "pub", out, sizeof out, &size) == 1
        && EVP_PKEY_get_octet_string_param(key, "priv", out, sizeof out, &size) == 1;
}

static int export(void)
{
    OSSL_PARAM *params = NULL;
    int done = EVP_PKEY_todata(key, EVP_PKEY_KEYPAIR, &params) == 1;
    OSSL_PARAM_free(params);
    return done;
}

static int derive_key(void)
{
    static unsigned char material[1 << 20] = { 1 };
    EVP_PKEY *made = NULL;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string("dhkem-ikm", material, sizeof material),
                            OSSL_PARAM_construct_end() };
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(NULL, "X25519", "provider=fastkex");
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    int done = EVP_PKEY_CTX_set_params(generation, params) == 1 && EVP_PKEY_generate(generation, &made) == 1;
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(generation);
    return done;
}

/* Every large allocation of `work` fails once. */
static void without_memory(int (*work)(void))
{
    CHECK(work());
    for (int i = 1;; i++) {
        int before = failed;
        countdown = i;
        int done = work();
        countdown = 0;
        if (failed == before) {
            CHECK(done && i > 1);
            break;
        }
        CHECK(!done);
        int found = 0;
        const char *data;
        for (unsigned long error; (error = ERR_get_error_all(NULL, NULL, NULL, &data, NULL)) != 0;) {
            const char *text = ERR_reason_error_string(error);
            found |= text != NULL && strcmp(text, "out of memory") == 0 && strstr(data, "no memory") != NULL;
        }
        CHECK(found);
        CHECK(work());
    }
}

/* A program's own key: one of a handshake has protected memory. */
static EVP_PKEY *import(const char *name)
{
    OSSL_PARAM *params = NULL;
    EVP_PKEY *made = NULL, *own = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, "provider=fastkex");
    CHECK(context != NULL && EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_generate(context, &made) == 1);
    CHECK(EVP_PKEY_todata(made, EVP_PKEY_KEYPAIR, &params) == 1);
    CHECK(EVP_PKEY_fromdata_init(context) == 1);
    CHECK(EVP_PKEY_fromdata(context, &own, EVP_PKEY_KEYPAIR, params) == 1);
    OSSL_PARAM_free(params);
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(context);
    return own;
}

int main(void)
{
    static const char *const names[] = { "sntrup761", "X25519SNTRUP1277" };
    static const char *const forms[][3] = {
        { "DER", "SubjectPublicKeyInfo", NULL }, { "PEM", "SubjectPublicKeyInfo", NULL },
        { "DER", "PrivateKeyInfo", NULL },       { "PEM", "PrivateKeyInfo", NULL },
        { "PEM", "PrivateKeyInfo", "AES-256-CBC" }, { "TEXT", NULL, NULL },
    };
    CHECK(OSSL_PROVIDER_available(NULL, "fastkex"));
    dl_iterate_phdr(find_module, NULL);
    CHECK(module_start != 0);
    for (size_t i = 0; i < 2; i++) {
        key = import(names[i]);
        for (size_t j = 0; j < sizeof forms / sizeof *forms; j++) {
            output = forms[j][0], structure = forms[j][1], cipher = forms[j][2];
            without_memory(encode);
        }
        decode();
        without_memory(tell);
        without_memory(export);
        EVP_PKEY_free(key);
    }
    without_memory(derive_key);
    printf("%d allocations failed\n", failed);
    return 0;
}
