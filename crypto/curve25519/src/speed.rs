//! Whether a backend computes X25519 and Ed25519 fast.

use lanes::{Backend, FieldDispatch, FieldParts};

/// Whether this backend has instructions that these operations are made for. Without, libcrypto's
/// assembly may be faster.
pub fn is_fast(backend: Backend) -> bool {
    backend.run_field(HasLanes)
}

struct HasLanes;

impl FieldDispatch for HasLanes {
    type Output = bool;

    fn on<L: FieldParts>(self, _: L) -> bool {
        true
    }

    fn without(self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backends_with_field_lanes_are_fast() {
        for backend in Backend::available() {
            assert_eq!(is_fast(backend), backend.name() != "portable", "{}", backend.name());
        }
    }
}
