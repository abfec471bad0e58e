//! What a person reads: tables without borders, marks, amounts, colours.

mod screen;
mod simulation;
mod charts;
mod config;

pub(crate) use charts::charts;
pub(crate) use config::checked;
pub(crate) use k8s_quantity::Amount;
pub(crate) use screen::Screen;
pub(crate) use simulation::{
    found_max, found_max_csv, legend as simulation_legend, simulation, simulation_csv,
};
pub(crate) use terminal_text::{Glyphs, Page};
