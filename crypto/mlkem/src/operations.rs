//! The operations on lanes, compiled in this crate once for each parameter set, not in every crate
//! that uses one.

use kem_common::{Error, SharedSecret};
use secret::Secret;

use crate::decapsulate::{Decapsulate, Expand, Expansion, HashKey};
use crate::encapsulate::{CheckModulus, Encapsulate};
use crate::generate::Generate;
use crate::generate_many::GenerateBatch;
use crate::keys::{Ciphertext, KeyPair};
use crate::params::{MlKem512, MlKem768, MlKem1024, ParameterSet, SEED};

kem_common::operations! {
    MlKem512 MlKem768 MlKem1024;

    generate: Generate<'_, Self> => KeyPair<Self>;
    generate_batch: GenerateBatch<'_, Self> => Result<Vec<KeyPair<Self>>, Error>;
    check_modulus: CheckModulus<'_, Self> => bool;
    encapsulate: Encapsulate<'_, Self> => (Ciphertext<Self>, SharedSecret);
    hash_key: HashKey<'_, Self> => [u8; SEED];
    expand: Expand<'_, Self> => Secret<Expansion<Self>>;
    decapsulate: Decapsulate<'_, Self> => SharedSecret;
}
