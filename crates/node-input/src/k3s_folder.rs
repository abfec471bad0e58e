//! The folder of k3s or RKE2: `config.yaml` and the drop-ins in `config.yaml.d`, or these drop-ins alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use node_config::Rules;
use node_output::manifest_error;
use topology_manifest::{KubeletConfigRead, Source, read_k3s_files};

/// The file, and the folder with its drop-ins.
const FILE: &str = "config.yaml";
const DROP_INS: &str = "config.yaml.d";

/// What a node makes of the files in a folder, and what of them is not given, as text to be shown; `None`: it has none of k3s or
/// RKE2.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn read(folder: &Path, rules: Rules) -> anyhow::Result<Option<(KubeletConfigRead, Vec<String>)>> {
    let own = folder.join(FILE);
    let mut files: Vec<PathBuf> = Some(own).filter(|own| own.is_file()).into_iter().collect();
    let drop_ins = folder.join(DROP_INS);
    let is_named = drop_ins.is_dir() || folder.file_name().is_some_and(|name| name == DROP_INS);
    if drop_ins.is_dir() {
        files.extend(yaml_files(&drop_ins)?);
    } else if files.is_empty() {
        files = yaml_files(folder)?;
    }
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let texts = files.iter().map(|path| crate::files::read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let sources = names.iter().zip(&texts).map(|(name, text)| Source::from_bytes(name, text));
    let read = sources.collect::<Result<Vec<_>, _>>().and_then(|sources| read_k3s_files(&sources, rules));
    let read = match read {
        Ok(read) => read,
        // Another program's folder.
        Err(_) if !is_named => None,
        Err(error) => return Err(manifest_error(error).into()),
    };
    let missing = file_before(folder).map(|file| format!("{file} is read before it, and is not given"));
    Ok(read.map(|read| (read, missing.into_iter().collect())))
}

/// The files that k3s takes as drop-ins: those called `*.yaml` or `*.yml`, in the order of their names.
fn yaml_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("failed to read folder {}", folder.display()))?
    {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if !path.is_dir() && matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml"))) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The file that lies beside a folder of drop-ins.
fn file_before(folder: &Path) -> Option<String> {
    let is_drop_ins = folder.file_name().is_some_and(|name| name == DROP_INS);
    let file = folder.parent()?.join(FILE);
    (is_drop_ins && file.is_file()).then(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use topology_manifest::KubeletArgument;

    use super::*;

    fn flags_of(folder: &Path) -> (String, Vec<String>) {
        let read = read(folder, Rules::default()).unwrap_or_else(|error| panic!("{error:#}"));
        let (read, missing) = read.unwrap_or_else(|| panic!("no file of k3s"));
        let flags: Vec<&str> = read.flags.iter().map(KubeletArgument::text).collect();
        (flags.join(" "), missing)
    }

    #[test]
    fn drop_ins_of_k3s_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let drop_ins = folder.path().join(DROP_INS);
        let write =
            |path: PathBuf, text: &str| fs::write(path, text).unwrap_or_else(|error| panic!("{error}"));
        fs::create_dir(&drop_ins).unwrap_or_else(|error| panic!("{error}"));
        write(
            drop_ins.join("20-cpus.yml"),
            "kubelet-arg+: [cpu-manager-policy=static, kube-reserved=cpu=1]\n",
        );
        write(drop_ins.join("10-pods.yaml"), "kubelet-arg: [max-pods=100]\ndebug: true\n");
        write(drop_ins.join("30-pods.yaml.off"), "kubelet-arg: [max-pods=7]\n");
        let both = "--max-pods=100 --cpu-manager-policy=static --kube-reserved=cpu=1";
        assert_eq!(flags_of(&drop_ins), (both.to_owned(), vec![]));
        write(folder.path().join(FILE), "server: https://a:6443\ntoken: b\nkubelet-arg: [max-pods=5]\n");
        assert_eq!(flags_of(folder.path()), (both.to_owned(), vec![]));
        fs::remove_file(drop_ins.join("10-pods.yaml")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(flags_of(folder.path()), (both.replace("100", "5"), vec![]));
        let (flags, missing) = flags_of(&drop_ins);
        assert_eq!(flags, both.replace("--max-pods=100 ", ""));
        assert!(missing.iter().any(|one| one.contains("config.yaml is read before it")), "{missing:?}");
    }

    #[test]
    fn other_folders_are_none_of_k3s() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let text = "apiVersion: v1\nkind: Pod\n";
        fs::write(folder.path().join("a.yaml"), text).unwrap_or_else(|error| panic!("{error}"));
        fs::write(folder.path().join("b.yaml"), "a: [b\n").unwrap_or_else(|error| panic!("{error}"));
        let read = read(folder.path(), Rules::default());
        assert!(read.is_ok_and(|read| read.is_none()));
    }
}
