//! Whether NRI is on, by the configuration files of the runtimes.
//!
//! | runtime | files | NRI is on |
//! |---|---|---|
//! | containerd 1.7 | `config.toml` and what it imports | with `disable = false` in `[plugins.'io.containerd.nri.v1.nri']` |
//! | containerd from 2.0 | the same | unless `disable = true` |
//! | CRI-O | `crio.conf`, then `crio.conf.d` in the order of names | with `enable_nri = true` in `[crio.nri]` |

use std::fs;
use std::path::{Path, PathBuf};

use nri_plugin::NriVersion;
use toml::{Table, Value};

use crate::finding::{Finding, Mark};

/// Where containerd's configuration is, below the root: usually, and of k3s and RKE2.
const CONTAINERD: [&str; 3] = [
    "etc/containerd/config.toml",
    "var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "var/lib/rancher/rke2/agent/etc/containerd/config.toml",
];
/// What containerd calls its part for NRI.
const NRI: &str = "io.containerd.nri.v1.nri";
const CRIO: &str = "etc/crio/crio.conf";
const CRIO_FOLDER: &str = "etc/crio/crio.conf.d";
/// Since this version containerd has NRI on by itself.
const ON_BY_DEFAULT: NriVersion = NriVersion::new(2, 0, 0);
/// A larger file is no configuration.
const MOST: u64 = 1 << 20;

/// What the files say; `version` is that of a runtime that answers.
pub(super) fn findings(root: &Path, version: Option<&str>) -> Vec<Finding> {
    let mut found: Vec<Finding> = CONTAINERD
        .into_iter()
        .map(|path| root.join(path))
        .filter(|path| path.is_file())
        .map(|path| containerd(root, &path, version))
        .collect();
    found.extend(crio(root));
    if found.is_empty() {
        let text = "no configuration of containerd or CRI-O was found: whether NRI is on is not known";
        found.push(Finding { mark: Mark::Unknown, text: text.to_owned() });
    }
    found
}

fn containerd(root: &Path, path: &Path, version: Option<&str>) -> Finding {
    let shown = path.display();
    let section = format!("[plugins.'{NRI}']");
    let finding = |mark, text| Finding { mark, text };
    let files = match with_imports(root, path) {
        Ok(files) => files,
        Err(why) => return finding(Mark::Unknown, format!("{shown}: {why}")),
    };
    let is_disabled = |table: &Table| {
        let list = table.get("disabled_plugins").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|plugin| plugin.as_str() == Some(NRI)))
    };
    if files.iter().any(is_disabled) {
        return finding(
            Mark::Wrong,
            format!("{shown}: disabled_plugins has {NRI}: remove it and restart containerd"),
        );
    }
    // A file that is imported overrides the one that imports it.
    let disable = files
        .iter()
        .filter_map(|table| table.get("plugins")?.get(NRI)?.get("disable")?.as_bool())
        .next_back();
    let is_new = version.and_then(NriVersion::parse).map(|version| version >= ON_BY_DEFAULT);
    match (disable, is_new) {
        (Some(false), _) => finding(Mark::Right, format!("{shown}: NRI is on")),
        (Some(true), _) => finding(
            Mark::Wrong,
            format!("{shown}: NRI is off: set disable = false in {section} and restart containerd"),
        ),
        (None, Some(true)) => finding(Mark::Right, format!("{shown}: NRI is not set, and on by itself")),
        (None, _) => finding(
            Mark::Unknown,
            format!(
                "{shown}: NRI is not set: containerd 1.7 has it off until disable = false stands in {section}, later ones \
                 have it on"
            ),
        ),
    }
}

/// A file and those that it imports, one level deep, each as it is read.
fn with_imports(root: &Path, path: &Path) -> Result<Vec<Table>, String> {
    let first = read(path)?;
    let imports = first.get("imports").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut files = vec![first];
    for pattern in imports.iter().filter_map(Value::as_str) {
        let pattern = match Path::new(pattern).strip_prefix("/") {
            Ok(below) => root.join(below),
            Err(_) => path.with_file_name(pattern),
        };
        for import in matching(&pattern) {
            files.push(read(&import)?);
        }
    }
    Ok(files)
}

/// The files of a pattern with `*` in its last part, in the order of their names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((front, back)) = name.split_once('*') else {
        return if pattern.is_file() { vec![pattern.to_owned()] } else { Vec::new() };
    };
    let entries =
        pattern.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_file()
            && name.len() >= front.len() + back.len()
            && name.starts_with(front)
            && name.ends_with(back)
    });
    found.sort();
    found
}

fn crio(root: &Path) -> Option<Finding> {
    let mut files = matching(&root.join(CRIO));
    files.extend(matching(&root.join(CRIO_FOLDER).join("*")));
    if files.is_empty() {
        return None;
    }
    let mut is_on: Option<(PathBuf, bool)> = None;
    for path in files {
        match read(&path) {
            Ok(table) => {
                let value = || table.get("crio")?.get("nri")?.get("enable_nri")?.as_bool();
                if let Some(value) = value() {
                    is_on = Some((path, value));
                }
            }
            Err(why) => {
                return Some(Finding { mark: Mark::Unknown, text: format!("{}: {why}", path.display()) });
            }
        }
    }
    let (mark, text) = match is_on {
        Some((path, true)) => (Mark::Right, format!("{}: NRI is on", path.display())),
        Some((path, false)) => (
            Mark::Wrong,
            format!("{}: NRI is off: set enable_nri = true in [crio.nri] and restart CRI-O", path.display()),
        ),
        None => (
            Mark::Unknown,
            "CRI-O's configuration does not set enable_nri: set it to true in [crio.nri], since not every release has \
             NRI on by itself"
                .to_owned(),
        ),
    };
    Some(Finding { mark, text })
}

fn read(path: &Path) -> Result<Table, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if about.len() > MOST {
        return Err("it is larger than 1 MiB".to_owned());
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    text.parse::<Table>().map_err(|error| format!("it is no TOML: {}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], version: Option<&str>, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        for (file, text) in files {
            let path = folder.path().join(file);
            let made =
                fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(&path, text));
            assert!(made.is_ok(), "{made:?}");
        }
        let root = format!("{}/", folder.path().display());
        let found: Vec<String> =
            findings(folder.path(), version).iter().map(|one| one.to_string().replace(&root, "")).collect();
        assert_eq!(found, expected);
    }

    const CONFIG: &str = "etc/containerd/config.toml";

    #[test]
    fn containerd_by_its_files() {
        let off = "version = 2\n[plugins.'io.containerd.nri.v1.nri']\ndisable = true\n";
        let on = "[plugins.'io.containerd.nri.v1.nri']\ndisable = false\n";
        let says_off = "✘ etc/containerd/config.toml: NRI is off: set disable = false in [plugins.'io.containerd.nri.v1.nri'] \
                        and restart containerd";
        check(&[(CONFIG, off)], None, &[says_off]);
        check(&[(CONFIG, on)], None, &["✔ etc/containerd/config.toml: NRI is on"]);
        let imports = format!("imports = ['/etc/containerd/conf.d/*.toml']\n{off}");
        let imported = [(CONFIG, imports.as_str()), ("etc/containerd/conf.d/nri.toml", on)];
        check(&imported, None, &["✔ etc/containerd/config.toml: NRI is on"]);
        check(
            &[(CONFIG, "version = 3\n")],
            Some("v2.4.2"),
            &["✔ etc/containerd/config.toml: NRI is not set, and on by itself"],
        );
        for version in [None, Some("1.7.28")] {
            check(
                &[(CONFIG, "version = 2\n")],
                version,
                &[
                    "? etc/containerd/config.toml: NRI is not set: containerd 1.7 has it off until disable = false stands in \
                   [plugins.'io.containerd.nri.v1.nri'], later ones have it on",
                ],
            );
        }
        let listed = "disabled_plugins = ['io.containerd.nri.v1.nri']\n";
        check(
            &[(CONFIG, listed)],
            None,
            &[
                "✘ etc/containerd/config.toml: disabled_plugins has io.containerd.nri.v1.nri: remove it and restart containerd",
            ],
        );
    }

    #[test]
    fn cri_o_by_its_files() {
        let (on, off) = ("[crio.nri]\nenable_nri = true\n", "[crio.nri]\nenable_nri = false\n");
        check(&[(CRIO, on)], None, &["✔ etc/crio/crio.conf: NRI is on"]);
        check(
            &[(CRIO, on), ("etc/crio/crio.conf.d/10-nri.conf", off)],
            None,
            &[
                "✘ etc/crio/crio.conf.d/10-nri.conf: NRI is off: set enable_nri = true in [crio.nri] and restart CRI-O",
            ],
        );
        check(
            &[(CRIO, "[crio]\n")],
            None,
            &[
                "? CRI-O's configuration does not set enable_nri: set it to true in [crio.nri], since not every release has NRI \
               on by itself",
            ],
        );
    }
}
