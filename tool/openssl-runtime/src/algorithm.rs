//! The algorithms that the active providers implement.

use std::ffi::{c_char, c_void};

use crate::c_string::text;
use crate::context::LibraryContext;
use crate::provider;
use crate::symbols::Symbols;
use crate::types::*;

/// A kind of algorithm that a provider can implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Generating, holding and exchanging keys.
    KeyManagement,
    /// Encapsulating and decapsulating.
    Kem,
    /// Deriving a shared secret from two keys.
    KeyExchange,
    /// Signing and verifying.
    Signature,
}

/// One implementation of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The algorithm's names, including object identifiers.
    pub names: Vec<String>,
    /// The name under which its provider is loaded.
    pub provider: String,
}

impl LibraryContext {
    /// Returns all implementations of an operation by active providers.
    pub fn algorithms(&self, operation: Operation) -> Vec<Algorithm> {
        let symbols = self.enter();
        let mut state = Collected { symbols, algorithms: Vec::new() };
        let (context, argument) = (self.as_ptr(), (&raw mut state).cast());
        // SAFETY: the context is alive; the callback gets `state` back, during the call only.
        unsafe {
            match operation {
                Operation::KeyManagement => {
                    (symbols.EVP_KEYMGMT_do_all_provided)(
                        context,
                        Some(collect::<EVP_KEYMGMT>),
                        argument,
                    );
                }
                Operation::Kem => {
                    (symbols.EVP_KEM_do_all_provided)(context, Some(collect::<EVP_KEM>), argument);
                }
                Operation::KeyExchange => {
                    (symbols.EVP_KEYEXCH_do_all_provided)(
                        context,
                        Some(collect::<EVP_KEYEXCH>),
                        argument,
                    );
                }
                Operation::Signature => {
                    (symbols.EVP_SIGNATURE_do_all_provided)(
                        context,
                        Some(collect::<EVP_SIGNATURE>),
                        argument,
                    );
                }
            }
        }
        state.algorithms
    }
}

struct Collected<'a> {
    symbols: &'a Symbols,
    algorithms: Vec<Algorithm>,
}

/// The functions that the four method types have in common.
trait Method {
    /// # Safety
    ///
    /// `method` is alive; `names` is the state `collect_name` expects.
    unsafe fn names(symbols: &Symbols, method: *const Self, names: *mut c_void);
    /// # Safety
    ///
    /// `method` is alive.
    unsafe fn provider(symbols: &Symbols, method: *const Self) -> *const OSSL_PROVIDER;
}

/// Implements [`Method`] with OpenSSL's functions for the type.
macro_rules! method {
    ($type:ident, $names:ident, $provider:ident) => {
        impl Method for $type {
            unsafe fn names(symbols: &Symbols, method: *const Self, names: *mut c_void) {
                // SAFETY: the caller vouches for both.
                unsafe { (symbols.$names)(method, Some(collect_name), names) };
            }
            unsafe fn provider(symbols: &Symbols, method: *const Self) -> *const OSSL_PROVIDER {
                // SAFETY: the caller vouches for the method.
                unsafe { (symbols.$provider)(method) }
            }
        }
    };
}

method!(EVP_KEYMGMT, EVP_KEYMGMT_names_do_all, EVP_KEYMGMT_get0_provider);
method!(EVP_KEM, EVP_KEM_names_do_all, EVP_KEM_get0_provider);
method!(EVP_KEYEXCH, EVP_KEYEXCH_names_do_all, EVP_KEYEXCH_get0_provider);
method!(EVP_SIGNATURE, EVP_SIGNATURE_names_do_all, EVP_SIGNATURE_get0_provider);

unsafe extern "C" fn collect<M: Method>(method: *mut M, state: *mut c_void) {
    // SAFETY: `algorithms` passes its state, which nothing else uses during the call.
    let state = unsafe { &mut *state.cast::<Collected<'_>>() };
    let mut names: Vec<String> = Vec::new();
    // SAFETY: the method is alive during the call, and so is its provider.
    let provider = unsafe {
        M::names(state.symbols, method, (&raw mut names).cast());
        provider::name(state.symbols, M::provider(state.symbols, method))
    };
    state.algorithms.push(Algorithm { names, provider: provider.unwrap_or_default() });
}

unsafe extern "C" fn collect_name(name: *const c_char, state: *mut c_void) {
    // SAFETY: `collect` passes its list, which nothing else uses during the call.
    let names = unsafe { &mut *state.cast::<Vec<String>>() };
    // SAFETY: a C string, valid during the call.
    names.extend(unsafe { text(name) });
}
