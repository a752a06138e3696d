//! Where the operations on lanes are compiled: here, once for each parameter set, instead of in every crate that uses one.

use lanes::Backend;
use secret::Secret;

use crate::decapsulate::{Decapsulate, Expand, Expansion, FromBytes, FromExpansion};
use crate::encapsulate::{Encapsulate, Prepare, PrepareAgain, PrepareBatch, PreparedEncapsulation};
use crate::error::Error;
use crate::hash::Hash;
use crate::kem::{Check, Ciphertext, Generate, Inspect, KeyPair, PublicKey, Recode, SharedSecret};
use crate::params::{
    ParameterSet, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

/// A source of random bytes, whatever its type.
pub(crate) type Source<'a> = dyn FnMut(&mut [u8]) -> Result<(), Error> + 'a;

macro_rules! operations {
    (@ $set:ident $($name:ident: $what:ty => $output:ty;)*) => {
        impl Operations for $set {
            $(
                #[inline(never)]
                fn $name(backend: Backend, what: $what) -> $output {
                    backend.run(what)
                }
            )*
        }
    };
    ($($name:ident: $what:ty => $output:ty;)*) => {
        /// Each operation on a backend.
        pub trait Operations: Sized {
            $(fn $name(backend: Backend, what: $what) -> $output where Self: ParameterSet;)*
        }

        operations! { @ Sntrup653 $($name: $what => $output;)* }
        operations! { @ Sntrup761 $($name: $what => $output;)* }
        operations! { @ Sntrup857 $($name: $what => $output;)* }
        operations! { @ Sntrup953 $($name: $what => $output;)* }
        operations! { @ Sntrup1013 $($name: $what => $output;)* }
        operations! { @ Sntrup1277 $($name: $what => $output;)* }
    };
}

operations! {
    generate: Generate<'_, Self> => Result<Vec<KeyPair<Self>>, Error>;
    recode: Recode<'_, Self> => PublicKey<Self>;
    inspect: Inspect<'_, Self> => (i16, Hash);
    check: Check<'_, Self> => Result<(), Error>;
    prepare: Prepare<'_, Self> => PreparedEncapsulation<Self>;
    prepare_again: PrepareAgain<'_, Self> => PreparedEncapsulation<Self>;
    prepare_batch: PrepareBatch<'_, Self> => Result<Vec<PreparedEncapsulation<Self>>, Error>;
    encapsulate: Encapsulate<'_, Self> => (Ciphertext<Self>, SharedSecret);
    expand: Expand<'_, Self> => Secret<Expansion<Self>>;
    decapsulate: Decapsulate<'_, Self, FromBytes<'_, Self>> => SharedSecret;
    decapsulate_expanded: Decapsulate<'_, Self, FromExpansion<'_, Self>> => SharedSecret;
}
