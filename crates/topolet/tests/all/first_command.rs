//! The first command of the README, `./topolet`, where something is missing: its last lines say what to do.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder of programs that is all of PATH.
struct Programs(TempDir);

impl Programs {
    /// What the script itself runs, and no cargo, rustc or cc.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["sh", "dirname"] {
            let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|folder| folder.join(name))
                .find(|path| path.is_file());
            symlink(found.unwrap(), folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn with(self, name: &str, script: &str) -> Self {
        let path = self.0.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// The exit status of the script and what it writes to standard error.
    fn run(&self) -> (Option<i32>, String) {
        let target = self.0.path().join("target");
        let output = Command::new(script())
            .arg("demo")
            .env("PATH", self.0.path())
            .env("CARGO_TARGET_DIR", target)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topolet")
}

#[test]
fn it_says_what_is_missing() {
    let (status, said) = Programs::new().run();
    assert_eq!(status, Some(1));
    assert!(said.contains("there is no cargo in PATH: install rustup"), "{said}");
    let (status, said) = Programs::new().with("cargo", "exit 0").run();
    assert_eq!(status, Some(1));
    assert!(said.contains("there is no cc in PATH: install one"), "{said}");
}

#[test]
fn what_cargo_fails_with_ends_in_what_to_do() {
    for (cargo_says, expected) in [
        ("error: failed to write x: No space left on device (os error 28)", "is full, and the build takes"),
        ("error: failed to open: target/.cargo-lock: Permission denied (os error 13)", "cannot be written"),
        ("error: Read-only file system (os error 30)", "cannot be written"),
        (
            "error: rustc 1.80.0 is not supported by the following packages: topolet@0.1.0 requires rustc 1.95",
            "topolet needs Rust 1.95, and this is rustc 1.80.0: rustup takes the right one",
        ),
        ("feature `edition2024` is required", "topolet needs Rust 1.95"),
        ("you may wish to re-run without the `--offline` flag.", "look at the\nnetwork and its proxy"),
        ("error[E0308]: mismatched types", "the compiler says above why"),
    ] {
        let cargo = format!("echo '{cargo_says}' >&2\nexit 101");
        let programs =
            Programs::new().with("cc", "").with("cargo", &cargo).with("rustc", "echo rustc 1.80.0");
        let (status, said) = programs.run();
        assert_eq!(status, Some(1), "{said}");
        let (before, last) = said.rsplit_once("\n\n").unwrap();
        assert!(before.contains(cargo_says) && last.contains(expected), "{said}");
    }
}

#[test]
fn what_is_built_runs_with_its_arguments_and_its_exit_status() {
    let built = "mkdir -p \"$CARGO_TARGET_DIR/quick\"\nprintf '#!/bin/sh\\necho $1 >&2; exit 2' > \"$CARGO_TARGET_DIR/quick/topolet\"
chmod +x \"$CARGO_TARGET_DIR/quick/topolet\"";
    let mut programs = Programs::new().with("cc", "").with("cargo", built);
    for name in ["mkdir", "chmod"] {
        let path = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file());
        symlink(path.unwrap(), programs.0.path().join(name)).unwrap();
    }
    let (status, said) = programs.run();
    assert_eq!((status, said.lines().last()), (Some(2), Some("demo")), "{said}");
    // Once it is built, only the program's own words are printed.
    programs = programs.with("cargo", "exit 0");
    assert_eq!(programs.run(), (Some(2), "demo\n".to_owned()));
}
