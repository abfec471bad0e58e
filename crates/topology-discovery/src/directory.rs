//! A tree in the file system.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::path::{LinkTarget, MAX_LINKS, components};
use crate::read_error::{MAX_FILE, ReadError};

/// More names than any folder of sysfs has.
const MAX_NAMES: usize = 100_000;

/// A folder that is taken as the root.
#[derive(Debug)]
pub(crate) struct Directory {
    root: PathBuf,
    /// What has been looked at on the way to files: thousands of them lie below few folders and links.
    known: Mutex<HashMap<String, PathStep>>,
}

/// What a name on the way is.
#[derive(Clone, Debug)]
enum PathStep {
    Folder,
    Link(String),
    File,
    Other,
    Nothing,
}

impl Directory {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: Mutex::default() }
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some((own, way)) = self.find(path) else { return Ok(None) };
        if !matches!(way, PathStep::File) {
            return Err(ReadError::NotAFile(path.to_owned()));
        }
        let mut content = Vec::new();
        let opened = File::open(self.root.join(own));
        match opened.and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut content)) {
            Ok(_) if content.len() as u64 > MAX_FILE => Err(ReadError::TooLarge(path.to_owned())),
            Ok(_) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ReadError::Io { path: path.to_owned(), error }),
        }
    }

    pub(crate) fn list(&self, path: &str) -> Option<Vec<String>> {
        let (own, _) = self.find(path)?;
        let entries = fs::read_dir(self.root.join(own)).ok()?.take(MAX_NAMES);
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Some(names)
    }

    pub(crate) fn target(&self, path: &str) -> Option<String> {
        self.find(path).map(|(own, _)| own)
    }

    /// What is at a path without links before its end.
    pub(crate) fn link(&self, path: &str) -> LinkTarget {
        match self.look(path) {
            PathStep::Link(target) => LinkTarget::Link(target),
            PathStep::Nothing => LinkTarget::Nothing,
            PathStep::Folder | PathStep::File | PathStep::Other => LinkTarget::NotALink,
        }
    }

    /// The path without links that a path leads to, and what is there.
    fn find(&self, path: &str) -> Option<(String, PathStep)> {
        let mut left: VecDeque<String> = components(path).map(str::to_owned).collect();
        let mut own = String::new();
        let mut last = PathStep::Folder;
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            if name == ".." {
                if own.is_empty() {
                    return None;
                }
                own.truncate(own.rfind('/').unwrap_or(0));
                last = PathStep::Folder;
                continue;
            }
            let next = if own.is_empty() { name } else { format!("{own}/{name}") };
            match self.look(&next) {
                PathStep::Nothing => return None,
                PathStep::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    if target.starts_with('/') {
                        own.clear();
                    }
                    for (position, name) in components(&target).enumerate() {
                        left.insert(position, name.to_owned());
                    }
                }
                way => {
                    if !left.is_empty() && !matches!(way, PathStep::Folder) {
                        return None;
                    }
                    own = next;
                    last = way;
                }
            }
        }
        Some((own, last))
    }

    fn look(&self, path: &str) -> PathStep {
        let mut known = self.known.lock();
        if let Some(way) = known.get(path) {
            return way.clone();
        }
        let way = look_at(&self.root.join(path)).unwrap_or(PathStep::Nothing);
        if matches!(way, PathStep::Folder | PathStep::Link(_)) {
            known.insert(path.to_owned(), way.clone());
        }
        way
    }
}

fn look_at(path: &Path) -> io::Result<PathStep> {
    let kind = path.symlink_metadata()?.file_type();
    Ok(if kind.is_symlink() {
        // A target that is no text names nothing that is read here.
        path.read_link()?.into_os_string().into_string().map_or(PathStep::Nothing, PathStep::Link)
    } else if kind.is_dir() {
        PathStep::Folder
    } else if kind.is_file() {
        PathStep::File
    } else {
        PathStep::Other
    })
}
