//! Kubernetes resource quantities: `500m`, `1.5Gi`, `12e6`.
//!
//! The value is always exact; reading, rounding, printing and arithmetic are those of Kubernetes' own
//! `resource.Quantity`, odd cases included, because what a node decides hangs on them. The oddest is that a
//! quantity has one of two *inner forms*, a small one (64-bit integer and power of ten) and a big one (any size):
//! `1536Mi` and `1.5Gi` are equal, but only the first has an integer value ([`Quantity::as_int64`]), and so only
//! the first can be given out by a memory manager.
//!
//! This crate does not know what is measured: no resource names but those of huge pages, no defaults, no limits.
#![no_std]

extern crate alloc;

mod amount;
mod number;
mod decimal;
mod hugepages;
mod parse;
mod print;
mod quantity;
#[cfg(feature = "serde")]
mod serde;

pub use amount::Amount;
pub use hugepages::hugepage_resource_name;
pub use number::Sign;
pub use parse::ParseError;
pub use print::{Canonical, GoStruct};
pub use quantity::{Format, Quantity};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
