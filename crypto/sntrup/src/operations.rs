//! The operations on lanes, compiled in this crate once for each parameter set, not in every crate
//! that uses one.

use kem_common::{Error, SharedSecret};
use lanes::Backend;
use secret::Secret;

use crate::batch::Generate;
use crate::decapsulate::{Decapsulate, Expand, Expansion, FromBytes, FromExpansion};
use crate::encapsulate::{Encapsulate, Prepare, PrepareAgain, PrepareBatch, PreparedEncapsulation};
use crate::hash::Hash;
use crate::keys::{Ciphertext, KeyPair, PublicKey};
use crate::params::ParameterSet;
use crate::validate::{Check, Inspect, Recode};

macro_rules! operations {
    (@ $set:ident $($name:ident: $operation:ty => $output:ty;)*) => {
        impl Operations for crate::params::$set {
            $(
                #[inline(never)]
                fn $name(backend: Backend, operation: $operation) -> $output {
                    backend.run(operation)
                }
            )*
        }
    };
    ($($name:ident: $operation:ty => $output:ty;)*) => {
        /// A parameter set whose operations are compiled in this crate: each of them, on a backend.
        pub trait Operations: ParameterSet {
            $(
                #[doc(hidden)]
                fn $name(backend: Backend, operation: $operation) -> $output;
            )*
        }

        #[cfg(any(not(test), feature = "test-653"))]
        operations! { @ Sntrup653 $($name: $operation => $output;)* }
        #[cfg(any(not(test), feature = "test-761"))]
        operations! { @ Sntrup761 $($name: $operation => $output;)* }
        #[cfg(any(not(test), feature = "test-857"))]
        operations! { @ Sntrup857 $($name: $operation => $output;)* }
        #[cfg(any(not(test), feature = "test-953"))]
        operations! { @ Sntrup953 $($name: $operation => $output;)* }
        #[cfg(any(not(test), feature = "test-1013"))]
        operations! { @ Sntrup1013 $($name: $operation => $output;)* }
        #[cfg(any(not(test), feature = "test-1277"))]
        operations! { @ Sntrup1277 $($name: $operation => $output;)* }
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
