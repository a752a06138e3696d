//! Comparison in a time that does not depend on the bytes.

/// Returns whether two secrets are equal, in a time that depends on their lengths alone. The result
/// itself must be public.
///
/// ```
/// assert!(secret::is_equal(&[1, 2], &[1, 2]));
/// assert!(!secret::is_equal(&[1, 2], &[1, 3]));
/// assert!(!secret::is_equal(&[1, 2], &[1]));
/// ```
pub fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    a.len() == b.len() && core::hint::black_box(difference) == 0
}
