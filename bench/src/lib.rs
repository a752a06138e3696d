//! Independent implementations of Streamlined NTRU Prime behind one interface, ours among them.

#![forbid(unsafe_code)]

pub mod peers;
