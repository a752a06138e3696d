/* A program with much thread-local storage, which glibc takes from the stacks of threads, the
 * module's included. Compiled with STORAGE_BYTES; usage: thread_storage THREAD, the name of the
 * thread; the configuration is OPENSSL_CONF's. */
#include "common/check.h"

#include <dirent.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

static __thread volatile char storage[STORAGE_BYTES];

static int has_thread(const char *name)
{
    int found = 0;
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    for (struct dirent *thread; (thread = readdir(threads)) != NULL;) {
        char path[300], line[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fgets(line, sizeof line, file) != NULL)
            found |= strncmp(line, name, strlen(name)) == 0;
        fclose(file);
    }
    closedir(threads);
    return found;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    storage[STORAGE_BYTES - 1] = 1;
    int seen = 0;
    for (int i = 0; i < 300; i++) {
        EVP_PKEY *key = NULL;
        EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(NULL, "X25519SNTRUP1277", "provider=fastkex");
        CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1);
        CHECK(EVP_PKEY_generate(generation, &key) == 1);
        EVP_PKEY_CTX_free(generation);
        EVP_PKEY_free(key);
        usleep(1000);
        seen |= has_thread(argv[1]);
    }
    /* Else nothing was tried. */
    CHECK(seen);
    return 0;
}
