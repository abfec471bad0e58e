//! `cargo xtask`: builds xtask, and runs it in the place of this process.
//!
//! xtask has many dependencies, which take minutes to build the first time. This program has none, so that its line is there
//! at once, and what cargo builds is shown.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments == ["test"] {
        eprintln!(
            "All tests and examples, after what they need is installed and built: on two cores 20 to 30 minutes the first \
             time, and about ten when everything is built."
        );
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg("run");
    // It lies beside this program.
    let is_built = env::current_exe().is_ok_and(|own| own.with_file_name("xtask").is_file());
    if is_built {
        cargo.arg("--quiet");
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml");
    cargo.arg("--manifest-path").arg(manifest).arg("--").args(arguments);
    // What cargo says of this package to its program. Build scripts look at it, and would run again in each cargo without.
    for (name, _) in env::vars_os() {
        let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(of_package) {
            cargo.env_remove(name);
        }
    }
    let error = cargo.exec();
    eprintln!("error: failed to start cargo: {error}");
    ExitCode::FAILURE
}
