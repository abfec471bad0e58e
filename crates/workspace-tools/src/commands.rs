//! Commands of `cargo xtask` that are not xtask's: it lists them, and starts the programs that have them.

use std::process::Command;

use crate::workspace::{cargo, root, target};

/// A program with commands of `cargo xtask`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Guests, in `crates/guest`.
    Guest,
}

/// A command of such a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// What people type after `cargo xtask`.
    pub name: &'static str,
    /// The line that `cargo xtask --help` has of it.
    pub about: &'static str,
    /// The program that has it.
    pub program: Program,
}

/// All such commands.
pub const COMMANDS: &[Listed] = &[Listed {
    name: "vm",
    about: "Boots a guest with the topology of a fixture machine under QEMU, and runs tests in it",
    program: Program::Guest,
}];

impl Program {
    /// Cargo, as it builds the program and runs it: what the program is given follows. The first build takes minutes, in
    /// which cargo shows what it does.
    pub fn start(self) -> Command {
        let (package, program) = match self {
            Self::Guest => ("guest", "vm"),
        };
        let is_built = target().join("debug").join(program).is_file();
        let mut run = cargo(&["run", "--package", package, "--bin", program]);
        run.args(is_built.then_some("--quiet"))
            .arg("--manifest-path")
            .arg(root().join("Cargo.toml"))
            .arg("--");
        run
    }

    /// Its commands, each with its line.
    pub fn commands(self) -> Vec<(String, String)> {
        let own = COMMANDS.iter().filter(|listed| listed.program == self);
        own.map(|listed| (listed.name.to_owned(), listed.about.to_owned())).collect()
    }
}
