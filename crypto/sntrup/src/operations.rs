//! The operations on lanes, compiled in this crate once for each parameter set, not in every crate
//! that uses one.

use kem_common::{Error, SharedSecret};
use secret::Secret;

use crate::batch::Generate;
use crate::decapsulate::{Decapsulate, Expand, Expansion, FromBytes, FromExpansion};
use crate::encapsulate::{Encapsulate, Prepare, PrepareAgain, PrepareBatch, PreparedEncapsulation};
use crate::hash::Hash;
use crate::keys::{Ciphertext, KeyPair, PublicKey};
use crate::params::*;
use crate::validate::{Check, Inspect, Recode};

kem_common::operations! {
    #[cfg(any(not(test), feature = "test-653"))] Sntrup653
    #[cfg(any(not(test), feature = "test-761"))] Sntrup761
    #[cfg(any(not(test), feature = "test-857"))] Sntrup857
    #[cfg(any(not(test), feature = "test-953"))] Sntrup953
    #[cfg(any(not(test), feature = "test-1013"))] Sntrup1013
    #[cfg(any(not(test), feature = "test-1277"))] Sntrup1277;

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
