//! The README of the project: its picture is what the program prints, and its commands are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Columns of the terminal in the picture, at 8 pixels each between margins of 12.
const COLUMNS: usize = 104;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What an XML element shows: its text without the marks of elements inside.
fn text(row: &str) -> String {
    let mut shown = String::new();
    for part in row.split('<') {
        shown.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    shown.replace("&lt;", "<").replace("&amp;", "&")
}

/// `cargo xtask pictures --refusal` draws it again.
#[test]
fn the_picture_is_what_the_demo_prints() {
    let picture = fs::read_to_string(root().join("docs/pictures/refusal.svg")).unwrap();
    assert!(picture.contains(&format!("width=\"{}\"", 2 * 12 + 8 * COLUMNS)), "another number of columns");
    let rows: Vec<String> = picture.lines().filter(|line| line.starts_with("<text ")).map(text).collect();
    assert_eq!(rows.first().unwrap(), "$ topolet demo");
    let shown = rows[2..rows.len() - 1].join("\n");

    let mut demo = Command::new(env!("CARGO_BIN_EXE_topolet"));
    let output =
        demo.arg("demo").env("COLUMNS", COLUMNS.to_string()).env("LC_ALL", "C.UTF-8").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(shown.lines().count() > 10 && shown.contains("would fit"), "{shown}");
    assert!(
        printed.split("\n\n").any(|part| part == shown),
        "the demo prints\n{printed}\nand the picture has\n{shown}"
    );
}

#[test]
fn it_is_one_screen_and_its_commands_are_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 60, "{} lines", readme.lines().count());
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo ")).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for line in commands {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        match words.as_slice() {
            // What cargo starts is what is tested here.
            ["cargo", "run", "--release", "-p", package, "--", arguments @ ..] => {
                assert_eq!(*package, env!("CARGO_PKG_NAME"));
                let status =
                    Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).output().unwrap().status;
                assert!(status.success(), "{line}: {status}");
            }
            ["cargo", "install", "--path", path] => {
                let manifest = root().join(path).join("Cargo.toml").canonicalize().unwrap();
                assert_eq!(manifest, Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
            }
            other => panic!("nobody tries {other:?}"),
        }
    }
}

#[test]
fn its_claims_are_in_the_documents_that_measure_them() {
    let words = |path: &str| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (readme, measured) = (words("README.md"), words("docs/schedulers.md"));
    // Those that did not run at the first node.
    assert!(
        readme.contains("kube-scheduler alone sent [80 of 1000 pods](docs/schedulers.md) to nodes"),
        "{readme}"
    );
    assert!(
        measured.contains("| 1000 of 1000 | 920 | 851 `TopologyAffinityError` |"),
        "another figure was measured"
    );
    let releases = words("docs/releases.md");
    for release in ["1.34.4", "1.35.6", "1.36.3", "1.37.1"] {
        assert!(readme.contains(release) && releases.contains(release), "{release}");
    }
}
