#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod columns;
mod glyphs;

pub use columns::columns;
pub use glyphs::Glyphs;
