//! Case files, and the data that cases name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::case::Case;

/// The recorded answers that travel with the project: what a folder of cases lacks in data is there.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kubelet");

/// The case files below some folders.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Folder with one sub-folder for each domain.
    root: PathBuf,
}

/// Why a case file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file system said no.
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
    /// Nothing to play.
    #[error("no case files (*.jsonl, *.jsonl.zst) below {0}")]
    Empty(PathBuf),
}

impl Corpus {
    /// The corpus at `folder`, which is the root of all domains, the folder of one, or one file in it; and its files.
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
        Ok((Self { root }, files))
    }

    /// The cases of a file; none if it holds data instead.
    pub fn cases(&self, file: &Path) -> Result<Vec<Case>, CorpusError> {
        let domain = file.parent().and_then(|parent| parent.canonicalize().ok());
        let domain =
            domain.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let text = read(file)?;
        let mut cases = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let fault = |reason: String| CorpusError::Line { path: file.to_path_buf(), line: at + 1, reason };
            let mut value: Value = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            let input = match value.get_mut("case") {
                Some(input) => input.take(),
                // What begins without a case is data that cases name.
                None if cases.is_empty() => return Ok(Vec::new()),
                None => return Err(fault("it has no case".to_owned())),
            };
            let case = Case::answered(&domain, stem, input, value);
            cases.push(case.map_err(|error| fault(error.to_string()))?);
        }
        Ok(cases)
    }

    /// A corpus for its data alone: `root` has one sub-folder for each domain.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where a data file lies: plain or packed, with these cases or else with the committed ones.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        let packed = format!("{name}.zst");
        let roots = [self.root.as_path(), Path::new(COMMITTED)];
        let places = roots.iter().flat_map(|root| [root.join(&packed), root.join(name)]);
        places.into_iter().find(|path| path.exists()).unwrap_or_else(|| self.root.join(name))
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

/// Groups cases by domain and kind, in order of name.
pub(crate) type ByKind<T> = BTreeMap<String, T>;

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
        if path.is_dir() {
            collect(&path, files)?;
        } else if plain.strip_suffix(".jsonl").is_some() {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes the files of a folder to another, unpacked where they are packed. A file that is there already stays
/// untouched, so that whoever reads it meanwhile reads all of it.
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
