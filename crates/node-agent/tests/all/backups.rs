//! Backups beside the files: which are kept, which are removed, and what never is.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{StateFile, Store};
use node_agent::{KeptBackups, mend, prune};
use node_state::{FileRepair, OldContents};

const CPU: &str = StateFile::Cpu.path();

/// A folder of this test's own, which goes with it.
struct Root(PathBuf);

impl Root {
    fn new(test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("topolet-backups-{test}-{}", std::process::id()));
        fs::create_dir_all(root.join("device-plugins")).unwrap();
        fs::create_dir_all(root.join(node_state::PODS)).unwrap();
        Self(root)
    }

    /// Replaces the CPU file, as a repair does, and removes the backups that are too many.
    fn repair(&self, text: &str) -> Option<PathBuf> {
        let store = Store::open(&self.0).unwrap();
        let mended =
            FileRepair { path: PathBuf::from(CPU), text: Some(text.to_owned()), old: OldContents::Kept };
        let kept = mend(&store, &[mended]).unwrap();
        let failures = prune(&store, KeptBackups(NonZeroUsize::new(2).unwrap()));
        assert!(failures.is_empty(), "{failures:?}");
        kept.into_iter().next().unwrap().backup
    }

    /// What a start does with anything that is in the place of a file.
    fn restart(&self) {
        let store = Store::open(&self.0).unwrap();
        node_agent::read_anything(&store).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, number: &str) -> Option<String> {
        fs::read_to_string(self.at(&format!("{CPU}.bak-{number}"))).ok()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_directory_that_was_put_aside_stays_through_repairs_and_restarts() {
    let root = Root::new("directory");
    fs::create_dir(root.at(CPU)).unwrap();
    fs::write(root.at(CPU).join("inside"), "kept").unwrap();
    root.restart();
    for round in 0..6 {
        fs::write(root.at(CPU), format!("old {round}")).unwrap();
        root.repair("new");
        root.restart();
    }
    assert_eq!(root.read("1/inside").as_deref(), Some("kept"));
    assert_eq!(
        [5, 6, 7].map(|number: u32| root.read(&number.to_string())),
        [None, Some("old 4".to_owned()), Some("old 5".to_owned())]
    );
}

#[test]
fn a_link_that_was_put_aside_stays_though_it_leads_nowhere_any_more() {
    let root = Root::new("link");
    fs::create_dir(root.at("elsewhere")).unwrap();
    symlink(root.at("elsewhere"), root.at(CPU)).unwrap();
    root.restart();
    fs::remove_dir(root.at("elsewhere")).unwrap();
    for _ in 0..4 {
        fs::write(root.at(CPU), "old").unwrap();
        root.repair("new");
    }
    assert!(fs::symlink_metadata(root.at(&format!("{CPU}.bak-1"))).unwrap().is_symlink());
}

#[test]
fn what_is_put_aside_gets_a_number_above_those_that_are_there() {
    let root = Root::new("numbers");
    fs::write(root.at(&format!("{CPU}.bak-7")), "seventh").unwrap();
    fs::create_dir(root.at(CPU)).unwrap();
    root.restart();
    assert!(root.at(&format!("{CPU}.bak-8")).is_dir());
}

#[test]
fn names_that_no_repair_gives_are_left_alone() {
    let root = Root::new("names");
    // 08 and +8 are read as 8, which is another file.
    for name in ["08", "+8", "099", "8x", "", "-1", "99999999999999999999"] {
        fs::write(root.at(&format!("{CPU}.bak-{name}")), name).unwrap();
    }
    for number in 8..12 {
        fs::write(root.at(CPU), number.to_string()).unwrap();
        fs::write(root.at(&format!("{CPU}.bak-{number}")), number.to_string()).unwrap();
        root.repair("new");
    }
    for name in ["08", "+8", "099", "8x", "", "-1", "99999999999999999999"] {
        assert_eq!(root.read(name).as_deref(), Some(name));
    }
    assert_eq!(root.read("8"), None);
    assert_eq!(root.read("12").as_deref(), Some("11"));
}

#[test]
fn the_highest_number_is_not_written_over() {
    let root = Root::new("highest");
    let highest = u64::MAX.to_string();
    fs::write(root.at(&format!("{CPU}.bak-{highest}")), "highest").unwrap();
    fs::write(root.at(CPU), "old").unwrap();
    let store = Store::open(&root.0).unwrap();
    let mended =
        FileRepair { path: PathBuf::from(CPU), text: Some("new".to_owned()), old: OldContents::Kept };
    let error = mend(&store, &[mended]).unwrap_err().to_string();
    assert!(error.contains(&format!("{CPU}.bak-{highest}")) && error.contains("rename"), "{error}");
    assert_eq!(root.read(&highest).as_deref(), Some("highest"));
    assert_eq!(fs::read_to_string(root.at(CPU)).unwrap(), "old");
}

#[test]
fn a_backup_that_cannot_be_looked_at_stops_no_repair() {
    let root = Root::new("failure");
    let store = Store::open(&root.0).unwrap();
    fs::remove_dir_all(root.at("device-plugins")).unwrap();
    // Not a folder, so that nothing in it can be listed.
    fs::write(root.at("device-plugins"), "").unwrap();
    let mended = FileRepair {
        path: Path::new(CPU).to_path_buf(),
        text: Some("new".to_owned()),
        old: OldContents::Kept,
    };
    mend(&store, &[mended]).unwrap();
    assert_eq!(prune(&store, KeptBackups::default()).len(), 1);
}
