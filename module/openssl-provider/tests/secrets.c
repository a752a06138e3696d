/* Uses the module as an application does, and then searches memory for the secrets that it has
 * had from it: that of a child of fork, its own, or a core dump's.
 * Usage: secrets inline|background|freed|core CONFIGURATION ALGORITHM keys|encapsulations|theirs
 * [show]; `theirs` are keys of the default provider. With `show`, what was found is shown with
 * what is around it. Each process is for one kind of secret, as what is freed is soon written
 * over by whatever comes next. Prints a line for each kind of secret (`report`). What is planted
 * for the search to find is a kind, too. Beside the configuration it leaves the module's counts,
 * as of the moment that is searched (CONFIGURATION.then) and as of the end (CONFIGURATION.end). */
#define _GNU_SOURCE
/* Without it the search takes several times as long. */
#pragma GCC optimize("O2")
#include "common/search.h"

#include <openssl/provider.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    /* Batches grow to 64 key pairs (1, 4, 16, 64), and leave 61 in stock; and to 16
     * encapsulations (1, 4, 16, 16), and leave 15. */
    KEYS_BEFORE = 24,
    ENCAPSULATIONS_BEFORE = 22,
    /* Key pairs that wait for their use. */
    HELD = 15,
    KEYS_AFTER = 40,
    ENCAPSULATIONS_AFTER = 15,
    /* More than there can be in stock in four batches: the background is at work then. */
    DRAINED = 80,
    FORKS = 3,
    AFTER_FORK = 16,
    /* Of keys that are used and freed, for each of two threads. */
    FREED = 20,
    PLANTED_BYTES = 32,
    /* Nothing here takes so long. */
    SECONDS = 120,
    NO_CORE = 77,
};

static const char OURS[] = "provider=fastkex", THEIRS[] = "provider=default";

static const char *configuration;
/* With the configuration; and with the default provider, for what the test itself computes. */
static OSSL_LIB_CTX *context, *plain;

/* The algorithm: a KEM, a key exchange or both, or neither if it signs. */
static const char *name, *properties = OURS;
static const struct kem {
    const char *name;
    /* Of Streamlined NTRU Prime, the ring's degree and the weight of r. */
    size_t p, weight;
    struct mlkem mlkem;
} kems[] = {
    { "sntrup653", 653, 288, { 0 } },
    { "sntrup761", 761, 286, { 0 } },
    { "sntrup857", 857, 322, { 0 } },
    { "sntrup953", 953, 396, { 0 } },
    { "sntrup1013", 1013, 448, { 0 } },
    { "sntrup1277", 1277, 492, { 0 } },
    { "MLKEM512", 0, 0, { 2, 3, 10, 4 } },
    { "MLKEM768", 0, 0, { 3, 2, 10, 4 } },
    { "MLKEM1024", 0, 0, { 4, 2, 11, 5 } },
}, *kem;
static struct exchange {
    const char *name;
    /* Whether its part of keys, shares and secrets comes before the KEM's. */
    int is_first;
    struct curve curve;
} exchanges[] = {
    { "X25519", 0, { .scalar_bytes = 32, .public_bytes = 32 } },
    { "SecP256r1", 1, { .group = NID_X9_62_prime256v1, .scalar_bytes = 32, .public_bytes = 65 } },
    { "SecP384r1", 1, { .group = NID_secp384r1, .scalar_bytes = 48, .public_bytes = 97 } },
}, *exchange;
static int signs;
/* Whether encapsulations are searched for, not keys. */
static int of_encapsulations;
static size_t kind;
/* The key to encapsulate for, or to exchange keys with. */
static EVP_PKEY *recipient;

static void read_name(void)
{
    const char *rest = name;
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
        if (strncmp(name, exchanges[i].name, strlen(exchanges[i].name)) == 0)
            exchange = &exchanges[i], rest = name + strlen(exchange->name);
    for (size_t i = 0; i < sizeof kems / sizeof *kems; i++)
        if (strcasecmp(rest, kems[i].name) == 0)
            kem = &kems[i];
    signs = strcmp(name, "ED25519") == 0;
    CHECK(kem != NULL || signs || (exchange != NULL && *rest == 0));
    if (exchange != NULL)
        notes->curve = &exchange->curve, read_moduli(&exchange->curve, plain);
}

/* The parts of a key, a share or a secret. */
struct parts {
    const unsigned char *kem, *exchange;
    size_t kem_bytes;
};

static struct parts split(const unsigned char *bytes, size_t size, size_t exchange_bytes)
{
    if (exchange == NULL)
        return (struct parts) { bytes, NULL, size };
    CHECK(size >= exchange_bytes);
    size_t kem_bytes = size - exchange_bytes;
    if (exchange->is_first)
        return (struct parts) { bytes + exchange_bytes, bytes, kem_bytes };
    return (struct parts) { bytes, bytes + kem_bytes, kem_bytes };
}

static struct parts split_secret(const unsigned char *bytes, size_t size)
{
    return split(bytes, size, exchange != NULL ? exchange->curve.scalar_bytes : 0);
}

static struct parts split_public(const unsigned char *bytes, size_t size)
{
    return split(bytes, size, exchange != NULL ? exchange->curve.public_bytes : 0);
}

/* Does something on a stack that is not searched. */
static void hide(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, scratch->stack, STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, function, argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    OPENSSL_cleanse(scratch->stack, STACK_BYTES);
}

static EVP_PKEY *generate(void)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(context, name, properties);
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    CHECK(EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    return key;
}

/* Notes the scalar of a key. */
static void note_scalar(size_t noted_as, size_t item, const unsigned char *scalar)
{
    /* X25519's first and last byte may be others in stock: it is exported as it is used. */
    enum { FIRST = 1, MIDDLE = 30 };
    const struct curve *curve = &exchange->curve;
    if (curve->group == 0)
        note(noted_as, item, SCALAR, scalar + FIRST, MIDDLE);
    else
        note_number(noted_as, item, SCALAR, scalar, curve->order, curve->scalar_bytes);
}

static void note_key(EVP_PKEY *key, size_t noted_as)
{
    enum { FIRST = 1, MIDDLE = 30 };
    unsigned char *secret = scratch->key;
    size_t item = new_item(noted_as), size;
    CHECK(EVP_PKEY_get_octet_string_param(key, "priv", secret, KEY_BYTES, &size) == 1);
    if (signs) {
        unsigned char *expanded = secret + size;
        SHA512_CTX expansion;
        SHA512_Init(&expansion);
        SHA512_Update(&expansion, secret, size);
        SHA512_Final(expanded, &expansion);
        note(noted_as, item, SEED, secret, size);
        note(noted_as, item, SCALAR, expanded + FIRST, MIDDLE);
        note(noted_as, item, PREFIX, expanded + HASH_BYTES, HASH_BYTES);
        OPENSSL_cleanse(&expansion, sizeof expansion);
    }
    struct parts parts = split_secret(secret, size);
    if (exchange != NULL)
        note_scalar(noted_as, item, parts.exchange);
    if (kem != NULL && kem->p != 0) {
        /* f, 1/g, the public key, rho, the public key's hash. */
        size_t small = notes->parameters.small_bytes;
        note_polynomial(noted_as, item, F, parts.kem, kem->p);
        note_polynomial(noted_as, item, G, parts.kem + small, kem->p);
        note(noted_as, item, RHO, parts.kem + parts.kem_bytes - HASH_BYTES - small + 32, 32);
    }
    if (kem != NULL && kem->p == 0) {
        /* s, the public key, its hash, z. The seed d is in no other parameter, and hybrids have no
         * parameter for it. */
        note_s(noted_as, item, parts.kem);
        note_hashed(noted_as, item, Z, parts.kem + parts.kem_bytes - SEED_BYTES);
        if (exchange == NULL) {
            unsigned char *seed = secret + size;
            uint16_t s[DEGREE];
            CHECK(EVP_PKEY_get_octet_string_param(key, "seed", seed, KEY_BYTES - size, &size) == 1);
            CHECK(size == 2 * SEED_BYTES);
            note_d(noted_as, item, &kem->mlkem, seed, s);
            pack(seed, s);
            CHECK(memcmp(seed, secret, POLY_BYTES) == 0);
        }
    }
    OPENSSL_cleanse(secret, KEY_BYTES);
}

/* Keys that are to be noted. */
struct noting {
    EVP_PKEY **keys;
    size_t count, noted_as;
};

static void *note_all(void *argument)
{
    struct noting *noting = argument;
    for (size_t i = 0; i < noting->count; i++)
        note_key(noting->keys[i], noting->noted_as);
    return NULL;
}

/* Notes keys, on a stack that is not searched: a program that asks for a private key has it. */
static void note_keys(EVP_PKEY **keys, size_t count, size_t noted_as)
{
    struct noting noting = { keys, count, noted_as };
    hide(note_all, &noting);
}

static void note_shared_secret(size_t item, const unsigned char *secret, size_t size)
{
    struct parts parts = split_secret(secret, size);
    if (kem != NULL)
        note(kind, item, SHARED_SECRET, parts.kem, HASH_BYTES);
    if (exchange == NULL)
        return;
    const struct curve *curve = &exchange->curve;
    if (curve->group == 0)
        note(kind, item, SHARED_SECRET, parts.exchange, SCALAR_BYTES);
    else
        note_number(kind, item, SHARED_SECRET, parts.exchange, curve->field, curve->scalar_bytes);
}

/* Uses a key, and notes the shared secret. */
static void use(EVP_PKEY *key, size_t item)
{
    unsigned char *ours = scratch->key, *theirs = ours + 256, *ciphertext = ours + 512;
    size_t size = 256, theirs_size = 256, ciphertext_size = CIPHERTEXT_BYTES;
    if (signs) {
        EVP_MD_CTX *operation = EVP_MD_CTX_new();
        CHECK(EVP_DigestSignInit_ex(operation, NULL, NULL, context, properties, key, NULL) == 1);
        CHECK(EVP_DigestSign(operation, ours, &size, (const unsigned char *)"message", 7) == 1);
        EVP_MD_CTX_free(operation);
        return;
    }
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(context, key, properties);
    CHECK(operation != NULL);
    if (kem == NULL) {
        CHECK(EVP_PKEY_derive_init(operation) == 1 && EVP_PKEY_derive_set_peer(operation, recipient) == 1);
        CHECK(EVP_PKEY_derive(operation, ours, &size) == 1);
    } else {
        CHECK(EVP_PKEY_encapsulate_init(operation, NULL) == 1);
        CHECK(EVP_PKEY_encapsulate(operation, ciphertext, &ciphertext_size, ours, &size) == 1);
        CHECK(EVP_PKEY_decapsulate_init(operation, NULL) == 1);
        CHECK(EVP_PKEY_decapsulate(operation, theirs, &theirs_size, ciphertext, ciphertext_size) == 1);
        CHECK(size == theirs_size && memcmp(ours, theirs, size) == 0);
    }
    EVP_PKEY_CTX_free(operation);
    note_shared_secret(item, ours, size);
    OPENSSL_cleanse(ours, 512);
}

/* Has a number of keys, and perhaps notes and uses them. */
static void take_keys(size_t count, int are_noted, int are_used)
{
    EVP_PKEY *keys[DRAINED];
    CHECK(count <= DRAINED);
    for (size_t i = 0; i < count; i++)
        keys[i] = generate();
    size_t first = notes->kinds[kind].items;
    if (are_noted)
        note_keys(keys, count, kind);
    for (size_t i = 0; i < count; i++) {
        if (are_used)
            use(keys[i], first + i);
        EVP_PKEY_free(keys[i]);
    }
}

static void *note_recipient(void *unused)
{
    struct parameters *parameters = &notes->parameters;
    unsigned char *key = scratch->key;
    size_t size;
    CHECK(EVP_PKEY_get_octet_string_param(recipient, "priv", key, KEY_BYTES, &size) == 1);
    struct parts parts = split_secret(key, size);
    for (size_t i = 0; i < sizeof parameters->hidden_s; i++)
        parameters->hidden_s[i] = (i < kem->mlkem.k * POLY_BYTES ? parts.kem[i] : 0) ^ MASK;
    OPENSSL_cleanse(key, KEY_BYTES);
    return unused;
}

static void add_recipient(void)
{
    struct parameters *parameters = &notes->parameters;
    unsigned char public[CIPHERTEXT_BYTES];
    size_t size;
    recipient = generate();
    if (kem == NULL)
        return;
    CHECK(EVP_PKEY_get_octet_string_param(recipient, "pub", public, sizeof public, &size) == 1);
    struct parts parts = split_public(public, size);
    parameters->mlkem = kem->mlkem;
    parameters->p = kem->p, parameters->weight = kem->weight;
    parameters->small_bytes = (kem->p + 3) / 4;
    if (kem->p != 0) {
        hash(parameters->key_hash, 4, parts.kem, parts.kem_bytes, NULL, 0);
        return;
    }
    sponge(parameters->key_hash, HASH_BYTES, RATE_256, SHA3, parts.kem, parts.kem_bytes, NULL, 0);
    hide(note_recipient, NULL);
}

static void *note_all_messages(void *first)
{
    note_messages(*(size_t *)first);
    return NULL;
}

/* Encapsulates for the recipient, who decapsulates if asked to. */
static void encapsulate(size_t count, int are_noted, int are_used)
{
    unsigned char *ours = scratch->key, *theirs = ours + 256, *ciphertext = ours + 512;
    size_t first = notes->encapsulation_count;
    EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(context, recipient, properties);
    for (size_t i = 0; i < count; i++) {
        size_t size = 256, theirs_size = 256, ciphertext_size = CIPHERTEXT_BYTES;
        CHECK(operation != NULL && EVP_PKEY_encapsulate_init(operation, NULL) == 1);
        CHECK(EVP_PKEY_encapsulate(operation, ciphertext, &ciphertext_size, ours, &size) == 1);
        if (are_used) {
            CHECK(EVP_PKEY_decapsulate_init(operation, NULL) == 1);
            CHECK(EVP_PKEY_decapsulate(operation, theirs, &theirs_size, ciphertext, ciphertext_size) == 1);
            CHECK(size == theirs_size && memcmp(ours, theirs, size) == 0);
        }
        if (are_noted) {
            struct parts sent = split_public(ciphertext, ciphertext_size);
            struct parts secret = split_secret(ours, size);
            size_t item = new_item(kind);
            note_encapsulation(kind, item, sent.kem, sent.kem_bytes, secret.kem, sent.exchange);
            note_shared_secret(item, ours, size);
        }
    }
    EVP_PKEY_CTX_free(operation);
    OPENSSL_cleanse(ours, KEY_BYTES);
    if (kem->p == 0 && are_noted)
        hide(note_all_messages, &first);
}

/* Secrets planted for the search to find. */

static void draw(unsigned char *bytes, size_t size)
{
    CHECK(getrandom(bytes, size, 0) == (ssize_t)size);
}

/* Plants random bytes that a kind is noted for. */
static void plant(const char *where, volatile unsigned char *memory)
{
    size_t planted_as = new_kind("control: %s", where);
    unsigned char *bytes = scratch->key;
    draw(bytes, PLANTED_BYTES);
    note(planted_as, new_item(planted_as), PLANTED, bytes, PLANTED_BYTES);
    for (size_t i = 0; memory != NULL && i < PLANTED_BYTES; i++)
        memory[i] = bytes[i];
    OPENSSL_cleanse(bytes, PLANTED_BYTES);
}

static void plant_mapping(const char *where, int advice, int rights)
{
    unsigned char *memory = new_mapping(PAGE, MAP_PRIVATE);
    CHECK(advice == 0 || madvise(memory, PAGE, advice) == 0);
    plant(where, memory + 100);
    CHECK(mprotect(memory, PAGE, rights) == 0);
}

/* Of this the kernel gives no copy to anybody: the search must look itself. */
static void plant_secret_mapping(void)
{
#ifdef SYS_memfd_secret
    int file = syscall(SYS_memfd_secret, 0);
    if (file < 0)
        return;
    CHECK(ftruncate(file, PAGE) == 0);
    unsigned char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED)
        plant("secret memory", memory);
#endif
}

static pthread_barrier_t planted, leaving;

static void *other_thread(void *unused)
{
    volatile unsigned char memory[PLANTED_BYTES];
    plant("another thread's stack", memory);
    pthread_barrier_wait(&planted);
    pthread_barrier_wait(&leaving);
    return unused;
}

/* Plants the inputs of encapsulations, from which their shared secrets follow. */
static void plant_encapsulations(unsigned char *memory)
{
    enum { R_BYTES, R_WORDS, R_ENCODED, HASHED, FORMS };
    size_t hashes = new_kind("control: hash of r"), rs = new_kind("control: r in three forms");
    size_t p = kem->p;
    const unsigned char *key_hash = notes->parameters.key_hash;
    unsigned char *encoded = scratch->key, ciphertext[300], secret[HASH_BYTES], of_r[HASH_BYTES];
    for (int form = 0; form < FORMS; form++) {
        /* Coefficients 1 and -1 where random numbers say so, until there are enough. */
        memset(encoded, 0x55, p / 4);
        encoded[p / 4] = 1;
        for (size_t weight = 0; weight < kem->weight;) {
            uint16_t number;
            draw((unsigned char *)&number, sizeof number);
            size_t i = number / 2 % p;
            if (digit(encoded, i) != 1)
                continue;
            encoded[i / 4] ^= (number % 2 ? 1 : 3) << 2 * (i % 4);
            weight++;
        }
        hash(of_r, 3, encoded, (p + 3) / 4, NULL, 0);
        for (size_t i = 0; form == R_BYTES && i < p; i++)
            *memory++ = digit(encoded, i) - 1;
        for (size_t i = 0; form == R_WORDS && i < p; i++, memory += 2)
            memcpy(memory, (int16_t[]) { digit(encoded, i) - 1 }, 2);
        if (form == R_ENCODED)
            memcpy(memory, encoded, (p + 3) / 4);
        /* Addresses of hashes are multiples of eight. */
        memory += form == R_ENCODED ? (p + 3) / 4 : 1;
        memory += -(uintptr_t)memory % 8;
        if (form == HASHED)
            memcpy(memory, of_r, HASH_BYTES), memory += HASH_BYTES;
        draw(ciphertext, sizeof ciphertext);
        hash(ciphertext + sizeof ciphertext - HASH_BYTES, 2, of_r, HASH_BYTES, key_hash, HASH_BYTES);
        hash(secret, 1, of_r, HASH_BYTES, ciphertext, sizeof ciphertext);
        size_t form_kind = form == HASHED ? hashes : rs;
        note_encapsulation(form_kind, new_item(form_kind), ciphertext, sizeof ciphertext, secret, NULL);
    }
    OPENSSL_cleanse(encoded, KEY_BYTES);
    OPENSSL_cleanse(of_r, sizeof of_r);
    OPENSSL_cleanse(secret, sizeof secret);
}

/* Words that are others modulo Q. */
static unsigned char *plant_words(unsigned char *memory, const uint16_t words[DEGREE])
{
    for (size_t i = 0; i < DEGREE; i++, memory += 2) {
        int16_t word = words[i] + (i % 3 - 1) * Q;
        memcpy(memory, &word, sizeof word);
    }
    return memory;
}

static unsigned char *plant_in_a_column(unsigned char *memory, const unsigned char bytes[SEED_BYTES])
{
    for (size_t i = 0; i < SEED_BYTES; i++)
        memory[i / 8 * ROW_BYTES + i % 8] = bytes[i];
    return memory + SEED_BYTES / 8 * ROW_BYTES;
}

/* Plants a seed of ML-KEM, d of a key or m of an encapsulation, and what follows from it, in forms
 * of which each is one item of a kind. */
static void *plant_mlkem(void *memory_for_it)
{
    enum { AS_IT_IS, COLUMN, SEED_OF_NOISE, NOISE_BYTES, NOISE_WORDS, TRANSFORMED_WORDS, FACTORS, FORMS };
    static const char *const texts[FORMS] = {
        "%s", "%s in a column", "seed of noise from %s", "noise from %s", "noise from %s in words",
        "words from %s", "factor from %s",
    };
    unsigned char *memory = memory_for_it, seed[SEED_BYTES], derived[2 * SEED_BYTES], bytes[64 * 3];
    for (int form = 0; form < FORMS; form++) {
        const char *what = of_encapsulations ? "m" : "d";
        char control[64];
        snprintf(control, sizeof control, texts[form], what);
        size_t planted_as = new_kind("control: %s", control), item = new_item(planted_as);
        uint16_t words[DEGREE], factor[DEGREE];
        unsigned char k = kem->mlkem.k;
        draw(seed, sizeof seed);
        if (of_encapsulations) {
            note_message(planted_as, item, seed, derived);
            sponge(derived, sizeof derived, RATE_512, SHA3, seed, SEED_BYTES, notes->parameters.key_hash,
                   HASH_BYTES);
        } else {
            note_d(planted_as, item, &kem->mlkem, seed, words);
            note_transformed(planted_as, item, words, 0);
            sponge(derived, sizeof derived, RATE_512, SHA3, seed, SEED_BYTES, &k, 1);
        }
        noise(bytes, kem->mlkem.eta, derived + SEED_BYTES, 0);
        sample(words, bytes, kem->mlkem.eta);
        /* Not where a row begins. */
        memory++;
        if (form == AS_IT_IS)
            memcpy(memory, seed, SEED_BYTES), memory += SEED_BYTES;
        if (form == COLUMN)
            memory = plant_in_a_column(memory, seed);
        if (form == SEED_OF_NOISE)
            memory = plant_in_a_column(memory, derived + SEED_BYTES);
        if (form == NOISE_BYTES)
            memcpy(memory, bytes, 64 * kem->mlkem.eta), memory += 64 * kem->mlkem.eta;
        memory += (uintptr_t)memory % 2;
        if (form == NOISE_WORDS)
            memory = plant_words(memory, words);
        transform(words);
        if (form == TRANSFORMED_WORDS)
            memory = plant_words(memory, words);
        for (size_t i = 0; i < DEGREE; i++)
            factor[i] = words[i ^ 1] * (65536 % Q) % Q * (of_encapsulations ? 3303 : 1) % Q;
        if (form == FACTORS)
            memory = plant_words(memory, factor);
    }
    return NULL;
}

/* Plants scalars of encapsulations or of keys, in all forms that are searched for. */
static void *plant_scalars(void *memory_for_it)
{
    enum { AS_IT_IS, LIMBS, MONTGOMERY, FORMS };
    static const char *const texts[FORMS] = { "scalar", "scalar in limbs", "scalar in Montgomery form" };
    const struct curve *curve = &exchange->curve;
    unsigned char *memory = memory_for_it, none[HASH_BYTES] = { 0 };
    size_t size = curve->scalar_bytes;
    struct multiplier *with = new_mapping(sizeof *with, MAP_PRIVATE);
    init_multiplier(with, plain);
    for (int form = 0; form < (curve->group == 0 ? LIMBS : FORMS); form++, memory += size + 16) {
        unsigned char scalar[MOST_SCALAR_BYTES], public[PUBLIC_BYTES];
        size_t planted_as = new_kind("control: %s", texts[form]), item = new_item(planted_as);
        draw(scalar, sizeof scalar);
        if (form == AS_IT_IS)
            memcpy(memory, scalar, size);
        if (form == LIMBS)
            reverse(memory, scalar, size);
        if (form == MONTGOMERY)
            montgomery(memory, scalar, curve->order, size);
        if (!of_encapsulations) {
            note_scalar(planted_as, item, scalar);
            continue;
        }
        CHECK(multiply(with, scalar, NULL, public));
        note_encapsulation(planted_as, item, none, sizeof none, none, public);
    }
    free_multiplier(with);
    return NULL;
}

static unsigned char in_static_memory[PLANTED_BYTES];

static pthread_t plant_all(unsigned char *in_stack)
{
    pthread_t thread;
    unsigned char *in_heap = malloc(PLANTED_BYTES + 1), *inputs = malloc(4 * PAGE);
    CHECK(in_heap != NULL && inputs != NULL);
    /* At an odd address: not all secrets are aligned. */
    plant("heap", in_heap + 1);
    plant("stack", in_stack);
    plant("static memory", in_static_memory);
    plant_mapping("mapping", 0, PROT_READ | PROT_WRITE);
    plant_mapping("mapping to which access was withdrawn", 0, PROT_NONE);
    plant_secret_mapping();
    plant_mapping("mapping that children find wiped", MADV_WIPEONFORK, PROT_READ | PROT_WRITE);
    plant_mapping("mapping left out of core dumps", MADV_DONTDUMP, PROT_READ | PROT_WRITE);
    plant("nowhere", NULL);
    if (of_encapsulations && kem->p != 0)
        plant_encapsulations(inputs);
    if (kem != NULL && kem->p == 0)
        hide(plant_mlkem, inputs);
    if (exchange != NULL && kem != NULL)
        hide(plant_scalars, inputs + 3 * PAGE);
    CHECK(pthread_barrier_init(&planted, NULL, 2) == 0 && pthread_barrier_init(&leaving, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    pthread_barrier_wait(&planted);
    notes->controls.marks = notes->from.marks = notes->mark_count;
    notes->controls.encapsulations = notes->from.encapsulations = notes->encapsulation_count;
    return thread;
}

/* Keeps the module's counts in a file beside the configuration, without memory from the heap, as
 * secrets may be in what is free there. */
static void keep_counts(const char *when)
{
    enum { MOST_FILES = 64 };
    char path[512], link[64];
    for (int file = 0; file < MOST_FILES; file++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        ssize_t size = readlink(path, link, sizeof link - 1);
        link[size < 0 ? 0 : size] = 0;
        if (strstr(link, "memfd:fastkex-statistics") == NULL)
            continue;
        size = pread(file, scratch->chunk, CHUNK, 0);
        snprintf(path, sizeof path, "%s.%s", configuration, when);
        int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK(size > 0 && to >= 0 && write(to, scratch->chunk, size) == size && close(to) == 0);
    }
}

/* A child that searches its memory for what is in the notes when it is told to. */
struct child {
    pid_t process;
    int tell;
};

static struct child start_child(void)
{
    struct child child;
    int ends[2];
    char told;
    CHECK(pipe(ends) == 0);
    child.process = fork();
    CHECK(child.process >= 0);
    if (child.process == 0) {
        alarm(SECONDS);
        close(ends[1]);
        CHECK(read(ends[0], &told, 1) == 1);
        search_memory(0);
        try_scalars(plain);
        _exit(0);
    }
    close(ends[0]);
    child.tell = ends[1];
    return child;
}

static void await_search(struct child child)
{
    int status;
    CHECK(write(child.tell, "", 1) == 1 && close(child.tell) == 0);
    CHECK(waitpid(child.process, &status, 0) == child.process);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void take(size_t keys, size_t encapsulations, int are_noted, int are_used)
{
    if (of_encapsulations)
        encapsulate(encapsulations, are_noted, are_used);
    else
        take_keys(keys, are_noted, are_used);
}

/* A child has nothing that was in stock when it was forked. */
static void search_child(void)
{
    take(KEYS_BEFORE, ENCAPSULATIONS_BEFORE, 0, 0);
    keep_counts("then");
    struct child child = start_child();
    take(KEYS_AFTER, ENCAPSULATIONS_AFTER, 1, 0);
    keep_counts("end");
    await_search(child);
    report(0, "a child of fork");
}

/* Nor what was being made. */
static void search_children_at_work(void)
{
    keep_counts("then");
    for (int i = 0; i < FORKS; i++) {
        take(DRAINED, DRAINED, 0, 0);
        usleep(i * 50);
        notes->from.marks = notes->mark_count;
        notes->from.encapsulations = notes->encapsulation_count;
        struct child child = start_child();
        /* So that what is under construction gets done. */
        usleep(20000);
        take(AFTER_FORK, AFTER_FORK, 1, 0);
        await_search(child);
    }
    keep_counts("end");
    report(0, "a child forked while a batch is made");
}

static void *use_and_free(void *unused)
{
    take(FREED, FREED, 1, 1);
    return unused;
}

/* Nothing is left of what was freed, by either of two threads; nor when the provider is gone. */
static void search_freed(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_and_free, NULL) == 0 && pthread_join(thread, NULL) == 0);
    use_and_free(NULL);
    EVP_PKEY_free(recipient);
    recipient = NULL;
    search_memory(0);
    OSSL_LIB_CTX_free(context);
    context = NULL;
    search_memory(1);
    try_scalars(plain);
    report(0, "the process, all freed");
    report(1, "the process, provider unloaded");
}

/* A core dump has nothing that was in stock, nor key pairs that wait for their use. */
static void search_core_dump(void)
{
    EVP_PKEY *held[HELD];
    char command[512], path[512];
    /* A key to sign with waits for no use: it has one. */
    int are_held = !of_encapsulations && !signs;
    take(KEYS_BEFORE, ENCAPSULATIONS_BEFORE, 0, 0);
    for (size_t i = 0; are_held && i < HELD; i++)
        held[i] = generate();
    keep_counts("then");
    /* Some systems let processes trace only their descendants. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    snprintf(command, sizeof command, "gcore -o '%s' %d >'%s.gcore' 2>&1 </dev/null", configuration,
             (int)getpid(), configuration);
    int status = system(command);
    snprintf(path, sizeof path, "%s.%d", configuration, (int)getpid());
    if (status != 0 || access(path, R_OK) != 0)
        exit(NO_CORE);
    take(KEYS_AFTER, ENCAPSULATIONS_AFTER, 1, 0);
    keep_counts("end");
    if (are_held) {
        note_keys(held, HELD, new_kind("%s in use", name));
        for (size_t i = 0; i < HELD; i++)
            EVP_PKEY_free(held[i]);
    }
    search_core(0, path);
    try_scalars(plain);
    report(0, "a core dump");
}

int main(int argc, char **argv)
{
    CHECK(argc == 5 || (argc == 6 && strcmp(argv[5], "show") == 0));
    const char *what = argv[1], *items = argv[4];
    unsigned char in_stack[PLANTED_BYTES];
    /* Otherwise the dynamic linker, when a function is called first, stores all registers on the
     * stack, with what is in them. */
    CHECK(getenv("LD_BIND_NOW") != NULL);
    configuration = argv[2], name = argv[3];
    show = argc == 6;
    of_encapsulations = strcmp(items, "encapsulations") == 0;
    if (strcmp(items, "theirs") == 0)
        properties = THEIRS;
    else
        CHECK(of_encapsulations || strcmp(items, "keys") == 0);
    alarm(SECONDS);
    prepare_search();
    context = OSSL_LIB_CTX_new(), plain = OSSL_LIB_CTX_new();
    CHECK(context != NULL && OSSL_LIB_CTX_load_config(context, configuration) == 1);
    CHECK(plain != NULL && OSSL_PROVIDER_load(plain, "default") != NULL);
    read_name();
    CHECK(!of_encapsulations || kem != NULL);
    kind = new_kind("%s%s%s", of_encapsulations ? "encapsulations for " : "", name,
                    properties == THEIRS ? " of the default provider" : "");
    add_recipient();
    pthread_t thread = plant_all(in_stack);
    if (strcmp(what, "inline") == 0)
        search_child();
    else if (strcmp(what, "background") == 0)
        search_children_at_work();
    else if (strcmp(what, "freed") == 0)
        search_freed();
    else if (strcmp(what, "core") == 0)
        search_core_dump();
    else
        CHECK(!"inline, background, freed or core");
    pthread_barrier_wait(&leaving);
    CHECK(pthread_join(thread, NULL) == 0);
    EVP_PKEY_free(recipient);
    OSSL_LIB_CTX_free(context);
    OSSL_LIB_CTX_free(plain);
    return 0;
}
