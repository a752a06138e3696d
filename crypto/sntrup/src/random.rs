//! Random bytes from the caller's source.

use kem_common::Error;
use rand_core::TryCryptoRng;
use secret::Secret;

use crate::params::ParameterSet;

/// Calls `make` with 4p random bytes, drawn in one call, which are then erased.
pub(crate) fn with_sample<P: ParameterSet, R: TryCryptoRng + ?Sized, T>(
    random: &mut R,
    make: impl FnOnce(&P::SampleBytes) -> T,
) -> Result<T, Error> {
    let mut bytes = Secret::<P::SampleBytes>::zeroed();
    random.try_fill_bytes((*bytes).as_mut()).map_err(|_| Error::RandomSource)?;
    Ok(make(&bytes))
}
