//! The ENGINE's key types.

use core::ffi::c_int;

use kex::Error;
use secret::Secret;

/// Key types by libcrypto's short names. The types at the ends may be left to libcrypto, which has
/// them, too.
pub(crate) const TYPES: [&str; 4] = ["X25519", "sntrup761", "sntrup857", "ED25519"];

/// One of [`TYPES`].
pub(crate) trait KeyType: 'static {
    /// Its index in [`TYPES`].
    const PLACE: usize;
    /// Its name.
    const NAME: &'static str = TYPES[Self::PLACE];
    /// Bytes of the result of an operation: shared secret, ciphertext or signature.
    const SIZE: c_int;
    /// Bits of a key.
    const BITS: c_int;
    const SECURITY_BITS: c_int;
    /// True if keys sign. Otherwise they are shares of a key exchange.
    const SIGNS: bool;
    /// The bytes before a private key's bytes in PKCS #8.
    const PRIVATE_PREFIX: &'static [u8];

    /// The contents of a key.
    type Contents: Send + Sync;

    /// Reads one half. The private half also gives the public one.
    fn read(half: Half, bytes: &[u8]) -> Result<Self::Contents, Error>;

    /// Writes one half, or returns `None` if the key does not have it.
    fn write(contents: &Self::Contents, half: Half) -> Option<Secret<[u8]>>;
}

/// A half of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Public,
    Private,
}

impl Half {
    /// Returns its name in error messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Half::Public => "public",
            Half::Private => "private",
        }
    }
}
