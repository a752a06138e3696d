/* sntrup.h: Streamlined NTRU Prime (round 3), the NIST KEM API with batch key generation.
 *
 * pk, sk, ct and ss have the sizes that the macros say, in bytes; a batch's buffers hold n keys one after another. Buffers
 * for output need not be initialised. Randomness comes from the operating system. All functions may be called from
 * several threads at once.
 *
 * They return 0, or -1 and write nothing if
 * - the random source failed,
 * - enc: pk is not a canonical encoding,
 * - dec: sk is not a secret key. (A ciphertext that enc did not make is rejected implicitly: dec returns 0, and ss
 *   is a secret that nobody else knows.)
 */
#ifndef SNTRUP_H
#define SNTRUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define crypto_kem_sntrup653_PUBLICKEYBYTES 994
#define crypto_kem_sntrup653_SECRETKEYBYTES 1518
#define crypto_kem_sntrup653_CIPHERTEXTBYTES 897
#define crypto_kem_sntrup653_BYTES 32
int crypto_kem_sntrup653_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup653_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup653_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup653_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#define crypto_kem_sntrup761_PUBLICKEYBYTES 1158
#define crypto_kem_sntrup761_SECRETKEYBYTES 1763
#define crypto_kem_sntrup761_CIPHERTEXTBYTES 1039
#define crypto_kem_sntrup761_BYTES 32
int crypto_kem_sntrup761_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup761_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup761_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup761_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#define crypto_kem_sntrup857_PUBLICKEYBYTES 1322
#define crypto_kem_sntrup857_SECRETKEYBYTES 1999
#define crypto_kem_sntrup857_CIPHERTEXTBYTES 1184
#define crypto_kem_sntrup857_BYTES 32
int crypto_kem_sntrup857_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup857_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup857_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup857_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#define crypto_kem_sntrup953_PUBLICKEYBYTES 1505
#define crypto_kem_sntrup953_SECRETKEYBYTES 2254
#define crypto_kem_sntrup953_CIPHERTEXTBYTES 1349
#define crypto_kem_sntrup953_BYTES 32
int crypto_kem_sntrup953_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup953_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup953_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup953_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#define crypto_kem_sntrup1013_PUBLICKEYBYTES 1623
#define crypto_kem_sntrup1013_SECRETKEYBYTES 2417
#define crypto_kem_sntrup1013_CIPHERTEXTBYTES 1455
#define crypto_kem_sntrup1013_BYTES 32
int crypto_kem_sntrup1013_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup1013_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup1013_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup1013_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#define crypto_kem_sntrup1277_PUBLICKEYBYTES 2067
#define crypto_kem_sntrup1277_SECRETKEYBYTES 3059
#define crypto_kem_sntrup1277_CIPHERTEXTBYTES 1847
#define crypto_kem_sntrup1277_BYTES 32
int crypto_kem_sntrup1277_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_sntrup1277_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_sntrup1277_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_sntrup1277_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);

#ifdef __cplusplus
}
#endif

#endif
