//! State files that are torn or changed while no daemon runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::node::invariants::{self, PODS, STATE};

/// What was done to a file.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    /// What, and to which file.
    pub(super) what: String,
    /// UIDs of the pods that the file named before. Only they can have lost anything.
    pub(super) named: BTreeSet<String>,
}

/// Damages one file of the node, if there is one.
pub(super) fn spoil(root: &Path, random: &mut fastrand::Rng) -> anyhow::Result<Option<Damage>> {
    let mut files: Vec<PathBuf> =
        STATE.iter().map(|file| root.join(file)).filter(|path| path.exists()).collect();
    let mut pods: Vec<PathBuf> = fs::read_dir(root.join(PODS))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    pods.sort();
    // A pod's own file in one of four.
    if !pods.is_empty() && random.u8(0..4) == 0 {
        files = pods;
    }
    if files.is_empty() {
        return Ok(None);
    }
    let path = files.swap_remove(random.usize(0..files.len()));
    let mut bytes = fs::read(&path)?;
    let named = match path.file_stem().filter(|_| path.starts_with(root.join(PODS))) {
        Some(uid) => BTreeSet::from([uid.to_string_lossy().into_owned()]),
        None => invariants::named(&bytes),
    };
    let what = damage(&mut bytes, random);
    fs::write(&path, bytes)?;
    let what = format!("{what} {}", path.strip_prefix(root).unwrap_or(&path).display());
    Ok(Some(Damage { what, named }))
}

fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) -> &'static str {
    let at = random.usize(0..bytes.len().max(1));
    match (random.u8(0..4), bytes.get_mut(at)) {
        (0, Some(byte)) => {
            *byte ^= 1 << random.u8(0..8);
            "one bit changed in"
        }
        (1, Some(_)) => {
            bytes.truncate(at);
            // As a disk leaves what it had no time to write.
            bytes.resize(at + random.usize(1..64), 0);
            "zeros at the end of"
        }
        (2, _) => {
            bytes.clear();
            "emptying"
        }
        _ => {
            bytes.truncate(at);
            "cutting"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_changes_a_file() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100 {
            let mut bytes = b"{\"checksum\":1}".to_vec();
            damage(&mut bytes, &mut random);
            assert_ne!(bytes, b"{\"checksum\":1}");
        }
        damage(&mut Vec::new(), &mut random);
    }

    #[test]
    fn a_damaged_file_names_its_pods() {
        let root = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let mut random = fastrand::Rng::with_seed(1);
        let pods = root.path().join(PODS);
        fs::create_dir_all(&pods).unwrap_or_else(|error| panic!("{error}"));
        fs::write(pods.join("c.json"), "{}").unwrap_or_else(|error| panic!("{error}"));
        let state = r#"{"entries":{"a":{"main":"1"},"b":{"main":"2"}}}"#;
        let mut seen = BTreeSet::new();
        for _ in 0..50 {
            fs::write(root.path().join(STATE[0]), state).unwrap_or_else(|error| panic!("{error}"));
            let damage = spoil(root.path(), &mut random);
            let Ok(Some(Damage { what, named })) = damage else { panic!("{damage:?}") };
            let expected = if what.contains(PODS) { vec!["c"] } else { vec!["a", "b"] };
            assert_eq!(named.iter().collect::<Vec<_>>(), expected, "{what}");
            seen.insert(named);
        }
        assert_eq!(seen.len(), 2, "both kinds of files are damaged");
    }
}
