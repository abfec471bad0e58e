//! A disk in memory that keeps what was synced, and stops or fails at one operation. Feature `testing`.

use std::borrow::ToOwned as _;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use super::{Fs, OtherFile};

/// A disk whose machine may stop. Clones are the same disk.
///
/// ```
/// use std::path::Path;
/// use kubelet_checkpoint::store::{Fault, SimulatedDisk, StateFile, Store};
///
/// // Creating the file and writing it are done; the machine stops before it is synced.
/// let disk = SimulatedDisk::failing(Fault::Stop(2));
/// let store = Store::on(disk.clone(), Path::new("/kubelet"))?;
/// assert!(store.write(StateFile::Cpu, b"{}").is_err());
///
/// for left in disk.after_stop() {
///     assert_eq!(Store::on(left, Path::new("/kubelet"))?.read(StateFile::Cpu)?, None);
/// }
/// # Ok::<(), kubelet_checkpoint::store::StoreError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct SimulatedDisk(Rc<RefCell<State>>);

#[derive(Default, Debug)]
struct State {
    /// Every file ever created, by number: its contents, and how much of them is durable.
    files: Vec<(Vec<u8>, usize)>,
    /// Names as programs see them.
    names: Names,
    /// Names as they were when their folders were synced last.
    durable: Names,
    /// Changes of names since then, by folder: a stop may keep any beginning of each folder's.
    pending: BTreeMap<PathBuf, Vec<Change>>,
    operations: usize,
    fault: Option<Fault>,
}

type Names = BTreeMap<PathBuf, usize>;

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The machine stops at this operation, from 0: it and all that follow fail.
    Stop(usize),
    /// Only this operation fails.
    Once(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

fn apply(names: &mut Names, change: &Change) {
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

impl SimulatedDisk {
    /// An empty disk on which this goes wrong.
    #[must_use]
    pub fn failing(fault: Fault) -> Self {
        let disk = Self::default();
        disk.0.borrow_mut().fault = Some(fault);
        disk
    }

    /// From now on this goes wrong, and nothing else. Operations count from the disk's first.
    pub fn fails(&self, fault: Fault) {
        self.0.borrow_mut().fault = Some(fault);
    }

    /// How many operations that change something were begun.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.0.borrow().operations
    }

    /// Whether the machine has stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let state = self.0.borrow();
        matches!(state.fault, Some(Fault::Stop(at)) if state.operations > at)
    }

    /// Every disk that there may be after the stop: of the names of each folder that were changed since it was synced
    /// any beginning, and of a file what was synced.
    #[must_use]
    pub fn after_stop(&self) -> Vec<Self> {
        let state = self.0.borrow();
        let mut all = vec![state.durable.clone()];
        for changes in state.pending.values() {
            let begun = |names: &Names| {
                let mut names = names.clone();
                let mut every = vec![names.clone()];
                for change in changes {
                    apply(&mut names, change);
                    every.push(names.clone());
                }
                every
            };
            all = all.iter().flat_map(begun).collect();
        }
        all.dedup();
        let kept = |(contents, synced): &(Vec<u8>, usize)| (contents[..*synced].to_vec(), *synced);
        let files: Vec<_> = state.files.iter().map(kept).collect();
        let disk = |names: Names| {
            let state = State { files: files.clone(), durable: names.clone(), names, ..State::default() };
            Self(Rc::new(RefCell::new(state)))
        };
        all.into_iter().map(disk).collect()
    }

    fn step(&self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let at = state.operations;
        state.operations += 1;
        match state.fault {
            Some(Fault::Stop(stops)) if at >= stops => Err(io::Error::other("stopped")),
            Some(Fault::Once(fails)) if at == fails => Err(io::Error::other("no space left on device")),
            _ => Ok(()),
        }
    }

    fn change(&self, change: Change) {
        let mut state = self.0.borrow_mut();
        apply(&mut state.names, &change);
        let (Change::Create(path, _) | Change::Rename(path, _) | Change::Remove(path)) = &change;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        state.pending.entry(folder).or_default().push(change);
    }
}

impl Fs for SimulatedDisk {
    type File = usize;
    type Lock = ();

    fn create(&self, path: &Path) -> io::Result<usize> {
        self.step()?;
        let file = {
            let mut state = self.0.borrow_mut();
            state.files.push((Vec::new(), 0));
            state.files.len() - 1
        };
        self.change(Change::Create(path.to_path_buf(), file));
        Ok(file)
    }

    fn write(&self, file: &mut usize, contents: &[u8]) -> io::Result<()> {
        let result = self.step();
        let kept = if result.is_ok() { contents.len() } else { contents.len() / 2 };
        self.0.borrow_mut().files[*file].0.extend(&contents[..kept]);
        result
    }

    fn sync(&self, file: &mut usize) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        let (contents, synced) = &mut state.files[*file];
        *synced = contents.len();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.change(Change::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        let changes = state.pending.remove(folder).unwrap_or_default();
        for change in &changes {
            apply(&mut state.durable, change);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        if !self.0.borrow().names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change(Change::Remove(path.to_path_buf()));
        Ok(())
    }

    fn read(&self, path: &Path, at_most: usize) -> io::Result<Vec<u8>> {
        let state = self.0.borrow();
        let file = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[*file].0.iter().take(at_most).copied().collect())
    }

    fn other(&self, _: &Path) -> io::Result<Option<OtherFile>> {
        Ok(None)
    }

    fn is_regular(&self, path: &Path) -> io::Result<bool> {
        Ok(self.0.borrow().names.contains_key(path))
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
