//! Lists of CPUs as tools print them.

use cpuset::{CpuId, CpuSet};

/// `0-5,12-17`, `0-62:2` with a step, `0-15, 32-47 (32)` with a count, `0 1 2`, or the mask `0x3f`; `None`: it is none.
pub(super) fn cpus(text: &str) -> Option<CpuSet> {
    if let Some(digits) = text.strip_prefix("0x") {
        return mask(digits);
    }
    let list = text.split('(').next().unwrap_or_default();
    let parts = list.split([',', ' ', '\t']).filter(|part| !part.is_empty());
    let mut cpus = CpuSet::new();
    for part in parts {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        let step = step.parse::<usize>().ok().filter(|step| *step > 0)?;
        CpuId::new(last).ok().filter(|_| first <= last)?;
        cpus.extend((first..=last).step_by(step).filter_map(|cpu| CpuId::new(cpu).ok()));
    }
    Some(cpus)
}

fn mask(digits: &str) -> Option<CpuSet> {
    let mut cpus = CpuSet::new();
    let digits = digits.chars().rev().filter(|digit| *digit != ',');
    for (digit, base) in digits.zip((0..).step_by(4)) {
        let bits = digit.to_digit(16)?;
        for bit in (0..4).filter(|bit| bits >> bit & 1 == 1) {
            cpus.insert(CpuId::new(base + bit).ok()?);
        }
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::cpus;

    #[test]
    fn lists_are_read_in_each_form() {
        for (text, list) in [
            ("0-5,12-17", "0-5,12-17"),
            ("0-6:2", "0,2,4,6"),
            ("0-15, 32-47 (32)", "0-15,32-47"),
            ("0 1 2 5", "0-2,5"),
            ("0x55", "0,2,4,6"),
            ("", ""),
        ] {
            assert_eq!(cpus(text).map(|cpus| cpus.to_string()).as_deref(), Some(list), "{text}");
        }
        for text in ["0-", "5-2", "x", "0-4:0", "9999", "0xz", "-1"] {
            assert_eq!(cpus(text), None, "{text}");
        }
    }
}
