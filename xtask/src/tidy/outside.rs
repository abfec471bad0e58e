//! Paths that leave the repository: no file of it may count on what lies beside it.
//!
//! A path is what begins with `../` where no path goes on: after a quote, a space or an `=`, or after the `"/` of a text
//! that is appended to `CARGO_MANIFEST_DIR`. It is taken as one from the folder of its file, and as one from the folder of
//! the package (the nearest one above with a `Cargo.toml` or `go.mod`, else the repository; the repository for those in
//! [`START_IN_ROOT`]), where tests and programs start; on a line with `CARGO_MANIFEST_DIR` as one from the package alone, and
//! where it is appended to `root()` or `project` as one from the repository. It is a fault if one of these leaves the
//! repository and none leads to something in it. So `../../fixtures/pods` is none in a test of `crates/cpuset`, and `../../../shared` is.
//!
//! Two kinds of text look like that and are no paths of ours: the links of sysfs, which go on with `devices/`, `cpu/` or
//! `node/`, and those of the files in [`ABOUT_PATHS`], which are about hostile or wrong paths. `.ci/run` may name a folder
//! beside the project: it gives it to `cargo xtask ci`.

use std::path::{Component, Path, PathBuf};

use fs_err as fs;

use super::sources::files;

/// What is read besides files without an extension.
const EXTENSIONS: &[&str] = &["rs", "toml", "md", "trycmd", "yaml", "yml", "py", "go", "mod", "sh"];

/// Files that are about paths which lead out of something.
const ABOUT_PATHS: &[&str] = &[
    "crates/device-plugin/src/registration.rs",
    "xtask/src/guide/chapter.rs",
    "xtask/src/guide/pages.rs",
    "xtask/src/tidy.rs",
    "xtask/src/tidy/outside.rs",
];

/// Packages whose programs work in the root of the repository.
const START_IN_ROOT: &[&str] = &["xtask", "crates/campaigns", "crates/guest", "crates/workspace-tools"];

/// What comes after the dots of a link in sysfs.
const SYSFS: &[&str] = &["devices/", "cpu/", "node/"];

/// A message for each path below `root` that leaves it.
pub(super) fn faults(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in files(root)? {
        let extension = path.extension().map(|extension| extension.to_string_lossy());
        let is_text = extension.is_none_or(|extension| EXTENSIONS.contains(&&*extension));
        let own = path.strip_prefix(root).unwrap_or(&path);
        let is_about_paths = || ABOUT_PATHS.iter().any(|about| own == Path::new(about));
        if !is_text || own.starts_with(".ci") || is_about_paths() {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let package = package_of(root, own);
        let starts_in_root = START_IN_ROOT.iter().any(|name| package == Path::new(name));
        let start = if starts_in_root { Path::new("") } else { package };
        for (at, line) in text.lines().enumerate() {
            let bases = bases(line, [own.parent().unwrap_or(own), start], package);
            let leaving = paths(line).into_iter().filter(|path| leaves(root, &bases, path));
            faults.extend(
                leaving
                    .map(|path| format!("{}:{}: {path} leads out of the repository", own.display(), at + 1)),
            );
        }
    }
    Ok(faults)
}

/// The folder of the package that a file is part of, below `root`.
fn package_of<'a>(root: &Path, file: &'a Path) -> &'a Path {
    let is_package = |folder: &&Path| {
        ["Cargo.toml", "go.mod"].iter().any(|manifest| root.join(folder).join(manifest).is_file())
    };
    file.ancestors().skip(1).find(is_package).unwrap_or(Path::new(""))
}

/// The folders below the root that the paths of a line can be meant from.
fn bases<'a>(line: &str, usual: [&'a Path; 2], package: &'a Path) -> Vec<&'a Path> {
    if line.contains("CARGO_MANIFEST_DIR") {
        vec![package]
    } else if ["root().join(", "project().join(", "project.join("].iter().any(|root| line.contains(root)) {
        vec![Path::new("")]
    } else {
        usual.to_vec()
    }
}

/// The paths of a line that begin with `../`, up to where a name is put in.
fn paths(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut end = 0;
    for (start, _) in line.match_indices("../") {
        if start < end {
            continue;
        }
        let rest = &line[start..];
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c)));
        end = start + length.unwrap_or(rest.len());
        let before = &line[..start];
        let goes_on = |c: char| c.is_ascii_alphanumeric() || "._-/{}".contains(c);
        if before.ends_with(goes_on) && !before.ends_with("\"/") {
            continue;
        }
        // A name that is put in, or the rest of a pattern, is not known here.
        let is_cut = line[end..].starts_with(['{', '$', '*', '<']);
        let whole = &line[start..end];
        let known = if is_cut { whole.rfind('/').map_or(whole, |slash| &whole[..=slash]) } else { whole };
        let known = known.trim_end_matches(['.', '-']);
        let below = known.trim_start_matches("../");
        if !below.is_empty() && !SYSFS.iter().any(|link| below.starts_with(link)) {
            found.push(known);
        }
    }
    found
}

/// Whether a path leaves the repository from one of these folders in it, and leads to nothing in it from any.
fn leaves(root: &Path, bases: &[&Path], path: &str) -> bool {
    let places: Vec<Option<PathBuf>> = bases.iter().map(|base| inside(base, path)).collect();
    let leads_somewhere = places.iter().flatten().any(|place| root.join(place).exists());
    places.contains(&None) && !leads_somewhere
}

/// Where a path leads from a folder below the root, as a path below it; `None`: out of it.
fn inside(base: &Path, path: &str) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::ParentDir if !place.pop() => return None,
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workspace_tools::workspace::root;

    #[test]
    fn paths_are_found_where_they_begin() {
        for (line, expected) in [
            (r#"include_str!("../README.md")"#, &["../README.md"][..]),
            (
                r#"concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kubelet")"#,
                &["../../fixtures/kubelet"],
            ),
            (r#"["a", "../shared/oracle", "../b"]"#, &["../shared/oracle", "../b"]),
            ("$ topolet admit -f ../../a.yaml --config=../b.yaml", &["../../a.yaml", "../b.yaml"]),
            ("see [the map](../ARCHITECTURE.md#crates).", &["../ARCHITECTURE.md"]),
            (r#"format!("../../fixtures/{name}.json")"#, &["../../fixtures/"]),
            (r#"format!("../../{name}")"#, &[]),
            ("It lies in ../docs.", &["../docs"]),
            (r#"Path::new("sys/../../etc/passwd")"#, &[]),
            (r#"tree.link("a", "../../../devices/pci0000:00")"#, &[]),
            (r#"root.join("../..")"#, &[]),
        ] {
            assert_eq!(paths(line), expected, "{line}");
        }
    }

    #[test]
    fn a_path_that_leaves_from_one_folder_has_to_lead_somewhere_from_another() {
        let bases = [Path::new("crates/cpuset/tests"), Path::new("crates/cpuset")];
        for (path, expected) in [
            ("../src/lib.rs", false),
            ("../../fixtures/pods", false),
            ("../../../fixtures/pods", false),
            ("../../fixtures/no-such-folder", false),
            ("../../../shared/machines", true),
            ("../../../../etc", true),
        ] {
            assert_eq!(leaves(&root(), &bases, path), expected, "{path}");
        }
        assert!(leaves(&root(), &bases[1..], "../../../fixtures/pods"), "from the package alone");
        assert!(leaves(&root(), &[Path::new("xtask/src"), Path::new("")], "../shared/oracle"));
        assert!(!leaves(&root(), &[Path::new("docs/guide/src"), Path::new("")], "../../nrt.md"));
    }

    #[test]
    fn a_path_is_one_from_where_its_line_says() {
        let usual = ["crates/cpuset/tests", "crates/cpuset"].map(Path::new);
        for (line, expected) in [
            (r#"include_str!("../README.md")"#, &["crates/cpuset/tests", "crates/cpuset"][..]),
            (r#"Path::new(env!("CARGO_MANIFEST_DIR")).join("../a")"#, &["crates/cpuset"]),
            (r#"["fixtures/hwloc", "../shared"].map(|folder| project.join(folder))"#, &[""]),
            (r#"root().join("../shared/oracle").is_dir()"#, &[""]),
        ] {
            let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
            assert_eq!(bases(line, usual, usual[1]), expected, "{line}");
        }
    }

    #[test]
    fn a_package_is_the_nearest_folder_with_a_manifest() {
        for (file, expected) in [
            ("crates/cpuset/tests/sets.rs", "crates/cpuset"),
            ("crates/workspace-tools/kubelet/cmd/podbytes/main.go", "crates/workspace-tools/kubelet"),
            ("docs/guide/src/embed.md", ""),
        ] {
            assert_eq!(package_of(&root(), Path::new(file)), Path::new(expected));
        }
    }

    #[test]
    fn this_repository_counts_on_nothing_beside_it() {
        assert_eq!(faults(&root()).unwrap(), [""; 0]);
    }
}
