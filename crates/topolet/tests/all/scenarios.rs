//! The scenarios of the guide: what it says of them is what they come to. `guide.rs` runs its commands.

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

/// Shares in the text are in the tables too.
#[test]
fn the_words_of_the_guide_are_those_of_its_tables() {
    let chapter = fs::read_to_string(root().join("docs/guide/src/simulate.md")).unwrap();
    let parts: Vec<&str> = chapter.split("```").collect();
    let (words, tables): (Vec<_>, Vec<_>) = parts.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let tables: String = tables.iter().map(|(_, table)| **table).collect();
    for scenario in SCENARIOS {
        assert!(tables.contains(&format!("/{scenario}.yaml\n")), "{scenario} is not shown");
    }
    let words = words.iter().flat_map(|(_, text)| text.split_whitespace());
    let shares: Vec<&str> = words
        .map(|word| word.trim_matches([',', '.', ':', ';', '(', ')']))
        .filter(|word| word.ends_with('%'))
        .collect();
    assert!(shares.len() > 1, "{shares:?}");
    for share in shares {
        assert!(tables.contains(share), "no scenario comes to {share}");
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
