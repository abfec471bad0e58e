//! The scenarios of the README: what it says of them is what they come to.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCENARIOS: [&str; 2] = ["telco", "training"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn simulate(scenario: &str, format: &str, threads: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["simulate", "-f", &format!("fixtures/scenarios/{scenario}.yaml"), "-o", format])
        .env("LC_ALL", "C.UTF-8")
        .env("RAYON_NUM_THREADS", threads)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The part of the README about simulations.
fn section() -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("## Simulate\n").unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_readme_shows_what_a_fresh_run_prints() {
    let section = section();
    let mut printed = String::new();
    for scenario in SCENARIOS {
        let fresh = simulate(scenario, "table", "2");
        let command = format!("$ topolet simulate -f fixtures/scenarios/{scenario}.yaml\n");
        let (_, rest) = section.split_once(&command).unwrap();
        let shown = rest.split("...\n```").next().unwrap();
        assert!(shown.lines().count() > 6, "{scenario} is not shown");
        assert!(fresh.starts_with(shown), "{scenario} comes to\n{fresh}\nand the README shows\n{shown}");
        printed.push_str(&fresh);
    }
    // What is said in words is in the tables too.
    let words = section.split_whitespace().map(|word| word.trim_matches([',', '.', ':', ';', '(', ')']));
    let shares: Vec<&str> = words.filter(|word| word.ends_with('%')).collect();
    assert!(shares.len() > 20);
    for share in shares {
        assert!(printed.contains(share), "no scenario comes to {share}");
    }
}

#[test]
fn the_charts_are_those_of_a_fresh_run() {
    for scenario in SCENARIOS {
        let file = root().join(format!("fixtures/scenarios/{scenario}.svg"));
        let committed = fs::read_to_string(&file).unwrap();
        assert!(
            simulate(scenario, "svg", "2") == committed,
            "topolet simulate -f fixtures/scenarios/{scenario}.yaml -o svg > {}",
            file.display()
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_cores() {
    assert!(simulate("training", "json", "1") == simulate("training", "json", "2"));
}
