//! The table of faults and the pages that say more of them agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubelet_release::{Fault, Release, Standing};

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/upstream");

/// What `cargo xtask kubelet-faults --write` has found of a fault, by release; after those that are known come those that are to
/// come.
fn found(readme: &str, fault: Fault) -> Vec<String> {
    let row = format!("| [{}]({}.md) |", fault.title(), fault.id());
    let row = readme.lines().find_map(|line| line.strip_prefix(&row));
    let cells = row.unwrap_or_default().trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned());
    cells.take(Release::ALL.len()).collect()
}

#[test]
fn each_release_is_as_its_own_code_has_shown() {
    let readme = fs::read_to_string(format!("{PAGES}/README.md")).unwrap();
    for fault in Fault::ALL {
        let known = Release::ALL.iter().map(|release| match fault.standing(*release) {
            Standing::Has => "has it",
            Standing::Mended => "does not have it",
            Standing::LacksFeature => "lacks the feature",
        });
        assert_eq!(found(&readme, *fault), known.collect::<Vec<_>>(), "{}", fault.id());
    }
}

#[test]
fn each_fault_has_a_page_and_each_page_a_fault() {
    let pages: BTreeSet<String> = fs::read_dir(Path::new(PAGES))
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let faults: BTreeSet<String> = Fault::ALL.iter().map(|fault| format!("{}.md", fault.id())).collect();
    assert_eq!(pages, faults);
    for fault in Fault::ALL {
        let page = fs::read_to_string(format!("{PAGES}/{}.md", fault.id())).unwrap();
        assert!(page.starts_with(&format!("# {}\n", fault.title())), "{}", fault.page());
    }
}
