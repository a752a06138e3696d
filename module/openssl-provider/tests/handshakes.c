/* Connections of all kinds between two ends in one process, for the module's counts.
 * Usage: handshakes SCENE FOLDER, with OPENSSL_CONF. The scene's page of counts, as it is in the
 * end, goes to FOLDER/page, and FOLDER/child if it forks. Prints what the application's own
 * callbacks were told. */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/check.h"

#include <openssl/provider.h>
#include <openssl/ssl.h>
#ifdef SSL_VALUE_CLASS_GENERIC
#include <openssl/quic.h>
#endif
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;
static OSSL_LIB_CTX *library;

static void save_page(const char *name)
{
    char path[512], target[64], page[1 << 16];
    DIR *descriptors = opendir("/proc/self/fd");
    struct dirent *entry;
    while ((entry = readdir(descriptors)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0 || strncmp(target, "/memfd:fastkex-statistics", 25) != 0)
            continue;
        FILE *from = fopen(path, "rb");
        size_t size = fread(page, 1, sizeof page, from);
        fclose(from);
        pid_t process;
        memcpy(&process, page + 16, sizeof process);
        if (process != getpid())
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *to = fopen(path, "wb");
        CHECK(to != NULL && fwrite(page, 1, size, to) == size && fclose(to) == 0);
    }
    closedir(descriptors);
}

static void tell(const char *who, const SSL *ssl, int event, int value)
{
    printf("%s %s %#x %d %s\n", who, SSL_is_server(ssl) ? "server" : "client", event, value, SSL_state_string(ssl));
}

static void of_context(const SSL *ssl, int event, int value)
{
    tell("context", ssl, event, value);
}

static void of_connection(const SSL *ssl, int event, int value)
{
    tell("connection", ssl, event, value);
}

typedef struct {
    SSL_CTX *server, *client;
} ends;

static ends make_ends(const char *key_type)
{
    EVP_PKEY *key = strcmp(key_type, "RSA") == 0 ? EVP_PKEY_Q_keygen(library, NULL, "RSA", (size_t)2048)
                                                 : EVP_PKEY_Q_keygen(library, NULL, "EC", "P-256");
    X509 *certificate = X509_new_ex(library, NULL);
    CHECK(key != NULL && certificate != NULL);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    CHECK(X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, EVP_sha256()) > 0);
    ends two = { SSL_CTX_new_ex(library, NULL, TLS_server_method()), SSL_CTX_new_ex(library, NULL, TLS_client_method()) };
    CHECK(two.server != NULL && two.client != NULL);
    CHECK(SSL_CTX_use_certificate(two.server, certificate) == 1 && SSL_CTX_use_PrivateKey(two.server, key) == 1);
    SSL_CTX_set_session_id_context(two.server, (const unsigned char *)"test", 4);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return two;
}

static void free_ends(ends two)
{
    SSL_CTX_free(two.server);
    SSL_CTX_free(two.client);
}

static void pump(SSL *client, SSL *server)
{
    for (int i = 0; i < 10 && !(SSL_is_init_finished(client) && SSL_is_init_finished(server)); i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    CHECK(SSL_is_init_finished(client) && SSL_is_init_finished(server));
    char byte;
    CHECK(SSL_write(server, "x", 1) == 1 && SSL_read(client, &byte, 1) == 1);
    CHECK(SSL_write(client, "y", 1) == 1 && SSL_read(server, &byte, 1) == 1);
}

static void join(SSL *client, SSL *server)
{
    BIO *one, *other;
    CHECK(BIO_new_bio_pair(&one, 1 << 16, &other, 1 << 16) == 1);
    SSL_set_bio(client, one, one);
    SSL_set_bio(server, other, other);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
}

/* Connects the two ends, with a session of before if there is one, and returns a session. */
static SSL_SESSION *connect_with(ends two, SSL_SESSION *before)
{
    SSL *client = SSL_new(two.client), *server = SSL_new(two.server);
    CHECK(client != NULL && server != NULL);
    CHECK(before == NULL || SSL_set_session(client, before) == 1);
    join(client, server);
    pump(client, server);
    CHECK(SSL_session_reused(client) == (before != NULL));
    SSL_SESSION *session = SSL_get1_session(client);
    SSL_shutdown(client);
    SSL_shutdown(server);
    SSL_free(client);
    SSL_free(server);
    SSL_SESSION_free(before);
    return session;
}

static void set(ends two, int version, const char *groups, const char *ciphers)
{
    CHECK(SSL_CTX_set_min_proto_version(two.client, version) == 1 && SSL_CTX_set_max_proto_version(two.client, version) == 1);
    CHECK(SSL_CTX_set1_groups_list(two.client, groups) == 1 && SSL_CTX_set1_groups_list(two.server, groups) == 1);
    CHECK(ciphers == NULL || SSL_CTX_set_cipher_list(two.client, ciphers) == 1);
}

/* Each line of the table, and a resumption of some. */
static void kinds(void)
{
    static const struct {
        int version;
        const char *groups, *ciphers;
        int resumed;
    } table[] = {
        { TLS1_3_VERSION, "X25519", NULL, 0 },
        { TLS1_3_VERSION, "X25519", NULL, 1 },
        { TLS1_3_VERSION, "P-256", NULL, 0 },
        { TLS1_3_VERSION, "P-384", NULL, 0 },
        { TLS1_3_VERSION, "P-521", NULL, 0 },
        { TLS1_3_VERSION, "X448", NULL, 0 },
        { TLS1_3_VERSION, "ffdhe2048", NULL, 0 },
        { TLS1_3_VERSION, "X25519MLKEM768", NULL, 0 },
        { TLS1_3_VERSION, "X25519MLKEM768", NULL, 1 },
        { TLS1_3_VERSION, "sntrup761", NULL, 0 },
        { TLS1_2_VERSION, "P-384", "ECDHE-RSA-AES128-GCM-SHA256", 0 },
        { TLS1_2_VERSION, "P-384", "ECDHE-RSA-AES128-GCM-SHA256", 1 },
        { TLS1_2_VERSION, "P-256", "AES128-SHA", 0 },
    };
    ends two = make_ends("RSA");
    SSL_CTX_set_info_callback(two.server, of_context);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        set(two, table[i].version, table[i].groups, table[i].ciphers);
        SSL_SESSION *session = connect_with(two, NULL);
        if (table[i].resumed)
            session = connect_with(two, session);
        SSL_SESSION_free(session);
    }
    free_ends(two);
}

/* Callbacks of the application on contexts and on connections, objects that are copied and used
 * again, and a server that changes its context. */
static void callbacks(void)
{
    ends two = make_ends("EC");
    set(two, TLS1_3_VERSION, "X25519", NULL);
    SSL_CTX_set_num_tickets(two.server, 0);
    SSL_CTX_set_info_callback(two.server, of_context);
    SSL_SESSION_free(connect_with(two, NULL));
    /* Set after the object was made. */
    SSL *client = SSL_new(two.client), *server = SSL_new(two.server);
    SSL_CTX_set_info_callback(two.client, of_context);
    join(client, server);
    pump(client, server);
    SSL_shutdown(client);
    SSL_free(server);
    /* Used again. */
    CHECK(SSL_set_session(client, NULL) == 1 && SSL_clear(client) == 1 && (server = SSL_new(two.server)) != NULL);
    join(client, server);
    pump(client, server);
    SSL_free(client);
    SSL_free(server);
    /* Copied. */
    SSL *first = SSL_new(two.client);
    SSL_set_connect_state(first);
    client = SSL_dup(first);
    CHECK(client != NULL);
    SSL_free(first);
    server = SSL_new(two.server);
    join(client, server);
    pump(client, server);
    SSL_free(client);
    SSL_free(server);
    /* Its own, instead of the context's. */
    client = SSL_new(two.client), server = SSL_new(two.server);
    SSL_set_info_callback(client, of_connection);
    join(client, server);
    pump(client, server);
    SSL_free(client);
    SSL_free(server);
    /* Another context, as for another name. */
    ends others = make_ends("EC");
    client = SSL_new(two.client), server = SSL_new(two.server);
    SSL_CTX_set_info_callback(others.server, of_connection);
    SSL_set_SSL_CTX(server, others.server);
    join(client, server);
    pump(client, server);
    SSL_free(client);
    SSL_free(server);
    free_ends(others);
    /* A handshake that fails. */
    CHECK(SSL_CTX_set1_groups_list(two.client, "P-256") == 1);
    client = SSL_new(two.client), server = SSL_new(two.server);
    join(client, server);
    SSL_do_handshake(client);
    CHECK(SSL_do_handshake(server) <= 0 && SSL_get_error(server, -1) == SSL_ERROR_SSL);
    ERR_clear_error();
    SSL_do_handshake(client);
    ERR_clear_error();
    SSL_free(client);
    SSL_free(server);
    free_ends(two);
}

/* The parent has two handshakes, the child one more. */
static void forks(void)
{
    ends two = make_ends("EC");
    set(two, TLS1_3_VERSION, "X25519", NULL);
    SSL_SESSION_free(connect_with(two, NULL));
    int status;
    pid_t process = fork();
    if (process == 0) {
        SSL_SESSION_free(connect_with(two, NULL));
        save_page("child");
        _exit(0);
    }
    CHECK(waitpid(process, &status, 0) == process && status == 0);
    SSL_SESSION_free(connect_with(two, NULL));
    free_ends(two);
}

/* A library context into which a configuration loads the module. Freeing it unloads the module. */
static OSSL_LIB_CTX *load(void)
{
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    CHECK(context != NULL && OSSL_LIB_CTX_load_config(context, getenv("SEPARATE_CONF")) == 1);
    CHECK(OSSL_PROVIDER_available(context, "fastkex") == 1);
    return context;
}

/* The module is loaded into two contexts of its own, and unloaded while there are connections. */
static void unloads(void)
{
    OSSL_LIB_CTX *contexts[2] = { load(), load() };
    ends two = make_ends("EC");
    set(two, TLS1_3_VERSION, "X25519", NULL);
    SSL_SESSION_free(connect_with(two, NULL));
    SSL *client = SSL_new(two.client), *server = SSL_new(two.server);
    for (int i = 0; i < 2; i++)
        OSSL_LIB_CTX_free(contexts[i]);
    /* Neither is counted. */
    join(client, server);
    pump(client, server);
    SSL_free(client);
    SSL_free(server);
    SSL_SESSION_free(connect_with(two, NULL));
    /* Counts go on. */
    for (int i = 0; i < 20; i++) {
        OSSL_LIB_CTX *again = load();
        SSL_SESSION_free(connect_with(two, NULL));
        OSSL_LIB_CTX_free(again);
    }
    free_ends(two);
}

/* The application has made a context before it loads the module. */
static void late(void)
{
    ends two = make_ends("EC");
    set(two, TLS1_3_VERSION, "X25519", NULL);
    OSSL_LIB_CTX *context = load();
    /* A key of the module, so that there is a page. */
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *generation = EVP_PKEY_CTX_new_from_name(context, "sntrup761", NULL);
    CHECK(generation != NULL && EVP_PKEY_keygen_init(generation) == 1 && EVP_PKEY_generate(generation, &key) == 1);
    EVP_PKEY_CTX_free(generation);
    EVP_PKEY_free(key);
    SSL_SESSION_free(connect_with(two, NULL));
    free_ends(two);
    OSSL_LIB_CTX_free(context);
}

/* One TLS connection, objects for QUIC, and another one. */
static void quic(void)
{
    ends two = make_ends("EC");
    set(two, TLS1_3_VERSION, "X25519", NULL);
    SSL_SESSION_free(connect_with(two, NULL));
#ifdef SSL_VALUE_CLASS_GENERIC
    SSL_CTX *context = SSL_CTX_new_ex(library, NULL, OSSL_QUIC_client_method());
    CHECK(context != NULL);
    SSL *ssl = SSL_new(context);
    CHECK(ssl != NULL);
    SSL_free(ssl);
    SSL_CTX_free(context);
#if OPENSSL_VERSION_NUMBER >= 0x30500000L
    CHECK((context = SSL_CTX_new_ex(library, NULL, OSSL_QUIC_server_method())) != NULL);
    CHECK((ssl = SSL_new_listener(context, 0)) != NULL);
    SSL_free(ssl);
    CHECK((ssl = SSL_new_domain(context, 0)) != NULL);
    SSL_free(ssl);
    SSL_CTX_free(context);
#endif
    puts("QUIC");
#endif
    SSL_SESSION_free(connect_with(two, NULL));
    free_ends(two);
}

enum { THREADS = 4, ROUNDS = 8 };

/* Connections, and in turn a load of the module into a context of its own. */
static void *work(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        ends two = make_ends("EC");
        set(two, TLS1_3_VERSION, "X25519", NULL);
        if (argument != NULL) {
            OSSL_LIB_CTX *context = load();
            SSL_SESSION_free(connect_with(two, NULL));
            OSSL_LIB_CTX_free(context);
        } else {
            SSL_SESSION_free(connect_with(two, NULL));
        }
        free_ends(two);
    }
    return NULL;
}

/* All threads begin at once: the first of them loads the configuration. */
static void threads(void)
{
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, work, i % 2 ? all : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenes[] = {
        { "kinds", kinds }, { "callbacks", callbacks }, { "forks", forks }, { "unloads", unloads },
        { "late", late }, { "quic", quic }, { "threads", threads },
    };
    CHECK(argc == 3);
    folder = argv[2];
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(scenes[i].name, argv[1]) == 0) {
            scenes[i].run();
            save_page("page");
            return 0;
        }
    }
    return 2;
}
