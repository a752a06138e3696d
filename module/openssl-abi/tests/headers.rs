//! Compares every number, name and layout of the crate with installed OpenSSL headers, by a C
//! program.

use std::fmt::Write;
use std::process::Command;

use openssl_abi::{
    Algorithm, Class, Dispatch, Item, Param, ParamType, functions, names, number, operation,
    selection,
};

/// Names that later releases of OpenSSL added, with the release. Older headers may lack them.
const ADDED: [(&str, &str); 10] = [
    ("NID_brainpoolP256r1tls13", "0x30200000L"),
    ("NID_brainpoolP384r1tls13", "0x30200000L"),
    ("NID_brainpoolP512r1tls13", "0x30200000L"),
    ("OSSL_FUNC_SIGNATURE_SIGN_MESSAGE_INIT", "0x30400000L"),
    ("OSSL_FUNC_SIGNATURE_VERIFY_MESSAGE_INIT", "0x30400000L"),
    ("OSSL_PKEY_PARAM_DHKEM_IKM", "0x30200000L"),
    ("OSSL_PKEY_PARAM_ML_KEM_SEED", "0x30500000L"),
    ("OSSL_PKEY_PARAM_SECURITY_CATEGORY", "0x30600000L"),
    ("OSSL_SIGNATURE_PARAM_INSTANCE", "0x30200000L"),
    ("OSSL_SIGNATURE_PARAM_CONTEXT_STRING", "0x30200000L"),
];

/// The C code `check`, compiled only with headers of a release that has `name`.
fn unless_older(name: &str, check: &str) -> String {
    match ADDED.iter().find(|(added, _)| *added == name) {
        Some((_, release)) => {
            format!("#if OPENSSL_VERSION_NUMBER >= {release}\n{check}\n#endif")
        }
        None => check.to_owned(),
    }
}

#[test]
fn numbers_names_and_layouts_are_those_of_the_headers() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = String::from(
        "#include <stddef.h>\n#include <string.h>\n#include <stdio.h>\n#include <openssl/core.h>\n#include <openssl/opensslv.h>\n\
         #include <openssl/core_dispatch.h>\n#include <openssl/core_names.h>\n#include <openssl/core_object.h>\n\
         #include <openssl/crypto.h>\n#include <openssl/obj_mac.h>\n#include <openssl/ssl.h>\n\
         #define IS(c, rust) _Static_assert((c) == (rust), #c)\n",
    );
    for (prefix, name, id) in functions::ALL {
        let c = format!("OSSL_FUNC_{prefix}_{name}");
        let check = format!("IS({c}, {id});");
        writeln!(source, "{}", unless_older(&c, &check)).unwrap();
    }
    let mut is = |c: &str, rust: usize| writeln!(source, "IS({c}, {rust});").unwrap();
    is("OSSL_OP_KEYMGMT", operation::KEYMGMT as usize);
    is("OSSL_OP_KEYEXCH", operation::KEYEXCH as usize);
    is("OSSL_OP_SIGNATURE", operation::SIGNATURE as usize);
    is("OSSL_OP_KEM", operation::KEM as usize);
    is("OSSL_OP_ENCODER", operation::ENCODER as usize);
    is("OSSL_OP_DECODER", operation::DECODER as usize);
    is("OSSL_KEYMGMT_SELECT_PRIVATE_KEY", selection::PRIVATE_KEY as usize);
    is("OSSL_KEYMGMT_SELECT_PUBLIC_KEY", selection::PUBLIC_KEY as usize);
    is("OSSL_KEYMGMT_SELECT_KEYPAIR", selection::KEYPAIR as usize);
    is("OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS", selection::DOMAIN_PARAMETERS as usize);
    is("OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS", selection::OTHER_PARAMETERS as usize);
    is("OSSL_KEYMGMT_SELECT_ALL_PARAMETERS", selection::ALL_PARAMETERS as usize);
    is("OSSL_OBJECT_PKEY", openssl_abi::OBJECT_PKEY as usize);
    is("OSSL_PARAM_INTEGER", ParamType::Integer as usize);
    is("OSSL_PARAM_UNSIGNED_INTEGER", ParamType::Unsigned as usize);
    is("OSSL_PARAM_UTF8_STRING", ParamType::Utf8 as usize);
    is("OSSL_PARAM_OCTET_STRING", ParamType::Octets as usize);
    is("OSSL_PARAM_UTF8_PTR", ParamType::Utf8Pointer as usize);
    is("sizeof(OSSL_PARAM)", size_of::<Param>());
    is("sizeof(OSSL_DISPATCH)", size_of::<Dispatch>());
    is("sizeof(OSSL_ALGORITHM)", size_of::<Algorithm>());
    is("sizeof(OSSL_ITEM)", size_of::<Item>());
    is("offsetof(OSSL_ALGORITHM, algorithm_names)", std::mem::offset_of!(Algorithm, names));
    is(
        "offsetof(OSSL_ALGORITHM, property_definition)",
        std::mem::offset_of!(Algorithm, properties),
    );
    is("offsetof(OSSL_ALGORITHM, implementation)", std::mem::offset_of!(Algorithm, implementation));
    is(
        "offsetof(OSSL_ALGORITHM, algorithm_description)",
        std::mem::offset_of!(Algorithm, description),
    );
    is("offsetof(OSSL_ITEM, ptr)", std::mem::offset_of!(Item, pointer));

    is("CRYPTO_EX_INDEX_SSL", Class::Ssl as usize);
    is("CRYPTO_EX_INDEX_SSL_CTX", Class::SslContext as usize);
    is("CRYPTO_EX_INDEX_X509_STORE_CTX", Class::Verification as usize);
    is("SSL_CB_HANDSHAKE_DONE", number::HANDSHAKE_DONE as usize);
    is("SSL_CTRL_GET_NEGOTIATED_GROUP", number::GET_NEGOTIATED_GROUP as usize);
    is("TLSEXT_nid_unknown", number::UNKNOWN_GROUP as usize);
    is("TLS1_3_VERSION", number::TLS_1_3 as usize);
    for (name, id, _) in number::GROUPS {
        let check = format!("IS({name}, {id});");
        writeln!(source, "{}", unless_older(name, &check)).unwrap();
    }

    source.push_str("int main(void) {\n");
    for (name, text) in names::ALL {
        let check = format!("  if (strcmp({name}, \"{text}\")) {{ puts(\"{name}\"); return 1; }}");
        writeln!(source, "{}", unless_older(name, &check)).unwrap();
    }
    source.push_str("  return 0;\n}\n");

    let (c, program) = (folder.path().join("probe.c"), folder.path().join("probe"));
    std::fs::write(&c, source).unwrap();
    // The headers of the OpenSSL under test, else the system's.
    let include = std::env::var("FASTKEX_TEST_OPENSSL")
        .ok()
        .map(|libraries| format!("-I{}/../include", libraries));
    let has_headers = Command::new("cc")
        .args(&include)
        .args(["-fsyntax-only", "-include", "openssl/core_dispatch.h", "-x", "c", "/dev/null"])
        .output();
    match has_headers {
        Ok(output) if output.status.success() => {}
        _ => {
            artifacts::skipped(
                "no C compiler with OpenSSL 3 headers (apt-get install gcc libssl-dev)",
            );
            return;
        }
    }
    let compiled =
        Command::new("cc").args(&include).arg("-o").arg(&program).arg(&c).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success(), "differs: {}", String::from_utf8_lossy(&ran.stdout));
}
