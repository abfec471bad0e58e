//! A machine that stops in the middle of a write leaves the old file or the new one, whole.

#![cfg(feature = "testing")]

use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{Doing, Fault, Fs as _, SimulatedDisk, StateFile, Store, StoreError};

/// The kubelet's root on the simulated disk.
const ROOT: &str = "/kubelet";
const WRITES: usize = 20;

fn contents(write: usize) -> Vec<u8> {
    format!("{{\"policyName\":\"static\",\"write\":{write}}}").into_bytes()
}

/// Writes until one fails; how many returned well.
fn write_on(disk: &SimulatedDisk) -> usize {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    (0..WRITES).take_while(|write| store.write(StateFile::Cpu, &contents(*write)).is_ok()).count()
}

/// The file as it is on a disk.
fn found(disk: &SimulatedDisk) -> Option<Vec<u8>> {
    Store::on(disk.clone(), Path::new(ROOT)).unwrap().read(StateFile::Cpu).unwrap()
}

#[test]
fn a_stop_at_any_operation_leaves_the_old_file_or_the_new_one_whole() {
    let whole = SimulatedDisk::default();
    assert_eq!(write_on(&whole), WRITES);
    assert_eq!(whole.operations(), WRITES * 5, "create, write, sync, rename, sync the folder");
    for stops_at in 0..=whole.operations() {
        let disk = SimulatedDisk::failing(Fault::Stop(stops_at));
        let done = write_on(&disk);
        let old = done.checked_sub(1).map(contents);
        for left in disk.after_stop() {
            let found = found(&left);
            assert!(
                found == old || found == Some(contents(done)),
                "stop at operation {stops_at}: {done} writes had returned, and the file is {found:?}"
            );
        }
    }
}

#[test]
fn after_a_failed_operation_the_old_file_or_the_new_one_is_there_and_the_next_write_works() {
    for fails in 0..WRITES * 5 {
        let disk = SimulatedDisk::failing(Fault::Once(fails));
        let done = write_on(&disk);
        assert_eq!(done, fails / 5);
        let old = done.checked_sub(1).map(contents);
        let is = found(&disk);
        assert!(is == old || is == Some(contents(done)), "operation {fails}: {is:?}");
        let names = disk.list(Path::new(ROOT)).unwrap();
        assert!(names.iter().all(|name| name == StateFile::Cpu.path()), "operation {fails} leaves {names:?}");
        let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
        store.write(StateFile::Cpu, b"{}").unwrap();
        assert_eq!(found(&disk).unwrap(), b"{}");
    }
}

/// A folder that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kubelet-checkpoint-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("device-plugins")).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_written_is_read_back_and_nothing_is_left_beside_it() {
    let folder = Folder::new("back");
    let store = Store::open(&folder.0).unwrap();
    for file in StateFile::ALL {
        assert!(store.read(file).unwrap().is_none());
        for write in 0..3 {
            store.write(file, &contents(write)).unwrap();
            assert_eq!(store.read(file).unwrap(), Some(contents(write)));
        }
        let path = folder.0.join(file.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, kubelet_checkpoint::MODE, "{}", path.display());
        }
        let beside = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let left =
            beside.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".new"));
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn what_a_crash_left_is_replaced() {
    let folder = Folder::new("left");
    let passing = folder.0.join(".cpu_manager_state.new");
    std::fs::write(&passing, "{\"policyName\":\"sta").unwrap();
    let store = Store::open(&folder.0).unwrap();
    store.write(StateFile::Cpu, b"{}").unwrap();
    assert_eq!(store.read(StateFile::Cpu).unwrap().unwrap(), b"{}");
    assert!(!passing.exists());
}

#[test]
fn a_folder_has_one_store_at_a_time() {
    let folder = Folder::new("lock");
    let first = Store::open(&folder.0).unwrap();
    assert!(matches!(Store::open(&folder.0), Err(StoreError::Locked(path)) if path == folder.0));
    drop(first);
    Store::open(&folder.0).unwrap();
}

#[test]
fn errors_name_the_file() {
    let folder = Folder::new("errors");
    let missing = folder.0.join("nowhere");
    let error = Store::open(&missing).unwrap_err();
    assert!(matches!(&error, StoreError::Io { doing: Doing::Lock, path, .. } if path.starts_with(&missing)));
    std::fs::create_dir(folder.0.join("cpu_manager_state")).unwrap();
    let store = Store::open(&folder.0).unwrap();
    assert!(matches!(store.read(StateFile::Cpu), Err(StoreError::Io { doing: Doing::Read, .. })));
    let error = store.write(StateFile::Cpu, b"{}").unwrap_err();
    assert_eq!(error.to_string(), format!("failed to rename {}/cpu_manager_state", folder.0.display()));
    assert!(!folder.0.join(".cpu_manager_state.new").exists(), "a failed write leaves nothing");
    let large = vec![b' '; kubelet_checkpoint::store::MAX_SIZE + 1];
    assert!(matches!(store.write(StateFile::Memory, &large), Err(StoreError::TooLarge(_))));
    std::fs::write(folder.0.join("memory_manager_state"), &large).unwrap();
    assert!(matches!(store.read(StateFile::Memory), Err(StoreError::TooLarge(_))));
}
