//! Huge pages, of the machine or of a node.

use topology_model::HugePages;

use super::scan;
use super::{HugePagesError, Reader};
use crate::problem::Substitute;

impl Reader<'_, '_> {
    /// The sizes of a folder in lexical order of its names; `None` if it is missing or empty.
    pub(super) fn hugepages(&self, folder: &str) -> Result<Option<Vec<HugePages>>, HugePagesError> {
        let mut all = Vec::new();
        for name in self.kernel.tree.list(folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            all.extend(self.mend(self.pages(folder, &name).map(Some), &path, Substitute::LeftOut, || None)?);
        }
        Ok(Some(all).filter(|all| !all.is_empty()))
    }

    fn pages(&self, folder: &str, name: &str) -> Result<HugePages, HugePagesError> {
        let size = name.split('-').nth(1).ok_or_else(|| HugePagesError::Crash(name.to_owned()))?;
        let page_size_kib = scan::parse_uint(size.split("kB").next().unwrap_or(size))?;
        let path = format!("{folder}/{name}/nr_hugepages");
        let text = self.text(&path).map_err(HugePagesError::Unreadable)?;
        let text = text.ok_or(HugePagesError::NotThere(path))?;
        let content = text.trim();
        match scan::unsigned(content) {
            Some((num_pages, _)) => Ok(HugePages { page_size_kib, num_pages }),
            None => Err(HugePagesError::Count { folder: name.to_owned(), content: content.to_owned() }),
        }
    }
}
