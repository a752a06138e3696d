//! Arrays whose size depends on a parameter set.

use zerocopy::FromZeros;

use crate::error::{Error, Object};

/// An element of an [`Array`].
pub trait Element: Copy + FromZeros + PartialEq + Eq + Send + Sync + 'static {}

impl<E: Copy + FromZeros + PartialEq + Eq + Send + Sync + 'static> Element for E {}

/// A fixed-size array, so that generic code can hold one whose size depends on the parameter set.
pub trait Array<E: Element>:
    AsRef<[E]> + AsMut<[E]> + Clone + FromZeros + PartialEq + Eq + Send + Sync + 'static
{
    /// An array of `element`s.
    fn filled(element: E) -> Self;

    /// An array of the elements of a slice.
    ///
    /// # Errors
    /// The slice has another length. `object` names the kind of object in the error.
    fn copied(object: Object, from: &[E]) -> Result<Self, Error>
    where
        E: Default,
    {
        let mut array = Self::filled(E::default());
        let expected = array.as_ref().len();
        if from.len() != expected {
            return Err(Error::Length { object, expected, actual: from.len() });
        }
        array.as_mut().copy_from_slice(from);
        Ok(array)
    }
}

impl<E: Element, const N: usize> Array<E> for [E; N] {
    #[inline(always)]
    fn filled(element: E) -> Self {
        [element; N]
    }
}
