//! Folders, archives and archives in them, read within bounds.
//!
//! Archives are streams: an entry that tells nothing is passed over, and a log is looked at line by line. What is damaged or past a
//! bound is a remark, and what came before it counts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use pod_spec::PodRules;
use rawzip::{ReaderAt, ZipArchive};
use topology_discovery::entries::{Entries, EntriesError, EntryKind, Packer, is_tar};
use topology_manifest::{
    Manifests, NodeObject, PodEvent, PodLimit, Source, UnknownFields, read_kubelet_config,
    read_manifests_up_to,
};

use crate::bundle::{BundleError, BundleForm, BundlePath, BundlePod, Document, DocumentKind, Sourced};
use crate::content::{Content, Kinds, content};
use crate::dump::without_logs;
use crate::log::LogRead;
use crate::place::{Look, Place, UnitPlace, place};
use crate::stream::{Bounded, Counted};
use crate::unit::{Unit, UnitKey};
use crate::zipped::{self, MAX_ZIP, is_zip};

/// Bytes by which a file is known.
const HEAD: usize = 64 << 10;
/// The most bytes of a text of a node, and of objects of a cluster.
const MAX_TEXT: u64 = 4 << 20;
const MAX_OBJECTS: u64 = 64 << 20;
/// The most bytes of everything that is kept.
const MAX_KEPT: u64 = 256 << 20;
/// The most files, archives in archives, and folders in folders.
const MAX_FILES: u64 = 4_000_000;
const MAX_NESTED: u32 = 3;
const MAX_DEPTH: u32 = 64;
/// So much of a log's end is read, where it is a file that can be read from there.
const LOG_END: u64 = 1 << 30;

/// What has been found, before it is known which node it is about.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) paths: Vec<BundlePath>,
    pub(crate) units: BTreeMap<UnitKey, Unit>,
    pub(crate) pods: Vec<BundlePod>,
    pub(crate) nodes: Vec<Sourced<NodeObject>>,
    pub(crate) events: Vec<Sourced<PodEvent>>,
    pub(crate) configurations: Vec<Document>,
    pub(crate) claims: Vec<Document>,
    pub(crate) zones: Vec<Document>,
    /// Logs of several hosts.
    pub(crate) logs: Vec<LogRead>,
    pub(crate) remarks: Vec<String>,
}

/// Reads paths.
#[derive(Default)]
pub(crate) struct BundleReader {
    found: Found,
    files: u64,
    kept: u64,
    is_full: bool,
    /// Links that lead out of the folder that was given.
    links: Vec<String>,
    /// The number of the path that is being read, where it is a folder or an archive; of files alone `None`.
    group: Option<usize>,
    /// Whether the file that is being read was given itself, and lies in no folder that was.
    is_archive_given: bool,
}

impl BundleReader {
    pub(crate) fn finish(self) -> Found {
        self.found
    }

    fn remark(&mut self, text: String) {
        self.found.remarks.push(text);
    }

    /// Reads a path that was given.
    pub(crate) fn path(&mut self, path: &Path) -> Result<(), BundleError> {
        let open = |error| BundleError::Open { path: path.to_path_buf(), error };
        let about = fs::metadata(path).map_err(open)?;
        let before = self.files;
        let number = self.found.paths.len();
        let (shown, name) = (path.display().to_string(), name_of(path));
        let known = BundlePath { path: shown.clone(), form: BundleForm::Files, files: 0 };
        self.found.paths.push(known);
        if about.is_dir() {
            self.group = Some(number);
            let root = path.canonicalize().map_err(open)?;
            self.folder(&Folder { root: &root, given: path }, "", 0);
            let links = std::mem::take(&mut self.links);
            if let Some(first) = links.first() {
                let count =
                    if links.len() == 1 { "1 link".to_owned() } else { format!("{} links", links.len()) };
                self.remark(format!("{shown}: not followed: {count} that lead out of it, such as {first}"));
            }
        } else if about.is_file() {
            let mut file = File::open(path).map_err(open)?;
            self.group = is_packed(&mut file).then_some(number);
            self.is_archive_given = true;
            self.file_on_disk(&name, file, about.len());
            self.is_archive_given = false;
        } else {
            return Err(BundleError::Other(path.to_path_buf()));
        }
        let files = self.files - before;
        if let Some(known) = self.found.paths.get_mut(number) {
            known.files = files;
        }
        Ok(())
    }

    /// Reads what is in a folder, in the order of names.
    fn folder(&mut self, folder: &Folder<'_>, inner: &str, depth: u32) {
        let path = folder.root.join(inner);
        let shown = if inner.is_empty() { folder.given.display().to_string() } else { inner.to_owned() };
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.remark(format!("{shown}: cannot be read: {error}")),
        };
        if depth > MAX_DEPTH {
            return self.remark(format!("{shown}: not read: deeper than {MAX_DEPTH} folders"));
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let inner = if inner.is_empty() { name } else { format!("{inner}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                let target = entry.path().canonicalize();
                if target.is_ok_and(|target| !target.starts_with(folder.root)) {
                    self.links.push(inner);
                }
            } else if kind.is_dir() {
                self.note_form(&inner);
                if !self.machine_folder(folder, &inner) {
                    self.folder(folder, &inner, depth + 1);
                }
            } else if kind.is_file() {
                match File::open(entry.path()).and_then(|file| Ok((file.metadata()?.len(), file))) {
                    Ok((size, file)) => self.file_on_disk(&inner, file, size),
                    Err(error) => self.remark(format!("{inner}: cannot be read: {error}")),
                }
            }
        }
    }

    /// Whether a folder is `sys` of a machine, whose files are read where they are needed.
    fn machine_folder(&mut self, folder: &Folder<'_>, inner: &str) -> bool {
        let above = inner.strip_suffix("sys").map(|above| above.trim_end_matches('/'));
        let Some(above) = above.filter(|_| folder.root.join(inner).join("devices/system/cpu").is_dir())
        else {
            return false;
        };
        let place = place_of_root(above, inner);
        let key = self.key(place.unit);
        let path = if above.is_empty() { folder.root.to_path_buf() } else { folder.root.join(above) };
        if let Some(key) = key {
            self.found.units.entry(key).or_default().folder = Some((inner.to_owned(), path));
        }
        true
    }

    fn file_on_disk(&mut self, inner: &str, mut file: File, size: u64) {
        if place(inner).look != Look::Not && is_zip_on_disk(&mut file) {
            let read = zipped::on_disk(file).and_then(|archive| self.each_zipped(inner, &archive, size, 0));
            return self.damaged(inner, read);
        }
        let mut is_end_alone = false;
        if size > LOG_END && place(inner).look == Look::Log && !is_packed(&mut file) {
            is_end_alone = file.seek(SeekFrom::Start(size - LOG_END)).is_ok();
        }
        let read = self.stream(inner, &mut file, 0, is_end_alone);
        self.damaged(inner, read);
    }

    fn damaged(&mut self, inner: &str, read: io::Result<()>) {
        if let Err(error) = read {
            let why = match error.kind() {
                ErrorKind::UnexpectedEof => "it is cut off; what lies before that is read".to_owned(),
                ErrorKind::FileTooLarge => error.to_string(),
                _ => format!("it is damaged: {error}; what lies before that is read"),
            };
            self.remark(format!("{inner}: {why}"));
        }
    }

    /// Reads a file, which may be an archive. An error is one of the stream that it is read from.
    fn stream(
        &mut self,
        inner: &str,
        stream: &mut dyn Read,
        nested: u32,
        is_end_alone: bool,
    ) -> io::Result<()> {
        if self.files == MAX_FILES {
            self.files += 1;
            self.remark(format!(
                "{inner} and what comes behind it are not read: there are more than {MAX_FILES} files"
            ));
        }
        if self.files > MAX_FILES {
            return Ok(());
        }
        self.note_form(inner);
        let at = place(inner);
        if at.look == Look::Not {
            self.files += 1;
            return Ok(());
        }
        let mut head = Vec::new();
        stream.take(HEAD as u64).read_to_end(&mut head)?;
        let packer = Packer::of(&head);
        let is_archive = packer.is_some() || is_tar(&head) || is_zip(&head);
        if is_archive && nested > MAX_NESTED {
            self.remark(format!("{inner}: not read: more than {MAX_NESTED} archives lie in each other"));
            return Ok(());
        }
        let whole = Cursor::new(&head).chain(stream);
        if let Some(packer) = packer {
            self.packed(inner, packer, whole, nested);
            return Ok(());
        }
        if is_tar(&head) {
            return self.tar(inner, whole, nested);
        }
        if is_zip(&head) {
            return self.zip(inner, whole, nested);
        }
        self.files += 1;
        self.plain(inner, &at, &head, BufReader::with_capacity(HEAD, whole), is_end_alone)
    }

    /// Reads what is packed: an archive, or one file.
    fn packed(&mut self, inner: &str, packer: Packer, packed: impl Read, nested: u32) {
        let taken = Rc::new(Cell::new(0));
        let counted = BufReader::with_capacity(HEAD, Counted { inner: packed, count: taken.clone() });
        let unpacked = match packer.stream(counted) {
            Ok(unpacked) => unpacked,
            Err(why) => {
                self.remark(format!(
                    "{inner}: it is packed by {} in a way that is not read: {why}",
                    packer.name()
                ));
                return;
            }
        };
        let mut unpacked = Bounded { inner: unpacked, taken, given: 0 };
        // A file that is packed alone is called as it is without the packing.
        let name =
            [".gz", ".xz", ".bz2", ".zst"].iter().find_map(|end| inner.strip_suffix(end)).unwrap_or(inner);
        let mut head = Vec::new();
        let peeked = (&mut unpacked).take(512).read_to_end(&mut head);
        let whole = &mut Cursor::new(&head).chain(unpacked);
        let read = match peeked {
            Err(error) => Err(error),
            Ok(_) if is_tar(&head) => self.tar(inner, whole, nested),
            Ok(_) => self.stream(name, whole, nested + 1, false),
        };
        self.damaged(inner, read);
    }

    fn tar(&mut self, inner: &str, stream: impl Read, nested: u32) -> io::Result<()> {
        let mut entries = Entries::new(stream);
        loop {
            let entry = match entries.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(()),
                Err(EntriesError::Damaged(error)) => return Err(error),
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
            };
            let Ok(path) = entry.path() else { continue };
            let Some(path) = self.inside(inner, &path, nested) else {
                self.remark(format!("{inner}: not read: {path} leads out of it"));
                continue;
            };
            match entry.kind() {
                EntryKind::File => {
                    let read = self.stream(&path, &mut entries.reader().take(entry.size), nested + 1, false);
                    self.damaged(&path, read);
                }
                EntryKind::Link => {
                    if let (Place { unit, inner, look: Look::Tree | Look::TreeAndText }, Ok(target)) =
                        (place(&path), entry.target())
                    {
                        self.tree(unit, &path, inner, |tree, inner| tree.add_link(inner, &target));
                    }
                }
                EntryKind::Folder | EntryKind::HardLink | EntryKind::Other => {}
            }
        }
    }

    fn zip(&mut self, inner: &str, mut stream: impl Read, nested: u32) -> io::Result<()> {
        let mut bytes = Vec::new();
        (&mut stream).take(MAX_ZIP + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_ZIP {
            self.remark(format!(
                "{inner}: not read: a zip archive of more than {} MiB; `unzip {inner}` unpacks it to a folder",
                MAX_ZIP >> 20
            ));
            return Ok(());
        }
        let read = zipped::in_memory(&bytes)
            .and_then(|archive| self.each_zipped(inner, &archive, bytes.len() as u64, nested));
        self.damaged(inner, read);
        Ok(())
    }

    /// Reads the files of a zip archive of so many bytes.
    fn each_zipped<R: ReaderAt>(
        &mut self,
        inner: &str,
        archive: &ZipArchive<R>,
        size: u64,
        nested: u32,
    ) -> io::Result<()> {
        zipped::each_file(archive, size, |path, packed, file| {
            let Some(path) = self.inside(inner, path, nested) else { return Ok(()) };
            let taken = Rc::new(Cell::new(packed));
            let read = self.stream(&path, &mut Bounded { inner: file, taken, given: 0 }, nested + 1, false);
            self.damaged(&path, read);
            Ok(())
        })
    }

    /// Reads a file that is no archive.
    fn plain(
        &mut self,
        inner: &str,
        at: &Place<'_>,
        head: &[u8],
        mut whole: impl BufRead,
        is_end_alone: bool,
    ) -> io::Result<()> {
        if matches!(at.look, Look::Tree | Look::TreeAndText) {
            let Some(text) = self.text(inner, &mut whole, MAX_TEXT)? else { return Ok(()) };
            self.tree(at.unit, inner, at.inner, |tree, inner| tree.add_file(inner, &text));
            if at.look == Look::TreeAndText {
                self.document(at, inner, DocumentKind::Machine, text);
            }
            return Ok(());
        }
        if at.look == Look::Log {
            return self.log(at, inner, &mut whole, is_end_alone);
        }
        if head.contains(&0) {
            return Ok(());
        }
        let name = inner.rsplit('/').next().unwrap_or_default();
        let limit = if at.look == Look::Objects { MAX_OBJECTS } else { MAX_TEXT };
        let of_head = content(name, at.inner, &String::from_utf8_lossy(head));
        let limit = match of_head {
            Content::Nothing if at.look != Look::Objects => return Ok(()),
            Content::Log => return self.log(at, inner, &mut whole, is_end_alone),
            Content::Objects | Content::Claims | Content::Zones => MAX_OBJECTS,
            _ => limit,
        };
        let Some(text) = self.text(inner, &mut whole, limit)? else { return Ok(()) };
        // What comes behind the head may tell it.
        let known = if text.len() > head.len() {
            content(name, at.inner, &String::from_utf8_lossy(&text))
        } else {
            of_head
        };
        match known {
            Content::OfNode(kind) => self.document(at, inner, kind, text),
            Content::Processes(commands) => match commands.as_slice() {
                [only] => self.document(at, inner, DocumentKind::Flags, only.clone().into_bytes()),
                several => self.remark(format!(
                    "{inner}: {} kubelets run on the node: the command line of none of them is taken",
                    several.len()
                )),
            },
            Content::Objects => self.objects(inner, &without_logs(&text)),
            Content::OfCluster => {
                let document = document(at, inner, DocumentKind::Configuration, text);
                self.found.configurations.push(document);
            }
            Content::Claims => {
                let document = document(at, inner, DocumentKind::Objects, text);
                self.found.claims.push(document);
            }
            Content::Zones => self.found.zones.push(document(at, inner, DocumentKind::Objects, text)),
            Content::Described => self.remark(format!(
                "{inner}: not read: it is what `kubectl describe` prints; `kubectl get node NODE -o yaml` prints the object"
            )),
            Content::PerhapsConfiguration(kinds) => self.perhaps_configuration(at, inner, kinds, text),
            Content::Log | Content::Nothing => {}
        }
        Ok(())
    }

    /// A document that is read as a configuration, or not. One without kinds that is none is named.
    fn perhaps_configuration(&mut self, at: &Place<'_>, inner: &str, kinds: Kinds, text: Vec<u8>) {
        let read = Source::from_bytes(inner, &text).and_then(|source| read_kubelet_config(&source));
        match (read, kinds) {
            (Ok(_), Kinds::None) => self.document(at, inner, DocumentKind::Configuration, text),
            (Ok(_), Kinds::Some) => {
                let document = document(at, inner, DocumentKind::Configuration, text);
                self.found.configurations.push(document);
            }
            (Err(error), Kinds::None) => {
                self.remark(format!("{inner}: not read as the configuration of a kubelet: {error}"));
            }
            (Err(_), Kinds::Some) => {}
        }
    }

    /// A text of at most so many bytes; `None`: it has more, or more than may be kept in all.
    fn text(&mut self, inner: &str, whole: &mut impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let mut text = Vec::new();
        whole.take(limit + 1).read_to_end(&mut text)?;
        if text.len() as u64 > limit {
            self.remark(format!("{inner}: not read: it has more than {} MiB", limit >> 20));
            return Ok(None);
        }
        self.kept += text.len() as u64;
        if self.kept <= MAX_KEPT {
            return Ok(Some(text));
        }
        if !self.is_full {
            self.is_full = true;
            self.remark(format!(
                "{inner} and what comes behind it are not read: what tells of nodes has more than {} MiB; give the folders of \
                 some nodes alone",
                MAX_KEPT >> 20
            ));
        }
        Ok(None)
    }

    fn log(
        &mut self,
        at: &Place<'_>,
        inner: &str,
        whole: &mut impl BufRead,
        is_end_alone: bool,
    ) -> io::Result<()> {
        let (log, read) = LogRead::of(inner, whole, is_end_alone);
        match self.key(at.unit) {
            Some(key) => self.found.units.entry(key).or_default().logs.push(log),
            None => self.found.logs.push(log),
        }
        read
    }

    fn document(&mut self, at: &Place<'_>, inner: &str, kind: DocumentKind, text: Vec<u8>) {
        if let Some(key) = self.key(at.unit) {
            self.found.units.entry(key).or_default().documents.push(document(at, inner, kind, text));
        }
    }

    /// Changes the tree of the machine that a file is of.
    fn tree(
        &mut self,
        unit: UnitPlace<'_>,
        path: &str,
        inner: &str,
        change: impl FnOnce(&mut topology_discovery::MemoryTree, &str),
    ) {
        let Some(key) = self.key(unit) else { return };
        let root = path.strip_suffix(inner).unwrap_or_default().trim_end_matches('/');
        let trees = &mut self.found.units.entry(key).or_default().trees;
        // Files of a machine come one after the other.
        let at = trees.iter().rposition(|(own, _)| own == root).unwrap_or_else(|| {
            trees.push((root.to_owned(), topology_discovery::MemoryTree::new()));
            trees.len() - 1
        });
        if let Some((_, tree)) = trees.get_mut(at) {
            change(tree, inner);
        }
    }

    /// The path of an entry below its archive; that of an archive which was given itself is left out. `None`: it leads out of it.
    fn inside(&self, archive: &str, entry: &str, nested: u32) -> Option<String> {
        let entry = entry.trim_start_matches("./").trim_start_matches('/');
        if entry.split('/').any(|part| part == "..") {
            return None;
        }
        let is_given = nested == 0 && self.is_archive_given;
        Some(if is_given { entry.to_owned() } else { format!("{archive}/{entry}") })
    }

    fn key(&self, unit: UnitPlace<'_>) -> Option<UnitKey> {
        Some(match unit {
            UnitPlace::Node { folder, name } => {
                UnitKey::Node { folder: folder.to_owned(), name: name.to_owned() }
            }
            UnitPlace::Root(folder) => UnitKey::Root(format!("{}/{folder}", self.found.paths.len())),
            UnitPlace::Loose(top) => UnitKey::Loose { path: self.group, top: top.to_owned() },
            UnitPlace::Cluster => return None,
        })
    }

    /// Takes pods, nodes and events of a text.
    fn objects(&mut self, inner: &str, text: &[u8]) {
        let read = Source::from_list(inner, text).and_then(|source| {
            read_manifests_up_to(PodLimit::Cluster, &source, PodRules::default(), UnknownFields::Report)
        });
        let Manifests { pods, owners, mut failures, refused, nodes, events, .. } = match read {
            Ok(read) => read,
            Err(error) => return self.remark(error.to_string()),
        };
        if let Some(first) = refused.first() {
            let (kind, name) = (&first.kind, &first.name);
            let more =
                if refused.len() > 1 { format!(" and {} more", refused.len() - 1) } else { String::new() };
            let why = first.causes.first().map(ToString::to_string).unwrap_or_default();
            self.remark(format!("{inner}: not read: {kind} {name}{more}: {why}"));
        }
        // Templates make no pods in a cluster: those that they have made are listed.
        let pods = pods.into_iter().filter(|pod| !owners.contains_key(&pod.uid));
        self.found.pods.extend(pods.map(|pod| BundlePod {
            failure: failures.remove(&pod.uid),
            pod,
            path: inner.to_owned(),
        }));
        let sourced = |value| Sourced { path: inner.to_owned(), value };
        self.found.nodes.extend(nodes.into_iter().map(sourced));
        let sourced = |value| Sourced { path: inner.to_owned(), value };
        self.found.events.extend(events.into_iter().map(sourced));
        if String::from_utf8_lossy(text).contains("resource.k8s.io/") {
            let at = place(inner);
            self.found.claims.push(document(&at, inner, DocumentKind::Objects, text.to_vec()));
        }
    }

    /// Takes the form of the bundle from a path in it.
    fn note_form(&mut self, inner: &str) {
        let form = match () {
            () if inner
                .split('/')
                .any(|part| part == "cluster-scoped-resources" || part == "host_service_logs") =>
            {
                BundleForm::MustGather
            }
            () if inner.split('/').any(|part| part == "sos_commands") => BundleForm::Sosreport,
            () if inner.ends_with("node/node.json") => BundleForm::NodeFile,
            () if inner.ends_with("/logs.txt") => BundleForm::ClusterInfoDump,
            () => return,
        };
        if let Some(path) = self.found.paths.last_mut().filter(|path| path.form == BundleForm::Files) {
            path.form = form;
        }
    }
}

/// A folder that was given, and where it is.
struct Folder<'f> {
    root: &'f Path,
    given: &'f Path,
}

fn document(at: &Place<'_>, inner: &str, kind: DocumentKind, text: Vec<u8>) -> Document {
    Document { kind, path: inner.to_owned(), on_node: at.inner.to_owned(), text }
}

/// The place of a folder with the root of a node.
fn place_of_root<'p>(above: &'p str, sys: &'p str) -> Place<'p> {
    let unit = match above.split('/').position(|part| part == "nodes") {
        // It is a node's of a must-gather.
        Some(_) => return Place { inner: sys, ..place(sys) },
        None => UnitPlace::Root(above),
    };
    Place { unit, inner: "sys", look: Look::Tree }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Whether a file is packed; it is read from its beginning behind that.
fn is_packed(file: &mut File) -> bool {
    let mut head = Vec::new();
    let read = Read::by_ref(file).take(512).read_to_end(&mut head);
    let is_packed = Packer::of(&head).is_some() || is_tar(&head) || is_zip(&head);
    read.is_err() || file.rewind().is_err() || is_packed
}

/// Whether a file is a zip archive; it is read from its beginning behind that.
fn is_zip_on_disk(file: &mut File) -> bool {
    let mut head = Vec::new();
    let read = Read::by_ref(file).take(4).read_to_end(&mut head);
    read.is_ok() && file.rewind().is_ok() && is_zip(&head)
}
