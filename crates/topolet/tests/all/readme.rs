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

/// What the demo prints in a terminal of [`COLUMNS`].
fn demo() -> String {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_topolet"));
    let output =
        demo.arg("demo").env("COLUMNS", COLUMNS.to_string()).env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Fails unless the demo prints this refusal.
fn check_refusal(shown: &str) {
    assert!(shown.lines().count() > 10 && shown.contains("would fit"), "{shown}");
    let printed = demo();
    assert!(
        printed.split("\n\n").any(|part| part.trim_end() == shown),
        "the demo prints\n{printed}\nand the document has\n{shown}"
    );
}

/// `cargo xtask pictures --refusal` draws it again.
#[test]
fn the_picture_is_what_the_demo_prints() {
    let picture = fs::read_to_string(root().join("docs/pictures/refusal.svg")).unwrap();
    assert!(picture.contains(&format!("width=\"{}\"", 2 * 12 + 8 * COLUMNS)), "another number of columns");
    let rows: Vec<String> = picture.lines().filter(|line| line.starts_with("<text ")).map(text).collect();
    assert_eq!(rows.first().unwrap(), "$ topolet demo");
    check_refusal(&rows[2..rows.len() - 1].join("\n"));
}

#[test]
fn the_text_is_what_the_demo_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```text\n").unwrap();
    check_refusal(rest.split_once("\n```").unwrap().0);
}

/// The list of headings of a document, as links within it.
fn contents(document: &str) -> String {
    let mut is_block = false;
    let headings = document.lines().filter(|line| {
        is_block ^= line.starts_with("```");
        !is_block && line.starts_with("##")
    });
    let link = |line: &str| {
        let heading = line.trim_start_matches('#').trim_start();
        let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        let anchor: String =
            kept.map(|char| if char == ' ' { '-' } else { char.to_ascii_lowercase() }).collect();
        let depth = line.len() - line.trim_start_matches('#').len() - 2;
        format!("{:width$}- [{heading}](#{anchor})\n", "", width = 2 * depth)
    };
    headings.map(link).collect()
}

#[test]
fn the_contents_of_the_programs_readme_are_its_headings() {
    let readme = fs::read_to_string(root().join("crates/topolet/README.md")).unwrap();
    let (_, rest) = readme.split_once("<!-- contents -->\n").unwrap();
    let (written, _) = rest.split_once("<!-- end -->").unwrap();
    assert_eq!(written, contents(&readme));
    assert!(written.lines().count() > 20, "{written}");
}

#[test]
fn its_first_screen_has_two_commands_that_are_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() < 120, "{} lines", readme.lines().count());
    let (_, rest) = readme.split_once("```console\n").unwrap();
    let block = rest.split_once("```").unwrap().0;
    let commands: Vec<&str> = block.lines().map(|line| line.split('#').next().unwrap().trim()).collect();
    assert_eq!(commands, ["./topolet demo", "cargo xtask test"]);
    // `first_command` runs the script, and CI runs the tests by the same command.
    assert!(root().join("topolet").is_file());
    let alias = fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    assert!(alias.contains("xtask = "), "{alias}");
    assert!(readme.contains("`cargo install --path crates/topolet`"), "{readme}");
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
    for release in ["1.34.4", "1.35.6", "1.36.3", "1.36.5", "1.37.2"] {
        assert!(readme.contains(release) && releases.contains(release), "{release}");
    }
}
