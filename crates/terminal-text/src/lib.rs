#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod breaks;
mod columns;
mod glyphs;
mod quotation;
mod page;
mod nearest;
mod causes;

pub use causes::{expected_value, plain_causes};
pub use columns::columns;
pub use glyphs::Glyphs;
pub use nearest::nearest;
pub use page::Page;
