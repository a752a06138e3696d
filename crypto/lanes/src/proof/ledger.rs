//! A record of violations: the operation, its operands, and its line in the kernel.

use core::cell::RefCell;
use core::fmt;
use core::panic::Location;

/// Something that a kernel on proof lanes must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kernel with its parameters, without the paths of modules.
    pub kernel: String,
    /// The operation's name.
    pub operation: &'static str,
    /// The kernel's line with the operation.
    pub place: String,
    /// The values, and what is wrong with them.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { kernel, operation, place, what } = self;
        write!(f, "{kernel}: {operation} at {place}: {what}")
    }
}

#[derive(Default)]
struct Ledger {
    kernels: Vec<&'static str>,
    operation: &'static str,
    place: Option<&'static Location<'static>>,
    /// Of each [`examine`] that has not returned.
    violations: Vec<Vec<Violation>>,
}

thread_local! {
    static LEDGER: RefCell<Ledger> = RefCell::default();
}

/// Runs `what`, and returns what it returned and every violation on proof lanes in it: the first
/// for each place and operation of a kernel. Outside of this function, violations panic.
pub fn examine<T>(what: impl FnOnce() -> T) -> (T, Vec<Violation>) {
    /// Forgets the entry, also when `what` panics.
    struct Entry;
    impl Drop for Entry {
        fn drop(&mut self) {
            LEDGER.with_borrow_mut(|ledger| ledger.violations.pop());
        }
    }

    LEDGER.with_borrow_mut(|ledger| ledger.violations.push(Vec::new()));
    let entry = Entry;
    let result = what();
    let violations =
        LEDGER.with_borrow_mut(|ledger| ledger.violations.last_mut().map(core::mem::take));
    drop(entry);
    (result, violations.unwrap_or_default())
}

/// Runs `what`, and panics with all violations on proof lanes in it.
pub fn prove<T>(what: impl FnOnce() -> T) -> T {
    let (result, violations) = examine(what);
    let lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "not proved:\n{}", lines.join("\n"));
    result
}

/// A kernel that runs.
pub(super) struct Running(());

impl Drop for Running {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| ledger.kernels.pop());
    }
}

/// Notes that a kernel of the given name runs until the value is dropped.
pub(super) fn within(kernel: &'static str) -> Running {
    LEDGER.with_borrow_mut(|ledger| ledger.kernels.push(kernel));
    Running(())
}

/// Notes which operation comes next.
pub(super) fn enter(operation: &'static str, place: &'static Location<'static>) {
    LEDGER.with_borrow_mut(|ledger| (ledger.operation, ledger.place) = (operation, Some(place)));
}

/// Notes that the operation is wrong.
pub(super) fn violation(what: fmt::Arguments<'_>) {
    let unheard = LEDGER.with_borrow_mut(|ledger| {
        let violation = Violation {
            kernel: ledger
                .kernels
                .last()
                .map_or_else(|| "no kernel".into(), |name| without_paths(name)),
            operation: ledger.operation,
            place: ledger
                .place
                .map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line())),
            what: what.to_string(),
        };
        let Some(violations) = ledger.violations.last_mut() else { return Some(violation) };
        let key = |v: &Violation| (v.kernel.clone(), v.operation, v.place.clone());
        if violations.iter().all(|other| key(other) != key(&violation)) {
            violations.push(violation);
        }
        None
    });
    if let Some(violation) = unheard {
        panic!("{violation}");
    }
}

/// `Forward<Sntrup761>` for `sntrup::product::Forward<sntrup::params::Sntrup761>`.
fn without_paths(name: &str) -> String {
    let mut short = String::new();
    let mut start = 0;
    for (i, c) in name.char_indices() {
        if !c.is_alphanumeric() && c != '_' && c != ':' {
            short.push_str(name[start..i].rsplit(':').next().unwrap_or_default());
            short.push(c);
            start = i + c.len_utf8();
        }
    }
    short.push_str(name[start..].rsplit(':').next().unwrap_or_default());
    short
}
