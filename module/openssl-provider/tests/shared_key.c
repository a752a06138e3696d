/* Threads that use one key at once, and children that are forked meanwhile and use it, too: each
 * ends in time.
 * Usage: shared_key NAME PROPERTIES read|use CHILDREN; the configuration is OPENSSL_CONF's.
 * Methods are fetched and the child's operation is created before the fork: these take locks of
 * libcrypto, which could hang a child as well. Prints the number of children. */
#define _GNU_SOURCE
#include "common/check.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, ROOM = 4096, SECONDS = 10 };

static const char *name, *properties;
static EVP_PKEY *key;
static int is_used;
static atomic_bool done;

/* An operation that has not begun. */
typedef struct {
    EVP_PKEY_CTX *of_key;
    EVP_MD_CTX *of_message;
} operation;

static operation make(void)
{
    operation made = { EVP_PKEY_CTX_new_from_pkey(NULL, key, properties), EVP_MD_CTX_new() };
    CHECK(made.of_key != NULL && made.of_message != NULL);
    return made;
}

static void discard(operation made)
{
    EVP_PKEY_CTX_free(made.of_key);
    EVP_MD_CTX_free(made.of_message);
}

/* Whether the key did what keys of its kind do. */
static int is_right(operation with)
{
    unsigned char first[ROOM], second[ROOM], third[ROOM];
    size_t size = ROOM, first_size = ROOM, second_size = ROOM;
    if (EVP_PKEY_get_octet_string_param(key, "pub", first, sizeof first, &size) != 1
        || EVP_PKEY_get_octet_string_param(key, "priv", second, sizeof second, &size) != 1)
        return 0;
    if (!is_used)
        return 1;
    if (strcmp(name, "ED25519") == 0)
        return EVP_DigestSignInit_ex(with.of_message, NULL, NULL, NULL, properties, key, NULL) == 1
            && EVP_DigestSign(with.of_message, first, &first_size, second, 100) == 1 && first_size == 64;
    if (strcmp(name, "X25519") == 0)
        return EVP_PKEY_derive_init(with.of_key) == 1 && EVP_PKEY_derive_set_peer(with.of_key, key) == 1
            && EVP_PKEY_derive(with.of_key, first, &first_size) == 1 && first_size == 32;
    size = ROOM;
    return EVP_PKEY_encapsulate_init(with.of_key, NULL) == 1
        && EVP_PKEY_encapsulate(with.of_key, first, &first_size, second, &second_size) == 1
        && EVP_PKEY_decapsulate_init(with.of_key, NULL) == 1
        && EVP_PKEY_decapsulate(with.of_key, third, &size, first, first_size) == 1
        && size == second_size && memcmp(second, third, size) == 0;
}

/* Asks for little, so that most of the time goes into finding the key's contents. */
static void *look(void *unused)
{
    (void)unused;
    int bits;
    while (!atomic_load(&done))
        CHECK(EVP_PKEY_get_int_param(key, "bits", &bits) == 1 && bits > 0);
    return NULL;
}

static void *work(void *unused)
{
    (void)unused;
    operation own = make();
    while (!atomic_load(&done))
        CHECK(is_right(own));
    discard(own);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    name = argv[1];
    properties = argv[2];
    is_used = strcmp(argv[3], "use") == 0;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(NULL, name, properties);
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
    CHECK(EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, i == 0 ? work : look, NULL) == 0);
    int children = atoi(argv[4]), late = 0;
    for (int i = 0; i < children; i++) {
        operation of_child = make();
        CHECK(is_right(of_child));
        pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0) {
            alarm(SECONDS);
            _exit(is_right(of_child) ? 0 : 1);
        }
        int status;
        CHECK(waitpid(process, &status, 0) == process);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            late++;
        else
            CHECK(status == 0);
        discard(of_child);
        /* One is enough to know. */
        if (late != 0)
            break;
    }
    atomic_store(&done, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    EVP_PKEY_free(key);
    if (late != 0) {
        fprintf(stderr, "%s, %s: a child hangs\n", name, argv[3]);
        return 1;
    }
    printf("%d children\n", children);
    return 0;
}
