/* What a program can do with the ENGINE's keys, and what it is refused: PKE+NIKE, threads, fork. The argument is the ENGINE. */
#include "common/program.h"

enum { THREADS = 8, ROUNDS = 40, SHARE = 1322, CIPHERTEXT = 1184, SECRET = 32 };

static EVP_PKEY *public_half(EVP_PKEY *key)
{
    unsigned char *share;
    size_t size = EVP_PKEY_get1_tls_encodedpoint(key, &share);
    EVP_PKEY *public = EVP_PKEY_new();

    CHECK(size > 0 && EVP_PKEY_set_type(public, EVP_PKEY_id(key)) == 1);
    CHECK(EVP_PKEY_set1_tls_encodedpoint(public, share, size) == 1);
    OPENSSL_free(share);
    CHECK(EVP_PKEY_cmp(key, public) == 1);
    return public;
}

static size_t encapsulate(EVP_PKEY *key, unsigned char *ciphertext)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    size_t size = 0;

    CHECK(EVP_PKEY_encrypt_init(context) == 1 && EVP_PKEY_encrypt(context, NULL, &size, NULL, 0) == 1);
    CHECK(size > 0 && size <= CIPHERTEXT && (int)size == EVP_PKEY_size(key));
    CHECK(EVP_PKEY_encrypt(context, ciphertext, &size, NULL, 0) == 1);
    EVP_PKEY_CTX_free(context);
    return size;
}

static int decapsulate(EVP_PKEY *key, const unsigned char *ciphertext, size_t size)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    size_t told = 0;
    int done;

    CHECK(EVP_PKEY_decrypt_init(context) == 1);
    done = EVP_PKEY_decrypt(context, NULL, &told, ciphertext, size);
    CHECK(done != 1 || told == SECRET);
    EVP_PKEY_CTX_free(context);
    return done;
}

static int derive(EVP_PKEY *key, unsigned char *secret)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    size_t size = SECRET;
    int done;

    CHECK(EVP_PKEY_derive_init(context) == 1);
    done = EVP_PKEY_derive(context, secret, &size);
    CHECK(done != 1 || size == SECRET);
    EVP_PKEY_CTX_free(context);
    return done;
}

static void exchange(int nid)
{
    EVP_PKEY *key = generate(nid), *public = public_half(key);
    unsigned char ciphertext[CIPHERTEXT], a[SECRET], b[SECRET];
    size_t size = encapsulate(public, ciphertext);

    CHECK(decapsulate(key, ciphertext, size) == 1);
    CHECK(derive(public, a) == 1 && derive(key, b) == 1 && memcmp(a, b, SECRET) == 0);
    /* Implicit rejection: another secret, and no error. */
    ciphertext[0] ^= 1;
    CHECK(decapsulate(key, ciphertext, size) == 1 && derive(key, b) == 1 && memcmp(a, b, SECRET) != 0);
    EVP_PKEY_free(key);
    EVP_PKEY_free(public);
}

static void misuse(int nid)
{
    EVP_PKEY *key = generate(nid), *public = public_half(key), *other = generate(nid), *empty = EVP_PKEY_new();
    unsigned char ciphertext[CIPHERTEXT], secret[SECRET], share[SHARE] = { 0 };
    size_t size = encapsulate(public, ciphertext), little = SECRET - 1;
    EVP_PKEY_CTX *context;

    CHECK(EVP_PKEY_set_type(empty, nid) == 1);
    REFUSED(EVP_PKEY_set1_tls_encodedpoint(empty, share, 7) == 0, "public key of 7 bytes");
    REFUSED(EVP_PKEY_set1_tls_encodedpoint(empty, share, 0) == 0, "public key of 0 bytes");
    memset(share, 0xff, sizeof(share));
    CHECK(EVP_PKEY_set1_tls_encodedpoint(empty, share, nid == NID_sntrup761 ? 1158 : 1322) == 0);
    REFUSED(EVP_PKEY_get1_tls_encodedpoint(empty, (unsigned char **)&context) == 0, "the key is empty");
    REFUSED(decapsulate(empty, ciphertext, size) != 1, "the key is empty");
    REFUSED(decapsulate(public, ciphertext, size) != 1, "no private half");
    REFUSED(decapsulate(key, ciphertext, size - 1) != 1, "bytes: expected");
    REFUSED(decapsulate(key, NULL, 0) != 1, "of 0 bytes: expected");
    REFUSED(derive(key, secret) != 1, "no shared secret");
    CHECK(EVP_PKEY_cmp(key, other) == 0);

    context = EVP_PKEY_CTX_new(public, NULL);
    CHECK(EVP_PKEY_derive_init(context) == 1);
    REFUSED(EVP_PKEY_derive(context, secret, &little) != 1, "secret buffer of 31 bytes: expected 32");
    CHECK(EVP_PKEY_derive_set_peer(context, other) != 1 && EVP_PKEY_derive_set_peer(context, public) == 1);
    little = SECRET;
    CHECK(EVP_PKEY_derive(context, secret, &little) == 1);
    /* Once only. */
    REFUSED(EVP_PKEY_derive(context, secret, &little) != 1, "no shared secret");
    EVP_PKEY_CTX_free(context);

    context = EVP_PKEY_CTX_new(public, NULL);
    CHECK(EVP_PKEY_encrypt_init(context) == 1);
    REFUSED(EVP_PKEY_encrypt(context, ciphertext, &size, secret, SECRET) != 1, "has an input");
    little = size - 1;
    REFUSED(EVP_PKEY_encrypt(context, ciphertext, &little, NULL, 0) != 1, "ciphertext buffer of");
    EVP_PKEY_CTX_free(context);

    context = EVP_PKEY_CTX_new(key, NULL);
    CHECK(EVP_PKEY_decrypt_init(context) == 1);
    little = SECRET;
    REFUSED(EVP_PKEY_decrypt(context, secret, &little, ciphertext, size) != 1, "has an output");
    EVP_PKEY_CTX_free(context);

    EVP_PKEY_free(key);
    EVP_PKEY_free(public);
    EVP_PKEY_free(other);
    EVP_PKEY_free(empty);
}

static void *exchanges(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        exchange(i % 2 ? NID_sntrup761 : NID_sntrup857);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    ENGINE *engine;

    CHECK(count == 2 && sizeof(((struct st_dynamic_fns *)0)->mem_fns) == 3 * sizeof(void *));
    for (int again = 0; again < 3; again++) {
        engine = load(arguments[1]);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BATCH_SIZE", "32", 0) == 1);
        REFUSED(ENGINE_ctrl_cmd_string(engine, "BATCH", "perhaps", 0) == 0, "expected on or off");
        use(engine);

        exchange(NID_sntrup761);
        exchange(NID_sntrup857);
        misuse(NID_sntrup761);
        misuse(NID_sntrup857);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, exchanges, NULL) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        forks(NID_sntrup761);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BATCH", "off", 0) == 1);
        exchange(NID_sntrup857);
        forks(NID_sntrup857);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BATCH", "on", 0) == 1);

        unload(engine);
    }
    puts("done");
    return 0;
}
