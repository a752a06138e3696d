/*
 * What the installed OpenSSL makes of configurations and lists of groups, for tests/against_openssl.rs to compare.
 *
 * oracle conf FILE...    for each file, in hexadecimal: its sections and their settings, or that it was refused
 * oracle groups LIST...  for each list, whether it is accepted
 * oracle active          the names of the active providers once OPENSSL_CONF is applied
 * oracle tls             the lowest protocol version and the groups of a new TLS context, likewise
 * oracle version         the version of OpenSSL
 */
#include <openssl/conf.h>
#include <openssl/conftypes.h>
#include <openssl/evp.h>
#include <openssl/lhash.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

static void hex(const char *text) {
    putchar(' ');
    putchar('x');
    for (; *text != '\0'; text++)
        printf("%02x", (unsigned char)*text);
}

static void section(void *item) {
    const CONF_VALUE *value = item;
    const STACK_OF(CONF_VALUE) *settings;
    int at;

    if (value->name != NULL)
        return;
    printf("section");
    hex(value->section);
    putchar('\n');
    settings = (const STACK_OF(CONF_VALUE) *)value->value;
    for (at = 0; at < sk_CONF_VALUE_num(settings); at++) {
        const CONF_VALUE *setting = sk_CONF_VALUE_value(settings, at);
        printf("setting");
        hex(setting->name);
        hex(setting->value);
        putchar('\n');
    }
}

static int name(OSSL_PROVIDER *provider, void *unused) {
    (void)unused;
    puts(OSSL_PROVIDER_get0_name(provider));
    return 1;
}

/* Prints the extension supported_groups of a client's first message. */
static int hello(SSL *server, int *alert, void *unused) {
    const unsigned char *data;
    size_t length, at;

    (void)alert;
    (void)unused;
    if (SSL_client_hello_get0_ext(server, 10, &data, &length))
        for (at = 2; at + 1 < length; at += 2)
            printf("group %02x%02x\n", data[at], data[at + 1]);
    return SSL_CLIENT_HELLO_SUCCESS;
}

static void tls(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *client = SSL_new(ctx), *server;
    BIO *one = NULL, *other = NULL;

    printf("lowest %ld\n", (long)SSL_CTX_get_min_proto_version(ctx));
    SSL_CTX_set_client_hello_cb(ctx, hello, NULL);
    server = SSL_new(ctx);
    BIO_new_bio_pair(&one, 0, &other, 0);
    SSL_set_bio(client, one, one);
    SSL_set_bio(server, other, other);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    SSL_do_handshake(client);
    SSL_do_handshake(server);
    SSL_free(client);
    SSL_free(server);
    SSL_CTX_free(ctx);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int at;

    if (strcmp(mode, "version") == 0) {
        puts(OpenSSL_version(OPENSSL_VERSION));
    } else if (strcmp(mode, "active") == 0) {
        /* The result is not looked at, as in most applications. The fetch brings an implicit default. */
        OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
        EVP_MD_free(EVP_MD_fetch(NULL, "SHA256", NULL));
        OSSL_PROVIDER_do_all(NULL, name, NULL);
    } else if (strcmp(mode, "tls") == 0) {
        tls();
    }
    for (at = 2; at < argc; at++) {
        if (strcmp(mode, "conf") == 0) {
            CONF *conf = NCONF_new(NULL);

            puts("file");
            if (NCONF_load(conf, argv[at], NULL) > 0)
                OPENSSL_LH_doall((OPENSSL_LHASH *)conf->data, section);
            else
                puts("refused");
            NCONF_free(conf);
        } else if (strcmp(mode, "groups") == 0) {
            SSL_CTX *ctx = SSL_CTX_new(TLS_method());

            puts(SSL_CTX_set1_groups_list(ctx, argv[at]) > 0 ? "accepted" : "refused");
            SSL_CTX_free(ctx);
        }
    }
    return 0;
}
