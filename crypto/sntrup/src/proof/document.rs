//! The numbers of `docs/SOUNDNESS.md` are those that the proofs use.

use core::cell::RefCell;
use std::fs;
use std::path::Path;

use super::ranges::Ranges;
use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;

#[derive(Default)]
struct Rows(RefCell<Vec<String>>);

impl Claim for Rows {
    fn check<P: ParameterSet>(&self) {
        let reductions = [
            P::REDUCTIONS.after_pointwise.then_some("base product"),
            P::REDUCTIONS.after_inverse.then_some("inverse transform"),
        ];
        let reductions: Vec<_> = reductions.into_iter().flatten().collect();
        self.0.borrow_mut().push(format!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            P::NAME,
            P::Q,
            P::M,
            Ranges::<P>::COEFFICIENT,
            Ranges::<P>::TRANSFORM,
            Ranges::<P>::PRODUCT,
            if reductions.is_empty() { "none".into() } else { reductions.join(", ") },
        ));
    }
}

#[test]
fn the_document_has_the_ranges_that_are_proved() {
    let rows = Rows::default();
    for_every_set(&rows);
    let table = rows.0.into_inner().join("\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SOUNDNESS.md");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(&table), "{} should have these rows:\n{table}", path.display());
}
