//! A tree held in memory: an unpacked archive, or one that a test makes up.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

use crate::path::{LinkTarget, MAX_LINKS, components};
use crate::read_error::ReadError;

/// Files, folders and links by path.
#[derive(Clone, Debug)]
pub struct MemoryTree {
    entries: Vec<Entry>,
    content: Vec<u8>,
    /// Path and place of the folder that was added to last: files of a folder come one after the other.
    last: (String, usize),
    looked: LastFolder,
}

/// Path and place of the folder that was looked into last: most files are asked for one folder after the other.
#[derive(Debug, Default)]
struct LastFolder(Mutex<(String, usize)>);

impl Clone for LastFolder {
    /// Another tree has not been looked into yet.
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Clone, Debug)]
enum Entry {
    Folder(BTreeMap<Box<str>, usize>),
    File { start: usize, end: usize },
    Link(Box<str>),
}

/// What is at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'t> {
    Folder,
    File(&'t [u8]),
    /// Where it leads, as in a symbolic link.
    Link(&'t str),
}

/// The root folder's place among the entries.
const ROOT: usize = 0;

impl Default for MemoryTree {
    fn default() -> Self {
        Self {
            entries: vec![Entry::Folder(BTreeMap::new())],
            content: Vec::new(),
            last: (String::new(), ROOT),
            looked: LastFolder::default(),
        }
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
        self.looked = LastFolder::default();
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

    /// Adds the same file as at another path; nothing where there is none.
    pub(crate) fn add_hard_link(&mut self, path: &str, target: &str) {
        if let Some(Entry::File { start, end }) = self.place(target).and_then(|at| self.entries.get(at)) {
            let file = Entry::File { start: *start, end: *end };
            self.put(path, file);
        }
    }

    /// The tree below a folder, whose path has no links.
    pub(crate) fn below(mut self, folder: &str) -> Self {
        if let Some(at) = self.place(folder) {
            self.entries.swap(ROOT, at);
        }
        Self { last: (String::new(), ROOT), looked: LastFolder::default(), ..self }
    }

    fn put(&mut self, path: &str, entry: Entry) {
        // A folder may be replaced.
        self.looked = LastFolder::default();
        let mut path = path;
        while let Some(shorter) = path.strip_suffix('/').or_else(|| path.strip_suffix("/.")) {
            path = shorter;
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() || name == "." {
            return;
        }
        let known = self.last.0 == above && matches!(self.entries.get(self.last.1), Some(Entry::Folder(_)));
        let folder = if known { self.last.1 } else { self.folder(components(above)) };
        if !known {
            self.last = (above.to_owned(), folder);
        }
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

    /// Calls `with` for every entry but the root: a folder before what is in it, names in lexical order.
    pub(crate) fn visit<E>(
        &self,
        with: &mut impl FnMut(&str, Content<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.visit_below(ROOT, "", with)
    }

    fn visit_below<E>(
        &self,
        folder: usize,
        above: &str,
        with: &mut impl FnMut(&str, Content<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(Entry::Folder(children)) = self.entries.get(folder) else { return Ok(()) };
        for (name, at) in children {
            let path = if above.is_empty() { name.to_string() } else { format!("{above}/{name}") };
            match self.entries.get(*at) {
                Some(Entry::Folder(_)) => {
                    with(&path, Content::Folder)?;
                    self.visit_below(*at, &path, with)?;
                }
                Some(Entry::File { start, end }) => {
                    with(&path, Content::File(self.content.get(*start..*end).unwrap_or_default()))?;
                }
                Some(Entry::Link(target)) => with(&path, Content::Link(target))?,
                None => {}
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self, path: &str) -> Result<Option<&[u8]>, ReadError> {
        match self.place(path).and_then(|at| self.entries.get(at)) {
            Some(Entry::File { start, end }) => Ok(self.content.get(*start..*end)),
            Some(_) => Err(ReadError::NotAFile(path.to_owned())),
            None => Ok(None),
        }
    }

    pub(crate) fn list(&self, path: &str) -> Option<Vec<String>> {
        match self.entries.get(self.place(path)?)? {
            Entry::Folder(children) => Some(children.keys().map(ToString::to_string).collect()),
            Entry::File { .. } | Entry::Link(_) => None,
        }
    }

    pub(crate) fn target(&self, path: &str) -> Option<String> {
        self.find(path).map(|(_, names)| names.join("/"))
    }

    /// What a name in a folder is; the folder's path has no links.
    pub(crate) fn link(&self, folder: &str, name: &str) -> LinkTarget {
        let folder = self.place_below(ROOT, folder, folder).and_then(|at| self.entries.get(at));
        let Some(Entry::Folder(children)) = folder else { return LinkTarget::Nothing };
        match children.get(name).and_then(|at| self.entries.get(*at)) {
            Some(Entry::Link(target)) => LinkTarget::Link(target.to_string()),
            Some(Entry::Folder(_) | Entry::File { .. }) => LinkTarget::NotALink,
            None => LinkTarget::Nothing,
        }
    }

    /// The entry that a path leads to. Most paths have no link in them, and are looked up without keeping their
    /// names.
    fn place(&self, path: &str) -> Option<usize> {
        let Some((above, name)) = path.rsplit_once('/') else { return self.place_below(ROOT, path, path) };
        let mut looked = self.looked.0.lock();
        if looked.0 != above {
            let folder = self.place_below(ROOT, above, above)?;
            looked.0.clear();
            looked.0.push_str(above);
            looked.1 = folder;
        }
        let folder = looked.1;
        drop(looked);
        self.place_below(folder, name, path)
    }

    /// The entry at names below a folder; `path` is the whole path, where there are links on the way.
    fn place_below(&self, folder: usize, names: &str, path: &str) -> Option<usize> {
        let mut at = folder;
        for name in components(names) {
            let Entry::Folder(children) = self.entries.get(at)? else { return None };
            let next = children.get(name).copied();
            match next.and_then(|next| self.entries.get(next)) {
                Some(Entry::Link(_)) => return self.find(path).map(|(at, _)| at),
                None if name == ".." => return self.find(path).map(|(at, _)| at),
                _ => at = next?,
            }
        }
        Some(at)
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

#[cfg(test)]
mod tests {
    use super::MemoryTree;

    fn content(tree: &MemoryTree, path: &str) -> Option<String> {
        let bytes = tree.read(path).ok()??;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    #[test]
    fn names_that_mean_nothing_are_left_out() {
        let mut tree = MemoryTree::new();
        for (path, text) in
            [("./a//b/./c", "c"), ("/a/b/d/.", "d"), ("a/b/e//", "e"), ("", "x"), ("././", "x")]
        {
            tree.add_file(path, text.as_bytes());
        }
        assert_eq!(tree.list("a/b").unwrap(), ["c", "d", "e"]);
        assert_eq!(tree.list("").unwrap(), ["a"]);
        assert_eq!(content(&tree, "a/./b//d").as_deref(), Some("d"));
    }

    #[test]
    fn the_last_of_a_path_stands() {
        let mut tree = MemoryTree::new();
        tree.add_file("a/x", b"1");
        tree.add_file("a/x", b"2");
        assert_eq!(content(&tree, "a/x").as_deref(), Some("2"));
        tree.add_file("a", b"a file now");
        assert_eq!(content(&tree, "a/x"), None);
        tree.add_file("a/y", b"3");
        assert_eq!(tree.list("a").unwrap(), ["y"], "a folder again");
    }

    #[test]
    fn links_are_followed_inside_the_tree() {
        let mut tree = MemoryTree::new();
        tree.add_file("real/deep/file", b"1");
        for (path, target) in [
            ("a/up", "../real/deep"),
            ("a/root", "/real/./deep/"),
            ("a/two", "up/../deep/file"),
            ("a/out", "../../real/deep"),
            ("a/loop", "pool"),
            ("a/pool", "loop"),
        ] {
            tree.add_link(path, target);
        }
        for path in ["a/up/file", "a/root/file", "a/two", "a/up/../deep/file", "real/../a/up/file"] {
            assert_eq!(content(&tree, path).as_deref(), Some("1"), "{path}");
            assert_eq!(tree.target(path).as_deref(), Some("real/deep/file"), "{path}");
        }
        for path in ["a/out/file", "a/loop/file", "a/up/file/more", "../real/deep/file", "nothing"] {
            assert_eq!(content(&tree, path), None, "{path}");
        }
    }
}
