//! Names of parameters and capabilities.

use core::ffi::CStr;

macro_rules! names {
    ($($name:ident $c_name:literal $text:literal;)*) => {
        $(
            #[doc = concat!("`", $text, "`")]
            pub const $name: &CStr = match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => panic!("a name holds a null byte"),
            };
        )*

        /// Every name: its macro in `core_names.h`, and its text.
        pub const ALL: &[(&str, &str)] = &[$(($c_name, $text)),*];
    };
}

names! {
    OPENSSL_VERSION "OSSL_PROV_PARAM_CORE_VERSION" "openssl-version";
    PROVIDER_NAME "OSSL_PROV_PARAM_NAME" "name";
    PROVIDER_VERSION "OSSL_PROV_PARAM_VERSION" "version";
    PROVIDER_BUILDINFO "OSSL_PROV_PARAM_BUILDINFO" "buildinfo";
    PROVIDER_STATUS "OSSL_PROV_PARAM_STATUS" "status";

    TLS_GROUP_NAME "OSSL_CAPABILITY_TLS_GROUP_NAME" "tls-group-name";
    TLS_GROUP_NAME_INTERNAL "OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL" "tls-group-name-internal";
    TLS_GROUP_ALGORITHM "OSSL_CAPABILITY_TLS_GROUP_ALG" "tls-group-alg";
    TLS_GROUP_ID "OSSL_CAPABILITY_TLS_GROUP_ID" "tls-group-id";
    TLS_GROUP_SECURITY_BITS "OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS" "tls-group-sec-bits";
    TLS_GROUP_IS_KEM "OSSL_CAPABILITY_TLS_GROUP_IS_KEM" "tls-group-is-kem";
    TLS_GROUP_MIN_TLS "OSSL_CAPABILITY_TLS_GROUP_MIN_TLS" "tls-min-tls";
    TLS_GROUP_MAX_TLS "OSSL_CAPABILITY_TLS_GROUP_MAX_TLS" "tls-max-tls";
    TLS_GROUP_MIN_DTLS "OSSL_CAPABILITY_TLS_GROUP_MIN_DTLS" "tls-min-dtls";
    TLS_GROUP_MAX_DTLS "OSSL_CAPABILITY_TLS_GROUP_MAX_DTLS" "tls-max-dtls";

    BITS "OSSL_PKEY_PARAM_BITS" "bits";
    MAX_SIZE "OSSL_PKEY_PARAM_MAX_SIZE" "max-size";
    SECURITY_BITS "OSSL_PKEY_PARAM_SECURITY_BITS" "security-bits";
    GROUP "OSSL_PKEY_PARAM_GROUP_NAME" "group";
    PUBLIC_KEY "OSSL_PKEY_PARAM_PUB_KEY" "pub";
    PRIVATE_KEY "OSSL_PKEY_PARAM_PRIV_KEY" "priv";
    ENCODED_PUBLIC_KEY "OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY" "encoded-pub-key";
    MANDATORY_DIGEST "OSSL_PKEY_PARAM_MANDATORY_DIGEST" "mandatory-digest";
    SECURITY_CATEGORY "OSSL_PKEY_PARAM_SECURITY_CATEGORY" "security-category";
    SEED "OSSL_PKEY_PARAM_ML_KEM_SEED" "seed";
    DHKEM_IKM "OSSL_PKEY_PARAM_DHKEM_IKM" "dhkem-ikm";

    ALGORITHM_ID "OSSL_SIGNATURE_PARAM_ALGORITHM_ID" "algorithm-id";
    INSTANCE "OSSL_SIGNATURE_PARAM_INSTANCE" "instance";
    CONTEXT_STRING "OSSL_SIGNATURE_PARAM_CONTEXT_STRING" "context-string";

    OBJECT_TYPE "OSSL_OBJECT_PARAM_TYPE" "type";
    OBJECT_DATA_TYPE "OSSL_OBJECT_PARAM_DATA_TYPE" "data-type";
    OBJECT_REFERENCE "OSSL_OBJECT_PARAM_REFERENCE" "reference";

    CIPHER "OSSL_ENCODER_PARAM_CIPHER" "cipher";
    PROPERTIES "OSSL_ENCODER_PARAM_PROPERTIES" "properties";
}
