//! The programs that READMEs show to people who embed crates: short, with one dependency, and the same as the examples that the
//! guide shows. `cargo xtask package` builds each from the packages, with what its README's `cargo add` names.

use std::fs::read_to_string;
use std::path::Path;

/// A program in the README of a crate.
struct Program {
    /// The crate's folder and package.
    of: (&'static str, &'static str),
    /// What only this block of the README has.
    has: &'static str,
    /// The most lines that it may take.
    most: usize,
    /// The crate's example with the same text.
    example: Option<&'static str>,
}

#[test]
fn a_program_is_short_and_has_one_dependency() {
    let program = |of, has, most, example| Program { of, has, most, example };
    let facade = ("kubelet-topology", "kubelet-topology");
    for Program { of: (folder, package), has, most, example } in [
        program(("topology-policy", "topology-policy"), "Hint::preferred(", 12, Some("merge_two_lists.rs")),
        program(facade, "Allocator::new(", 10, Some("four_cpus.rs")),
        program(("admission", "topology-admission"), "impl Provider for", 35, Some("own_nic.rs")),
        program(facade, "read_pods(", 20, None),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let readme = read_to_string(folder.join("README.md")).unwrap();
        let adds: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("cargo add ")).collect();
        assert_eq!(adds, [package], "one dependency");

        let blocks = readme.split("```rust").skip(1).filter_map(|rest| rest.split("```").next());
        let block = blocks.filter_map(|block| block.split_once('\n')).find(|(_, text)| text.contains(has));
        let (_, text) = block.unwrap();
        assert!(text.contains("fn main()") && !text.contains("\n# "), "all of it is shown: {text}");
        assert!(text.lines().count() <= most, "{} lines of {most}: {text}", text.lines().count());
        if let Some(example) = example {
            let shown = read_to_string(folder.join("examples").join(example)).unwrap();
            // The head of the file says how it is run.
            assert_eq!(shown.split_once("\n\n").unwrap().1, text, "{example}");
        }
    }
}
