/* What a program in C does about what must not be: it says so, with OpenSSL's errors, and ends. */
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            ERR_print_errors_fp(stderr);                                      \
            exit(1);                                                          \
        }                                                                     \
    } while (0)
