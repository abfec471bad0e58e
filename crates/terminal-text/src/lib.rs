#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod breaks;
mod columns;
mod glyphs;
mod page;

pub use columns::columns;
pub use glyphs::Glyphs;
pub use page::Page;
