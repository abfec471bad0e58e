//! The files of the workspace that people write.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

/// Folders without sources of the workspace.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// The files below a folder, by path.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_source = |entry: &DirEntry| SKIPPED.iter().all(|skipped| entry.file_name() != *skipped);
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(is_source);
    let files = entries.filter(|entry| entry.as_ref().map_or(true, |entry| entry.file_type().is_file()));
    Ok(files.map(|entry| entry.map(DirEntry::into_path)).collect::<Result<_, _>>()?)
}

/// The files below a folder that have this extension, by path.
pub(super) fn files_of(extension: &str, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files(folder)?;
    files.retain(|file| file.extension().is_some_and(|of_file| of_file == extension));
    Ok(files)
}
