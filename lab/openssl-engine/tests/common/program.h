/* What the programs share. Each has the ENGINE for an argument. */
#include <openssl/engine.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            ERR_print_errors_fp(stderr); \
            exit(1); \
        } \
    } while (0)

/* The condition holds because of an error of the ENGINE's with these words. */
#define REFUSED(condition, words) \
    do { \
        ERR_clear_error(); \
        CHECK(condition); \
        CHECK(has_error(words)); \
    } while (0)

static inline int has_error(const char *words)
{
    const char *data;
    int flags;
    unsigned long error = ERR_get_error_line_data(NULL, NULL, &data, &flags);

    if (error == 0 || strcmp(ERR_lib_error_string(error), "fastkex engntru") != 0 || strstr(data, words) == NULL) {
        fprintf(stderr, "expected %s, found %s\n", words, error == 0 ? "no error" : data);
        return 0;
    }
    return 1;
}

static inline EVP_PKEY *generate(int nid)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(nid, NULL);

    CHECK(context != NULL && EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_keygen(context, &key) == 1);
    EVP_PKEY_CTX_free(context);
    return key;
}

/* Writes shares of fresh keys, at least a batch of them. */
static inline void write_shares(int file, int nid, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned char *share;
        EVP_PKEY *key = generate(nid);
        size_t size = EVP_PKEY_get1_tls_encodedpoint(key, &share);

        CHECK(size >= 32 && write(file, share, 32) == 32);
        OPENSSL_free(share);
        EVP_PKEY_free(key);
    }
}

static inline int compare(const void *a, const void *b)
{
    return memcmp(a, b, 32);
}

/* Parent and children never have the same key, though the parent has keys in stock when it forks. */
static inline void forks(int nid)
{
    enum { CHILDREN = 4, EACH = 40, ALL = (CHILDREN + 1) * EACH };
    static unsigned char shares[ALL][32];
    int ends[2], status;

    CHECK(pipe(ends) == 0);
    EVP_PKEY_free(generate(nid));
    for (int child = 0; child < CHILDREN; child++) {
        pid_t process = fork();

        CHECK(process >= 0);
        if (process == 0) {
            write_shares(ends[1], nid, EACH);
            _exit(0);
        }
    }
    write_shares(ends[1], nid, EACH);
    for (int child = 0; child < CHILDREN; child++)
        CHECK(wait(&status) > 0 && status == 0);
    for (size_t got = 0; got < sizeof(shares);) {
        ssize_t more = read(ends[0], (unsigned char *)shares + got, sizeof(shares) - got);

        CHECK(more > 0);
        got += more;
    }
    qsort(shares, ALL, 32, compare);
    for (int i = 1; i < ALL; i++)
        CHECK(memcmp(shares[i - 1], shares[i], 32) != 0);
}

/* The ENGINE in the file; not the default of anything yet. */
static inline ENGINE *load(const char *file)
{
    ENGINE *engine;

    ENGINE_load_dynamic();
    engine = ENGINE_by_id("dynamic");
    CHECK(engine != NULL && ENGINE_ctrl_cmd_string(engine, "SO_PATH", file, 0) == 1);
    CHECK(ENGINE_ctrl_cmd_string(engine, "LOAD", NULL, 0) == 1);
    CHECK(strcmp(ENGINE_get_id(engine), "engntru") == 0);
    return engine;
}

/* From now on libcrypto uses it for everything that it has. */
static inline void use(ENGINE *engine)
{
    CHECK(ENGINE_init(engine) == 1 && ENGINE_set_default(engine, ENGINE_METHOD_ALL) == 1);
}

/* The next round loads it anew. */
static inline void unload(ENGINE *engine)
{
    ENGINE_unregister_pkey_meths(engine);
    ENGINE_unregister_pkey_asn1_meths(engine);
    CHECK(ENGINE_finish(engine) == 1 && ENGINE_free(engine) == 1);
}
