/* Threads that make and use keys at once, and children that are forked meanwhile, some of which
 * are killed at work: no public key twice, nobody hangs. The threads are outside of libcrypto at
 * that moment: it takes locks of its own (of engines, of application data) for every key, and
 * who is forked while a thread holds one waits for ever. The module's thread, if there is one,
 * goes on.
 * Usage: concurrency GROUP CHILDREN KEYS, KEYS for each child, or in all if there are no
 * children; the configuration is OPENSSL_CONF's. Prints how many keys there were. */
#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            ERR_print_errors_fp(stderr);                                      \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

#ifdef __SANITIZE_THREAD__
/* Names that the module's compiler uses and the C compiler's sanitizer lacks. */
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size)
{
    return memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, size_t size)
{
    return memset(to, byte, size);
}
#endif

enum { THREADS = 4, MARK = 32, MOST = 1 << 20 };

typedef struct {
    unsigned char bytes[MARK];
} mark;

static const char *group = "sntrup761";
static mark *all;
static atomic_size_t count;
static atomic_bool done;
/* Shared by who is in libcrypto; held alone by who forks. */
static pthread_rwlock_t gate;

/* A key, used once if asked; its mark is the end of its public half, which is random. */
static mark make(int use)
{
    unsigned char public[4096], ciphertext[4096], ours[64], theirs[64];
    size_t public_size, ciphertext_size = sizeof ciphertext, secret_size = sizeof ours;
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(NULL, group, "provider=fastkex");
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    CHECK(EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    CHECK(EVP_PKEY_get_octet_string_param(key, "pub", public, sizeof public, &public_size) == 1);
    if (use && strcmp(group, "X25519") == 0) {
        EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
        CHECK(operation != NULL && EVP_PKEY_derive_init(operation) == 1);
        CHECK(EVP_PKEY_derive_set_peer(operation, key) == 1);
        CHECK(EVP_PKEY_derive(operation, ours, &secret_size) == 1 && secret_size == 32);
        EVP_PKEY_CTX_free(operation);
    } else if (use) {
        EVP_PKEY_CTX *operation = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
        CHECK(operation != NULL && EVP_PKEY_encapsulate_init(operation, NULL) == 1);
        CHECK(EVP_PKEY_encapsulate(operation, ciphertext, &ciphertext_size, ours, &secret_size) == 1);
        CHECK(EVP_PKEY_decapsulate_init(operation, NULL) == 1);
        CHECK(EVP_PKEY_decapsulate(operation, theirs, &secret_size, ciphertext, ciphertext_size) == 1);
        CHECK(memcmp(ours, theirs, secret_size) == 0);
        EVP_PKEY_CTX_free(operation);
    }
    EVP_PKEY_free(key);
    mark made;
    memcpy(made.bytes, public + public_size - MARK, MARK);
    return made;
}

static void note(mark made)
{
    size_t place = atomic_fetch_add(&count, 1);
    CHECK(place < MOST);
    all[place] = made;
}

static void *work(void *unused)
{
    (void)unused;
    for (size_t i = 0; !atomic_load(&done) && atomic_load(&count) < MOST / 2; i++) {
        pthread_rwlock_rdlock(&gate);
        mark made = make(i % 16 == 0);
        pthread_rwlock_unlock(&gate);
        note(made);
    }
    return NULL;
}

/* A child's keys come through a pipe. */
static void child(int to, long keys)
{
    for (long i = 0; i < keys; i++) {
        mark made = make(i % 16 == 0);
        CHECK(write(to, made.bytes, MARK) == MARK);
    }
    /* With what a program does that ends in order: the module is torn down. */
    exit(0);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, MARK);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    long children = atol(argv[2]), keys = atol(argv[3]);
    group = argv[1];
    all = malloc(MOST * sizeof *all);
    CHECK(all != NULL);
    note(make(1));
    pthread_t threads[THREADS];
    pthread_rwlockattr_t fair;
    CHECK(pthread_rwlockattr_init(&fair) == 0);
    CHECK(pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    CHECK(pthread_rwlock_init(&gate, &fair) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (long i = 0; i < children; i++) {
        int ends[2], status;
        CHECK(pipe(ends) == 0);
        pthread_rwlock_wrlock(&gate);
        pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0) {
            close(ends[0]);
            alarm(60);
            child(ends[1], keys);
        }
        pthread_rwlock_unlock(&gate);
        close(ends[1]);
        FILE *from = fdopen(ends[0], "rb");
        mark made;
        long received = 0;
        int is_killed = i % 4 == 3;
        while (fread(made.bytes, MARK, 1, from) == 1) {
            note(made);
            if (++received == keys / 2 && is_killed)
                CHECK(kill(process, SIGKILL) == 0);
        }
        fclose(from);
        CHECK(waitpid(process, &status, 0) == process);
        if (is_killed)
            CHECK(received >= keys / 2 && (status == 0 || WTERMSIG(status) == SIGKILL));
        else
            CHECK(status == 0 && received == keys);
    }
    while (atomic_load(&count) < (size_t)keys)
        usleep(1000);
    atomic_store(&done, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    size_t total = atomic_load(&count);
    qsort(all, total, sizeof *all, compare);
    for (size_t i = 1; i < total; i++)
        CHECK(memcmp(all[i - 1].bytes, all[i].bytes, MARK) != 0);
    printf("%zu keys\n", total);
    return 0;
}
