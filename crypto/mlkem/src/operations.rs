//! The operations on lanes, compiled in this crate once for each parameter set, not in every crate
//! that uses one.

use kem_common::{Error, SharedSecret};
use lanes::Backend;
use secret::Secret;

use crate::decapsulate::{Decapsulate, Expand, Expansion, HashKey};
use crate::encapsulate::{CheckModulus, Encapsulate};
use crate::generate::Generate;
use crate::generate_many::GenerateBatch;
use crate::keys::{Ciphertext, KeyPair};
use crate::params::{MlKem512, MlKem768, MlKem1024, ParameterSet, SEED};

macro_rules! operations {
    (@ $set:ident $($name:ident: $operation:ty => $output:ty;)*) => {
        impl Operations for $set {
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

        operations! { @ MlKem512 $($name: $operation => $output;)* }
        operations! { @ MlKem768 $($name: $operation => $output;)* }
        operations! { @ MlKem1024 $($name: $operation => $output;)* }
    };
}

operations! {
    generate: Generate<'_, Self> => KeyPair<Self>;
    generate_batch: GenerateBatch<'_, Self> => Result<Vec<KeyPair<Self>>, Error>;
    check_modulus: CheckModulus<'_, Self> => bool;
    encapsulate: Encapsulate<'_, Self> => (Ciphertext<Self>, SharedSecret);
    hash_key: HashKey<'_, Self> => [u8; SEED];
    expand: Expand<'_, Self> => Secret<Expansion<Self>>;
    decapsulate: Decapsulate<'_, Self> => SharedSecret;
}
