//! A tree held in memory: an unpacked archive, or one that a test makes up.

use std::collections::{BTreeMap, VecDeque};

use crate::tree::{MAX_LINKS, ReadError};

/// Files, folders and links by path.
#[derive(Clone, Debug)]
pub struct MemoryTree {
    entries: Vec<Entry>,
    content: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Entry {
    Folder(BTreeMap<Box<str>, usize>),
    File { start: usize, end: usize },
    Link(Box<str>),
}

/// The root folder's place among the entries.
const ROOT: usize = 0;

impl Default for MemoryTree {
    fn default() -> Self {
        Self { entries: vec![Entry::Folder(BTreeMap::new())], content: Vec::new() }
    }
}

impl MemoryTree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many bytes all files have.
    pub(crate) fn content_len(&self) -> usize {
        self.content.len()
    }

    /// Adds a folder, and those above it. What is in the way of it is replaced.
    pub fn add_folder(&mut self, path: &str) {
        self.folder(components(path));
    }

    /// Adds a file, and the folders above it; a file of that path is replaced.
    pub fn add_file(&mut self, path: &str, content: &[u8]) {
        let start = self.content.len();
        self.content.extend_from_slice(content);
        self.put(path, Entry::File { start, end: self.content.len() });
    }

    /// Adds a link, and the folders above it; the target is as in a symbolic link.
    pub fn add_link(&mut self, path: &str, target: &str) {
        self.put(path, Entry::Link(target.into()));
    }

    fn put(&mut self, path: &str, entry: Entry) {
        let mut names = components(path);
        let Some(name) = names.next_back() else { return };
        let folder = self.folder(names);
        let at = self.entries.len();
        self.entries.push(entry);
        if let Some(Entry::Folder(children)) = self.entries.get_mut(folder) {
            children.insert(name.into(), at);
        }
    }

    /// The folder at some names, made where it is missing.
    fn folder<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> usize {
        let mut at = ROOT;
        for name in names {
            let Some(Entry::Folder(children)) = self.entries.get(at) else { return at };
            let known = children.get(name).copied();
            if let Some(known) =
                known.filter(|known| matches!(self.entries.get(*known), Some(Entry::Folder(_))))
            {
                at = known;
                continue;
            }
            let next = self.entries.len();
            if let Some(Entry::Folder(children)) = self.entries.get_mut(at) {
                children.insert(name.into(), next);
            }
            self.entries.push(Entry::Folder(BTreeMap::new()));
            at = next;
        }
        at
    }

    pub(crate) fn read(&self, path: &str) -> Result<Option<&[u8]>, ReadError> {
        match self.find(path).and_then(|(at, _)| self.entries.get(at)) {
            Some(Entry::File { start, end }) => Ok(self.content.get(*start..*end)),
            Some(_) => Err(ReadError::NotAFile(path.to_owned())),
            None => Ok(None),
        }
    }

    pub(crate) fn list(&self, path: &str) -> Option<Vec<String>> {
        match self.entries.get(self.find(path)?.0)? {
            Entry::Folder(children) => Some(children.keys().map(ToString::to_string).collect()),
            Entry::File { .. } | Entry::Link(_) => None,
        }
    }

    pub(crate) fn target(&self, path: &str) -> Option<String> {
        self.find(path).map(|(_, names)| names.join("/"))
    }

    /// The entry that a path leads to, links followed, and its path without links.
    fn find<'a>(&'a self, path: &'a str) -> Option<(usize, Vec<&'a str>)> {
        let mut left: VecDeque<&str> = components(path).collect();
        let mut places = vec![ROOT];
        let mut names = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            if name == ".." {
                names.pop()?;
                places.pop();
                continue;
            }
            let Entry::Folder(children) = self.entries.get(*places.last()?)? else { return None };
            let at = *children.get(name)?;
            if let Entry::Link(target) = self.entries.get(at)? {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if target.starts_with('/') {
                    places.truncate(1);
                    names.clear();
                }
                for (position, name) in components(target).enumerate() {
                    left.insert(position, name);
                }
            } else {
                places.push(at);
                names.push(name);
            }
        }
        places.last().map(|at| (*at, names))
    }
}

/// The names of a path, without those that mean nothing.
pub(crate) fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}
