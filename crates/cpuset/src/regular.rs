//! Lists for people, in which CPUs at equal distances are one entry.

use core::fmt;

use crate::{CpuId, CpuSet};

/// So many CPUs at equal distances are one entry.
const FEWEST: usize = 4;

/// A set as a list for people; see [`CpuSet::regular`].
#[derive(Clone, Copy, Debug)]
pub struct RegularList<'a>(&'a CpuSet);

impl CpuSet {
    /// A list for people: `0-110/2` is every second CPU from 0 to 110. Neither the kernel nor the kubelet reads it.
    ///
    /// ```
    /// let cpus: cpuset::CpuSet = "0,2,4,6,8,16-19".parse()?;
    /// assert_eq!(cpus.regular().to_string(), "0-8/2,16-19");
    /// # Ok::<(), cpuset::ParseError>(())
    /// ```
    #[must_use]
    pub const fn regular(&self) -> RegularList<'_> {
        RegularList(self)
    }
}

/// From the first CPU on: the last one at the same distances, that distance, and how many there are.
fn run(first: usize, rest: impl Iterator<Item = usize>) -> (usize, usize, usize) {
    let (mut last, mut step, mut count) = (first, 0, 1);
    for next in rest {
        if step != 0 && next - last != step {
            break;
        }
        (step, last, count) = (next - last, next, count + 1);
    }
    (last, step, count)
}

impl fmt::Display for RegularList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().map(CpuId::get).peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let (last, step, count) = run(first, cpus.clone());
            f.write_str(separator)?;
            separator = ",";
            match step {
                1 => write!(f, "{first}-{last}")?,
                _ if count >= FEWEST => write!(f, "{first}-{last}/{step}")?,
                _ => {
                    write!(f, "{first}")?;
                    continue;
                }
            }
            while cpus.next_if(|cpu| *cpu <= last).is_some() {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn equal_distances_are_one_entry() {
        for (list, regular) in [
            ("", ""),
            ("7", "7"),
            ("0-3", "0-3"),
            ("0,2,4", "0,2,4"),
            ("0,2,4,6", "0-6/2"),
            ("0,2-5", "0,2-5"),
            ("0,2,4-7", "0,2,4-7"),
            ("0,2,4,6,7", "0-6/2,7"),
            ("1,3,5,7,9-11,20,30,40,50", "1-9/2,10-11,20-50/10"),
            ("0,64,128,192,256", "0-256/64"),
        ] {
            let set: CpuSet = list.parse().unwrap();
            assert_eq!(set.regular().to_string(), regular, "{list}");
        }
    }
}
