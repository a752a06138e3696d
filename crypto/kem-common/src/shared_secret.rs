//! Shared secrets.

use secret::Secret;

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = 32;

/// A shared secret of [`SHARED_SECRET_BYTES`]. In protected memory; erased on drop.
pub struct SharedSecret(Secret<[u8; SHARED_SECRET_BYTES]>);

impl SharedSecret {
    /// A shared secret that lies in protected memory already.
    pub fn new(bytes: Secret<[u8; SHARED_SECRET_BYTES]>) -> Self {
        SharedSecret(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.0
    }
}
