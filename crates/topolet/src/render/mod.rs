//! What a person reads: tables without borders, marks, amounts, colours.

mod screen;
mod config;

pub(crate) use config::checked;
pub(crate) use screen::Screen;
pub(crate) use terminal_text::{Glyphs, Page};
