//! The table of all functions that this crate calls, resolved once when the libraries are opened.
//! All of them exist from OpenSSL 3.0 to 4.x. Those that also exist in OpenSSL 1.1.1 are the same
//! there. The probe in the tests compares every signature with the installed headers.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

use libloading::os::unix::Library;

use crate::absent::{Nothing, note};
use crate::types::*;

/// Defines the table, its loader and, for the probe, the list of all signatures.
macro_rules! symbol_table {
    ($(
        $library:ident {
            $( fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?; )*
        }
    )*) => {
        /// Function pointers. Each field has the name of its function.
        #[allow(non_snake_case)]
        pub(crate) struct Symbols {
            $($( pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?, )*)*
        }

        impl Symbols {
            /// Looks up every function; the error is the name of the first missing one. With
            /// `may_lack`, each missing function is replaced by a function that fails and records
            /// its name.
            ///
            /// # Safety
            ///
            /// `libcrypto` and `libssl` are OpenSSL's, 1.1.1 or later, and stay loaded as long as
            /// the table is used.
            pub(crate) unsafe fn load(libcrypto: &Library, libssl: &Library, may_lack: bool) -> Result<Self, &'static str> {
                let libraries = Loaded { libcrypto, libssl };
                Ok(Self {
                    $($(
                        // SAFETY: the caller vouches for the library; the type is the one in its
                        // header, which the probe checks.
                        $name: match unsafe { libraries.$library.get(stringify!($name).as_bytes()) } {
                            Ok(function) => *function,
                            Err(_) if may_lack => lacking::$name,
                            Err(_) => return Err(stringify!($name)),
                        },
                    )*)*
                })
            }
        }

        /// Functions that fail because the library has no function of that name.
        #[allow(non_snake_case)]
        mod lacking {
            use super::*;

            $($(
                pub(super) unsafe extern "C" fn $name($(_: $argument),*) $(-> $result)? {
                    note(stringify!($name));
                    Nothing::NOTHING
                }
            )*)*
        }

        /// The name, argument types and result type of every function, as written above.
        #[cfg(test)]
        pub(crate) const SIGNATURES: &[(&str, &[&str], &str)] = &[
            $($( (stringify!($name), &[$(stringify!($argument)),*], stringify!($($result)?)), )*)*
        ];
    };
}

struct Loaded<'a> {
    libcrypto: &'a Library,
    libssl: &'a Library,
}

symbol_table! {
    libcrypto {
        fn OPENSSL_version_major() -> c_uint;
        fn OPENSSL_version_minor() -> c_uint;
        fn OPENSSL_version_patch() -> c_uint;
        fn OpenSSL_version(c_int) -> *const c_char;
        fn OPENSSL_info(c_int) -> *const c_char;
        fn OPENSSL_thread_stop_ex(*mut OSSL_LIB_CTX);
        fn CONF_get1_default_config_file() -> *mut c_char;
        fn CRYPTO_free(*mut c_void, *const c_char, c_int);
        fn CRYPTO_clear_free(*mut c_void, usize, *const c_char, c_int);
        fn RAND_bytes_ex(*mut OSSL_LIB_CTX, *mut c_uchar, usize, c_uint) -> c_int;

        fn ERR_clear_error();
        fn ERR_get_error_all(*mut *const c_char, *mut c_int, *mut *const c_char, *mut *const c_char, *mut c_int) -> c_ulong;
        fn ERR_lib_error_string(c_ulong) -> *const c_char;
        fn ERR_reason_error_string(c_ulong) -> *const c_char;

        fn OSSL_LIB_CTX_new() -> *mut OSSL_LIB_CTX;
        fn OSSL_LIB_CTX_free(*mut OSSL_LIB_CTX);
        fn OSSL_LIB_CTX_load_config(*mut OSSL_LIB_CTX, *const c_char) -> c_int;
        fn EVP_set_default_properties(*mut OSSL_LIB_CTX, *const c_char) -> c_int;

        fn OSSL_PROVIDER_set_default_search_path(*mut OSSL_LIB_CTX, *const c_char) -> c_int;
        fn OSSL_PROVIDER_load(*mut OSSL_LIB_CTX, *const c_char) -> *mut OSSL_PROVIDER;
        fn OSSL_PROVIDER_unload(*mut OSSL_PROVIDER) -> c_int;
        fn OSSL_PROVIDER_do_all(*mut OSSL_LIB_CTX, Option<ProviderCallback>, *mut c_void) -> c_int;
        fn OSSL_PROVIDER_get0_name(*const OSSL_PROVIDER) -> *const c_char;
        fn OSSL_PROVIDER_gettable_params(*const OSSL_PROVIDER) -> *const OSSL_PARAM;
        fn OSSL_PROVIDER_get_params(*const OSSL_PROVIDER, *mut OSSL_PARAM) -> c_int;
        fn OSSL_PROVIDER_get_capabilities(*const OSSL_PROVIDER, *const c_char, Option<CapabilityCallback>, *mut c_void) -> c_int;

        fn EVP_KEM_do_all_provided(*mut OSSL_LIB_CTX, Option<KemCallback>, *mut c_void);
        fn EVP_KEM_names_do_all(*const EVP_KEM, Option<NameCallback>, *mut c_void) -> c_int;
        fn EVP_KEM_get0_provider(*const EVP_KEM) -> *mut OSSL_PROVIDER;
        fn EVP_KEYEXCH_do_all_provided(*mut OSSL_LIB_CTX, Option<KeyExchangeCallback>, *mut c_void);
        fn EVP_KEYEXCH_names_do_all(*const EVP_KEYEXCH, Option<NameCallback>, *mut c_void) -> c_int;
        fn EVP_KEYEXCH_get0_provider(*const EVP_KEYEXCH) -> *mut OSSL_PROVIDER;
        fn EVP_KEYMGMT_do_all_provided(*mut OSSL_LIB_CTX, Option<KeyManagementCallback>, *mut c_void);
        fn EVP_KEYMGMT_names_do_all(*const EVP_KEYMGMT, Option<NameCallback>, *mut c_void) -> c_int;
        fn EVP_KEYMGMT_get0_provider(*const EVP_KEYMGMT) -> *const OSSL_PROVIDER;
        fn EVP_SIGNATURE_do_all_provided(*mut OSSL_LIB_CTX, Option<SignatureCallback>, *mut c_void);
        fn EVP_SIGNATURE_names_do_all(*const EVP_SIGNATURE, Option<NameCallback>, *mut c_void) -> c_int;
        fn EVP_SIGNATURE_get0_provider(*const EVP_SIGNATURE) -> *mut OSSL_PROVIDER;

        fn EVP_PKEY_free(*mut EVP_PKEY);
        fn EVP_PKEY_dup(*mut EVP_PKEY) -> *mut EVP_PKEY;
        fn EVP_PKEY_eq(*const EVP_PKEY, *const EVP_PKEY) -> c_int;
        fn EVP_PKEY_get0_type_name(*const EVP_PKEY) -> *const c_char;
        fn EVP_PKEY_get0_provider(*const EVP_PKEY) -> *const OSSL_PROVIDER;
        fn EVP_PKEY_get_bits(*const EVP_PKEY) -> c_int;
        fn EVP_PKEY_get_security_bits(*const EVP_PKEY) -> c_int;
        fn EVP_PKEY_get_size(*const EVP_PKEY) -> c_int;
        fn EVP_PKEY_get_octet_string_param(*const EVP_PKEY, *const c_char, *mut c_uchar, usize, *mut usize) -> c_int;
        fn EVP_PKEY_get_utf8_string_param(*const EVP_PKEY, *const c_char, *mut c_char, usize, *mut usize) -> c_int;
        fn EVP_PKEY_set_params(*mut EVP_PKEY, *mut OSSL_PARAM) -> c_int;
        fn EVP_PKEY_get1_encoded_public_key(*mut EVP_PKEY, *mut *mut c_uchar) -> usize;
        fn EVP_PKEY_set1_encoded_public_key(*mut EVP_PKEY, *const c_uchar, usize) -> c_int;

        fn EVP_PKEY_CTX_new_from_name(*mut OSSL_LIB_CTX, *const c_char, *const c_char) -> *mut EVP_PKEY_CTX;
        fn EVP_PKEY_CTX_new_from_pkey(*mut OSSL_LIB_CTX, *mut EVP_PKEY, *const c_char) -> *mut EVP_PKEY_CTX;
        fn EVP_PKEY_CTX_free(*mut EVP_PKEY_CTX);
        fn EVP_PKEY_CTX_set_params(*mut EVP_PKEY_CTX, *const OSSL_PARAM) -> c_int;
        fn EVP_PKEY_keygen_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_paramgen_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_generate(*mut EVP_PKEY_CTX, *mut *mut EVP_PKEY) -> c_int;
        fn EVP_PKEY_fromdata_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_fromdata(*mut EVP_PKEY_CTX, *mut *mut EVP_PKEY, c_int, *mut OSSL_PARAM) -> c_int;
        fn EVP_PKEY_public_check(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_private_check(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_pairwise_check(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_param_check(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_encapsulate_init(*mut EVP_PKEY_CTX, *const OSSL_PARAM) -> c_int;
        fn EVP_PKEY_encapsulate(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
        fn EVP_PKEY_decapsulate_init(*mut EVP_PKEY_CTX, *const OSSL_PARAM) -> c_int;
        fn EVP_PKEY_decapsulate(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        fn EVP_PKEY_derive_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_derive_set_peer(*mut EVP_PKEY_CTX, *mut EVP_PKEY) -> c_int;
        fn EVP_PKEY_derive(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize) -> c_int;

        fn EVP_MD_fetch(*mut OSSL_LIB_CTX, *const c_char, *const c_char) -> *mut EVP_MD;
        fn EVP_MD_free(*mut EVP_MD);
        fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
        fn EVP_MD_CTX_free(*mut EVP_MD_CTX);
        fn EVP_DigestSignInit_ex(*mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const c_char, *mut OSSL_LIB_CTX, *const c_char, *mut EVP_PKEY, *const OSSL_PARAM) -> c_int;
        fn EVP_DigestSign(*mut EVP_MD_CTX, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        fn EVP_DigestVerifyInit_ex(*mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const c_char, *mut OSSL_LIB_CTX, *const c_char, *mut EVP_PKEY, *const OSSL_PARAM) -> c_int;
        fn EVP_DigestVerify(*mut EVP_MD_CTX, *const c_uchar, usize, *const c_uchar, usize) -> c_int;

        fn OSSL_ENCODER_CTX_new_for_pkey(*const EVP_PKEY, c_int, *const c_char, *const c_char, *const c_char) -> *mut OSSL_ENCODER_CTX;
        fn OSSL_ENCODER_CTX_free(*mut OSSL_ENCODER_CTX);
        fn OSSL_ENCODER_CTX_get_num_encoders(*mut OSSL_ENCODER_CTX) -> c_int;
        fn OSSL_ENCODER_CTX_set_cipher(*mut OSSL_ENCODER_CTX, *const c_char, *const c_char) -> c_int;
        fn OSSL_ENCODER_CTX_set_passphrase(*mut OSSL_ENCODER_CTX, *const c_uchar, usize) -> c_int;
        fn OSSL_ENCODER_to_data(*mut OSSL_ENCODER_CTX, *mut *mut c_uchar, *mut usize) -> c_int;
        fn OSSL_DECODER_CTX_new_for_pkey(*mut *mut EVP_PKEY, *const c_char, *const c_char, *const c_char, c_int, *mut OSSL_LIB_CTX, *const c_char) -> *mut OSSL_DECODER_CTX;
        fn OSSL_DECODER_CTX_free(*mut OSSL_DECODER_CTX);
        fn OSSL_DECODER_CTX_get_num_decoders(*mut OSSL_DECODER_CTX) -> c_int;
        fn OSSL_DECODER_CTX_set_passphrase(*mut OSSL_DECODER_CTX, *const c_uchar, usize) -> c_int;
        fn OSSL_DECODER_CTX_set_pem_password_cb(*mut OSSL_DECODER_CTX, Option<PassphraseCallback>, *mut c_void) -> c_int;
        fn OSSL_DECODER_from_data(*mut OSSL_DECODER_CTX, *mut *const c_uchar, *mut usize) -> c_int;

        fn BIO_new(*const BIO_METHOD) -> *mut BIO;
        fn BIO_s_mem() -> *const BIO_METHOD;
        fn BIO_free_all(*mut BIO);
        fn BIO_up_ref(*mut BIO) -> c_int;
        fn BIO_ctrl(*mut BIO, c_int, c_long, *mut c_void) -> c_long;
        fn BIO_ctrl_pending(*mut BIO) -> usize;
        fn BIO_read_ex(*mut BIO, *mut c_void, usize, *mut usize) -> c_int;
        fn BIO_write_ex(*mut BIO, *const c_void, usize, *mut usize) -> c_int;

        fn X509_new_ex(*mut OSSL_LIB_CTX, *const c_char) -> *mut X509;
        fn X509_free(*mut X509);
        fn X509_get0_pubkey(*const X509) -> *mut EVP_PKEY;
        fn X509_set_version(*mut X509, c_long) -> c_int;
        fn X509_get_serialNumber(*mut X509) -> *mut ASN1_INTEGER;
        fn ASN1_INTEGER_set_uint64(*mut ASN1_INTEGER, u64) -> c_int;
        fn X509_getm_notBefore(*const X509) -> *mut ASN1_TIME;
        fn X509_getm_notAfter(*const X509) -> *mut ASN1_TIME;
        fn X509_gmtime_adj(*mut ASN1_TIME, c_long) -> *mut ASN1_TIME;
        fn X509_NAME_new() -> *mut X509_NAME;
        fn X509_NAME_free(*mut X509_NAME);
        fn X509_NAME_add_entry_by_txt(*mut X509_NAME, *const c_char, c_int, *const c_uchar, c_int, c_int, c_int) -> c_int;
        fn X509_set_subject_name(*mut X509, *const X509_NAME) -> c_int;
        fn X509_set_issuer_name(*mut X509, *const X509_NAME) -> c_int;
        fn X509_set_pubkey(*mut X509, *mut EVP_PKEY) -> c_int;
        fn X509V3_EXT_nconf_nid(*mut CONF, *mut X509V3_CTX, c_int, *const c_char) -> *mut X509_EXTENSION;
        fn X509_EXTENSION_free(*mut X509_EXTENSION);
        fn X509_add_ext(*mut X509, *mut X509_EXTENSION, c_int) -> c_int;
        fn X509_sign(*mut X509, *mut EVP_PKEY, *const EVP_MD) -> c_int;
        fn X509_check_private_key(*const X509, *const EVP_PKEY) -> c_int;
        fn X509_STORE_add_cert(*mut X509_STORE, *mut X509) -> c_int;
        fn X509_VERIFY_PARAM_set1_host(*mut X509_VERIFY_PARAM, *const c_char, usize) -> c_int;
        fn X509_VERIFY_PARAM_set1_ip_asc(*mut X509_VERIFY_PARAM, *const c_char) -> c_int;
        fn X509_verify_cert_error_string(c_long) -> *const c_char;
        fn PEM_read_bio_X509(*mut BIO, *mut *mut X509, Option<PassphraseCallback>, *mut c_void) -> *mut X509;
        fn PEM_write_bio_X509(*mut BIO, *const X509) -> c_int;
    }
    libssl {
        fn OPENSSL_init_ssl(u64, *const OPENSSL_INIT_SETTINGS) -> c_int;
        fn TLS_client_method() -> *const SSL_METHOD;
        fn TLS_server_method() -> *const SSL_METHOD;
        fn SSL_CTX_new_ex(*mut OSSL_LIB_CTX, *const c_char, *const SSL_METHOD) -> *mut SSL_CTX;
        fn SSL_CTX_free(*mut SSL_CTX);
        fn SSL_CTX_ctrl(*mut SSL_CTX, c_int, c_long, *mut c_void) -> c_long;
        fn SSL_CTX_set_options(*mut SSL_CTX, u64) -> u64;
        fn SSL_CTX_set_num_tickets(*mut SSL_CTX, usize) -> c_int;
        fn SSL_CTX_set_security_level(*mut SSL_CTX, c_int);
        fn SSL_CTX_set_ciphersuites(*mut SSL_CTX, *const c_char) -> c_int;
        fn SSL_CTX_set_verify(*mut SSL_CTX, c_int, Option<VerifyCallback>);
        fn SSL_CTX_set_default_verify_paths(*mut SSL_CTX) -> c_int;
        fn SSL_CTX_get_cert_store(*const SSL_CTX) -> *mut X509_STORE;
        fn SSL_CTX_use_certificate(*mut SSL_CTX, *mut X509) -> c_int;
        fn SSL_CTX_use_PrivateKey(*mut SSL_CTX, *mut EVP_PKEY) -> c_int;

        fn SSL_new(*mut SSL_CTX) -> *mut SSL;
        fn SSL_free(*mut SSL);
        fn SSL_ctrl(*mut SSL, c_int, c_long, *mut c_void) -> c_long;
        fn SSL_set_msg_callback(*mut SSL, Option<MessageCallback>);
        fn SSL_set0_rbio(*mut SSL, *mut BIO);
        fn SSL_set0_wbio(*mut SSL, *mut BIO);
        fn SSL_set_connect_state(*mut SSL);
        fn SSL_set_accept_state(*mut SSL);
        fn SSL_get0_param(*mut SSL) -> *mut X509_VERIFY_PARAM;
        fn SSL_do_handshake(*mut SSL) -> c_int;
        fn SSL_get_error(*const SSL, c_int) -> c_int;
        fn SSL_read_ex(*mut SSL, *mut c_void, usize, *mut usize) -> c_int;
        fn SSL_write_ex(*mut SSL, *const c_void, usize, *mut usize) -> c_int;
        fn SSL_shutdown(*mut SSL) -> c_int;
        fn SSL_version(*const SSL) -> c_int;
        fn SSL_get_current_cipher(*const SSL) -> *const SSL_CIPHER;
        fn SSL_CIPHER_get_name(*const SSL_CIPHER) -> *const c_char;
        fn SSL_get1_peer_certificate(*const SSL) -> *mut X509;
        fn SSL_get_verify_result(*const SSL) -> c_long;
        fn SSL_group_to_name(*mut SSL, c_int) -> *const c_char;
    }
}
