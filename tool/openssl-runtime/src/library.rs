//! Finds and loads libcrypto and libssl.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_ulong, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::c_string::text;
use crate::constants::*;
use crate::error::Error;
use crate::failure::Failure;
use crate::legacy;
use crate::symbols::Symbols;

/// The supported soname suffixes, in the order in which they are tried.
const SONAME_VERSIONS: [&str; 2] = ["3", "4"];
/// The soname suffix of OpenSSL 1.1.1, which is loaded only on request.
const LEGACY_SONAME_VERSION: &str = "1.1";

/// One OpenSSL, loaded into this process; clones share it.
///
/// It is initialised without a configuration file, so that a [`LibraryContext`] contains only what
/// the program put there. [`LibraryContext::load_config`] with [`Libraries::default_config_file`]
/// gives the configuration that an application would see.
///
/// The libraries are never unloaded. OpenSSL registers thread-exit handlers that point into its
/// code and has no function to remove them, so unloading would leave them dangling. For the same
/// reason OpenSSL does not free its state when the process exits: threads may still be using it.
///
/// [`LibraryContext`]: crate::LibraryContext
/// [`LibraryContext::load_config`]: crate::LibraryContext::load_config
#[derive(Clone)]
pub struct Libraries {
    inner: Arc<Inner>,
}

struct Inner {
    symbols: Symbols,
    version: Version,
    libcrypto_path: PathBuf,
    libssl_path: PathBuf,
}

/// A version of OpenSSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number: 3 or 4, or 1 for OpenSSL 1.1.1.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Debug for Libraries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Libraries")
            .field("version", &self.inner.version)
            .field("libcrypto", &self.inner.libcrypto_path)
            .field("libssl", &self.inner.libssl_path)
            .finish()
    }
}

impl Libraries {
    /// Loads the system's OpenSSL as an application would: `libcrypto.so.3` and `libssl.so.3` from
    /// the dynamic loader's path, otherwise version 4 of both.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with every attempt, and the errors of [`Libraries::open`].
    pub fn system() -> Result<Self, Error> {
        let names = SONAME_VERSIONS.map(|version| file_names(Path::new(""), version));
        let mut tried = Vec::new();
        for (libcrypto, libssl) in names {
            match Self::open_named(&libcrypto, &libssl) {
                Err(Error::Load { path, reason }) => {
                    tried.push(format!("{}: {reason}", path.display()))
                }
                other => return other,
            }
        }
        Err(Error::NotFound(tried))
    }

    /// Loads the OpenSSL in a directory, such as the `lib` of an installation: 3.0 or later,
    /// otherwise 1.1.1.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the directory has no libcrypto of a supported version, and the
    /// errors of [`Libraries::open`].
    pub fn open_directory(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = absolute(directory.as_ref())?;
        let versions = SONAME_VERSIONS.iter().chain([&LEGACY_SONAME_VERSION]);
        let names: Vec<_> = versions.map(|version| file_names(&directory, version)).collect();
        match names.iter().find(|(libcrypto, _)| libcrypto.exists()) {
            Some((libcrypto, libssl)) => Self::open_named(libcrypto, libssl),
            None => {
                let absent = |(libcrypto, _): &(PathBuf, _)| {
                    format!("{}: no such file", libcrypto.display())
                };
                Err(Error::NotFound(names.iter().map(absent).collect()))
            }
        }
    }

    /// Loads exactly these two files. This runs their initialisers; the caller must trust them as
    /// it trusts a program that it starts.
    ///
    /// They may belong to OpenSSL 1.1.1: see [`Libraries::is_legacy`].
    ///
    /// # Errors
    ///
    /// [`Error::Load`] when a file cannot be loaded, [`Error::Unsupported`] when it is older than
    /// 1.1.1 or not OpenSSL, [`Error::MixedLibraries`] when the process holds another libcrypto of
    /// the same soname.
    pub fn open(libcrypto: impl AsRef<Path>, libssl: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_named(&absolute(libcrypto.as_ref())?, &absolute(libssl.as_ref())?)
    }

    fn open_named(libcrypto_name: &Path, libssl_name: &Path) -> Result<Self, Error> {
        let libcrypto = load(libcrypto_name)?;
        let version_address = address(&libcrypto, "OpenSSL_version_num");
        let libcrypto_path =
            version_address.and_then(containing_file).unwrap_or_else(|| libcrypto_name.into());
        let is_legacy = is_legacy(&libcrypto, &libcrypto_path)?;

        let mixed = |bound_address: Option<*const c_void>| {
            let bound = bound_address.and_then(containing_file).unwrap_or_default();
            Err(Error::MixedLibraries { wanted: libcrypto_path.clone(), bound })
        };
        // libssl names its libcrypto without a path, and gets the first library of that name in the
        // process.
        let first = libcrypto_name.file_name().and_then(already_loaded);
        let first_address = first.and_then(|library| address(&library, "OpenSSL_version_num"));
        if first_address.is_some() && first_address != version_address {
            return mixed(first_address);
        }
        let libssl = load(libssl_name)?;
        let bound_address = address(&libssl, "OpenSSL_version_num");
        if bound_address != version_address {
            return mixed(bound_address);
        }
        let libssl_path = address(&libssl, "SSL_CTX_new")
            .and_then(containing_file)
            .unwrap_or_else(|| libssl_name.into());
        let missing = |symbol| Error::MissingSymbol { path: libcrypto_path.clone(), symbol };
        // SAFETY: both come from OpenSSL 1.1.1 or 3.0 or later, as just checked, and are never
        // closed.
        let mut symbols =
            unsafe { Symbols::load(&libcrypto, &libssl, is_legacy) }.map_err(missing)?;
        if is_legacy {
            // SAFETY: both come from OpenSSL 1.1.1 and are never closed.
            unsafe { legacy::complete(&mut symbols, &libcrypto, &libssl) }.map_err(missing)?;
        }

        // SAFETY: initialisation is thread-safe, may be repeated, and takes null for "no settings".
        let ready = unsafe {
            (symbols.OPENSSL_init_ssl)(
                OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
                ptr::null(),
            )
        };
        if ready != 1 {
            return Err(Failure::drain(&symbols, "initialise OpenSSL").into());
        }
        // SAFETY: the three functions only return constants.
        let version = unsafe {
            Version {
                major: (symbols.OPENSSL_version_major)(),
                minor: (symbols.OPENSSL_version_minor)(),
                patch: (symbols.OPENSSL_version_patch)(),
            }
        };
        let inner = Inner { symbols, version, libcrypto_path, libssl_path };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the loaded library's version.
    pub fn version(&self) -> Version {
        self.inner.version
    }

    /// True for OpenSSL 1.1.1, whose ENGINEs belong to the whole process.
    ///
    /// OpenSSL 1.1.1 has no library contexts and no providers. Every [`LibraryContext`] of it
    /// stands for the process, [`LibraryContext::load_config`] configures the process, and clients
    /// and servers use this configuration. Any function that needs a provider fails with an error
    /// that names the function missing in 1.1.1. Lists of provider offers are empty.
    ///
    /// [`LibraryContext`]: crate::LibraryContext
    /// [`LibraryContext::load_config`]: crate::LibraryContext::load_config
    pub fn is_legacy(&self) -> bool {
        self.inner.version.major < OLDEST_MAJOR
    }

    /// Returns the version as OpenSSL prints it, with its date: "OpenSSL 3.0.2 15 Mar 2022".
    pub fn version_text(&self) -> String {
        // SAFETY: returns a constant string for every argument.
        unsafe { text((self.symbols().OpenSSL_version)(OPENSSL_VERSION)) }.unwrap_or_default()
    }

    /// Returns the file from which libcrypto was actually loaded.
    pub fn libcrypto_path(&self) -> &Path {
        &self.inner.libcrypto_path
    }

    /// Returns the file from which libssl was actually loaded.
    pub fn libssl_path(&self) -> &Path {
        &self.inner.libssl_path
    }

    /// Returns the directory in which OpenSSL looks for providers, unless `OPENSSL_MODULES` or a
    /// search path names another one.
    pub fn modules_dir(&self) -> PathBuf {
        self.info(OPENSSL_INFO_MODULES_DIR)
    }

    /// Returns the directory of the configuration file that is built into the library.
    pub fn config_dir(&self) -> PathBuf {
        self.info(OPENSSL_INFO_CONFIG_DIR)
    }

    fn info(&self, kind: c_int) -> PathBuf {
        // SAFETY: returns null or a constant string for every argument.
        unsafe { text((self.symbols().OPENSSL_info)(kind)) }.unwrap_or_default().into()
    }

    /// Returns the configuration file that applications read by default: `OPENSSL_CONF` if that is
    /// set (and the program is not setuid), otherwise `openssl.cnf` in [`Libraries::config_dir`].
    /// The file need not exist.
    pub fn default_config_file(&self) -> PathBuf {
        let symbols = self.symbols();
        // SAFETY: no arguments; the string returned is ours to free.
        let file = unsafe { (symbols.CONF_get1_default_config_file)() };
        if file.is_null() {
            return PathBuf::new();
        }
        // SAFETY: not null, so a C string; it is copied before it is freed.
        let path = unsafe { CStr::from_ptr(file) }.to_bytes().to_vec();
        // SAFETY: the string came from OpenSSL's allocator and is not used again.
        unsafe { (symbols.CRYPTO_free)(file.cast(), ptr::null(), 0) };
        OsString::from_vec(path).into()
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        &self.inner.symbols
    }
}

fn file_names(directory: &Path, version: &str) -> (PathBuf, PathBuf) {
    let file = |name: &str| directory.join(format!("{name}.so.{version}"));
    (file("libcrypto"), file("libssl"))
}

/// Makes a path absolute. The loader searches its path for a name without a slash, so a path must
/// contain one.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::Io)
}

fn load(name: &Path) -> Result<ManuallyDrop<Library>, Error> {
    // SAFETY: runs the library's initialisers, which the caller of `open` trusts; it is never
    // unloaded.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
    library
        .map(ManuallyDrop::new)
        .map_err(|error| Error::Load { path: name.into(), reason: reason(&error) })
}

/// Returns the library of this name that the process already holds, if there is one.
fn already_loaded(name: &OsStr) -> Option<ManuallyDrop<Library>> {
    // SAFETY: loads nothing, so runs nothing.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) };
    library.ok().map(ManuallyDrop::new)
}

/// Returns the loader's message, which libloading keeps in the error's source or debug text.
fn reason(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { source } | libloading::Error::DlSym { source } => {
            source.to_string()
        }
        other => other.to_string(),
    }
}

/// Returns the address that the loader finds for `name` from this library: in the library itself,
/// otherwise in the libraries that it is linked to.
fn address(library: &Library, name: &str) -> Option<*const c_void> {
    // SAFETY: only the address is taken; nothing is called or read through it.
    unsafe { library.get::<*const c_void>(name.as_bytes()) }
        .ok()
        .map(|symbol| symbol.as_raw_ptr().cast_const())
}

/// Returns the file from which an address was loaded.
fn containing_file(address: *const c_void) -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: any address is a valid argument; `info` is valid for writing.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string that lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

/// The first number of the oldest release with providers.
const OLDEST_MAJOR: u32 = 3;
/// The version number of the first 1.1.1; 1.1.0 has no TLS 1.3.
const OLDEST_LEGACY: c_ulong = 0x1010_1000;

/// True if the library is OpenSSL 1.1.1, and not 3.0 or later.
fn is_legacy(libcrypto: &Library, path: &Path) -> Result<bool, Error> {
    // SAFETY: every libcrypto since 1.1.0 has these two functions with these types.
    let functions = unsafe {
        (
            libcrypto.get::<unsafe extern "C" fn() -> c_ulong>(b"OpenSSL_version_num"),
            libcrypto.get::<unsafe extern "C" fn(c_int) -> *const c_char>(b"OpenSSL_version"),
        )
    };
    let (Ok(number), Ok(version)) = functions else {
        return Err(Error::Unsupported {
            path: path.into(),
            found: "not OpenSSL's libcrypto".into(),
        });
    };
    // SAFETY: takes nothing and returns a constant.
    let number = unsafe { number() };
    if number < OLDEST_LEGACY {
        // SAFETY: returns a constant string for every argument.
        let found = unsafe { text(version(OPENSSL_VERSION)) }.unwrap_or_default();
        return Err(Error::Unsupported { path: path.into(), found });
    }
    Ok(number >> 28 < OLDEST_MAJOR.into())
}

/// Converts a path for OpenSSL.
pub(crate) fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Input(format!("the path {} contains a NUL byte", path.display())))
}

/// Converts a text for OpenSSL; `what` names the text in the error.
pub(crate) fn c_text(what: &str, value: &str) -> Result<CString, Error> {
    CString::new(value)
        .map_err(|_| Error::Input(format!("the {what} {value:?} contains a NUL byte")))
}
