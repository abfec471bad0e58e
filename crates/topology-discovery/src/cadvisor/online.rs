//! Which CPUs cAdvisor takes to be online.

/// The list of CPUs that are online, read once: every CPU is asked about, and the list may be long.
pub(super) enum Online {
    /// There is no such list.
    All,
    /// From and to, ascending, apart from each other.
    These(Vec<(u16, u16)>),
}

impl Online {
    /// Reads a list. cAdvisor looks at its parts from the left, and a bad one ends its search; so what comes after one
    /// is not online.
    pub(super) fn read(list: &str) -> Self {
        let mut ranges: Vec<(u16, u16)> = list.split(',').map_while(range).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let touches = next.0 <= before.1;
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
        Self::These(ranges)
    }

    /// Whether the CPU of these digits is among them.
    pub(super) fn has(&self, digits: &str) -> bool {
        let ranges = match self {
            Self::All => return true,
            Self::These(ranges) => ranges,
        };
        let Some(cpu) = number(digits) else { return false };
        let after = ranges.partition_point(|(first, _)| *first <= cpu);
        after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| cpu <= *last)
    }
}

fn number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn range(part: &str) -> Option<(u16, u16)> {
    let mut ends = part.split('-').map(number);
    match (ends.next(), ends.next(), ends.next()) {
        (Some(Some(only)), None, None) => Some((only, only)),
        (Some(Some(first)), Some(Some(last)), None) if first <= last => Some((first, last)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Online;

    #[test]
    fn what_a_list_has() {
        for (list, online, offline) in [
            ("0-3,8", &["0", "3", "8", "08"][..], &["4", "7", "9", "70000", "x", "", "-1"][..]),
            ("8,0-3,2-5,3", &["0", "5", "8"], &["6", "7"]),
            ("0-1,x,4", &["0", "1"], &["4"]),
            ("3-1,4", &[], &["1", "3", "4"]),
            ("", &[], &["0"]),
            ("0-65535", &["65535"], &["65536"]),
        ] {
            let read = Online::read(list);
            assert!(online.iter().all(|cpu| read.has(cpu)), "{list:?}");
            assert!(!offline.iter().any(|cpu| read.has(cpu)), "{list:?}");
        }
        assert!(Online::All.has("anything"));
    }
}
