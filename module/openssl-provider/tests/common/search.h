/* Searches memory for secrets: that of the process that calls it, and core dumps. A secret is
 * known by marks, parts of it that are noted (`note`), or by what it is hashed to, as the input
 * of an encapsulation of Streamlined NTRU Prime is (`note_encapsulation`), or by its public value,
 * as the scalar of an encapsulation is. Notes are masked, and lie in memory that is not
 * searched; so does all that the search itself works with. It calls nothing that allocates
 * memory, since that would write over what was freed. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "check.h"
#include "mlkem.h"

#include <elf.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/sha.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MASK = 0x5a,
    SEARCHES = 2,
    KINDS = 64,
    ITEMS = 64,
    MARKS = 1 << 14,
    MARK_BYTES = 128,
    HASH_BYTES = 32,
    /* Of X25519 and P-256; and of P-384. */
    SCALAR_BYTES = 32,
    MOST_SCALAR_BYTES = 48,
    PUBLIC_BYTES = 1 + 2 * MOST_SCALAR_BYTES,
    /* The module hashes up to eight streams side by side: an integer of each in a row. */
    ROW_BYTES = 64,
    RESIDUES_IN_KEY = 5,
    ENCAPSULATIONS = 1 << 10,
    CIPHERTEXT_BYTES = 2304,
    CANDIDATES = 1 << 16,
    PLACES = 64,
    PAGE = 4096,
    /* Memory is read in chunks, each with the beginning of the next, in which a secret may end. */
    CHUNK = 1 << 20,
    OVERLAP = 2 * PAGE,
    MAPS_BYTES = 1 << 20,
    KEY_BYTES = 1 << 14,
    STACK_BYTES = 1 << 18,
    FILTER_BITS = 18,
    /* Of hits with the same kind and part, so many are shown. */
    SHOWN = 3,
};

/* The parts of an item that are searched for. */
#define PARTS(X)                                                              \
    X(F, "f")                                                                 \
    X(F_BYTES, "f's coefficients as bytes")                                   \
    X(F_WORDS, "f's coefficients as words")                                   \
    X(G, "1/g")                                                               \
    X(G_BYTES, "1/g's coefficients as bytes")                                 \
    X(G_WORDS, "1/g's coefficients as words")                                 \
    X(RHO, "rho")                                                             \
    X(SCALAR, "scalar")                                                       \
    X(SEED, "seed")                                                           \
    X(PREFIX, "prefix")                                                       \
    X(SCALAR_LIMBS, "scalar in limbs")                                        \
    X(SCALAR_MONTGOMERY, "scalar in Montgomery form")                         \
    X(D, "d")                                                                 \
    X(Z, "z")                                                                 \
    X(SIGMA, "the noise's seed")                                              \
    X(NOISE, "noise as hashed")                                               \
    X(SMALL, "noise as words")                                                \
    X(S, "s")                                                                 \
    X(TRANSFORMED, "s or y as words")                                         \
    X(FACTOR, "s or y as a factor")                                           \
    X(MESSAGE, "m")                                                           \
    X(MESSAGE_WORDS, "m's coefficients as words")                             \
    X(SHARED_SECRET, "shared secret")                                         \
    X(HASH_OF_R, "hash of r")                                                 \
    X(R, "r")                                                                 \
    X(R_COEFFICIENTS, "r's coefficients")                                     \
    X(EPHEMERAL, "ephemeral scalar")                                          \
    X(PLANTED, "planted bytes")

#define NAME_OF_ENUM(name, text) name,
#define TEXT_OF_ENUM(name, text) text,
enum part { PARTS(NAME_OF_ENUM) PART_COUNT };
static const char *const part_texts[] = { PARTS(TEXT_OF_ENUM) };
_Static_assert(PART_COUNT <= 32, "the parts that were found are bits of an integer");

/* How the bytes of a mark lie in memory. */
enum form {
    IN_A_ROW,
    /* As integers of 64 bits in the same place of rows, one below the other. */
    IN_A_COLUMN,
    /* As words of 16 bits that are theirs modulo Q. */
    RESIDUES,
};

enum { MAX_P = 1277 };

/* Shared with children of fork, which note there what they find. */
static struct notes {
    size_t kind_count, mark_count, encapsulation_count, place_count;
    /* What is searched for: controls, which come first, and what was noted from here on. */
    struct range {
        size_t marks, encapsulations;
    } controls, from;
    struct kind {
        char name[64];
        size_t items;
    } kinds[KINDS];
    struct mark {
        uint16_t kind, item;
        uint8_t part, size, form;
        unsigned char hidden[MARK_BYTES];
    } marks[MARKS];
    struct encapsulation {
        uint16_t kind, item, has_ephemeral;
        size_t ciphertext_size;
        unsigned char ciphertext[CIPHERTEXT_BYTES], hidden[HASH_BYTES];
        /* The public value of the key exchange's part; and, of NIST's curves, that of the scalar's
         * Montgomery form. */
        unsigned char ephemeral[2][PUBLIC_BYTES];
    } encapsulations[ENCAPSULATIONS];
    /* Those of encapsulations: the hash of the public key that they are for; of Streamlined NTRU
     * Prime, the ring's degree and the weight of r; of ML-KEM, the set and s. */
    struct parameters {
        unsigned char key_hash[HASH_BYTES];
        size_t p, small_bytes, weight;
        struct mlkem mlkem;
        unsigned char hidden_s[MOST_POLYS * POLY_BYTES];
    } parameters;
    /* The curve of their scalars. */
    const struct curve *curve;
    /* By search, the parts that were found of each item, and where those of a kind are. */
    uint32_t found[SEARCHES][KINDS][ITEMS];
    uint64_t in_places[SEARCHES][KINDS];
    char places[PLACES][64];
} *notes;

/* A curve for key exchanges. `group` is 0 if it is X25519; the moduli, of the field and of
 * scalars, are those of others. */
struct curve {
    int group;
    size_t scalar_bytes, public_bytes;
    unsigned char field[MOST_SCALAR_BYTES], order[MOST_SCALAR_BYTES];
};

/* Coefficients in memory, which are in a row, as far as they are -1, 0 or 1. */
struct row {
    size_t size;
    uint32_t weight, weights[2048];
};

/* What the search and the tests work with. */
static struct scratch {
    unsigned char chunk[CHUNK + OVERLAP], key[KEY_BYTES], stack[STACK_BYTES];
    char maps[MAPS_BYTES];
    uint8_t filter[1 << (FILTER_BITS - 3)];
    uint16_t heads[1 << FILTER_BITS], next[MARKS];
    uint16_t encapsulation_heads[1 << 12], encapsulation_next[ENCAPSULATIONS];
    uint16_t shown[KINDS][PART_COUNT];
    struct row small, bytes, words;
    unsigned char r[MAX_P + 3];
    struct number {
        unsigned char bytes[MOST_SCALAR_BYTES];
    } number, less, form;
    int wants_scalars, wants_residues;
    /* The latest words modulo Q, and how many follow each other. */
    uint64_t residues;
    size_t residue_count;
    /* Random bytes that may be scalars: one more than their places in the array. */
    size_t candidate_count, candidates_left_out;
    uint32_t candidate_places[2 * CANDIDATES];
    struct candidate {
        unsigned char hidden[MOST_SCALAR_BYTES];
        uint64_t address;
        uint16_t searches, place;
    } candidates[CANDIDATES];
} *scratch;

/* Where the search is. */
static struct {
    const unsigned char *bytes;
    size_t size;
    uint64_t address;
    size_t search, place;
    /* Whether this can be no more than what a file has, where only marks are looked for. */
    int is_of_file;
} now;

/* Whether each hit is shown with what is around it. */
static int show;

static void *new_mapping(size_t size, int sharing)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void read_moduli(struct curve *curve, OSSL_LIB_CTX *context)
{
    if (curve->group == 0)
        return;
    EC_GROUP *group = EC_GROUP_new_by_curve_name_ex(context, NULL, curve->group);
    BIGNUM *field = BN_new();
    CHECK(group != NULL && EC_GROUP_get_curve(group, field, NULL, NULL, NULL) == 1);
    int size = curve->scalar_bytes;
    CHECK(BN_bn2binpad(field, curve->field, size) == size);
    CHECK(BN_bn2binpad(EC_GROUP_get0_order(group), curve->order, size) == size);
    BN_free(field);
    EC_GROUP_free(group);
}

static void prepare_search(void)
{
    notes = new_mapping(sizeof *notes, MAP_SHARED);
    scratch = new_mapping(sizeof *scratch, MAP_PRIVATE);
}

static size_t new_kind(const char *format, ...)
{
    CHECK(notes->kind_count < KINDS);
    struct kind *kind = &notes->kinds[notes->kind_count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(kind->name, sizeof kind->name, format, arguments);
    va_end(arguments);
    return notes->kind_count++;
}

static size_t new_item(size_t kind)
{
    CHECK(notes->kinds[kind].items < ITEMS);
    return notes->kinds[kind].items++;
}

/* Notes a part of an item, in one of the forms that it has in memory. */
static void note_form(size_t kind, size_t item, enum part part, enum form form, const void *bytes,
                      size_t size)
{
    CHECK(notes->mark_count < MARKS && size >= 16 && size <= MARK_BYTES);
    struct mark *mark = &notes->marks[notes->mark_count++];
    int zero = 1;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = ((const unsigned char *)bytes)[i];
        mark->hidden[i] = byte ^ MASK;
        zero &= i >= 8 || byte == 0;
    }
    /* Memory is full of zeros. */
    CHECK(!zero);
    mark->kind = kind, mark->item = item, mark->part = part, mark->size = size, mark->form = form;
}

static void note(size_t kind, size_t item, enum part part, const unsigned char *bytes, size_t size)
{
    note_form(kind, item, part, IN_A_ROW, bytes, size);
}

/* Notes words modulo Q, not from where there are zeros. */
static void note_residues(size_t kind, size_t item, enum part part, const uint16_t words[DEGREE])
{
    size_t start = 0, count = MARK_BYTES / sizeof *words;
    unsigned most = 0;
    for (size_t i = 0; i + count <= DEGREE; i++) {
        unsigned nonzero = 0;
        for (size_t j = 0; j < RESIDUES_IN_KEY; j++)
            nonzero += words[i + j] != 0;
        if (words[i] != 0 && nonzero > most)
            most = nonzero, start = i;
    }
    note_form(kind, item, part, RESIDUES, words + start, MARK_BYTES);
}

static unsigned digit(const unsigned char *encoded, size_t i)
{
    return encoded[i / 4] >> (2 * (i % 4)) & 3;
}

/* Notes a polynomial with coefficients -1, 0 and 1, as encoded in the NIST submission: from the
 * middle of the encoding, and of the coefficients as they are while they are worked with. */
static void note_polynomial(size_t kind, size_t item, enum part part, const unsigned char *encoded, size_t p)
{
    enum { COEFFICIENTS = 64, WORD_BYTES = 2, FIRST = 4 };
    note(kind, item, part, encoded + 32, 32);
    /* Not from where there are zeros only. */
    size_t start = 0;
    unsigned most = 0;
    for (size_t i = 0; i + COEFFICIENTS <= p; i++) {
        unsigned nonzero = 0;
        for (size_t j = 0; j < FIRST; j++)
            nonzero += digit(encoded, i + j) != 1;
        if (nonzero > most)
            most = nonzero, start = i;
    }
    unsigned char *wide = scratch->r;
    for (size_t width = 1; width <= WORD_BYTES; width++) {
        for (size_t i = 0; i < COEFFICIENTS; i++) {
            int coefficient = (int)digit(encoded, start + i) - 1;
            memset(wide + i * width, coefficient < 0 ? 0xff : 0, width);
            wide[i * width] = coefficient;
        }
        note(kind, item, part + width, wide, COEFFICIENTS * width);
    }
    OPENSSL_cleanse(wide, COEFFICIENTS * WORD_BYTES);
}

/* The scheme's hash: the first half of SHA-512, with a prefix. */
static void hash(unsigned char out[HASH_BYTES], unsigned char prefix, const void *first, size_t first_size,
                 const void *second, size_t second_size)
{
    SHA512_CTX context;
    unsigned char digest[SHA512_DIGEST_LENGTH];
    SHA512_Init(&context);
    SHA512_Update(&context, &prefix, 1);
    SHA512_Update(&context, first, first_size);
    SHA512_Update(&context, second, second_size);
    SHA512_Final(digest, &context);
    memcpy(out, digest, HASH_BYTES);
    OPENSSL_cleanse(digest, sizeof digest);
    OPENSSL_cleanse(&context, sizeof context);
}

/* Notes a transformed polynomial, and the same as a factor: pairs are swapped, and all is
 * multiplied by 2^16 and perhaps by 1/128. */
static void note_transformed(size_t kind, size_t item, const uint16_t words[DEGREE], int is_divided)
{
    uint16_t factor[DEGREE];
    for (size_t i = 0; i < DEGREE; i++)
        factor[i] = words[i ^ 1] * (65536 % Q) % Q * (is_divided ? 3303 : 1) % Q;
    note_residues(kind, item, TRANSFORMED, words);
    note_residues(kind, item, FACTOR, factor);
}

/* Notes 32 bytes that are hashed or are a hash. */
static void note_hashed(size_t kind, size_t item, enum part part, const unsigned char bytes[SEED_BYTES])
{
    note(kind, item, part, bytes, SEED_BYTES);
    note_form(kind, item, part, IN_A_COLUMN, bytes, SEED_BYTES);
}

/* Notes the seed of noise polynomials, and of them the first, which is `poly`, and number `other`:
 * either's secrets follow from both. */
static void note_noise(size_t kind, size_t item, const unsigned char seed[SEED_BYTES], size_t other,
                       size_t eta, uint16_t poly[DEGREE])
{
    unsigned char bytes[64 * 3];
    note_hashed(kind, item, SIGMA, seed);
    for (int is_other = 1; is_other >= 0; is_other--) {
        noise(bytes, eta, seed, is_other ? other : 0);
        note(kind, item, NOISE, bytes + 32, 64);
        sample(poly, bytes, eta);
        note_residues(kind, item, SMALL, poly);
    }
}

/* Notes what follows from the seed d of a key of ML-KEM, and returns the first polynomial of s. */
static void note_d(size_t kind, size_t item, const struct mlkem *set, const unsigned char d[SEED_BYTES],
                   uint16_t s[DEGREE])
{
    unsigned char seeds[2 * SEED_BYTES], k = set->k;
    note_hashed(kind, item, D, d);
    sponge(seeds, sizeof seeds, RATE_512, SHA3, d, SEED_BYTES, &k, 1);
    note_noise(kind, item, seeds + SEED_BYTES, set->k, set->eta, s);
    transform(s);
}

/* Notes the packed s of a key of ML-KEM. */
static void note_s(size_t kind, size_t item, const unsigned char s[POLY_BYTES])
{
    uint16_t words[DEGREE];
    note(kind, item, S, s + POLY_BYTES / 2, 64);
    unpack(words, s);
    note_transformed(kind, item, words, 0);
    transform_back(words);
    note_residues(kind, item, SMALL, words);
}

/* Notes the message of an encapsulation of ML-KEM and what follows from it, and returns the shared
 * secret. */
static void note_message(size_t kind, size_t item, const unsigned char message[SEED_BYTES],
                         unsigned char secret[HASH_BYTES])
{
    const struct mlkem *set = &notes->parameters.mlkem;
    unsigned char derived[HASH_BYTES + SEED_BYTES];
    uint16_t words[DEGREE];
    note_hashed(kind, item, MESSAGE, message);
    decompress(words, message, 1);
    note_residues(kind, item, MESSAGE_WORDS, words);
    sponge(derived, sizeof derived, RATE_512, SHA3, message, SEED_BYTES, notes->parameters.key_hash,
           HASH_BYTES);
    note_hashed(kind, item, SHARED_SECRET, derived);
    memcpy(secret, derived, HASH_BYTES);
    /* Of all polynomials of y, and no others, the noise has eta_1. */
    note_noise(kind, item, derived + HASH_BYTES, set->k - 1, set->eta, words);
    transform(words);
    note_transformed(kind, item, words, 1);
}

static void reverse(unsigned char *to, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = bytes[size - 1 - i];
}

/* Doubles a number modulo another, both with their first byte first. */
static void double_modulo(unsigned char *number, const unsigned char *modulus, size_t size)
{
    unsigned char *less = scratch->less.bytes;
    int carry = 0, borrow = 0;
    for (size_t i = size; i-- > 0;) {
        carry += 2 * number[i];
        number[i] = carry;
        carry >>= 8;
    }
    for (size_t i = size; i-- > 0;) {
        borrow += number[i] - modulus[i];
        less[i] = borrow;
        borrow >>= 8;
    }
    if (carry + borrow >= 0)
        memcpy(number, less, size);
}

/* The Montgomery form of a number, its last byte first, as in memory. */
static void montgomery(unsigned char *to, const unsigned char *bytes, const unsigned char *modulus,
                       size_t size)
{
    unsigned char *number = scratch->number.bytes;
    memcpy(number, bytes, size);
    for (size_t i = 0; i < 8 * size; i++)
        double_modulo(number, modulus, size);
    reverse(to, number, size);
}

/* Notes a secret number of one of NIST's curves as it is encoded, and as libraries compute with it.
 * `part` is the first of three parts, or one for all. */
static void note_number(size_t kind, size_t item, enum part part, const unsigned char *bytes,
                        const unsigned char *modulus, size_t size)
{
    unsigned char *form = scratch->form.bytes;
    note(kind, item, part, bytes, size);
    reverse(form, bytes, size);
    note(kind, item, part == SCALAR ? SCALAR_LIMBS : part, form, size);
    montgomery(form, bytes, modulus, size);
    note(kind, item, part == SCALAR ? SCALAR_MONTGOMERY : part, form, size);
    OPENSSL_cleanse(form, size);
    OPENSSL_cleanse(scratch->number.bytes, size);
    OPENSSL_cleanse(scratch->less.bytes, size);
}

/* Notes an encapsulation. With Streamlined NTRU Prime, its shared secret follows from the hash of
 * r, and that from r; with ML-KEM, from what it decrypts to (`note_messages`). `ephemeral` is the
 * public value of the key exchange's part, if there is one. */
static void note_encapsulation(size_t kind, size_t item, const unsigned char *ciphertext,
                               size_t ciphertext_size, const unsigned char *secret,
                               const unsigned char *ephemeral)
{
    CHECK(notes->encapsulation_count < ENCAPSULATIONS && ciphertext_size <= CIPHERTEXT_BYTES);
    struct encapsulation *made = &notes->encapsulations[notes->encapsulation_count++];
    made->kind = kind, made->item = item;
    made->ciphertext_size = ciphertext_size;
    memcpy(made->ciphertext, ciphertext, ciphertext_size);
    for (size_t i = 0; i < HASH_BYTES; i++)
        made->hidden[i] = secret[i] ^ MASK;
    made->has_ephemeral = ephemeral != NULL;
    if (ephemeral != NULL)
        memcpy(made->ephemeral[0], ephemeral, notes->curve->public_bytes);
}

/* Notes the messages of encapsulations of ML-KEM from number `first` on. */
static void note_messages(size_t first)
{
    const struct parameters *parameters = &notes->parameters;
    unsigned char s[MOST_POLYS * POLY_BYTES], message[SEED_BYTES], secret[HASH_BYTES];
    for (size_t i = 0; i < sizeof s; i++)
        s[i] = parameters->hidden_s[i] ^ MASK;
    for (size_t i = first; i < notes->encapsulation_count; i++) {
        const struct encapsulation *made = &notes->encapsulations[i];
        decrypt(&parameters->mlkem, message, s, made->ciphertext);
        note_message(made->kind, made->item, message, secret);
        for (size_t j = 0; j < HASH_BYTES; j++)
            CHECK((secret[j] ^ MASK) == made->hidden[j]);
    }
}

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static size_t filter_place(uint64_t hidden)
{
    return hidden * 0x9e3779b97f4a7c15 >> (64 - FILTER_BITS);
}

static const unsigned char *confirmation(const struct encapsulation *made)
{
    return made->ciphertext + made->ciphertext_size - HASH_BYTES;
}

static unsigned hidden_residue(const struct mark *mark, size_t i)
{
    return (mark->hidden[2 * i] ^ MASK) | (mark->hidden[2 * i + 1] ^ MASK) << 8;
}

/* A word in memory modulo Q. */
static unsigned residue(const unsigned char *bytes)
{
    return (unsigned)((int16_t)(bytes[0] | bytes[1] << 8) + 10 * Q) % Q;
}

/* Prepares to find what is in the notes by then. */
static void index_notes(void)
{
    memset(scratch->filter, 0, sizeof scratch->filter);
    memset(scratch->heads, 0xff, sizeof scratch->heads);
    memset(scratch->encapsulation_heads, 0xff, sizeof scratch->encapsulation_heads);
    scratch->wants_residues = 0;
    for (size_t i = 0; i < notes->mark_count; i++) {
        if (i >= notes->controls.marks && i < notes->from.marks)
            continue;
        const struct mark *mark = &notes->marks[i];
        uint64_t key = word_at(mark->hidden);
        scratch->wants_residues |= mark->form == RESIDUES;
        for (size_t j = 0; mark->form == RESIDUES && j < RESIDUES_IN_KEY; j++)
            key = (j == 0 ? 0 : key << 12) | hidden_residue(mark, j);
        size_t place = filter_place(key);
        scratch->filter[place / 8] |= 1 << place % 8;
        scratch->next[i] = scratch->heads[place];
        scratch->heads[place] = i;
    }
    scratch->wants_scalars = 0;
    for (size_t i = 0; i < notes->encapsulation_count; i++) {
        scratch->wants_scalars |= notes->encapsulations[i].has_ephemeral;
        if (i >= notes->controls.encapsulations && i < notes->from.encapsulations)
            continue;
        size_t place = word_at(confirmation(&notes->encapsulations[i])) >> 52;
        scratch->encapsulation_next[i] = scratch->encapsulation_heads[place];
        scratch->encapsulation_heads[place] = i;
    }
}

static void show_hit(size_t kind, size_t item, enum part part, uint64_t address, size_t size)
{
    enum { LINE = 16, AROUND = 64 };
    fprintf(stderr, "%s, item %zu: %s at %#llx in %s%s\n", notes->kinds[kind].name, item,
            part_texts[part], (unsigned long long)address, notes->places[now.place],
            now.bytes == NULL ? "" : ":");
    if (now.bytes == NULL)
        return;
    uint64_t end = now.address + now.size, line = (address - address % LINE) - AROUND;
    for (; line < address + size + AROUND; line += LINE) {
        fprintf(stderr, "%16llx", (unsigned long long)line);
        for (uint64_t i = line; i < line + LINE; i++) {
            char mark = i >= address && i < address + size ? '*' : ' ';
            if (i < now.address || i >= end)
                fputs(" ..", stderr);
            else
                fprintf(stderr, "%c%02x", mark, now.bytes[i - now.address]);
        }
        fputc('\n', stderr);
    }
}

static void found(size_t kind, size_t item, enum part part, uint64_t address, size_t size)
{
    notes->found[now.search][kind][item] |= (uint32_t)1 << part;
    notes->in_places[now.search][kind] |= (uint64_t)1 << now.place;
    if (show && scratch->shown[kind][part]++ < SHOWN)
        show_hit(kind, item, part, address, size);
}

/* Looks for a mark that begins at `i`. */
static void try_marks(size_t i, size_t place, int are_residues)
{
    for (unsigned m = scratch->heads[place]; m != 0xffff; m = scratch->next[m]) {
        const struct mark *mark = &notes->marks[m];
        int is_column = mark->form == IN_A_COLUMN;
        size_t j = 0, row = is_column ? ROW_BYTES : 8;
        size_t end = is_column ? (mark->size - 8) / 8 * row + 8 : mark->size;
        if ((mark->form == RESIDUES) != are_residues || i + end > now.size)
            continue;
        if (are_residues)
            while (j < mark->size && residue(now.bytes + i + j) == hidden_residue(mark, j / 2))
                j += 2;
        else
            while (j < mark->size && (now.bytes[i + j / 8 * row + j % 8] ^ MASK) == mark->hidden[j])
                j++;
        if (j == mark->size)
            found(mark->kind, mark->item, mark->part, now.address + i, end);
    }
}

static int may_be_mark(size_t place)
{
    return scratch->filter[place / 8] >> place % 8 & 1;
}

/* Goes on to the word that ends with byte `i`, and looks for residues. */
static void extend_residues(size_t i)
{
    const uint64_t all = ((uint64_t)1 << 12 * RESIDUES_IN_KEY) - 1;
    scratch->residues = (scratch->residues << 12 | residue(now.bytes + i - 1)) & all;
    size_t place = filter_place(scratch->residues);
    if (++scratch->residue_count >= RESIDUES_IN_KEY && may_be_mark(place))
        try_marks(i + 1 - 2 * RESIDUES_IN_KEY, place, 1);
}

/* Whether shared secrets follow from what may be the hash of an r: the confirmation tells, and
 * the session key proves it. */
static void try_hash(const unsigned char *hash_of_r, enum part part, uint64_t address, size_t size)
{
    unsigned char confirming[HASH_BYTES], session[HASH_BYTES];
    hash(confirming, 2, hash_of_r, HASH_BYTES, notes->parameters.key_hash, HASH_BYTES);
    unsigned e = scratch->encapsulation_heads[word_at(confirming) >> 52];
    for (; e != 0xffff; e = scratch->encapsulation_next[e]) {
        const struct encapsulation *made = &notes->encapsulations[e];
        if (memcmp(confirming, confirmation(made), HASH_BYTES) != 0)
            continue;
        hash(session, 1, hash_of_r, HASH_BYTES, made->ciphertext, made->ciphertext_size);
        for (size_t i = 0; i < HASH_BYTES; i++)
            CHECK((session[i] ^ MASK) == made->hidden[i]);
        OPENSSL_cleanse(session, sizeof session);
        found(made->kind, made->item, part, address, size);
    }
}

/* Whether 32 bytes are as random as a hash. One in some thousands of hashes is taken for
 * something else. */
static int is_random(const unsigned char *bytes)
{
    uint64_t seen[4] = { 0 };
    int distinct = 0;
    for (size_t i = 0; i < HASH_BYTES; i += 8) {
        uint64_t word = word_at(bytes + i);
        /* No address, no small number. */
        if (word >> 48 == 0 || word >> 48 == 0xffff || word << 48 == 0)
            return 0;
    }
    for (size_t i = 0; i < HASH_BYTES; i++) {
        uint64_t bit = (uint64_t)1 << bytes[i] % 64, *word = &seen[bytes[i] / 64];
        distinct += (*word & bit) == 0;
        *word |= bit;
    }
    return distinct >= 24;
}

/* Whether 32 bytes are words of about the size of Q, of which public matrices have many. */
static int are_coefficients(const unsigned char *bytes)
{
    int are_small = 1;
    for (size_t i = 0; i < HASH_BYTES; i += 2) {
        int16_t word = bytes[i] | bytes[i + 1] << 8;
        are_small &= word > -2 * Q && word < 2 * Q;
    }
    return are_small;
}

/* Keeps random bytes, the first 32 of which were checked, to be tried as a scalar: once, as that
 * takes long. */
static void keep_candidate(size_t i)
{
    size_t size = notes->curve->scalar_bytes;
    unsigned char hidden[MOST_SCALAR_BYTES] = { 0 };
    if (i + size > now.size || !is_random(now.bytes + i + size - HASH_BYTES))
        return;
    if (are_coefficients(now.bytes + i))
        return;
    for (size_t j = 0; j < size; j++)
        hidden[j] = now.bytes[i + j] ^ MASK;
    size_t at = word_at(hidden) % (2 * CANDIDATES);
    for (; scratch->candidate_places[at] != 0; at = (at + 1) % (2 * CANDIDATES)) {
        struct candidate *other = &scratch->candidates[scratch->candidate_places[at] - 1];
        if (memcmp(other->hidden, hidden, size) == 0) {
            other->searches |= 1 << now.search;
            return;
        }
    }
    if (scratch->candidate_count == CANDIDATES) {
        scratch->candidates_left_out++;
        return;
    }
    struct candidate *candidate = &scratch->candidates[scratch->candidate_count++];
    scratch->candidate_places[at] = scratch->candidate_count;
    memcpy(candidate->hidden, hidden, size);
    candidate->address = now.address + i;
    candidate->searches = 1 << now.search, candidate->place = now.place;
}

static void extend_row(struct row *row, int belongs, unsigned weight)
{
    if (!belongs) {
        row->size = 0, row->weight = 0;
        return;
    }
    row->weights[row->size++ % 2048] = row->weight;
    row->weight += weight;
}

/* The weight of the latest `count` elements. */
static unsigned weight_of(const struct row *row, size_t count)
{
    return row->weight - row->weights[(row->size - count) % 2048];
}

static void try_r(const unsigned char *encoded, enum part part, size_t i, size_t size)
{
    unsigned char hash_of_r[HASH_BYTES];
    hash(hash_of_r, 3, encoded, notes->parameters.small_bytes, NULL, 0);
    try_hash(hash_of_r, part, now.address + i, size);
    OPENSSL_cleanse(hash_of_r, sizeof hash_of_r);
}

/* Tries what ends with byte `i` as the encoding of an r: four coefficients a byte, one in the
 * last, and the weight is known. */
static void try_encoding(size_t i)
{
    const unsigned char *bytes = now.bytes;
    size_t size = notes->parameters.small_bytes;
    unsigned weight = 0, belongs = 1;
    for (size_t j = 0; j < 4; j++) {
        belongs &= digit(bytes + i, j) != 3;
        weight += digit(bytes + i, j) != 1;
    }
    extend_row(&scratch->small, belongs, weight);
    /* The last byte's other digits are zero, which stands for -1. */
    if (belongs && bytes[i] <= 2 && scratch->small.size >= size
        && weight_of(&scratch->small, size) - 3 == notes->parameters.weight)
        try_r(bytes + i + 1 - size, R, i + 1 - size, size);
}

/* Tries what ends before byte `end` as the coefficients of an r. */
static void try_coefficients(struct row *row, size_t end, size_t width)
{
    const unsigned char *last = now.bytes + end - width;
    int coefficient = width == 1 ? (int8_t)last[0] : (int16_t)(last[0] | last[1] << 8);
    size_t p = notes->parameters.p, start = end - p * width;
    extend_row(row, coefficient >= -1 && coefficient <= 1, coefficient != 0);
    if (row->size < p || weight_of(row, p) != notes->parameters.weight)
        return;
    memset(scratch->r, 0, sizeof scratch->r);
    for (size_t i = 0; i < p; i++)
        scratch->r[i / 4] |= ((now.bytes[start + i * width] + 1) & 3) << (2 * (i % 4));
    try_r(scratch->r, R_COEFFICIENTS, start, p * width);
}

static int is_zero(const unsigned char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Searches `now`, whose address is that of a page or a file's beginning. */
static void search_bytes(void)
{
    enum { STEP = 64 };
    scratch->small.size = scratch->bytes.size = scratch->words.size = 0;
    scratch->residue_count = 0;
    for (size_t i = 0; i < now.size; i++) {
        /* No mark begins with zeros, and no r has so many coefficients in a row that are the
         * same. */
        size_t step = i % PAGE == 0 && i + PAGE + 8 <= now.size && is_zero(now.bytes + i, PAGE + 8) ? PAGE
            : i % STEP == 0 && i + STEP + 8 <= now.size && is_zero(now.bytes + i, STEP + 8)         ? STEP
                                                                                                     : 0;
        if (step != 0) {
            scratch->small.size = scratch->bytes.size = scratch->words.size = 0;
            scratch->residue_count = 0;
            i += step - 1;
            continue;
        }
        if (i + 8 <= now.size) {
            size_t place = filter_place(word_at(now.bytes + i) ^ 0x0101010101010101 * MASK);
            if (may_be_mark(place))
                try_marks(i, place, 0);
        }
        if (scratch->wants_residues && i % 2 == 1)
            extend_residues(i);
        if (notes->encapsulation_count == 0 || now.is_of_file)
            continue;
        int is_ntru = notes->parameters.p != 0;
        if (i % 8 == 0 && i + HASH_BYTES <= now.size && is_random(now.bytes + i)) {
            if (is_ntru)
                try_hash(now.bytes + i, HASH_OF_R, now.address + i, HASH_BYTES);
            if (scratch->wants_scalars)
                keep_candidate(i);
        }
        if (!is_ntru)
            continue;
        try_encoding(i);
        try_coefficients(&scratch->bytes, i + 1, 1);
        if (i % 2 == 1)
            try_coefficients(&scratch->words, i + 1, 2);
    }
}

static sigjmp_buf unreadable;

static void on_fault(int signal)
{
    siglongjmp(unreadable, signal);
}

/* Reads a page of which the kernel gives no copy, as of secret memory, as any code here may. */
static void read_page(unsigned char *to, uint64_t address)
{
    struct sigaction action = { .sa_handler = on_fault }, before[2];
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGBUS, &action, &before[1]);
    if (sigsetjmp(unreadable, 1) == 0)
        memcpy(to, (const void *)(uintptr_t)address, PAGE);
    else
        memset(to, 0, PAGE);
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
}

static size_t place_named(const char *name)
{
    for (size_t i = 0; i < notes->place_count; i++)
        if (strcmp(notes->places[i], name) == 0)
            return i;
    size_t i = notes->place_count < PLACES - 1 ? notes->place_count++ : PLACES - 1;
    snprintf(notes->places[i], sizeof *notes->places, "%s", name);
    return i;
}

/* A line of /proc/self/maps. */
struct mapping {
    uint64_t start, end;
    char rights[8], name[256];
    unsigned long inode;
    /* Whether it comes after a page that nobody may touch, as stacks of threads do. */
    int is_guarded;
};

static void read_maps(void)
{
    int file = open("/proc/self/maps", O_RDONLY);
    size_t size = 0;
    ssize_t count = 1;
    CHECK(file >= 0);
    while (count > 0) {
        count = read(file, scratch->maps + size, MAPS_BYTES - 1 - size);
        CHECK(count >= 0);
        size += count;
    }
    CHECK(size < MAPS_BYTES - 1);
    scratch->maps[size] = 0;
    close(file);
}

/* The mapping in the line at `*line`, and goes to the next. */
static int next_mapping(const char **line, struct mapping *mapping)
{
    unsigned long long start, end;
    uint64_t guard_end = 0;
    if (mapping->end - mapping->start == PAGE && strcmp(mapping->rights, "---p") == 0)
        guard_end = mapping->end;
    mapping->name[0] = 0;
    if (**line == 0)
        return 0;
    CHECK(sscanf(*line, "%llx-%llx %7s %*s %*s %lu%*[ ]%255[^\n]", &start, &end, mapping->rights,
                 &mapping->inode, mapping->name) >= 4);
    mapping->start = start, mapping->end = end;
    mapping->is_guarded = start == guard_end && end - start >= 1 << 14;
    *line = strchr(*line, '\n') + 1;
    return 1;
}

static size_t place_of(const struct mapping *mapping)
{
    /* glibc's malloc gives threads heaps at multiples of this. */
    enum { HEAP = 1 << 26 };
    const char *name = strrchr(mapping->name, '/');
    name = name != NULL ? name + 1 : mapping->name;
    return place_named(*name != 0                    ? name
                       : mapping->is_guarded         ? "a thread's stack"
                       : mapping->start % HEAP == 0 ? "a thread's heap"
                                                     : "a mapping without a name");
}

static int overlaps(const struct mapping *mapping, const void *memory, size_t size)
{
    uint64_t start = (uintptr_t)memory;
    return mapping->start < start + size && start < mapping->end;
}

/* What could hold a secret: all that can be written to, or could before it was protected. Files'
 * contents are none. */
static int is_searched(const struct mapping *mapping)
{
    if (strncmp(mapping->name, "[v", 2) == 0)
        return 0;
    return mapping->rights[1] == 'w' || mapping->inode == 0;
}

/* Whether a page of private memory was ever written to. */
static int is_touched(int pagemap, uint64_t address, size_t pages)
{
    uint64_t entries[64];
    for (size_t done = 0; done < pages;) {
        size_t part = pages - done < 64 ? pages - done : 64;
        off_t place = (address / PAGE + done) * sizeof *entries;
        if (pread(pagemap, entries, part * sizeof *entries, place) != (ssize_t)(part * sizeof *entries))
            return 1;
        for (size_t i = 0; i < part; i++)
            /* In memory, or swapped out. */
            if (entries[i] >> 62 != 0)
                return 1;
        done += part;
    }
    return 0;
}

static void search_part(const struct mapping *mapping, int memory, int pagemap)
{
    now.place = place_of(mapping);
    int is_private = mapping->rights[3] == 'p' && mapping->inode == 0;
    for (uint64_t at = mapping->start; at < mapping->end; at += CHUNK) {
        uint64_t left = mapping->end - at;
        size_t size = left < CHUNK + OVERLAP ? left : CHUNK + OVERLAP;
        if (is_private && !is_touched(pagemap, at, size / PAGE))
            continue;
        ssize_t count = pread(memory, scratch->chunk, size, at);
        for (size_t i = count < 0 ? 0 : count - count % PAGE; i < size; i += PAGE)
            if (pread(memory, scratch->chunk + i, PAGE, at + i) != PAGE)
                read_page(scratch->chunk + i, at + i);
        now.bytes = scratch->chunk, now.size = size, now.address = at, now.is_of_file = 0;
        search_bytes();
        OPENSSL_cleanse(scratch->chunk, size);
    }
}

/* Searches the memory of this process. */
static void search_memory(size_t search)
{
    int memory = open("/proc/self/mem", O_RDONLY), pagemap = open("/proc/self/pagemap", O_RDONLY);
    CHECK(memory >= 0);
    index_notes();
    read_maps();
    now.search = search;
    const char *line = scratch->maps;
    for (struct mapping mapping = { 0 }; next_mapping(&line, &mapping);) {
        if (!is_searched(&mapping))
            continue;
        /* The kernel joins mappings that are alike and side by side. */
        const struct {
            const void *memory;
            size_t size;
        } own[] = { { notes, sizeof *notes }, { scratch, sizeof *scratch } };
        struct mapping rest = mapping;
        while (rest.start < rest.end) {
            struct mapping part = rest;
            uint64_t next = rest.end;
            for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
                uint64_t start = (uintptr_t)own[i].memory;
                uint64_t end = (start + own[i].size + PAGE - 1) / PAGE * PAGE;
                if (!overlaps(&rest, own[i].memory, own[i].size))
                    continue;
                if (start <= part.start)
                    part.end = part.start, next = end;
                else if (start < part.end)
                    part.end = start, next = end;
            }
            search_part(&part, memory, pagemap);
            rest.start = next;
        }
    }
    close(memory);
    close(pagemap);
}

/* Searches a core dump of this process, and removes it. */
static void search_core(size_t search, const char *path)
{
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    off_t size = lseek(file, 0, SEEK_END);
    const unsigned char *core = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(core != MAP_FAILED);
    close(file);
    unlink(path);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)core;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(core + header->e_phoff);
    CHECK(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_CORE);
    index_notes();
    read_maps();
    now.search = search;
    for (size_t i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        CHECK(segment->p_offset + segment->p_filesz <= (uint64_t)size);
        now.place = place_named(segment->p_type == PT_NOTE ? "registers" : "another segment");
        now.is_of_file = 0;
        const char *line = scratch->maps;
        for (struct mapping mapping = { 0 }; segment->p_type == PT_LOAD && next_mapping(&line, &mapping);)
            if (mapping.start <= segment->p_vaddr && segment->p_vaddr < mapping.end)
                now.place = place_of(&mapping), now.is_of_file = !is_searched(&mapping);
        now.bytes = core + segment->p_offset, now.size = segment->p_filesz;
        now.address = segment->p_vaddr;
        search_bytes();
    }
    munmap((void *)core, size);
}

/* What computes public values on `notes->curve`, a group if it is one of NIST's. */
struct multiplier {
    OSSL_LIB_CTX *context;
    EC_GROUP *group;
    EC_POINT *base, *product;
    BN_CTX *numbers;
    BIGNUM *scalar;
    /* By a scalar's place and its byte there, the first one first: multiples of the base point.
     * Libcrypto's own multiplication on P-384 takes ten times as long as their sum. */
    EC_POINT *multiples[MOST_SCALAR_BYTES][256];
};

static void init_multiplier(struct multiplier *with, OSSL_LIB_CTX *context)
{
    memset(with, 0, sizeof *with);
    with->context = context;
    if (notes->curve->group == 0)
        return;
    with->group = EC_GROUP_new_by_curve_name_ex(context, NULL, notes->curve->group);
    CHECK(with->group != NULL && (with->base = EC_POINT_new(with->group)) != NULL);
    CHECK((with->product = EC_POINT_new(with->group)) != NULL && (with->scalar = BN_new()) != NULL);
    CHECK((with->numbers = BN_CTX_new_ex(context)) != NULL);
}

static void add_multiples(struct multiplier *with)
{
    const EC_POINT *base = EC_GROUP_get0_generator(with->group);
    for (size_t i = notes->curve->scalar_bytes; i-- > 0;) {
        EC_POINT **multiples = with->multiples[i];
        for (size_t j = 0; j < 256; j++)
            CHECK((multiples[j] = EC_POINT_new(with->group)) != NULL);
        CHECK(EC_POINT_copy(multiples[1], base) == 1);
        for (size_t j = 2; j < 256; j++)
            CHECK(EC_POINT_add(with->group, multiples[j], multiples[j - 1], base, with->numbers) == 1);
        /* The place of 0, which is not added, has what is to be the next base. */
        CHECK(EC_POINT_add(with->group, multiples[0], multiples[255], base, with->numbers) == 1);
        base = multiples[0];
    }
}

static void free_multiplier(struct multiplier *with)
{
    for (size_t i = 0; i < MOST_SCALAR_BYTES; i++)
        for (size_t j = 0; j < 256; j++)
            EC_POINT_free(with->multiples[i][j]);
    BN_clear_free(with->scalar);
    BN_CTX_free(with->numbers);
    EC_POINT_clear_free(with->product);
    EC_POINT_free(with->base);
    EC_GROUP_free(with->group);
}

/* Writes the product. Returns false if it is infinite, as for the order. */
static int write_product(struct multiplier *with, unsigned char *product)
{
    size_t size = notes->curve->public_bytes;
    return EC_POINT_point2oct(with->group, with->product, POINT_CONVERSION_UNCOMPRESSED, product, size,
                              with->numbers)
        == size;
}

/* Writes the product of a scalar and of the base point or, on one of NIST's curves, another one. */
static int multiply(struct multiplier *with, const unsigned char *scalar, const unsigned char *point,
                    unsigned char *product)
{
    const struct curve *curve = notes->curve;
    if (curve->group == 0) {
        size_t size = SCALAR_BYTES;
        EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(with->context, "X25519", "provider=default",
                                                        scalar, size);
        CHECK(key != NULL && EVP_PKEY_get_raw_public_key(key, product, &size) == 1);
        EVP_PKEY_free(key);
        return 1;
    }
    CHECK(BN_bin2bn(scalar, curve->scalar_bytes, with->scalar) != NULL);
    if (point == NULL)
        CHECK(EC_POINT_mul(with->group, with->product, with->scalar, NULL, NULL, with->numbers) == 1);
    else
        CHECK(EC_POINT_oct2point(with->group, with->base, point, curve->public_bytes, with->numbers) == 1
              && EC_POINT_mul(with->group, with->product, NULL, with->base, with->scalar,
                              with->numbers)
                  == 1);
    return write_product(with, product);
}

/* The same with the base point of one of NIST's curves, for many scalars. */
static int multiply_many(struct multiplier *with, const unsigned char *scalar, unsigned char *product)
{
    CHECK(EC_POINT_set_to_infinity(with->group, with->product) == 1);
    for (size_t i = 0; i < notes->curve->scalar_bytes; i++)
        CHECK(scalar[i] == 0
              || EC_POINT_add(with->group, with->product, with->product, with->multiples[i][scalar[i]],
                              with->numbers) == 1);
    return write_product(with, product);
}

/* Notes the encapsulations that have a public value: a candidate is their scalar. */
static void try_public(const struct candidate *candidate, const unsigned char *public)
{
    const struct curve *curve = notes->curve;
    now.place = candidate->place, now.bytes = NULL;
    for (size_t i = 0; i < notes->encapsulation_count; i++) {
        const struct encapsulation *made = &notes->encapsulations[i];
        int is_equal = 0;
        for (size_t form = 0; form < (curve->group != 0 ? 2 : 1); form++)
            is_equal |= memcmp(made->ephemeral[form], public, curve->public_bytes) == 0;
        if (!made->has_ephemeral || !is_equal)
            continue;
        for (now.search = 0; now.search < SEARCHES; now.search++)
            if (candidate->searches >> now.search & 1)
                found(made->kind, made->item, EPHEMERAL, candidate->address, curve->scalar_bytes);
    }
}

/* Whether scalars of encapsulations are among the random bytes that were found, with the first byte
 * first or, on NIST's curves, the last one, and there also in Montgomery form. This allocates
 * memory, so it comes last. */
static void try_scalars(OSSL_LIB_CTX *context)
{
    const struct curve *curve = notes->curve;
    unsigned char scalar[MOST_SCALAR_BYTES] = { 0 }, limbs[MOST_SCALAR_BYTES], public[PUBLIC_BYTES];
    if (!scratch->wants_scalars)
        return;
    struct multiplier *with = new_mapping(sizeof *with, MAP_PRIVATE);
    init_multiplier(with, context);
    /* The factor of Montgomery forms is that of 1. */
    scalar[curve->scalar_bytes - 1] = 1;
    montgomery(limbs, scalar, curve->order, curve->scalar_bytes);
    reverse(scalar, limbs, curve->scalar_bytes);
    for (size_t i = 0; curve->group != 0 && i < notes->encapsulation_count; i++) {
        struct encapsulation *made = &notes->encapsulations[i];
        CHECK(!made->has_ephemeral || multiply(with, scalar, made->ephemeral[0], made->ephemeral[1]));
    }
    if (curve->group != 0)
        add_multiples(with);
    for (size_t c = 0; c < scratch->candidate_count; c++) {
        const struct candidate *candidate = &scratch->candidates[c];
        for (size_t i = 0; i < curve->scalar_bytes; i++)
            scalar[i] = candidate->hidden[i] ^ MASK;
        reverse(limbs, scalar, curve->scalar_bytes);
        if (curve->group == 0) {
            multiply(with, scalar, NULL, public);
            try_public(candidate, public);
            continue;
        }
        if (multiply_many(with, scalar, public))
            try_public(candidate, public);
        if (multiply_many(with, limbs, public))
            try_public(candidate, public);
    }
    free_multiplier(with);
    OPENSSL_cleanse(scalar, sizeof scalar);
    OPENSSL_cleanse(limbs, sizeof limbs);
    if (scratch->candidates_left_out > 0)
        fprintf(stderr, "%zu of %zu random values were tried as scalars\n", scratch->candidate_count,
                scratch->candidate_count + scratch->candidates_left_out);
}

/* Prints a line for each kind: where it was searched for, the kind, how many items were found,
 * of how many, and what of them where. */
static void report(size_t search, const char *where)
{
    for (size_t kind = 0; kind < notes->kind_count; kind++) {
        size_t items = notes->kinds[kind].items, count = 0, counts[PART_COUNT] = { 0 };
        for (size_t item = 0; item < items; item++) {
            uint32_t parts = notes->found[search][kind][item];
            count += parts != 0;
            for (size_t part = 0; part < PART_COUNT; part++)
                counts[part] += parts >> part & 1;
        }
        printf("%s\t%s\t%zu\t%zu\t", where, notes->kinds[kind].name, count, items);
        const char *between = "";
        for (size_t part = 0; part < PART_COUNT; part++)
            if (counts[part] != 0) {
                printf("%s%s of %zu", between, part_texts[part], counts[part]);
                between = ", ";
            }
        between = count != 0 ? " in " : "";
        for (size_t place = 0; place < PLACES; place++)
            if (notes->in_places[search][kind] >> place & 1) {
                printf("%s%s", between, notes->places[place]);
                between = " and ";
            }
        putchar('\n');
    }
    fflush(stdout);
}
