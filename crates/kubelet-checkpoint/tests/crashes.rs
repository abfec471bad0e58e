//! A machine that stops in the middle of a write leaves the old file or the new one, whole.

#![cfg(feature = "std")]
#![expect(clippy::unwrap_used, reason = "a folder that cannot be made fails the test")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubelet_checkpoint::store::{Doing, Fs, StateFile, Store, StoreError};

/// A disk that keeps only what was synced, and stops at one operation.
#[derive(Clone, Default)]
struct Model(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// Every file ever created, by number.
    files: Vec<Contents>,
    /// Names as programs see them.
    names: BTreeMap<PathBuf, usize>,
    /// Names as they were when the folder was synced last.
    durable: BTreeMap<PathBuf, usize>,
    /// Changes of names since then: a stop may keep any beginning of them.
    pending: Vec<Change>,
    operations: usize,
    fault: Option<Fault>,
    /// How much of its last write such a stop leaves.
    short: usize,
}

#[derive(Clone, Copy)]
enum Fault {
    /// The machine stops at this operation, from 0: it and all that follow fail.
    Stop(usize),
    /// Only this operation fails.
    Once(usize),
}

#[derive(Clone, Default)]
struct Contents {
    written: Vec<u8>,
    synced: bool,
}

#[derive(Clone)]
enum Change {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &Change) {
    match change {
        Change::Create(path, file) => {
            names.insert(path.clone(), *file);
        }
        Change::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Change::Remove(path) => {
            names.remove(path);
        }
    }
}

impl Model {
    /// Counts an operation; an error if the machine has stopped.
    fn step(&self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let at = state.operations;
        state.operations += 1;
        match state.fault {
            Some(Fault::Stop(stops_at)) if at >= stops_at => Err(io::Error::other("stopped")),
            Some(Fault::Once(fails)) if at == fails => Err(io::Error::other("no space left on device")),
            _ => Ok(()),
        }
    }

    fn change(&self, change: Change) {
        let mut state = self.0.borrow_mut();
        apply(&mut state.names, &change);
        state.pending.push(change);
    }

    /// What the file at `path` may be after the stop: for each beginning of the pending changes. Of a file that was
    /// not synced any part may be there.
    fn after_stop(&self, path: &Path) -> Vec<Option<Contents>> {
        let state = self.0.borrow();
        (0..=state.pending.len())
            .map(|kept| {
                let mut names = state.durable.clone();
                state.pending[..kept].iter().for_each(|change| apply(&mut names, change));
                names.get(path).map(|file| state.files[*file].clone())
            })
            .collect()
    }
}

impl Fs for Model {
    type File = usize;
    type Lock = ();

    fn create(&self, path: &Path) -> io::Result<usize> {
        self.step()?;
        let file = {
            let mut state = self.0.borrow_mut();
            state.files.push(Contents::default());
            state.files.len() - 1
        };
        self.change(Change::Create(path.to_path_buf(), file));
        Ok(file)
    }

    fn write(&self, file: &mut usize, contents: &[u8]) -> io::Result<()> {
        let stopped = self.step();
        let mut state = self.0.borrow_mut();
        let kept = if stopped.is_ok() { contents.len() } else { state.short.min(contents.len()) };
        let written = &mut state.files[*file];
        written.written.extend(&contents[..kept]);
        written.synced = false;
        stopped
    }

    fn sync(&self, file: &mut usize) -> io::Result<()> {
        self.step()?;
        self.0.borrow_mut().files[*file].synced = true;
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.change(Change::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        state.durable = state.names.clone();
        state.pending.clear();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.change(Change::Remove(path.to_path_buf()));
        Ok(())
    }

    fn read(&self, path: &Path, at_most: usize) -> io::Result<Vec<u8>> {
        let state = self.0.borrow();
        let file = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[*file].written.iter().take(at_most).copied().collect())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let state = self.0.borrow();
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_owned())).collect())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<()>> {
        Ok(Some(()))
    }
}

const WRITES: usize = 20;

fn contents(write: usize) -> Vec<u8> {
    format!("{{\"policyName\":\"static\",\"write\":{write}}}").into_bytes()
}

/// Writes until one fails; how many returned well, and the disk.
fn until(fault: Option<Fault>, short: usize) -> (usize, Model) {
    let model = Model::default();
    model.0.borrow_mut().fault = fault;
    model.0.borrow_mut().short = short;
    let store = Store::on(model.clone(), Path::new("/kubelet")).unwrap();
    let done = (0..WRITES).take_while(|write| store.write(StateFile::Cpu, &contents(*write)).is_ok()).count();
    (done, model)
}

#[test]
fn a_stop_at_any_operation_leaves_the_old_file_or_the_new_one_whole() {
    let (done, model) = until(None, 0);
    assert_eq!(done, WRITES);
    let operations = model.0.borrow().operations;
    assert_eq!(operations, WRITES * 5, "create, write, sync, rename, sync the folder");
    let path = Path::new("/kubelet").join(StateFile::Cpu.path());
    for stops_at in 0..=operations {
        for short in [0, 10, 1000] {
            let (done, model) = until(Some(Fault::Stop(stops_at)), short);
            let old = done.checked_sub(1).map(contents);
            for found in model.after_stop(&path) {
                if let Some(found) = &found {
                    assert!(found.synced, "stop at operation {stops_at}: the file may be torn");
                }
                let found = found.map(|found| found.written);
                assert!(
                    found == old || found == Some(contents(done)),
                    "stop at operation {stops_at}: {done} writes had returned, and the file is {found:?}"
                );
            }
        }
    }
}

#[test]
fn after_a_failed_operation_the_old_file_or_the_new_one_is_there_and_the_next_write_works() {
    let path = Path::new("/kubelet").join(StateFile::Cpu.path());
    for fails in 0..WRITES * 5 {
        let (done, model) = until(Some(Fault::Once(fails)), 10);
        assert_eq!(done, fails / 5);
        let found = model.read(&path, usize::MAX).ok();
        let old = done.checked_sub(1).map(contents);
        assert!(found == old || found == Some(contents(done)), "operation {fails}: {found:?}");
        let names: Vec<PathBuf> = model.0.borrow().names.keys().cloned().collect();
        assert!(names.iter().all(|name| *name == path), "operation {fails} leaves {names:?}");
        let store = Store::on(model.clone(), Path::new("/kubelet")).unwrap();
        store.write(StateFile::Cpu, b"{}").unwrap();
        assert_eq!(model.read(&path, usize::MAX).unwrap(), b"{}");
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
