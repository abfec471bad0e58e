//! Counts of packages and cores, which cAdvisor takes from `/proc/cpuinfo`, else from the CPU folders.

use std::collections::BTreeSet;

use super::topology::numbered_names;
use super::{CpuArchitecture, Reader, scan};
use crate::kernel::CPUS;

impl Reader<'_, '_> {
    /// How many different texts the property has in `/proc/cpuinfo`; if none, how many values together with the
    /// package it has among CPUs that are online.
    pub(super) fn count(&self, cpuinfo: &str, property: &str, file: &str) -> i64 {
        let lines: BTreeSet<_> = scan::property_lines(cpuinfo, property).into_iter().collect();
        let count = if lines.is_empty() { self.count_in_folders(file) } else { lines.len() };
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    pub(super) fn count_on_s390x(&self, cpuinfo: &str, property: &str, file: &str) -> i64 {
        match self.architecture {
            CpuArchitecture::S390x => self.count(cpuinfo, property, file),
            _ => 0,
        }
    }

    fn count_in_folders(&self, file: &str) -> usize {
        let online = self.online();
        let names = self.kernel.tree.list(CPUS).unwrap_or_default();
        let mut values = BTreeSet::new();
        for name in numbered_names(&names, "cpu") {
            let Some(digits) = scan::digits_after(name, "cpu") else {
                if self.holes == super::Holes::Mend {
                    continue;
                }
                return 0;
            };
            if !online.has(digits) {
                continue;
            }
            // A missing file counts as zero.
            let value = |file: &str| {
                let text = self.text(&format!("{CPUS}/{name}/topology/{file}")).ok().flatten();
                text.map_or_else(|| "0".to_owned(), |text| text.trim().to_owned())
            };
            values.insert((value(file), value("physical_package_id")));
        }
        values.len()
    }
}
