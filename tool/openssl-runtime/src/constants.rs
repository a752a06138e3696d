//! The numbers and names from OpenSSL's headers that this crate uses. The probe in the tests
//! compares all of them with the installed headers.

use std::ffi::{CStr, c_int, c_long, c_uint};

/// Defines the constants and, for the probe, tables with all of them.
macro_rules! constants {
    (
        numbers { $($number:ident: $type:ty = $value:expr;)* }
        names { $($name:ident = $text:literal;)* }
    ) => {
        $( #[allow(non_upper_case_globals)] pub(crate) const $number: $type = $value; )*
        $( pub(crate) const $name: &CStr = $text; )*
        #[cfg(test)]
        pub(crate) const NUMBERS: &[(&str, i128)] = &[$((stringify!($number), $value as i128)),*];
        #[cfg(test)]
        pub(crate) const NAMES: &[(&str, &CStr)] = &[$((stringify!($name), $text)),*];
    };
}

constants! {
    numbers {
        OPENSSL_VERSION: c_int = 0;
        OPENSSL_INFO_CONFIG_DIR: c_int = 1001;
        OPENSSL_INFO_MODULES_DIR: c_int = 1003;
        OPENSSL_INIT_NO_LOAD_CONFIG: u64 = 0x80;
        OPENSSL_INIT_NO_ATEXIT: u64 = 0x0008_0000;

        ERR_TXT_STRING: c_int = 2;

        OSSL_PARAM_INTEGER: c_uint = 1;
        OSSL_PARAM_UNSIGNED_INTEGER: c_uint = 2;
        OSSL_PARAM_UTF8_STRING: c_uint = 4;
        OSSL_PARAM_OCTET_STRING: c_uint = 5;
        OSSL_PARAM_UTF8_PTR: c_uint = 6;
        OSSL_PARAM_UNMODIFIED: usize = usize::MAX;

        EVP_PKEY_KEY_PARAMETERS: c_int = 0x84;
        EVP_PKEY_PUBLIC_KEY: c_int = 0x86;
        EVP_PKEY_KEYPAIR: c_int = 0x87;

        MBSTRING_UTF8: c_int = 0x1000;
        NID_basic_constraints: c_int = 87;
        NID_subject_alt_name: c_int = 85;
        X509_VERSION_3: c_long = 2;
        X509_V_OK: c_long = 0;
        BIO_C_SET_BUF_MEM_EOF_RETURN: c_int = 130;

        SSL_CTRL_MODE: c_int = 33;
        SSL_CTRL_SET_SESS_CACHE_MODE: c_int = 44;
        SSL_CTRL_SET_MSG_CALLBACK_ARG: c_int = 16;
        SSL_CTRL_SET_TLSEXT_HOSTNAME: c_int = 55;
        SSL_CTRL_CHAIN_CERT: c_int = 89;
        SSL_CTRL_SET_GROUPS_LIST: c_int = 92;
        SSL_CTRL_SET_SIGALGS_LIST: c_int = 98;
        SSL_CTRL_SET_MIN_PROTO_VERSION: c_int = 123;
        SSL_CTRL_SET_MAX_PROTO_VERSION: c_int = 124;

        SSL_MODE_NO_AUTO_CHAIN: c_long = 8;
        SSL_SESS_CACHE_OFF: c_long = 0;
        SSL_OP_NO_TICKET: u64 = 1 << 14;
        SSL_VERIFY_NONE: c_int = 0;
        SSL_VERIFY_PEER: c_int = 1;
        TLSEXT_nid_unknown: c_int = 0x0100_0000;
        TLSEXT_NAMETYPE_host_name: c_long = 0;
        TLS1_2_VERSION: c_int = 0x0303;
        TLS1_3_VERSION: c_int = 0x0304;

        SSL_ERROR_SSL: c_int = 1;
        SSL_ERROR_WANT_READ: c_int = 2;
        SSL_ERROR_SYSCALL: c_int = 5;
        SSL_ERROR_ZERO_RETURN: c_int = 6;

        SSL3_RT_ALERT: c_int = 21;
        SSL3_RT_HANDSHAKE: c_int = 22;
        SSL3_MT_CLIENT_HELLO: u8 = 1;
        SSL3_MT_SERVER_HELLO: u8 = 2;
        SSL3_MT_SERVER_KEY_EXCHANGE: u8 = 12;
        TLSEXT_TYPE_supported_groups: u16 = 10;
        TLSEXT_TYPE_supported_versions: u16 = 43;
        TLSEXT_TYPE_key_share: u16 = 51;
    }
    names {
        OSSL_PROV_PARAM_NAME = c"name";
        OSSL_PROV_PARAM_VERSION = c"version";
        OSSL_PROV_PARAM_BUILDINFO = c"buildinfo";
        OSSL_PROV_PARAM_STATUS = c"status";
        OSSL_PKEY_PARAM_GROUP_NAME = c"group";
        OSSL_PKEY_PARAM_RSA_BITS = c"bits";
        OSSL_KEM_PARAM_OPERATION = c"operation";
        OSSL_CAPABILITY_TLS_GROUP_NAME = c"tls-group-name";
        OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL = c"tls-group-name-internal";
        OSSL_CAPABILITY_TLS_GROUP_ALG = c"tls-group-alg";
        OSSL_CAPABILITY_TLS_GROUP_ID = c"tls-group-id";
        OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS = c"tls-group-sec-bits";
        OSSL_CAPABILITY_TLS_GROUP_IS_KEM = c"tls-group-is-kem";
        OSSL_CAPABILITY_TLS_GROUP_MIN_TLS = c"tls-min-tls";
        OSSL_CAPABILITY_TLS_GROUP_MAX_TLS = c"tls-max-tls";
    }
}
