//! The provider's entry points with hostile input, called through the same C functions as libcrypto
//! does.
//!
//! Each function takes a fuzzer's bytes. The first byte selects a group. The second selects whether
//! the rest is the input itself or a change to a valid input: an offset, and bytes to exclusive-or
//! from there. [`ml_kem`] calls the crate `mlkem`, and selects its input in a similar way.
//! [`server_answer`] is for the command: it reads the first bytes of any server.

mod core_side;
mod ml_kem;

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::LazyLock;

use kex::{GroupVisitor, Identifier, TLS_GROUPS, TlsGroup, TlsKem, visit_groups};
use openssl_abi::functions::{decoder, kem, keymgmt};
use openssl_abi::{Algorithm, CoreBio, Param, names, operation, selection};
use openssl_conf::{Config, GroupSyntax, Interpretation, Release, split_groups};

use core_side::{Input, Loaded};
pub use ml_kem::ml_kem;

/// A valid key pair and ciphertext of a group.
struct Sample {
    public: Vec<u8>,
    secret: Vec<u8>,
    ciphertext: Vec<u8>,
    shared: Vec<u8>,
}

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    struct Visitor(Vec<Sample>);
    impl GroupVisitor for Visitor {
        fn visit<K: TlsKem>(&mut self) {
            let provider = PROVIDER.with(|loaded| loaded.context);
            let index = self.0.len();
            PROVIDER.with(|loaded| {
                let tools = Tools::new(loaded, index);
                assert!(!provider.is_null());
                // SAFETY: the functions are called as libcrypto does.
                let key = unsafe { tools.generate(selection::KEYPAIR) };
                let public = tools.get(key, names::PUBLIC_KEY, K::PUBLIC_KEY_BYTES);
                let secret = tools.get(key, names::PRIVATE_KEY, K::SECRET_KEY_BYTES);
                let (ciphertext, shared) = tools.encapsulate(key).unwrap();
                tools.free(key);
                self.0.push(Sample { public, secret, ciphertext, shared });
            });
        }
    }
    let mut visitor = Visitor(Vec::new());
    visit_groups(&mut visitor);
    visitor.0
});

thread_local! {
    static PROVIDER: Loaded =
        Loaded::new(&[("groups", "all"), ("key_files", "on")]).expect("the provider loads");
}

/// The functions of one group.
struct Tools {
    context: *mut c_void,
    group: &'static TlsGroup,
    management: Algorithm,
    encapsulation: Algorithm,
    /// Those of public and of secret keys, if keys of the group can be files.
    decoders: Option<[Algorithm; 2]>,
}

impl Tools {
    fn new(loaded: &Loaded, index: usize) -> Self {
        let decoders = loaded.algorithms(operation::DECODER);
        let group = TLS_GROUPS[index];
        let has_files = |group: &&&TlsGroup| group.identifier.is_some();
        let first = 2 * TLS_GROUPS[..index].iter().filter(has_files).count();
        Tools {
            context: loaded.context,
            group,
            management: loaded.algorithms(operation::KEYMGMT)[index],
            encapsulation: loaded.algorithms(operation::KEM)[index],
            decoders: group.identifier.map(|_| [decoders[first], decoders[first + 1]]),
        }
    }

    /// # Safety
    /// The provider is loaded.
    unsafe fn generate(&self, selection: c_int) -> *mut c_void {
        let table = self.management.implementation;
        // SAFETY: the functions are called as libcrypto does.
        unsafe {
            let generation =
                keymgmt::GEN_INIT.find(table).unwrap()(self.context, selection, ptr::null());
            let key = keymgmt::GEN.find(table).unwrap()(generation, None, ptr::null_mut());
            keymgmt::GEN_CLEANUP.find(table).unwrap()(generation);
            assert!(!key.is_null());
            key
        }
    }

    fn free(&self, key: *mut c_void) {
        // SAFETY: the key is ours, and not used again.
        unsafe { keymgmt::FREE.find(self.management.implementation).unwrap()(key) };
    }

    fn get(&self, key: *mut c_void, name: &'static std::ffi::CStr, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let mut params = [Param::octets_at(name, bytes.as_mut_ptr(), size), Param::END];
        let get = keymgmt::GET_PARAMS;
        // SAFETY: the functions are called as libcrypto does.
        let ok =
            unsafe { get.find(self.management.implementation).unwrap()(key, params.as_mut_ptr()) };
        assert_eq!(ok, 1);
        bytes
    }

    /// Fills `key` with a share, as libssl does with the peer's share.
    fn set_share(&self, key: *mut c_void, share: &[u8]) -> bool {
        let params = [Param::octets(names::ENCODED_PUBLIC_KEY, share), Param::END];
        let set = keymgmt::SET_PARAMS;
        // SAFETY: the functions are called as libcrypto does.
        let ok = unsafe { set.find(self.management.implementation).unwrap()(key, params.as_ptr()) };
        ok == 1
    }

    fn import(&self, key: *mut c_void, params: &[Param]) -> bool {
        let import = keymgmt::IMPORT.id();
        assert_ne!(import, 0);
        // SAFETY: the functions are called as libcrypto does.
        let ok = unsafe {
            keymgmt::IMPORT.find(self.management.implementation).unwrap()(
                key,
                selection::KEYPAIR,
                params.as_ptr(),
            )
        };
        ok == 1
    }

    fn encapsulate(&self, key: *mut c_void) -> Option<(Vec<u8>, Vec<u8>)> {
        let table = self.encapsulation.implementation;
        let mut ciphertext = vec![0; self.group.ciphertext_bytes];
        let mut shared = vec![0; self.group.shared_secret_bytes];
        let (mut ciphertext_size, mut shared_size) = (ciphertext.len(), shared.len());
        // SAFETY: the functions are called as libcrypto does.
        let ok = unsafe {
            let operation = kem::NEWCTX.find(table).unwrap()(self.context);
            let mut ok = kem::ENCAPSULATE_INIT.find(table).unwrap()(operation, key, ptr::null());
            if ok == 1 {
                ok = kem::ENCAPSULATE.find(table).unwrap()(
                    operation,
                    ciphertext.as_mut_ptr(),
                    &raw mut ciphertext_size,
                    shared.as_mut_ptr(),
                    &raw mut shared_size,
                );
            }
            kem::FREECTX.find(table).unwrap()(operation);
            ok
        };
        (ok == 1).then_some((ciphertext, shared))
    }

    fn decapsulate(&self, key: *mut c_void, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let table = self.encapsulation.implementation;
        let mut shared = vec![0; self.group.shared_secret_bytes];
        let mut size = shared.len();
        // SAFETY: the functions are called as libcrypto does.
        let ok = unsafe {
            let operation = kem::NEWCTX.find(table).unwrap()(self.context);
            let mut ok = kem::DECAPSULATE_INIT.find(table).unwrap()(operation, key, ptr::null());
            if ok == 1 {
                ok = kem::DECAPSULATE.find(table).unwrap()(
                    operation,
                    shared.as_mut_ptr(),
                    &raw mut size,
                    ciphertext.as_ptr(),
                    ciphertext.len(),
                );
            }
            kem::FREECTX.find(table).unwrap()(operation);
            ok
        };
        (ok == 1).then_some(shared)
    }
}

/// Decodes a fuzzer's bytes to a group and an input. `good` returns the valid input to change.
fn input(data: &[u8], good: impl Fn(&'static Sample) -> Vec<u8>) -> Option<(usize, Vec<u8>)> {
    let (&[group, mode], rest) = data.split_first_chunk::<2>()?;
    let index = usize::from(group) % TLS_GROUPS.len();
    if mode % 2 == 0 {
        return Some((index, rest.to_vec()));
    }
    let mut bytes = good(&SAMPLES[index]);
    let (&[low, high], change) = rest.split_first_chunk::<2>()?;
    let offset = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
    for (byte, change) in bytes[offset..].iter_mut().zip(change) {
        *byte ^= change;
    }
    Some((index, bytes))
}

/// Runs `body` with a group's functions. It returns false if the input was refused, in which case
/// an error must have been raised.
fn with_tools(index: usize, body: impl FnOnce(&Tools) -> bool) {
    PROVIDER.with(|loaded| {
        loaded.side.errors.borrow_mut().clear();
        let accepted = body(&Tools::new(loaded, index));
        let explained = !loaded.side.errors.borrow().is_empty();
        assert_eq!(accepted, !explained, "{:?}", loaded.side.errors.borrow());
    });
}

/// Feeds a client's key share to a server.
pub fn key_share(data: &[u8]) {
    let Some((index, share)) = input(data, |sample| sample.public.clone()) else { return };
    with_tools(index, |tools| {
        // SAFETY: the provider is loaded.
        let key = unsafe { tools.generate(selection::ALL_PARAMETERS) };
        let accepted = tools.set_share(key, &share);
        if accepted {
            assert!(tools.encapsulate(key).is_some());
            assert_eq!(tools.get(key, names::ENCODED_PUBLIC_KEY, share.len()), share);
        }
        tools.free(key);
        accepted
    });
}

/// Returns the part of a ciphertext that determines the shared secret: all except the top bit of
/// X25519's share, which comes last (RFC 7748, section 5).
fn significant(index: usize, ciphertext: &[u8]) -> Vec<u8> {
    let mut bits = ciphertext.to_vec();
    if TLS_GROUPS[index].name.starts_with("X25519") {
        *bits.last_mut().unwrap() &= 0x7f;
    }
    bits
}

/// Feeds a server's key share to a client.
pub fn ciphertext(data: &[u8]) {
    let Some((index, ciphertext)) = input(data, |sample| sample.ciphertext.clone()) else { return };
    let sample = &SAMPLES[index];
    with_tools(index, |tools| {
        // SAFETY: the provider is loaded.
        let key = unsafe { tools.generate(selection::ALL_PARAMETERS) };
        assert!(
            tools.import(key, &[Param::octets(names::PRIVATE_KEY, &sample.secret), Param::END])
        );
        let shared = tools.decapsulate(key, &ciphertext);
        if let Some(shared) = &shared {
            let same = significant(index, &ciphertext) == significant(index, &sample.ciphertext);
            assert_eq!(*shared == sample.shared, same);
        }
        tools.free(key);
        shared.is_some()
    });
}

/// Imports a key from bytes: both halves, from the same input.
pub fn key_import(data: &[u8]) {
    let both = |sample: &Sample| [&sample.secret[..], &sample.public[..]].concat();
    let Some((index, bytes)) = input(data, both) else { return };
    let at = SAMPLES[index].secret.len().min(bytes.len());
    let (secret, public) = bytes.split_at(at);
    with_tools(index, |tools| {
        // SAFETY: the provider is loaded.
        let key = unsafe { tools.generate(selection::ALL_PARAMETERS) };
        let params = [
            Param::octets(names::PRIVATE_KEY, secret),
            Param::octets(names::PUBLIC_KEY, public),
            Param::END,
        ];
        let accepted = tools.import(key, &params);
        if accepted {
            assert_eq!(tools.get(key, names::PRIVATE_KEY, secret.len()), secret);
            // An accepted key may still be inconsistent, but using it is safe.
            let (ciphertext, _) = tools.encapsulate(key).unwrap();
            assert!(tools.decapsulate(key, &ciphertext).is_some());
        }
        tools.free(key);
        accepted
    });
}

/// Takes over a decoded key, as libcrypto's decoder does.
unsafe extern "C" fn take(params: *const Param, place: *mut c_void) -> c_int {
    // SAFETY: the decoder's parameters are well-formed; the reference is the place of a pointer to
    // the key.
    unsafe {
        let params = openssl_abi::Params::new(params);
        let Ok(Some(reference)) = params.octets(names::OBJECT_REFERENCE) else { return 0 };
        *place.cast::<(*const u8, usize)>() = (reference.as_ptr(), reference.len());
        1
    }
}

/// Decodes a key file in DER. Changes apply to a valid public or secret key.
pub fn key_file(data: &[u8]) {
    let Some((&choice, _)) = data.get(1..).and_then(<[u8]>::split_first) else { return };
    let secret = choice & 2 != 0;
    let good = |sample: &'static Sample| {
        let index = SAMPLES.iter().position(|other| ptr::eq(other, sample)).unwrap_or(0);
        wrap(TLS_GROUPS[index], if secret { &sample.secret } else { &sample.public }, secret)
    };
    let Some((index, der)) = input(data, good) else { return };
    PROVIDER.with(|loaded| {
        let tools = Tools::new(loaded, index);
        let Some(decoders) = tools.decoders else { return };
        let table = decoders[usize::from(secret)].implementation;
        let mut input = Input(&der);
        let mut place = (ptr::null::<u8>(), 0usize);
        // SAFETY: the functions are called as libcrypto does; `take` leaves the key with the
        // decoder, which frees it.
        unsafe {
            let context = decoder::NEWCTX.find(table).unwrap()(loaded.context);
            decoder::DECODE.find(table).unwrap()(
                context,
                (&raw mut input).cast::<CoreBio>(),
                0,
                Some(take),
                (&raw mut place).cast(),
                None,
                ptr::null_mut(),
            );
            decoder::FREECTX.find(table).unwrap()(context);
        }
    });
}

/// Encodes a key in DER. Long lengths have two bytes, which would be too long for contents of 128
/// to 255 bytes, but there are none.
fn wrap(group: &TlsGroup, key: &[u8], secret: bool) -> Vec<u8> {
    let item = |tag: u8, contents: &[u8]| {
        let mut der = vec![tag];
        match contents.len() {
            short @ 0..0x80 => der.push(short as u8),
            long => der.extend([0x82, (long >> 8) as u8, long as u8]),
        }
        der.extend(contents);
        der
    };
    let algorithm =
        item(0x30, &item(0x06, &group.identifier.map(Identifier::der).unwrap_or_default()));
    // The expanded form of ML-KEM's secret keys is an octet string within the octet string.
    let is_nested = secret && matches!(group.identifier, Some(Identifier::Nist(_)));
    let inner = if is_nested { item(0x04, key) } else { key.to_vec() };
    let key = &inner[..];
    if secret {
        item(0x30, &[item(0x02, &[0]), algorithm, item(0x04, key)].concat())
    } else {
        item(0x30, &[algorithm, item(0x03, &[&[0], key].concat())].concat())
    }
}

/// Reads a server's answer, all at once and byte by byte. What is understood of its start must not
/// change when more bytes come.
pub fn server_answer(data: &[u8]) {
    /// Reading every start of long data would take long.
    const MOST: usize = 512;
    let whole = tls_probe::read_answer(data);
    for end in 0..=data.len().min(MOST) {
        match (tls_probe::read_answer(&data[..end]), &whole) {
            (Ok(None), _) => continue,
            // Of another protocol, more is shown when more is there.
            (Err(first), Err(whole)) => {
                assert_eq!(std::mem::discriminant(&first), std::mem::discriminant(whole));
            }
            (first, whole) => assert_eq!(first, *whole),
        }
        return;
    }
}

/// Loads a configuration: the provider's own keys and values, and a whole file for the parser of
/// `openssl_conf`.
pub fn configuration(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let pairs: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).collect();
    drop(Loaded::new(&pairs));

    for syntax in [GroupSyntax::Names, GroupSyntax::Optional, GroupSyntax::Tuples] {
        if let Ok(groups) = split_groups(&text, syntax) {
            assert!(groups.iter().all(|group| !group.name.is_empty()));
        }
    }
    if let Ok(config) = Config::parse(&text, Path::new("fuzzed"), &|_| None) {
        for (major, minor) in [(3, 0), (3, 5), (4, 0)] {
            let interpretation = Interpretation::new(&config, Release::new(major, minor));
            for provider in &interpretation.providers {
                assert!(provider.own_parameters().all(|parameter| !parameter.name.is_empty()));
            }
        }
    }
}
