//! The `go.mod` that the programs are built with: it is what chooses the version of the kubelet that they ask.
//!
//! The module's own `go.mod` requires one version, `releases/VERSION/go.mod` another. For a patch release without such
//! a file it is made of the file of another patch release: with its own version of Kubernetes' modules, beside which Go
//! finds what else they require.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Kubernetes' main module.
const KUBERNETES: &str = "k8s.io/kubernetes ";

/// How the modules begin that are released with it, as 0.36.3 with Kubernetes 1.36.3.
const STAGED: &str = "k8s.io/";

/// How `go build` is started.
pub(super) struct Build {
    pub(super) arguments: Vec<String>,
    /// The newer Go that the version needs. Go looks for it in the module's own `go.mod` alone.
    pub(super) toolchain: Option<String>,
}

/// How the programs in `source`, a copy that may be written to, are built against a version.
pub(super) fn prepare(source: &Path, kubelet: &str) -> anyhow::Result<Build> {
    let tag = format!("kubelet_{}", minor(kubelet).replace('.', "_"));
    let file = format!("releases/{kubelet}/go.mod");
    let mut arguments = vec!["-modfile".to_owned(), file.clone(), "-tags".to_owned(), tag];
    if !source.join(&file).is_file() {
        make(source, kubelet)?;
        arguments.push("-mod=mod".to_owned());
    }
    let module = read(&source.join(&file))?;
    let toolchain = module.lines().find_map(|line| line.strip_prefix("toolchain "));
    Ok(Build { arguments, toolchain: toolchain.map(str::to_owned) })
}

/// Makes the `go.mod` of a patch release, and a `go.sum` for Go to add to.
fn make(source: &Path, kubelet: &str) -> anyhow::Result<()> {
    let own = read(&source.join("go.mod"))?;
    let mut folders = vec![(source.to_path_buf(), required(&own).to_owned())];
    let releases = source.join("releases");
    let listed = fs::read_dir(&releases).with_context(|| format!("failed to list {}", releases.display()))?;
    for entry in listed {
        let path = entry?.path();
        folders.push((path.clone(), path.file_name().unwrap_or_default().to_string_lossy().into_owned()));
    }
    let sibling = folders.iter().find(|(_, version)| minor(version) == minor(kubelet));
    let known: Vec<&str> = folders.iter().map(|(_, version)| version.as_str()).collect();
    let (from, version) = sibling.with_context(|| {
        format!(
            "no go.mod in {} is for a kubelet {}: they are for {}",
            source.display(),
            minor(kubelet),
            known.join(", ")
        )
    })?;
    let to = releases.join(kubelet);
    fs::create_dir_all(&to).with_context(|| format!("failed to make {}", to.display()))?;
    write(&to.join("go.mod"), &moved(&read(&from.join("go.mod"))?, version, kubelet))?;
    write(&to.join("go.sum"), &read(&from.join("go.sum"))?)
}

/// A `go.mod` for `version` of Kubernetes, changed to one for `to`.
fn moved(module: &str, version: &str, to: &str) -> String {
    let staged = |version: &str| format!("v0.{}", version.split_once('.').map_or("", |(_, rest)| rest));
    let moved = |line: &str| {
        if !line.contains(STAGED) {
            return line.to_owned();
        }
        let main = line.replace(&format!("v{version}"), &format!("v{to}"));
        main.replace(&staged(version), &staged(to))
    };
    module.lines().map(|line| moved(line) + "\n").collect()
}

/// The version of Kubernetes that a `go.mod` requires.
fn required(module: &str) -> &str {
    let line = module.lines().find_map(|line| line.trim().strip_prefix(KUBERNETES));
    line.and_then(|version| version.strip_prefix('v')).unwrap_or_default()
}

/// `1.36` of `1.36.5`, `1.38` of `1.38.0-beta.0`.
fn minor(version: &str) -> &str {
    version.match_indices('.').nth(1).map_or(version, |(end, _)| &version[..end])
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_release_has_its_own_modules_of_kubernetes_alone() {
        let module = "module kubelet\n\nrequire (\n\tgoogle.golang.org/protobuf v1.36.3\n\tk8s.io/api v0.36.3\n\tk8s.io/klog/v2 \
            v2.140.0\n\tk8s.io/kubernetes v1.36.3\n)\n\nreplace k8s.io/api => k8s.io/api v0.36.3\n";
        let moved = moved(module, required(module), "1.36.5");
        assert_eq!(
            moved,
            "module kubelet\n\nrequire (\n\tgoogle.golang.org/protobuf v1.36.3\n\tk8s.io/api v0.36.5\n\tk8s.io/klog/v2 \
             v2.140.0\n\tk8s.io/kubernetes v1.36.5\n)\n\nreplace k8s.io/api => k8s.io/api v0.36.5\n"
        );
        assert_eq!((required(&moved), minor(required(&moved))), ("1.36.5", "1.36"));
        assert_eq!(minor("1.38.0-beta.0"), "1.38");
    }
}
