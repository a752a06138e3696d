/*
 * Known answers of sntrup761. Each line of standard input is: all random bytes that key generation and encapsulation take, secret key,
 * ciphertext, its shared secret, and that of the ciphertext with bit 0 of a byte flipped; and which byte. Arguments are none for the
 * implementation in libcrypto, or the ENGINE, which draws its own random bytes: then decapsulation alone is compared. What the
 * implementation in libcrypto is refused is tried here, too.
 */
#include "common/program.h"
#include <openssl/rand.h>

enum { SECRET_KEY = 1763, CIPHERTEXT = 1039, SECRET = 32, MOST = 1 << 16 };

static unsigned char script[MOST];
static size_t at, length;

static int scripted(unsigned char *out, int size)
{
    if (size < 0 || (size_t)size > length - at)
        return 0;
    memcpy(out, script + at, size);
    at += size;
    return 1;
}

static RAND_METHOD script_method = { .bytes = scripted };

static size_t read_hex(unsigned char *out, size_t most)
{
    size_t size = 0;
    int c, digit;

    while ((c = getchar()) != EOF && c != ' ' && c != '\n') {
        digit = getchar();
        CHECK(size < most && OPENSSL_hexchar2int(c) >= 0 && OPENSSL_hexchar2int(digit) >= 0);
        out[size++] = OPENSSL_hexchar2int(c) << 4 | OPENSSL_hexchar2int(digit);
    }
    return size;
}

static void expect_secret(EVP_PKEY *key, const unsigned char *expected)
{
    unsigned char secret[SECRET];
    size_t size = SECRET;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);

    CHECK(EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive(context, secret, &size) == 1);
    CHECK(size == SECRET && memcmp(secret, expected, SECRET) == 0);
    EVP_PKEY_CTX_free(context);
}

static void decapsulate(EVP_PKEY *key, const unsigned char *ciphertext, const unsigned char *expected)
{
    size_t size;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);

    CHECK(EVP_PKEY_decrypt_init(context) == 1);
    CHECK(EVP_PKEY_decrypt(context, NULL, &size, ciphertext, CIPHERTEXT) == 1);
    EVP_PKEY_CTX_free(context);
    expect_secret(key, expected);
}

/* The implementation in libcrypto says no, and why. */
#define LIBCRYPTO_REFUSES(condition) \
    do { \
        ERR_clear_error(); \
        CHECK(condition); \
        CHECK(ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_EVP); \
    } while (0)

static void misuse(void)
{
    EVP_PKEY *key = generate(NID_sntrup761), *public = EVP_PKEY_new();
    unsigned char *share, ciphertext[CIPHERTEXT], secret[SECRET];
    size_t size = EVP_PKEY_get1_tls_encodedpoint(key, &share), little = CIPHERTEXT - 1;
    EVP_PKEY_CTX *context;

    CHECK(EVP_PKEY_set_type(public, NID_sntrup761) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_set1_tls_encodedpoint(public, share, 7) != 1);
    context = EVP_PKEY_CTX_new(public, NULL);
    CHECK(EVP_PKEY_encrypt_init(context) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_encrypt(context, NULL, &size, NULL, 0) != 1);
    EVP_PKEY_CTX_free(context);
    CHECK(EVP_PKEY_set1_tls_encodedpoint(public, share, size) == 1 && EVP_PKEY_cmp(key, public) == 1);
    OPENSSL_free(share);

    context = EVP_PKEY_CTX_new(public, NULL);
    CHECK(EVP_PKEY_encrypt_init(context) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_encrypt(context, ciphertext, &size, secret, SECRET) != 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_encrypt(context, ciphertext, &little, NULL, 0) != 1);
    CHECK(EVP_PKEY_derive_init(context) == 1);
    size = SECRET;
    LIBCRYPTO_REFUSES(EVP_PKEY_derive(context, secret, &size) != 1);
    size = CIPHERTEXT;
    CHECK(EVP_PKEY_encrypt_init(context) == 1 && EVP_PKEY_encrypt(context, ciphertext, &size, NULL, 0) == 1);
    CHECK(EVP_PKEY_derive_init(context) == 1);
    CHECK(EVP_PKEY_derive_set_peer(context, key) != 1 && EVP_PKEY_derive_set_peer(context, public) == 1);
    size = SECRET - 1;
    LIBCRYPTO_REFUSES(EVP_PKEY_derive(context, secret, &size) != 1);
    size = SECRET;
    CHECK(EVP_PKEY_derive(context, secret, &size) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_derive(context, secret, &size) != 1);
    CHECK(EVP_PKEY_decrypt_init(context) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_decrypt(context, NULL, &size, ciphertext, CIPHERTEXT) != 1);
    EVP_PKEY_CTX_free(context);

    context = EVP_PKEY_CTX_new(key, NULL);
    CHECK(EVP_PKEY_decrypt_init(context) == 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_decrypt(context, secret, &size, ciphertext, CIPHERTEXT) != 1);
    LIBCRYPTO_REFUSES(EVP_PKEY_decrypt(context, NULL, &size, ciphertext, CIPHERTEXT - 1) != 1);
    EVP_PKEY_CTX_free(context);
    decapsulate(key, ciphertext, secret);
    EVP_PKEY_free(key);
    EVP_PKEY_free(public);
}

/* A key that libcrypto made before it had the ENGINE is known to be none of the ENGINE's. */
static void override(const char *engine)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(NID_sntrup761, NULL);
    EVP_PKEY *theirs = context == NULL ? NULL : generate(NID_sntrup761), *ours;
    unsigned char bytes[SECRET_KEY];
    size_t size = SECRET_KEY;

    EVP_PKEY_CTX_free(context);
    use(load(engine));
    if (theirs == NULL)
        return;
    CHECK(EVP_PKEY_get_raw_private_key(theirs, bytes, &size) == 1);
    ours = EVP_PKEY_new_raw_private_key(NID_sntrup761, NULL, bytes, size);
    CHECK(ours != NULL && EVP_PKEY_get0_asn1(ours) != EVP_PKEY_get0_asn1(theirs));
    CHECK(EVP_PKEY_cmp(ours, theirs) == 1 && EVP_PKEY_cmp(theirs, ours) == 1);
    context = EVP_PKEY_CTX_new(theirs, NULL);
    CHECK(EVP_PKEY_encrypt_init(context) == 1);
    REFUSED(EVP_PKEY_encrypt(context, NULL, &size, NULL, 0) != 1, "the key is not the ENGINE's");
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(ours);
    EVP_PKEY_free(theirs);
}

int main(int count, char **arguments)
{
    static unsigned char secret_key[SECRET_KEY], made[SECRET_KEY], ciphertext[CIPHERTEXT], sent[CIPHERTEXT];
    unsigned char secret[SECRET], rejected[SECRET], place[2];
    const RAND_METHOD *usual = RAND_get_rand_method();
    int lines = 0;
    EVP_PKEY *key;

    if (count == 2)
        override(arguments[1]);
    else
        misuse();
    for (; (length = read_hex(script, MOST)) > 0; lines++) {
        CHECK(read_hex(secret_key, SECRET_KEY) == SECRET_KEY && read_hex(ciphertext, CIPHERTEXT) == CIPHERTEXT);
        CHECK(read_hex(secret, SECRET) == SECRET && read_hex(rejected, SECRET) == SECRET && read_hex(place, 2) == 2);
        if (count == 1) {
            size_t size = SECRET_KEY;
            EVP_PKEY_CTX *context;

            at = 0;
            RAND_set_rand_method(&script_method);
            key = generate(NID_sntrup761);
            CHECK(EVP_PKEY_get_raw_private_key(key, made, &size) == 1 && size == SECRET_KEY);
            CHECK(memcmp(made, secret_key, SECRET_KEY) == 0);
            context = EVP_PKEY_CTX_new(key, NULL);
            size = CIPHERTEXT;
            CHECK(EVP_PKEY_encrypt_init(context) == 1 && EVP_PKEY_encrypt(context, sent, &size, NULL, 0) == 1);
            CHECK(size == CIPHERTEXT && memcmp(sent, ciphertext, CIPHERTEXT) == 0 && at == length);
            EVP_PKEY_CTX_free(context);
            expect_secret(key, secret);
            EVP_PKEY_free(key);
            RAND_set_rand_method(usual);
        }
        key = EVP_PKEY_new_raw_private_key(NID_sntrup761, NULL, secret_key, SECRET_KEY);
        CHECK(key != NULL);
        decapsulate(key, ciphertext, secret);
        ciphertext[place[0] << 8 | place[1]] ^= 1;
        decapsulate(key, ciphertext, rejected);
        EVP_PKEY_free(key);
        /* Two bits that encode no coefficient */
        secret_key[190] ^= 0x0c;
        CHECK(EVP_PKEY_new_raw_private_key(NID_sntrup761, NULL, secret_key, SECRET_KEY) == NULL);
        CHECK(EVP_PKEY_new_raw_private_key(NID_sntrup761, NULL, secret_key, SECRET_KEY - 1) == NULL);
    }
    printf("%d\n", lines);
    return 0;
}
