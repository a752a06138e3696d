//! The decision whether a module offers X25519 and Ed25519, which libcrypto has as well.

use lanes::Backend;

use crate::{Error, is_fast, self_check};

/// The configured choice for X25519 or Ed25519.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Offered if it is faster than libcrypto's.
    #[default]
    Auto,
    /// Offered if it computes known answers correctly.
    On,
    /// Not offered.
    Off,
}

impl Choice {
    fn wants(self, fast: bool) -> bool {
        match self {
            Choice::Auto => fast,
            Choice::On => true,
            Choice::Off => false,
        }
    }
}

/// The algorithms that a module offers. Libcrypto uses its own for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// X25519.
    pub x25519: bool,
    /// Ed25519.
    pub ed25519: bool,
}

impl Offers {
    /// Decides on each algorithm. Known answers are computed if any is wanted; if one is wrong,
    /// none is offered.
    pub fn new(backend: Backend, x25519: Choice, ed25519: Choice) -> Self {
        Self::checked(is_fast(backend), x25519, ed25519, || self_check(backend))
    }

    fn checked(
        fast: bool,
        x25519: Choice,
        ed25519: Choice,
        check: impl FnOnce() -> Result<(), Error>,
    ) -> Self {
        let wanted = Offers { x25519: x25519.wants(fast), ed25519: ed25519.wants(fast) };
        if (wanted.x25519 || wanted.ed25519) && check().is_err() {
            return Offers { x25519: false, ed25519: false };
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEITHER: Offers = Offers { x25519: false, ed25519: false };

    #[test]
    fn the_choice_and_the_machine_decide() {
        use Choice::{Auto, Off, On};
        for (fast, x25519, ed25519, expected) in [
            (true, Auto, Auto, (true, true)),
            (false, Auto, Auto, (false, false)),
            (false, On, Auto, (true, false)),
            (false, Auto, On, (false, true)),
            (true, Off, Auto, (false, true)),
            (true, On, Off, (true, false)),
        ] {
            let offers = Offers::checked(fast, x25519, ed25519, || Ok(()));
            assert_eq!((offers.x25519, offers.ed25519), expected, "{fast} {x25519:?} {ed25519:?}");
        }
    }

    #[test]
    fn nothing_is_offered_that_computes_wrong() {
        let wrong = || Err(Error::SelfCheck { operation: "X25519" });
        assert_eq!(Offers::checked(true, Choice::On, Choice::On, wrong), NEITHER);
        assert_eq!(Offers::checked(true, Choice::Auto, Choice::Off, wrong), NEITHER);
    }

    #[test]
    fn nothing_is_checked_that_is_not_wanted() {
        let unexpected = || panic!("checked");
        assert_eq!(Offers::checked(false, Choice::Auto, Choice::Auto, unexpected), NEITHER);
        assert_eq!(Offers::checked(true, Choice::Off, Choice::Off, unexpected), NEITHER);
    }

    #[test]
    fn this_machine_computes_right() {
        let both = Offers { x25519: true, ed25519: true };
        for backend in Backend::available() {
            assert_eq!(Offers::new(backend, Choice::On, Choice::On), both, "{}", backend.name());
        }
    }
}
