//! Abstract values: the origin of a value, which decides whether control flow may depend on it.

/// A 64-bit word that a function begins with, or loads from a known place. Words are numbered in
/// the order of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    /// The value of a register at entry.
    Argument(usize),
    /// A word in memory, at an offset in bytes from the address in the word with this number.
    At(usize, i64),
    /// The same with an unknown index added.
    Among(usize, i64),
    /// A word that other functions wrote to the stack at this place.
    OnStack(i64),
}

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A constant of the code.
    Is(i64),
    /// Computed from constants of the code only, with its lower bound, if known.
    Number(Option<i64>),
    /// An address in the object's constants.
    Constant,
    /// The address of a function.
    Code(&'a str),
    /// The stack pointer at entry, plus an offset.
    Stack(i64),
    /// The stack pointer at entry, plus at least this offset.
    Frame(i64),
    /// The word with this number, which is a pointer or a length, plus an offset, if known.
    Pointer(usize, Option<i64>),
    /// Computed from constants, arguments and addresses.
    Public,
    /// A 64-bit word from memory: a pointer, or secret. With its number and the offset added to it,
    /// if known.
    Loaded(Option<usize>, Option<i64>),
    /// The sum of the word with this number, from memory, and a secret. If it is an address, the
    /// word is a pointer.
    Offset(usize),
    /// From a place on the stack with unknown contents, or computed from such a value.
    Unknown,
    /// From memory, vectors or masks, or computed from such a value.
    Secret,
}

impl<'a> Value<'a> {
    /// Returns the join of two abstract values, for a value that may be either. A decreasing lower
    /// bound is soon given up, so that loops end.
    pub(crate) fn or(self, other: Value<'a>) -> Value<'a> {
        if let (Some(a), Some(b)) = (self.number(), other.number())
            && self != other
        {
            return Value::Number(match (a, b) {
                (Some(a), Some(b)) if a <= b => Some(a),
                (Some(a), Some(b)) if a > 0 && b >= 0 => Some(0),
                _ => None,
            });
        }
        match (self, other) {
            (a, b) if a == b => a,
            (Value::Stack(a) | Value::Frame(a), Value::Stack(b) | Value::Frame(b)) if a <= b => {
                Value::Frame(a)
            }
            (Value::Pointer(a, _), Value::Pointer(b, _)) if a == b => Value::Pointer(a, None),
            (Value::Secret | Value::Offset(_), _) | (_, Value::Secret | Value::Offset(_)) => {
                Value::Secret
            }
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (Value::Loaded(a, _), Value::Loaded(b, _)) if a == b => Value::Loaded(a, None),
            (Value::Loaded(..), _) | (_, Value::Loaded(..)) => Value::Loaded(None, None),
            _ => Value::Public,
        }
    }

    /// Returns true if control flow may depend on the value.
    pub(crate) fn is_public(self) -> bool {
        !matches!(self, Value::Loaded(..) | Value::Offset(_) | Value::Unknown | Value::Secret)
    }

    /// Returns true for data, on which control flow must not depend.
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Value::Offset(_) | Value::Secret)
    }

    /// Returns true if memory may be reached through it.
    pub(crate) fn is_address(self) -> bool {
        !matches!(self, Value::Offset(_) | Value::Secret)
    }

    /// Returns the word that is a pointer if this value is an address.
    pub(crate) fn pointer(self) -> Option<usize> {
        match self {
            Value::Pointer(word, _) | Value::Offset(word) => Some(word),
            Value::Loaded(word, _) => word,
            _ => None,
        }
    }

    /// Returns the lower bound, if known, of a value computed from constants.
    fn number(self) -> Option<Option<i64>> {
        match self {
            Value::Is(value) => Some(Some(value)),
            Value::Number(least) => Some(least),
            _ => None,
        }
    }

    /// Returns the offset on the stack to which it points, or the least one.
    pub(crate) fn place_on_stack(self) -> Option<i64> {
        match self {
            Value::Stack(offset) | Value::Frame(offset) => Some(offset),
            _ => None,
        }
    }

    /// Returns the abstract value of a result computed from this one.
    pub(crate) fn computed(self) -> Value<'a> {
        match self {
            Value::Is(_) | Value::Number(_) => Value::Number(None),
            Value::Unknown => Value::Unknown,
            Value::Loaded(..) | Value::Offset(_) | Value::Secret => Value::Secret,
            _ => Value::Public,
        }
    }

    /// Returns the same for a result whose upper half is zero.
    pub(crate) fn computed_half(self) -> Value<'a> {
        match self.computed() {
            Value::Is(_) | Value::Number(_) => Value::Number(Some(0)),
            other => other,
        }
    }

    /// Returns the abstract value of the product with a constant that is not negative.
    pub(crate) fn times(self, factor: i64) -> Value<'a> {
        let product = |value: i64| value.checked_mul(factor);
        match self {
            Value::Is(value) => product(value).map_or(Value::Number(None), Value::Is),
            Value::Number(least) => Value::Number(least.and_then(product)),
            _ if factor == 1 => self,
            other => other.computed(),
        }
    }

    /// Returns the abstract value of the sum with a constant.
    pub(crate) fn plus_constant(self, constant: i64) -> Value<'a> {
        let more = |offset: i64| offset.wrapping_add(constant);
        match self {
            Value::Is(value) => Value::Is(more(value)),
            Value::Number(least) => {
                Value::Number(least.and_then(|least| least.checked_add(constant)))
            }
            Value::Stack(offset) => Value::Stack(more(offset)),
            Value::Frame(offset) => Value::Frame(more(offset)),
            Value::Pointer(word, offset) => Value::Pointer(word, offset.map(more)),
            Value::Loaded(word, offset) => Value::Loaded(word, offset.map(more)),
            Value::Code(_) => Value::Public,
            other => other,
        }
    }

    /// Returns the abstract value of the sum with another value. An index without a known lower
    /// bound is assumed not to be negative.
    pub(crate) fn plus(self, other: Value<'a>) -> Value<'a> {
        match (self, other) {
            (value, Value::Is(constant)) | (Value::Is(constant), value) => {
                value.plus_constant(constant)
            }
            (Value::Loaded(Some(word), _), Value::Secret | Value::Loaded(..))
            | (Value::Secret | Value::Loaded(..), Value::Loaded(Some(word), _)) => {
                Value::Offset(word)
            }
            (Value::Secret | Value::Offset(_), _) | (_, Value::Secret | Value::Offset(_)) => {
                Value::Secret
            }
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (Value::Loaded(..), Value::Loaded(..)) => Value::Secret,
            (Value::Loaded(word, _), _) | (_, Value::Loaded(word, _)) => Value::Loaded(word, None),
            (Value::Number(a), Value::Number(b)) => {
                Value::Number(a.zip(b).and_then(|(a, b)| a.checked_add(b)))
            }
            (place, Value::Number(least)) | (Value::Number(least), place) => match place {
                Value::Stack(offset) | Value::Frame(offset) => {
                    Value::Frame(offset.wrapping_add(least.unwrap_or(0)))
                }
                Value::Pointer(word, _) => Value::Pointer(word, None),
                Value::Constant => Value::Constant,
                _ => Value::Public,
            },
            (Value::Stack(offset) | Value::Frame(offset), Value::Public)
            | (Value::Public, Value::Stack(offset) | Value::Frame(offset)) => Value::Frame(offset),
            _ => Value::Public,
        }
    }
}
