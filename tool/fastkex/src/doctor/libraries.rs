//! The TLS library of a program: OpenSSL as a shared library, or another one that the module cannot
//! serve.

use std::path::{Path, PathBuf};

use memchr::memmem;

use super::finding::Finding;
use super::shared_objects::{Loaded, Needed, Root};

/// The maximum size of a program that is searched for a library inside of it, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The TLS library of a program.
#[derive(Debug)]
pub(super) enum Library {
    /// OpenSSL's libssl as a shared library.
    OpenSsl(Needed),
    Other(Other),
    /// No sign of a TLS library.
    None,
}

/// Another library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    /// Its name for people, and how the program has it.
    pub(super) name: String,
    /// Its releases that have X25519MLKEM768 themselves.
    pub(super) with_group: Option<&'static str>,
}

/// Shared libraries by the beginning of their names. LibreSSL has the names of OpenSSL, with other
/// numbers.
const SHARED: [(&str, &str, Option<&str>); 9] = [
    ("libssl.so.4", "LibreSSL", None),
    ("libssl.so.5", "LibreSSL", None),
    ("libgnutls.so", "GnuTLS", None),
    ("libssl3.so", "NSS", Some("current Firefox")),
    ("libmbedtls.so", "Mbed TLS", None),
    ("libwolfssl.so", "wolfSSL", None),
    ("libs2n.so", "s2n-tls", None),
    ("libjvm.so", "Java", Some("JDK 27 and later")),
    ("libjli.so", "Java", Some("JDK 27 and later")),
];

/// OpenSSL's libssl by the beginning of its name.
const LIBSSL: &str = "libssl.so";

/// Texts inside of programs that have a library in themselves.
const INSIDE: [(&[u8], &str, Option<&str>); 4] = [
    (b"aws_lc_0_", "AWS-LC", None),
    (b"BoringSSL", "BoringSSL", Some("current Chromium")),
    (b"/rustls-0.", "rustls", Some("current rustls with AWS-LC")),
    (b"ssl/statem/statem_srvr.c", "OpenSSL", None),
];

/// The name of an OpenSSL that is a part of the program.
const OPENSSL_INSIDE: &str = "OpenSSL inside of the program";

/// Returns the name, if it is that of a TLS library, of a shared object; OpenSSL's is `None`.
fn shared(name: &str) -> Option<Option<Other>> {
    let other = SHARED.iter().find(|(start, ..)| {
        // `libssl.so.4` is also the beginning of OpenSSL's own name from release 4 on.
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| {
            !start.starts_with(LIBSSL) || rest.starts_with(|c: char| c.is_ascii_digit())
        })
    });
    match other {
        Some((_, title, with_group)) => {
            let name = format!("{title} ({name})");
            Some(Some(Other { name, with_group: *with_group }))
        }
        None => name.starts_with(LIBSSL).then_some(None),
    }
}

/// Finds the TLS library of a program from the names of its shared objects, nearest first.
pub(super) fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Option<Other>> {
    names.map(shared).find(Option::is_some).flatten()
}

/// Finds the TLS library of the object at `path`.
///
/// # Errors
/// It is no ELF file, or cannot be read.
pub(super) fn of_object(root: &Root, path: &Path) -> Result<Library, String> {
    let objects = root.objects(path)?;
    let held = root.hold(path).and_then(|file| file.read(MOST_BYTES));
    let bytes = held.map_err(|error| format!("{}: {error}", root.shown(path).display()))?;
    // What the program needs itself comes first, and what its libraries need last.
    let tls = || objects.iter().filter(|loaded| shared(&loaded.name).is_some());
    let program = objects.first().map(|loaded| &loaded.by);
    if let Some(direct) = tls().find(|loaded| Some(&loaded.by) == program) {
        return Ok(of_loaded(direct, &objects));
    }
    if let Some(other) = inside(&bytes) {
        return Ok(Library::Other(other));
    }
    if let Some(nearest) = tls().next() {
        return Ok(of_loaded(nearest, &objects));
    }
    // A program may open its libraries only while it runs: by a name in it, or from beside it.
    if let Some(library) = opened(root, &bytes) {
        return Ok(library);
    }
    let path = root.resolved(path);
    let beside = root.names(path.parent().unwrap_or(Path::new("/")));
    let names = beside.iter().filter_map(|name| name.to_str());
    Ok(match of_names(names) {
        Some(Some(other)) => Library::Other(other),
        _ => Library::None,
    })
}

/// Describes the TLS library that one of a program's shared objects is.
fn of_loaded(loaded: &Loaded, all: &[Loaded]) -> Library {
    let Some(mut other) = shared(&loaded.name).flatten() else {
        return Library::OpenSsl(loaded.needed.clone());
    };
    if let Some(openssl) = all.iter().find(|loaded| shared(&loaded.name) == Some(None)) {
        let by = openssl.by.file_name().unwrap_or_default().display();
        other.name += &format!("; {} is there for {by} only", openssl.name);
    }
    Library::Other(other)
}

/// Finds a TLS library that a program opens while it runs, by the name of it in the program.
fn opened(root: &Root, bytes: &[u8]) -> Option<Library> {
    /// The maximum length of a name, in bytes.
    const MOST: usize = 40;
    let starts = SHARED.iter().map(|(start, ..)| *start).chain([LIBSSL]);
    let found =
        starts.flat_map(|start| memmem::find_iter(bytes, start.as_bytes())).find_map(|at| {
            let text = &bytes[at..bytes.len().min(at + MOST)];
            let end = text.iter().position(|byte| !byte.is_ascii_graphic()).unwrap_or(text.len());
            let name = std::str::from_utf8(&text[..end]).ok()?;
            // Only a name that the loader would find is one of a library.
            let place = root.library(name)?;
            Some((shared(name)?, place))
        });
    found.map(|(other, place)| match other {
        Some(other) => Library::Other(other),
        None => Library::OpenSsl(Needed::At(place)),
    })
}

/// Finds a TLS library inside of a program.
pub(super) fn inside(bytes: &[u8]) -> Option<Other> {
    if let Some(version) = go_version(bytes) {
        let name = format!("Go's own TLS ({version})");
        return Some(Other { name, with_group: Some("Go 1.24 and later") });
    }
    let mut found: Vec<_> =
        INSIDE.iter().filter(|(text, ..)| memmem::find(bytes, text).is_some()).collect();
    // AWS-LC has BoringSSL's texts, too.
    if found.iter().any(|(_, title, _)| *title == "AWS-LC") {
        found.retain(|(_, title, _)| *title != "BoringSSL");
    }
    let titles: Vec<_> = found.iter().map(|(_, title, _)| *title).collect();
    (!titles.is_empty()).then(|| Other {
        name: format!("{} inside of the program", titles.join(" and ")),
        with_group: found.iter().find_map(|(.., with_group)| *with_group),
    })
}

/// Returns the version of Go from the build information of a program that has its TLS.
fn go_version(bytes: &[u8]) -> Option<String> {
    const MAGIC: &[u8] = b"\xff Go buildinf:";
    /// The size of the header before the version, since Go 1.18.
    const HEADER: usize = 32;
    let at = memmem::find(bytes, MAGIC)?;
    memmem::find(bytes, b"crypto/tls.(*Conn)")?;
    let text = bytes.get(at + HEADER..)?;
    let length = usize::from(*text.first()?);
    let version = text.get(1..1 + length).and_then(|text| std::str::from_utf8(text).ok());
    let is_version = |text: &&str| text.starts_with("go") && !text.contains(char::is_control);
    Some(version.filter(is_version).unwrap_or("of an unknown version").to_owned())
}

/// Returns the version text of OpenSSL in a libcrypto, such as `OpenSSL 3.0.19 27 Jan 2026`.
pub(super) fn openssl_version(libcrypto: &[u8]) -> Option<String> {
    memmem::find_iter(libcrypto, b"OpenSSL ").find_map(|at| {
        let text = libcrypto[at..].split(|&byte| byte == 0).next()?;
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() < 80)?;
        let number = text.split(' ').nth(1)?;
        let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
        is_number.then(|| text.to_owned())
    })
}

/// Returns the folder of the default configuration that a libcrypto was built with.
pub(super) fn openssl_folder(libcrypto: &[u8]) -> Option<PathBuf> {
    const START: &[u8] = b"OPENSSLDIR: \"";
    let at = memmem::find(libcrypto, START)? + START.len();
    let text = libcrypto[at..].split(|&byte| byte == b'"').next()?;
    std::str::from_utf8(text).ok().filter(|text| text.starts_with('/')).map(PathBuf::from)
}

/// Describes a program with another library than OpenSSL's libssl as a shared library.
pub(super) fn of_another_library(name: &str, other: &Other) -> Finding {
    if other.name == OPENSSL_INSIDE {
        return Finding::note(
            name,
            format!(
                "uses {}, not as a shared library: it loads the module only if it reads a configuration \
                 (Node with --openssl-shared-config does)",
                other.name
            ),
        );
    }
    let message =
        format!("uses {}: OpenSSL's configuration and the module have no effect on it", other.name);
    match other.with_group {
        Some(releases) => {
            Finding::note(name, format!("{message}; X25519MLKEM768 is in {releases}"))
        }
        None => Finding::wrong(
            name,
            message,
            "use a build of it, or another program, with OpenSSL's libssl as a shared library",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_apart_by_name() {
        let of = |name: &str| of_names([name].into_iter());
        for name in ["libssl.so.3", "libssl.so.1.1", "libssl.so.4", "libssl.so"] {
            assert_eq!(of(name), Some(None), "{name}");
        }
        for (name, expected) in [
            ("libssl.so.53", "LibreSSL"),
            ("libssl.so.48", "LibreSSL"),
            ("libssl3.so", "NSS"),
            ("libgnutls.so.30", "GnuTLS"),
            ("libjvm.so", "Java"),
        ] {
            let found = of(name).flatten().unwrap();
            assert!(found.name.starts_with(expected), "{name}: {found:?}");
        }
        assert_eq!(of("libcrypto.so.3"), None);
        // The nearest library counts.
        let nearest = of_names(["libc.so.6", "libgnutls.so.30", "libssl.so.3"].into_iter());
        assert!(nearest.flatten().is_some());
    }

    #[test]
    fn libraries_inside_of_a_program_are_found() {
        let mut go = b"\x7fELF ... \xff Go buildinf:".to_vec();
        go.extend([0x08, 0x02]);
        go.resize(8 + 1 + 32, 0);
        go.extend(b"\x08go1.24.3 and crypto/tls.(*Conn).Handshake");
        assert!(inside(&go).unwrap().name.contains("go1.24.3"), "{:?}", inside(&go));
        // Go without TLS.
        assert_eq!(inside(&go[..go.len() - 30]), None);
        for (text, expected) in [
            ("x/aws_lc_0_1_SSL and BoringSSL", "AWS-LC"),
            ("OpenSSL 1.1.1 (compatible; BoringSSL)", "BoringSSL"),
            ("/home/u/.cargo/registry/src/i/rustls-0.23.5/src/conn.rs", "rustls"),
            ("../deps/openssl/openssl/ssl/statem/statem_srvr.c", "OpenSSL inside"),
            ("aws_lc_0_1 BoringSSL /rustls-0.23.5/", "AWS-LC and rustls inside"),
        ] {
            assert!(inside(text.as_bytes()).unwrap().name.starts_with(expected), "{text}");
        }
        for hostile in [&b"\xff Go buildinf:"[..], b"\xff Go buildinf:crypto/tls.(*Conn)", b""] {
            drop(inside(hostile));
        }
    }

    #[test]
    fn a_libcrypto_tells_its_version_and_folder() {
        let text = b"x\0OpenSSL is\0OpenSSL 3.0.19 27 Jan 2026\0OPENSSLDIR: \"/usr/lib/ssl\"\0";
        assert_eq!(openssl_version(text).as_deref(), Some("OpenSSL 3.0.19 27 Jan 2026"));
        assert_eq!(openssl_folder(text).as_deref(), Some(Path::new("/usr/lib/ssl")));
        assert_eq!((openssl_version(b"OpenSSL "), openssl_folder(b"OPENSSLDIR: \"")), (None, None));
    }
}
