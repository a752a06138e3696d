/* mlkem.h: ML-KEM (FIPS 203), the NIST KEM API with batch key generation.
 *
 * pk, sk, ct and ss have the sizes that the macros say, in bytes; a batch's buffers hold n keys one
 * after another. pk is an encapsulation key and sk a decapsulation key, in the encodings of FIPS
 * 203. Buffers for output need not be initialised. Randomness comes from the operating system,
 * except in functions with coins. All functions may be called from several threads at once.
 *
 * Functions with coins take the random bytes of FIPS 203: keypair_derand KEYPAIRCOINBYTES (d, then
 * z), enc_derand ENCCOINBYTES (m). Coins must be secret, uniformly random and used once.
 *
 * All functions return 0, or -1 and write nothing if
 * - the random source failed,
 * - a pointer is null,
 * - enc, enc_derand, check_pk: pk is not a canonical encoding (FIPS 203, section 7.2),
 * - dec, check_sk: sk has a pk that is not canonical, or a hash that is not its pk's (section 7.3).
 *   (A ciphertext that enc did not make is rejected implicitly: dec returns 0, and ss is a secret
 *   that nobody else knows.)
 */
#ifndef MLKEM_H
#define MLKEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define crypto_kem_mlkem512_PUBLICKEYBYTES 800
#define crypto_kem_mlkem512_SECRETKEYBYTES 1632
#define crypto_kem_mlkem512_CIPHERTEXTBYTES 768
#define crypto_kem_mlkem512_BYTES 32
#define crypto_kem_mlkem512_KEYPAIRCOINBYTES 64
#define crypto_kem_mlkem512_ENCCOINBYTES 32
int crypto_kem_mlkem512_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_mlkem512_keypair_derand(unsigned char *pk, unsigned char *sk, const unsigned char *coins);
int crypto_kem_mlkem512_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_mlkem512_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_mlkem512_enc_derand(unsigned char *ct, unsigned char *ss, const unsigned char *pk, const unsigned char *coins);
int crypto_kem_mlkem512_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);
int crypto_kem_mlkem512_check_pk(const unsigned char *pk);
int crypto_kem_mlkem512_check_sk(const unsigned char *sk);

#define crypto_kem_mlkem768_PUBLICKEYBYTES 1184
#define crypto_kem_mlkem768_SECRETKEYBYTES 2400
#define crypto_kem_mlkem768_CIPHERTEXTBYTES 1088
#define crypto_kem_mlkem768_BYTES 32
#define crypto_kem_mlkem768_KEYPAIRCOINBYTES 64
#define crypto_kem_mlkem768_ENCCOINBYTES 32
int crypto_kem_mlkem768_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_mlkem768_keypair_derand(unsigned char *pk, unsigned char *sk, const unsigned char *coins);
int crypto_kem_mlkem768_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_mlkem768_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_mlkem768_enc_derand(unsigned char *ct, unsigned char *ss, const unsigned char *pk, const unsigned char *coins);
int crypto_kem_mlkem768_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);
int crypto_kem_mlkem768_check_pk(const unsigned char *pk);
int crypto_kem_mlkem768_check_sk(const unsigned char *sk);

#define crypto_kem_mlkem1024_PUBLICKEYBYTES 1568
#define crypto_kem_mlkem1024_SECRETKEYBYTES 3168
#define crypto_kem_mlkem1024_CIPHERTEXTBYTES 1568
#define crypto_kem_mlkem1024_BYTES 32
#define crypto_kem_mlkem1024_KEYPAIRCOINBYTES 64
#define crypto_kem_mlkem1024_ENCCOINBYTES 32
int crypto_kem_mlkem1024_keypair(unsigned char *pk, unsigned char *sk);
int crypto_kem_mlkem1024_keypair_derand(unsigned char *pk, unsigned char *sk, const unsigned char *coins);
int crypto_kem_mlkem1024_keypair_batch(unsigned char *pk, unsigned char *sk, size_t n);
int crypto_kem_mlkem1024_enc(unsigned char *ct, unsigned char *ss, const unsigned char *pk);
int crypto_kem_mlkem1024_enc_derand(unsigned char *ct, unsigned char *ss, const unsigned char *pk, const unsigned char *coins);
int crypto_kem_mlkem1024_dec(unsigned char *ss, const unsigned char *ct, const unsigned char *sk);
int crypto_kem_mlkem1024_check_pk(const unsigned char *pk);
int crypto_kem_mlkem1024_check_sk(const unsigned char *sk);

#ifdef __cplusplus
}
#endif

#endif
