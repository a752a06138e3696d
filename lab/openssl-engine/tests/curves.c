/* X25519 and Ed25519 of the ENGINE beside libcrypto's own. Arguments are the ENGINE and its instruction set. */
#include "common/program.h"

enum { BYTES = 32, SIGNATURE = 64, THREADS = 8, ROUNDS = 100 };

static const unsigned char MESSAGE[] = "message";

static void sign(EVP_PKEY *key, const unsigned char *message, size_t size, unsigned char *signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t written = 0;

    CHECK(EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1);
    CHECK(EVP_DigestSign(context, NULL, &written, message, size) == 1 && written == SIGNATURE);
    CHECK(EVP_DigestSign(context, signature, &written, message, size) == 1 && written == SIGNATURE);
    EVP_MD_CTX_free(context);
}

static int verify(EVP_PKEY *key, const unsigned char *signature, size_t size, const unsigned char *message, size_t length)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int valid;

    CHECK(EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1);
    valid = EVP_DigestVerify(context, signature, size, message, length);
    EVP_MD_CTX_free(context);
    return valid;
}

static int derive(EVP_PKEY *own, EVP_PKEY *peer, unsigned char *secret)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(own, NULL), *copy;
    size_t size = 0;
    int done;

    CHECK(EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1);
    CHECK(EVP_PKEY_derive(context, NULL, &size) == 1 && size == BYTES);
    /* libcrypto's own has contexts that cannot be copied. */
    copy = EVP_PKEY_CTX_dup(context);
    if (copy != NULL) {
        EVP_PKEY_CTX_free(context);
        context = copy;
    }
    done = EVP_PKEY_derive(context, secret, &size);
    CHECK(done != 1 || size == BYTES);
    EVP_PKEY_CTX_free(context);
    return done;
}

static void get_private(EVP_PKEY *key, unsigned char *bytes)
{
    size_t size = BYTES;

    CHECK(EVP_PKEY_get_raw_private_key(key, bytes, &size) == 1 && size == BYTES);
}

static EVP_PKEY *public_half(EVP_PKEY *key)
{
    unsigned char bytes[BYTES];
    size_t size = BYTES;
    EVP_PKEY *public;

    CHECK(EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 && size == BYTES);
    public = EVP_PKEY_new_raw_public_key(EVP_PKEY_id(key), NULL, bytes, size);
    CHECK(public != NULL && EVP_PKEY_cmp(key, public) == 1 && EVP_PKEY_cmp(public, key) == 1);
    return public;
}

/* The ENGINE's key of the same bytes as libcrypto's */
static EVP_PKEY *same(EVP_PKEY *theirs)
{
    unsigned char bytes[BYTES];
    EVP_PKEY *ours;

    get_private(theirs, bytes);
    ours = EVP_PKEY_new_raw_private_key(EVP_PKEY_id(theirs), NULL, bytes, BYTES);
    CHECK(ours != NULL && EVP_PKEY_get0_asn1(ours) != EVP_PKEY_get0_asn1(theirs));
    CHECK(EVP_PKEY_cmp(ours, theirs) == 1 && EVP_PKEY_cmp(theirs, ours) == 1);
    return ours;
}

/* |theirs| are of libcrypto, and have signed |expected| before there was the ENGINE. */
static void signatures(EVP_PKEY *theirs, const unsigned char *expected)
{
    EVP_PKEY *ours = same(theirs), *public = public_half(ours), *other = generate(EVP_PKEY_ED25519);
    unsigned char signature[SIGNATURE], long_message[5000] = { 0 };
    size_t size = SIGNATURE - 1;
    int digest = -1;
    EVP_MD_CTX *context = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();

    for (int foreign = 0; foreign < 2; foreign++) {
        EVP_PKEY *key = foreign ? theirs : ours;

        sign(key, MESSAGE, sizeof(MESSAGE), signature);
        CHECK(memcmp(signature, expected, SIGNATURE) == 0);
        CHECK(verify(key, signature, SIGNATURE, MESSAGE, sizeof(MESSAGE)) == 1);
        CHECK(verify(public, signature, SIGNATURE, MESSAGE, sizeof(MESSAGE)) == 1);
        CHECK(verify(key, signature, SIGNATURE, MESSAGE, sizeof(MESSAGE) - 1) == 0);
        CHECK(verify(key, signature, SIGNATURE - 1, MESSAGE, sizeof(MESSAGE)) == 0);
        CHECK(verify(other, signature, SIGNATURE, MESSAGE, sizeof(MESSAGE)) == 0);
        for (int byte = 0; byte < SIGNATURE; byte++) {
            signature[byte] ^= 0x10;
            CHECK(verify(key, signature, SIGNATURE, MESSAGE, sizeof(MESSAGE)) == 0);
            signature[byte] ^= 0x10;
        }
    }
    sign(ours, long_message, sizeof(long_message), signature);
    CHECK(verify(theirs, signature, SIGNATURE, long_message, sizeof(long_message)) == 1);
    sign(ours, NULL, 0, signature);
    CHECK(verify(theirs, signature, SIGNATURE, NULL, 0) == 1);

    /* Nothing of a message is left in a context for the next one, nor can it be copied with one. */
    CHECK(EVP_DigestSignInit(context, NULL, NULL, NULL, ours) == 1);
    size = SIGNATURE;
    CHECK(EVP_DigestSign(context, signature, &size, long_message, sizeof(long_message)) == 1);
    CHECK(EVP_MD_CTX_copy(copy, context) != 1);
    CHECK(EVP_DigestSign(context, signature, &size, MESSAGE, sizeof(MESSAGE)) == 1);
    CHECK(memcmp(signature, expected, SIGNATURE) == 0);
    size = SIGNATURE - 1;
    REFUSED(EVP_DigestSign(context, signature, &size, MESSAGE, 1) != 1, "signature buffer of 63 bytes: expected 64");
    CHECK(EVP_DigestSignUpdate(context, MESSAGE, 1) != 1);
    EVP_MD_CTX_reset(context);

    /* No digest, and that is a must. */
    CHECK(EVP_PKEY_get_default_digest_nid(ours, &digest) == 2 && digest == NID_undef);
    REFUSED(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, ours) != 1, "expected no digest");
    EVP_MD_CTX_reset(context);
    CHECK(EVP_DigestSignInit(context, NULL, EVP_md_null(), NULL, ours) == 1);
    EVP_MD_CTX_reset(context);
    CHECK(EVP_DigestSignInit(context, NULL, NULL, NULL, public) == 1);
    size = SIGNATURE;
    REFUSED(EVP_DigestSign(context, signature, &size, MESSAGE, 1) != 1, "no private half");

    CHECK(EVP_PKEY_size(ours) == EVP_PKEY_size(theirs) && EVP_PKEY_bits(ours) == EVP_PKEY_bits(theirs));
    CHECK(EVP_PKEY_security_bits(ours) == EVP_PKEY_security_bits(theirs));
    EVP_MD_CTX_free(context);
    EVP_MD_CTX_free(copy);
    EVP_PKEY_free(ours);
    EVP_PKEY_free(public);
    EVP_PKEY_free(other);
}

/* |a| and |b| are of libcrypto, and |expected| is what they share. */
static void exchanges(EVP_PKEY *a, EVP_PKEY *b, const unsigned char *expected)
{
    EVP_PKEY *keys[2][2] = { { a, same(a) }, { b, same(b) } }, *public = public_half(keys[0][1]), *copy;
    unsigned char secret[BYTES], bytes[BYTES], *share;
    int digest;
    EVP_PKEY_CTX *context;
    size_t size = BYTES - 1;

    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            CHECK(derive(keys[0][i], keys[1][j], secret) == 1 && memcmp(secret, expected, BYTES) == 0);
            CHECK(derive(keys[1][i], keys[0][j], secret) == 1 && memcmp(secret, expected, BYTES) == 0);
        }
    }
    CHECK(derive(keys[1][0], public, secret) == 1 && memcmp(secret, expected, BYTES) == 0);
    CHECK(EVP_PKEY_cmp(keys[0][1], keys[1][1]) == 0);

    /* As libssl does it */
    copy = EVP_PKEY_new();
    CHECK(EVP_PKEY_copy_parameters(copy, keys[0][1]) == 1);
    CHECK(EVP_PKEY_get1_tls_encodedpoint(keys[0][1], &share) == BYTES);
    for (int again = 0; again < 2; again++)
        CHECK(EVP_PKEY_set1_tls_encodedpoint(copy, share, BYTES) == 1 && EVP_PKEY_cmp(copy, a) == 1);
    CHECK(derive(keys[1][1], copy, secret) == 1 && memcmp(secret, expected, BYTES) == 0);
    OPENSSL_free(share);
    REFUSED(EVP_PKEY_set1_tls_encodedpoint(copy, bytes, BYTES - 1) != 1, "public key of 31 bytes: expected 32");

    /* u = 0 has order 2. */
    memset(bytes, 0, BYTES);
    CHECK(EVP_PKEY_set1_tls_encodedpoint(copy, bytes, BYTES) == 1);
    REFUSED(derive(keys[0][1], copy, secret) != 1, "small order");
    REFUSED(derive(public, keys[1][1], secret) != 1, "no private half");
    context = EVP_PKEY_CTX_new(keys[0][1], NULL);
    CHECK(EVP_PKEY_derive_init(context) == 1);
    REFUSED(EVP_PKEY_derive(context, secret, &size) != 1, "secret buffer of 31 bytes: expected 32");
    size = BYTES;
    REFUSED(EVP_PKEY_derive(context, secret, &size) != 1, "no peer's key");
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    CHECK(EVP_PKEY_get_default_digest_nid(keys[0][1], &digest) <= 0);
    CHECK(EVP_PKEY_size(keys[0][1]) == EVP_PKEY_size(a) && EVP_PKEY_bits(keys[0][1]) == EVP_PKEY_bits(a));
    EVP_PKEY_free(keys[0][1]);
    EVP_PKEY_free(keys[1][1]);
    EVP_PKEY_free(public);
    EVP_PKEY_free(copy);
}

static void *fresh(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        EVP_PKEY *a = generate(EVP_PKEY_X25519), *b = generate(EVP_PKEY_X25519), *signer = generate(EVP_PKEY_ED25519);
        unsigned char one[BYTES], other[BYTES], signature[SIGNATURE];

        CHECK(derive(a, b, one) == 1 && derive(b, a, other) == 1 && memcmp(one, other, BYTES) == 0);
        sign(signer, one, BYTES, signature);
        CHECK(verify(signer, signature, SIGNATURE, other, BYTES) == 1);
        EVP_PKEY_free(a);
        EVP_PKEY_free(b);
        EVP_PKEY_free(signer);
    }
    return unused;
}

int main(int count, char **arguments)
{
    EVP_PKEY *signer = generate(EVP_PKEY_ED25519), *a = generate(EVP_PKEY_X25519), *b = generate(EVP_PKEY_X25519), *kept;
    unsigned char signature[SIGNATURE], secret[BYTES], again[BYTES];
    pthread_t threads[THREADS];
    ENGINE *engine;
    EVP_PKEY_CTX *context;

    CHECK(count == 3);
    sign(signer, MESSAGE, sizeof(MESSAGE), signature);
    CHECK(derive(a, b, secret) == 1);
    for (int round = 0; round < 2; round++) {
        engine = load(arguments[1]);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BACKEND", arguments[2], 0) == 1);
        CHECK(ENGINE_ctrl_cmd_string(engine, "X25519", "off", 0) == 1 && ENGINE_ctrl_cmd_string(engine, "X25519", "on", 0) == 1);
        CHECK(ENGINE_ctrl_cmd_string(engine, "ED25519", "on", 0) == 1);

        /* With operations alone keys would be of two minds. */
        CHECK(ENGINE_init(engine) == 1 && ENGINE_set_default(engine, ENGINE_METHOD_PKEY_METHS) == 1);
        context = EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, NULL);
        kept = NULL;
        CHECK(EVP_PKEY_keygen_init(context) == 1);
        REFUSED(EVP_PKEY_keygen(context, &kept) != 1, "needs PKEY_ASN1");
        EVP_PKEY_CTX_free(context);
        CHECK(derive(a, b, again) == 1 && memcmp(again, secret, BYTES) == 0);
        CHECK(ENGINE_finish(engine) == 1);

        use(engine);
        REFUSED(ENGINE_ctrl_cmd_string(engine, "X25519", "off", 0) != 1, "X25519 = off: expected before default_algorithms");
        REFUSED(ENGINE_ctrl_cmd_string(engine, "ED25519", "off", 0) != 1, "ED25519 = off: expected before default_algorithms");
        signatures(signer, signature);
        exchanges(a, b, secret);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, fresh, NULL) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        forks(EVP_PKEY_X25519);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BATCH", "off", 0) == 1);
        forks(EVP_PKEY_X25519);
        CHECK(ENGINE_ctrl_cmd_string(engine, "BATCH", "on", 0) == 1);

        /* A key keeps its ENGINE. */
        kept = generate(EVP_PKEY_X25519);
        unload(engine);
        CHECK(derive(kept, a, again) == 1);
        EVP_PKEY_free(kept);
        CHECK(derive(b, a, again) == 1 && memcmp(again, secret, BYTES) == 0);
    }
    EVP_PKEY_free(signer);
    EVP_PKEY_free(a);
    EVP_PKEY_free(b);
    puts("done");
    return 0;
}
