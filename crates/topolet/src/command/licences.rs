//! `topolet licences`, or `--licences`: under which licences the program and its parts are.

use crate::outcome::Outcome;
use crate::screen::Screen;

/// Made by `cargo xtask licences --write`.
const LICENCES: &str = include_str!("../../licences.txt");

pub(super) fn run(screen: Screen) -> anyhow::Result<Outcome> {
    screen.print(LICENCES)?;
    Ok(Outcome::Done)
}
