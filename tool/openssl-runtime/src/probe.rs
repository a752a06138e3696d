//! Compares constants and signatures with the installed headers, by compiling a C file of static
//! assertions.

use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;

use crate::alert;
use crate::constants::{NAMES, NUMBERS};
use crate::legacy;
use crate::symbols::SIGNATURES;
use crate::types::OSSL_PARAM;

/// The includes of the C file. Signatures gained and lost `const` between OpenSSL 3.0 and 4.0. It
/// does not change the calling convention, so the file defines it as nothing. The system's headers
/// come first and keep their `const`.
const PRELUDE: &str = r#"
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#define const
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
typedef OSSL_CALLBACK *CapabilityCallback;
typedef void (*NameCallback)(char *, void *);
typedef int (*ProviderCallback)(OSSL_PROVIDER *, void *);
typedef void (*KemCallback)(EVP_KEM *, void *);
typedef void (*KeyExchangeCallback)(EVP_KEYEXCH *, void *);
typedef void (*KeyManagementCallback)(EVP_KEYMGMT *, void *);
typedef void (*SignatureCallback)(EVP_SIGNATURE *, void *);
typedef pem_password_cb *PassphraseCallback;
typedef SSL_verify_cb VerifyCallback;
typedef void (*MessageCallback)(int, int, int, void *, size_t, SSL *, void *);
"#;

#[test]
fn constants_and_signatures_are_those_of_the_headers() {
    match compile(
        &[],
        "#include <openssl/ssl.h>\n#if OPENSSL_VERSION_MAJOR < 3\n#error old\n#endif\n",
    ) {
        Ok(output) if output.status.success() => {}
        _ => {
            return artifacts::skipped(
                "needs cc and the headers of OpenSSL 3.0 or later (apt-get install gcc libssl-dev)",
            );
        }
    }
    let output = compile(&[], &source()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Checks the part of both tables that OpenSSL 1.1.1 has.
#[test]
fn signatures_are_those_of_the_headers_of_1_1_1() {
    let Some(prefix) = [true, false].into_iter().find_map(artifacts::legacy_openssl) else {
        return artifacts::skipped("no OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build)");
    };
    let headers = prefix.join("include");
    let declared: String = std::fs::read_dir(headers.join("openssl"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let is_declared = |name: &str| {
        declared.match_indices(name).any(|(place, _)| {
            let (before, after) = (&declared[..place], &declared[place + name.len()..]);
            before.ends_with([' ', '*', '(']) && after.starts_with(['(', ')'])
        })
    };
    let mut source: String = PRELUDE
        .lines()
        .filter(|line| {
            let mut later =
                ["core_", "/decoder", "/encoder", "/provider", "OSSL_", "EVP_KE", "EVP_SIG"].iter();
            !later.any(|mark| line.contains(mark))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    source += "#include <openssl/conf.h>\n#include <openssl/engine.h>\n";
    let mut common = 0;
    for signature @ (name, ..) in SIGNATURES {
        if is_declared(name) {
            writeln!(source, "{}", assertion(signature)).unwrap();
            common += 1;
        }
    }
    assert!(common > 60, "{common} of {}", SIGNATURES.len());
    legacy::SIGNATURES.iter().for_each(|one| writeln!(source, "{}", assertion(one)).unwrap());
    let folder = headers.to_str().unwrap();
    let output = compile(&["-isystem", folder], &source).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn compile(options: &[&str], source: &str) -> std::io::Result<std::process::Output> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("probe.c");
    std::fs::write(&file, source).unwrap();
    Command::new("cc").args(["-std=gnu11", "-fsyntax-only"]).args(options).arg(&file).output()
}

fn source() -> String {
    let mut source = String::from(PRELUDE);
    for (name, value) in NUMBERS {
        writeln!(source, "_Static_assert((uint64_t)({name}) == UINT64_C({value}), \"{name}\");")
            .unwrap();
    }
    for (name, value) in NAMES {
        let value = value.to_str().unwrap();
        writeln!(source, "_Static_assert(!__builtin_strcmp({name}, \"{value}\"), \"{name}\");")
            .unwrap();
    }
    for (field, offset) in [
        ("key", offset_of!(OSSL_PARAM, key)),
        ("data_type", offset_of!(OSSL_PARAM, data_type)),
        ("data", offset_of!(OSSL_PARAM, data)),
        ("data_size", offset_of!(OSSL_PARAM, data_size)),
        ("return_size", offset_of!(OSSL_PARAM, return_size)),
    ] {
        writeln!(source, "_Static_assert(offsetof(OSSL_PARAM, {field}) == {offset}, \"{field}\");")
            .unwrap();
    }
    writeln!(source, "_Static_assert(sizeof(OSSL_PARAM) == {}, \"\");", size_of::<OSSL_PARAM>())
        .unwrap();
    for (number, name) in alert::NAMES {
        let name = name.to_uppercase().replace("CANCELED", "CANCELLED");
        // In some versions close_notify has a name with another prefix.
        let prefix = if *number == 0 { "SSL3_AD" } else { "SSL_AD" };
        writeln!(source, "_Static_assert({prefix}_{name} == {number}, \"{name}\");").unwrap();
    }
    SIGNATURES.iter().for_each(|one| writeln!(source, "{}", assertion(one)).unwrap());
    source
}

/// Returns a static assertion that a function has this name, these arguments and this result.
fn assertion((name, arguments, result): &(&str, &[&str], &str)) -> String {
    let arguments: Vec<_> = arguments.iter().map(|argument| c_type(argument)).collect();
    let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
    let result = if result.is_empty() { "void".into() } else { c_type(result) };
    format!(
        "_Static_assert(__builtin_types_compatible_p(__typeof__({name}), {result}({arguments})), \"{name}\");"
    )
}

/// Translates a Rust type of the symbol table to C.
fn c_type(rust: &str) -> String {
    let rust = rust.replace(' ', "");
    for pointer in ["*mut", "*const"] {
        if let Some(target) = rust.strip_prefix(pointer) {
            return format!("{} *", c_type(target));
        }
    }
    if let Some(callback) = rust.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')) {
        return callback.into();
    }
    match rust.as_str() {
        "c_char" => "char",
        "c_uchar" => "unsigned char",
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "c_long" => "long",
        "c_ulong" => "unsigned long",
        "c_void" => "void",
        "u64" => "uint64_t",
        "usize" => "size_t",
        other => other,
    }
    .into()
}
