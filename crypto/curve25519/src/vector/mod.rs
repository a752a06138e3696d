//! Curve arithmetic on [`lanes::FieldLanes`], in three shapes: eight points, each in a lane (8x1);
//! the terms of one sum of multiples, each in a lane (1x8); and the coordinates of two points, each
//! in a lane (2x4).
//!
//! The names are those of Zhang, Huang, Zhao, Chen and Koc, "ENG25519" (USENIX Security 2024),
//! section 3.

mod double;
mod field;
mod fixed;
mod ladder;
mod points;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod tests;

pub(crate) use double::double_multiple_vartime;
pub(crate) use fixed::{multiple_of_base, multiples_of_base};
pub(crate) use ladder::{ladder, ladders};
