/* Searches memory for secrets: that of the process that calls it, and core dumps. A secret is
 * known by marks, parts of it that are noted (`note`), or by what it is hashed to, as the input
 * of an encapsulation is (`note_encapsulation`). Notes are masked, and lie in memory that is not
 * searched; so does all that the search itself works with. It calls nothing that allocates
 * memory, since that would write over what was freed. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
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
    SCALAR_BYTES = 32,
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
        uint8_t part, size;
        unsigned char hidden[MARK_BYTES];
    } marks[MARKS];
    struct encapsulation {
        uint16_t kind, item, has_ephemeral;
        size_t ciphertext_size;
        unsigned char ciphertext[CIPHERTEXT_BYTES], hidden[HASH_BYTES], ephemeral[SCALAR_BYTES];
    } encapsulations[ENCAPSULATIONS];
    /* Those of encapsulations: the ring's degree, the weight of r, the hash of the public key
     * that they are for. */
    struct parameters {
        size_t p, small_bytes, weight;
        unsigned char key_hash[HASH_BYTES];
    } parameters;
    /* By search, the parts that were found of each item, and where those of a kind are. */
    uint32_t found[SEARCHES][KINDS][ITEMS];
    uint64_t in_places[SEARCHES][KINDS];
    char places[PLACES][64];
} *notes;

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
    int wants_scalars;
    /* Random bytes that may be scalars: one more than their places in the array. */
    size_t candidate_count, candidates_left_out;
    uint32_t candidate_places[2 * CANDIDATES];
    struct candidate {
        unsigned char hidden[SCALAR_BYTES];
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

/* Notes a part of an item. */
static void note(size_t kind, size_t item, enum part part, const unsigned char *bytes, size_t size)
{
    CHECK(notes->mark_count < MARKS && size >= 16 && size <= MARK_BYTES);
    struct mark *mark = &notes->marks[notes->mark_count++];
    int zero = 1;
    for (size_t i = 0; i < size; i++) {
        mark->hidden[i] = bytes[i] ^ MASK;
        zero &= i >= 8 || bytes[i] == 0;
    }
    /* Memory is full of zeros. */
    CHECK(!zero);
    mark->kind = kind, mark->item = item, mark->part = part, mark->size = size;
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

/* Notes an encapsulation: its shared secret follows from the hash of r, and that from r.
 * `ephemeral` is the public value of the X25519 part, if there is one. */
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
        memcpy(made->ephemeral, ephemeral, SCALAR_BYTES);
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

/* Prepares to find what is in the notes by then. */
static void index_notes(void)
{
    memset(scratch->filter, 0, sizeof scratch->filter);
    memset(scratch->heads, 0xff, sizeof scratch->heads);
    memset(scratch->encapsulation_heads, 0xff, sizeof scratch->encapsulation_heads);
    for (size_t i = 0; i < notes->mark_count; i++) {
        if (i >= notes->controls.marks && i < notes->from.marks)
            continue;
        size_t place = filter_place(word_at(notes->marks[i].hidden));
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
static void try_marks(size_t i, size_t place)
{
    for (unsigned m = scratch->heads[place]; m != 0xffff; m = scratch->next[m]) {
        const struct mark *mark = &notes->marks[m];
        size_t j = 0;
        while (j < mark->size && i + j < now.size && (now.bytes[i + j] ^ MASK) == mark->hidden[j])
            j++;
        if (j == mark->size)
            found(mark->kind, mark->item, mark->part, now.address + i, mark->size);
    }
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

/* Keeps 32 random bytes to be tried as a scalar: once, as that takes long. */
static void keep_candidate(size_t i)
{
    unsigned char hidden[SCALAR_BYTES];
    for (size_t j = 0; j < SCALAR_BYTES; j++)
        hidden[j] = now.bytes[i + j] ^ MASK;
    size_t at = word_at(hidden) % (2 * CANDIDATES);
    for (; scratch->candidate_places[at] != 0; at = (at + 1) % (2 * CANDIDATES)) {
        struct candidate *other = &scratch->candidates[scratch->candidate_places[at] - 1];
        if (memcmp(other->hidden, hidden, SCALAR_BYTES) == 0) {
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
    memcpy(candidate->hidden, hidden, SCALAR_BYTES);
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
    for (size_t i = 0; i < now.size; i++) {
        /* No mark begins with zeros, and no r has so many coefficients in a row that are the
         * same. */
        size_t step = i % PAGE == 0 && i + PAGE + 8 <= now.size && is_zero(now.bytes + i, PAGE + 8) ? PAGE
            : i % STEP == 0 && i + STEP + 8 <= now.size && is_zero(now.bytes + i, STEP + 8)         ? STEP
                                                                                                     : 0;
        if (step != 0) {
            scratch->small.size = scratch->bytes.size = scratch->words.size = 0;
            i += step - 1;
            continue;
        }
        if (i + 8 <= now.size) {
            size_t place = filter_place(word_at(now.bytes + i) ^ 0x0101010101010101 * MASK);
            if (scratch->filter[place / 8] >> place % 8 & 1)
                try_marks(i, place);
        }
        if (notes->encapsulation_count == 0 || now.is_of_file)
            continue;
        if (i % 8 == 0 && i + HASH_BYTES <= now.size && is_random(now.bytes + i)) {
            try_hash(now.bytes + i, HASH_OF_R, now.address + i, HASH_BYTES);
            if (scratch->wants_scalars)
                keep_candidate(i);
        }
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

/* Whether X25519 scalars of encapsulations are among the random bytes that were found. This
 * allocates memory, so it comes last. */
static void try_scalars(OSSL_LIB_CTX *context)
{
    for (size_t c = 0; c < scratch->candidate_count; c++) {
        struct candidate *candidate = &scratch->candidates[c];
        unsigned char scalar[SCALAR_BYTES], public[SCALAR_BYTES];
        size_t size = sizeof public;
        for (size_t i = 0; i < SCALAR_BYTES; i++)
            scalar[i] = candidate->hidden[i] ^ MASK;
        EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(context, "X25519", "provider=default", scalar,
                                                        sizeof scalar);
        CHECK(key != NULL && EVP_PKEY_get_raw_public_key(key, public, &size) == 1);
        EVP_PKEY_free(key);
        OPENSSL_cleanse(scalar, sizeof scalar);
        now.place = candidate->place, now.bytes = NULL;
        for (size_t i = 0; i < notes->encapsulation_count; i++) {
            const struct encapsulation *made = &notes->encapsulations[i];
            if (!made->has_ephemeral || memcmp(made->ephemeral, public, SCALAR_BYTES) != 0)
                continue;
            for (now.search = 0; now.search < SEARCHES; now.search++)
                if (candidate->searches >> now.search & 1)
                    found(made->kind, made->item, EPHEMERAL, candidate->address, SCALAR_BYTES);
        }
    }
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
