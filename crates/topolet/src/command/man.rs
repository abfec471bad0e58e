//! `topolet man`: manual pages, one for each command.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::{Args, Command};

use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ManArguments {
    /// The folder to write into, such as /usr/local/share/man/man1; pages of an older release are replaced.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &ManArguments, command: Command, screen: Screen) -> anyhow::Result<Outcome> {
    let folder = &arguments.folder;
    ensure!(!folder.is_file(), "{} is a file: expected a folder", folder.display());
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    // `help` has no page: each page is one.
    let command = command.disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("failed to write manual pages into {}", folder.display()))?;
    screen.print(&format!("{}: `man -l {0}/topolet.1` shows the first page\n", folder.display()))?;
    Ok(Outcome::Done)
}
