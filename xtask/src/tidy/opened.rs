//! Files below the root folder are opened in one place, `crates/kubelet-checkpoint/src/store`: it never waits for a pipe, reads
//! no device, and reads no more than 64 MiB. The crates that work in that folder open no file in another way, but for the files
//! in [`ELSEWHERE`]. Tests may.

use std::path::Path;

use fs_err as fs;

use super::sources::files_of;

/// The crates that work in the root folder.
const CRATES: &[&str] = &[
    "kubelet-checkpoint",
    "node-agent",
    "node-daemon",
    "node-enforce",
    "node-http",
    "node-member",
    "node-observe",
    "node-publish",
    "node-state",
    "node-view",
];

/// Calls that open a file, whatever is there.
const CALLS: &[&str] =
    &["fs::read(", "fs::read_to_string(", "fs::write(", "File::open(", "File::create(", "OpenOptions::new("];

/// Files that open others, each with what these are.
const ELSEWHERE: &[(&str, &str)] = &[
    ("crates/kubelet-checkpoint/src/store/fs.rs", "the one place"),
    ("crates/kubelet-checkpoint/src/store/regular.rs", "the one place"),
    ("crates/node-http/src/containers.rs", "/proc"),
    ("crates/node-member/src/holder.rs", "/proc"),
    ("crates/node-member/src/host.rs", "/proc and /etc/os-release"),
    ("crates/node-observe/src/disagreements.rs", "new files of a folder that is given"),
    ("crates/node-daemon/src/ui.rs", "/dev/urandom"),
];

/// A message for each call in another file, and for each file of [`ELSEWHERE`] that has none.
pub(super) fn faults(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for name in CRATES {
        faults.extend(find(root, &root.join("crates").join(name).join("src"))?);
    }
    for (file, _) in ELSEWHERE {
        let text = fs::read_to_string(root.join(file))?;
        if calls(&text).next().is_none() {
            faults.push(format!(
                "{file} opens no file, and tidy allows it to: remove it from xtask/src/tidy/opened.rs"
            ));
        }
    }
    Ok(faults)
}

/// The faults of a folder.
fn find(root: &Path, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in files_of("rs", folder)? {
        let own = path.strip_prefix(root).unwrap_or(&path);
        if is_of_tests(&path) || ELSEWHERE.iter().any(|(file, _)| own == Path::new(file)) {
            continue;
        }
        faults.extend(calls(&fs::read_to_string(&path)?).map(|(line, call)| {
            format!(
                "{}:{line}: {call}) waits for pipes and reads devices: use kubelet_checkpoint::store",
                own.display()
            )
        }));
    }
    Ok(faults)
}

/// Whether a file of `src` is compiled for tests only.
fn is_of_tests(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.ends_with("_tests") || stem == "bench" || stem == "crowd"
}

/// The calls of a text before its tests, by line.
fn calls(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text.lines().take_while(|line| *line != "mod tests {");
    code.enumerate().flat_map(|(at, line)| {
        let is_comment = line.trim_start().starts_with("//");
        let found = CALLS.iter().filter(move |call| !is_comment && line.contains(**call));
        found.map(move |call| (at + 1, *call))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_in_another_way_is_a_fault() {
        let found = |text| calls(text).collect::<Vec<_>>();
        assert_eq!(found("use std::fs;\nlet text = fs::read(&path)?;\n"), [(2, "fs::read(")]);
        assert_eq!(
            found("File::create(path)?; fs::write(path, text)?;"),
            [(1, "fs::write("), (1, "File::create(")]
        );
        assert_eq!(found("// fs::read(path)\nstore::read(path)?;\nfs::read_dir(path)?;\n"), []);
        assert_eq!(found("fn a() {}\n#[cfg(test)]\nmod tests {\n    fs::read(path);\n}\n"), []);
    }
}
