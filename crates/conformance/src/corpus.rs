//! Case files, and the data that cases name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kubelet_release::{GateTable, Release, Rules, UnknownRelease};
use node_config::FeatureGates;
use serde_json::Value;

use crate::case::Case;
use crate::claim_of_file;

/// The recorded answers that travel with the project: what a folder of cases lacks in data is there.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kubelet");

/// The case files below some folders.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Folder with one sub-folder for each domain.
    root: PathBuf,
    /// Where data lies that the folder lacks: the corpus that it is laid over.
    base: Option<PathBuf>,
    /// The release that answered.
    release: Release,
    /// Cases, by domain and id, that a corpus laid over this one answers anew.
    replaced: BTreeSet<(String, String)>,
    /// The gates of this release and those of the release whose corpus is laid over this one. A case that sets a gate
    /// of the first that the second does not know is none of the second.
    gates: Option<(GateTable, GateTable)>,
}

/// A corpus and which of its files are played.
#[derive(Clone, Debug)]
pub struct Part {
    /// The corpus.
    pub corpus: Corpus,
    /// Its files, in order of name.
    pub files: Vec<PathBuf>,
}

/// The file that names the release whose answers a folder holds; without it they are the default release's.
const RELEASE: &str = "RELEASE";

/// Files whose cases replace those of the same id in the corpus below.
const CHANGED: &str = "changed-";

/// Files with the answers of the release below to what the release above wrote.
const DOWNGRADE: &str = "downgrade";

/// Why a case file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file system error.
    #[error("failed to read {path}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A line is no JSON, or no case.
    #[error("{path}: line {line} is not a case: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The file `RELEASE` of a folder names no release that is known.
    #[error("{path} names no known release")]
    Release {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: UnknownRelease,
    },
    /// A folder of changed answers, and no folder with the others.
    #[error(
        "{0} holds what changed in a release, and the corpus that it changes is neither beside nor above it"
    )]
    NoBase(PathBuf),
    /// The files of a machine that cases name are in none of the places where they may be.
    #[error("no {name}.tar.zst in {}, or in real and synthesised below", places(.folders))]
    NoMachine {
        /// The machine.
        name: String,
        /// Where it is looked for.
        folders: Vec<PathBuf>,
    },
    /// Nothing to play.
    #[error("no case files (*.jsonl, *.jsonl.zst) below {0}")]
    Empty(PathBuf),
}

impl Corpus {
    /// The corpus at `folder`, which is the root of all domains, the folder of one, or one file in it; and its files.
    /// Folders in it that have a `RELEASE` are left out.
    pub fn open(folder: &Path) -> Result<(Self, Vec<PathBuf>), CorpusError> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.sort();
        if files.is_empty() {
            return Err(CorpusError::Empty(folder.to_path_buf()));
        }
        let folder = folder.canonicalize().map_err(|error| read_error(folder, error))?;
        let domain = if folder.is_file() { folder.parent().unwrap_or(&folder) } else { folder.as_path() };
        let is_domain = files.iter().any(|file| file.parent().is_some_and(|parent| same(parent, domain)));
        let root = if is_domain { domain.parent().unwrap_or(domain) } else { domain }.to_path_buf();
        let corpus = Self::at(root)?;
        Ok((corpus, files))
    }

    /// Everything that is played for `folder`: itself; if a `RELEASE` file says that it holds what changed in a
    /// release, also the cases of its base that it does not answer anew; and the releases in it.
    ///
    /// The base is `overlay`, else the folder beside it whose name is its own up to the last `-`, else the folder
    /// above it. Of a single domain the same domain of the base is played, of a single file nothing else.
    pub fn parts(folder: &Path, overlay: Option<&Path>) -> Result<Vec<Part>, CorpusError> {
        let (mut corpus, files) = Self::open(folder)?;
        let root = corpus.root.clone();
        if !root.join(RELEASE).is_file() {
            let mut parts = vec![Part { corpus, files }];
            for release in releases(folder)? {
                parts.extend(Self::parts(&release, overlay)?);
            }
            return Ok(parts);
        }
        let base = overlay.map(Path::to_path_buf).or_else(|| base(&root));
        let base = base.ok_or_else(|| CorpusError::NoBase(root.clone()))?;
        corpus.base = Some(base.clone());
        let mut parts = Vec::new();
        if folder.is_dir() {
            let folder = folder.canonicalize().map_err(|error| read_error(folder, error))?;
            let below = folder.strip_prefix(&root).map_or_else(|_| base.clone(), |domain| base.join(domain));
            let (mut below, others) = Self::open(&below)?;
            let gates = |release| Rules::of(release).gates;
            below.gates = Some((gates(below.release), gates(corpus.release)));
            below.release = corpus.release;
            for file in files.iter().filter(|file| stem(file).starts_with(CHANGED)) {
                below.replaced.extend(corpus.cases(file)?.into_iter().map(|case| (case.domain, case.id)));
            }
            parts.push(Part { corpus: below, files: others });
        }
        parts.push(Part { corpus, files });
        Ok(parts)
    }

    /// The cases of a file; none if it holds data instead.
    pub fn cases(&self, file: &Path) -> Result<Vec<Case>, CorpusError> {
        let domain = file.parent().and_then(|parent| parent.canonicalize().ok());
        let domain =
            domain.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let name = stem(file);
        let release = if name == DOWNGRADE { Release::default() } else { self.release };
        let unnamed = name.strip_prefix(CHANGED).unwrap_or(&name);
        let text = read(file)?;
        let mut cases = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let fault = |reason: String| CorpusError::Line { path: file.to_path_buf(), line: at + 1, reason };
            let mut value: Value = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            if value.get("case").is_none() && claim_of_file::is_answer(&value) {
                value = claim_of_file::with_case(value);
            }
            let input = match value.get_mut("case") {
                Some(input) => input.take(),
                // What begins without a case is data that cases name.
                None if cases.is_empty() => return Ok(Vec::new()),
                None => return Err(fault("it has no case".to_owned())),
            };
            let case = Case::answered(&domain, unnamed, input, value);
            let case = case.map_err(|error| fault(error.to_string()))?.of(release);
            let is_replaced = self.replaced.contains(&(case.domain.clone(), case.id.clone()));
            let is_gone = |name: &str| {
                self.gates.is_some_and(|(below, above)| {
                    FeatureGates::knows(below, name) && !FeatureGates::knows(above, name)
                })
            };
            let is_known = !gates(&case.input).any(is_gone);
            if !is_replaced && is_known {
                cases.push(case);
            }
        }
        Ok(cases)
    }

    /// A corpus for its data alone: `root` has one sub-folder for each domain.
    pub fn at(root: PathBuf) -> Result<Self, CorpusError> {
        let release = release(&root)?;
        let base = base(&root).filter(|_| root.join(RELEASE).is_file());
        Ok(Self { root, base, release, replaced: BTreeSet::new(), gates: None })
    }

    /// The release that answered.
    #[must_use]
    pub const fn release(&self) -> Release {
        self.release
    }

    /// Where a data file or folder lies: plain or packed, with these cases, or with those that they are laid over, or else with
    /// the committed ones.
    #[must_use]
    pub fn data(&self, name: &str) -> PathBuf {
        let packed = format!("{name}.zst");
        let roots = [Some(self.root.as_path()), self.base.as_deref(), Some(Path::new(COMMITTED))];
        let places = roots.iter().flatten().flat_map(|root| [root.join(&packed), root.join(name)]);
        places.into_iter().find(|path| path.exists()).unwrap_or_else(|| self.root.join(name))
    }

    /// The packed files of a machine that cases name: in a folder `machines` with or beside these cases.
    pub(crate) fn machine_archive(&self, name: &str) -> Result<PathBuf, CorpusError> {
        let above = self.root.parent().map(|above| above.join("machines"));
        let folders: Vec<PathBuf> = [self.root.join("machines")].into_iter().chain(above).collect();
        let places =
            folders.iter().flat_map(|folder| ["", "real", "synthesised"].map(|kind| folder.join(kind)));
        let found = places.map(|place| place.join(format!("{name}.tar.zst"))).find(|file| file.is_file());
        found.ok_or_else(|| CorpusError::NoMachine { name: name.to_owned(), folders })
    }

    /// cAdvisor's description of a machine that cases name.
    pub(crate) fn machine_info(&self, name: &str) -> Result<Value, CorpusError> {
        let places = ["machineinfo", "admission/machines"];
        let path = places
            .map(|folder| self.data(&format!("{folder}/{name}.json")))
            .into_iter()
            .find(|path| path.exists())
            .unwrap_or_else(|| self.root.join("machineinfo").join(format!("{name}.json")));
        let text = read(&path)?;
        serde_json::from_str(&text).map_err(|error| CorpusError::Line {
            path,
            line: error.line(),
            reason: error.to_string(),
        })
    }
}

/// Folders as a part of a sentence.
fn places(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// The feature gates that a case sets at its start or in a step, in the forms of all domains.
fn gates(input: &Value) -> impl Iterator<Item = &str> {
    let steps = input["steps"].as_array().into_iter().flatten();
    let places = [input].into_iter().chain(steps);
    let objects = places.flat_map(|place| [&place["gates"], &place["config"]["featureGates"]]);
    objects.filter_map(Value::as_object).flat_map(|gates| gates.keys().map(String::as_str))
}

/// Groups cases by domain and kind, in order of name.
pub(crate) type ByKind<T> = BTreeMap<String, T>;

/// The release that a folder's file names.
fn release(root: &Path) -> Result<Release, CorpusError> {
    let path = root.join(RELEASE);
    if !path.is_file() {
        return Ok(Release::default());
    }
    let text = read(&path)?;
    text.trim().parse().map_err(|error| CorpusError::Release { path, error })
}

/// The corpus that a folder of changed answers changes.
fn base(root: &Path) -> Option<PathBuf> {
    let above = root.parent()?;
    let name = root.file_name()?.to_string_lossy().into_owned();
    let beside = name.rsplit_once('-').map(|(name, _)| above.join(name));
    beside.filter(|beside| beside.is_dir()).or_else(|| has_domains(above).then(|| above.to_path_buf()))
}

/// Whether a folder is the root of a corpus.
fn has_domains(folder: &Path) -> bool {
    ["quantity", "topology", "cpu", "memory", "device", "admission"]
        .iter()
        .any(|domain| folder.join(domain).is_dir())
}

/// The folders directly in a folder that hold what changed in a release.
fn releases(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut releases = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| read_error(folder, error))? {
        let path = entry.map_err(|error| read_error(folder, error))?.path();
        if path.join(RELEASE).is_file() {
            releases.push(path);
        }
    }
    releases.sort();
    Ok(releases)
}

/// The name of a case file without what follows its first dot.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| a == *b)
}

pub(crate) fn read_error(path: &Path, error: io::Error) -> CorpusError {
    CorpusError::Read { path: path.to_path_buf(), error }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CorpusError> {
    if folder.is_file() {
        files.push(folder.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(|error| read_error(folder, error))? {
        let path = entry.map_err(|error| read_error(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = name.strip_suffix(".zst").unwrap_or(&name);
        if path.join(RELEASE).is_file() {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if plain.strip_suffix(".jsonl").is_some() {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes the files of a folder to another, unpacked where they are packed. A file that is there already stays
/// untouched, so that a process that reads it meanwhile reads all of it.
pub fn unpack(from: &Path, to: &Path) -> Result<(), CorpusError> {
    fs::create_dir_all(to).map_err(|error| read_error(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| read_error(from, error))? {
        let path = entry.map_err(|error| read_error(from, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = to.join(name.strip_suffix(".zst").unwrap_or(&name));
        let text = read(&path)?;
        if fs::read(&target).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        fs::write(&target, text).map_err(|error| read_error(&target, error))?;
    }
    Ok(())
}

/// The text of a file, unpacked if it is packed.
pub(crate) fn read(path: &Path) -> Result<String, CorpusError> {
    let bytes = fs::read(path).map_err(|error| read_error(path, error))?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "zst") {
        let unpacked = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice())
            .map_err(|error| read_error(path, io::Error::other(error)))?
            .read_to_string(&mut text);
        unpacked.map_err(|error| read_error(path, error))?;
    } else {
        text = String::from_utf8(bytes).map_err(|error| read_error(path, io::Error::other(error)))?;
    }
    Ok(text)
}
