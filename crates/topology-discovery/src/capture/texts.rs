//! The lines of texts that are taken.

/// Lines of memory that do not change while the machine runs.
const MEMORY: [&str; 5] = ["MemTotal", "SwapTotal", "HugePages_Total", "Hugepagesize", "Hugetlb"];

/// Lines of a processor that tell what it is and where, and neither which one it is nor what it does now.
const PROCESSOR: [&str; 36] = [
    "processor",
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "physical id",
    "siblings",
    "core id",
    "cpu cores",
    "apicid",
    "initial apicid",
    "book id",
    "drawer id",
    "cpu number",
    "# processors",
    "cpu",
    "revision",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "platform",
    "arch",
    "family",
    // RISC-V and MIPS are known by these.
    "hart",
    "isa",
    "hart isa",
    "mmu",
    "uarch",
    "mvendorid",
    "marchid",
    "mimpid",
    "system type",
    "cpu model",
];

/// Lines of a clock.
const CLOCK: [&str; 4] = ["cpu MHz", "CPU MHz", "clock", "cpu MHz static"];

/// Whether the clock of the moment is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    Kept,
    LeftOut,
}

/// The lines of a meminfo file, of the machine or of a node, that do not change.
pub(super) fn meminfo(text: &str) -> String {
    // A node's lines begin with `Node 0`, and cAdvisor takes a name that merely ends like one of these.
    lines(text, |key| MEMORY.iter().any(|name| key.ends_with(name)))
}

/// The lines of cpuinfo that tell what processors there are. Serial numbers, which some kernels print there, are not
/// among them.
pub(super) fn cpuinfo(text: &str, clock: Clock) -> String {
    lines(text, |key| PROCESSOR.contains(&key) || (clock == Clock::Kept && is_clock(key)))
}

/// Whether cAdvisor finds a clock after it: it looks for how a name ends.
fn is_clock(key: &str) -> bool {
    CLOCK.iter().any(|name| key.ends_with(name))
}

/// The lines with these keys, and empty ones, which stand between processors.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut taken = String::new();
    for line in text.lines() {
        let is_wanted = line.split_once(':').is_some_and(|(key, _)| wanted(key.trim()));
        // What lay between lines that are left out leaves nothing either.
        let ends_processor = line.trim().is_empty() && !taken.is_empty() && !taken.ends_with("\n\n");
        if is_wanted || ends_processor {
            taken.push_str(line.trim_end());
            taken.push('\n');
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_and_what_identifies_is_left_out() {
        let text = "MemTotal:  16 kB\nMemFree:  3 kB\nSwapTotal: 0 kB\nDirty: 7 kB\nHugepagesize: 2048 kB\n";
        assert_eq!(meminfo(text), "MemTotal:  16 kB\nSwapTotal: 0 kB\nHugepagesize: 2048 kB\n");
        assert_eq!(meminfo("Node 3 MemTotal: 5 kB\nNode 3 MemUsed: 1 kB\n"), "Node 3 MemTotal: 5 kB\n");

        let arm = "processor\t: 0\nBogoMIPS\t: 108.00\nCPU part\t: 0xd08\n\nRevision\t: c03111\nSerial\t: 10000000abcd\n";
        assert_eq!(cpuinfo(arm, Clock::Kept), "processor\t: 0\nCPU part\t: 0xd08\n\n");
        let s390 = "processor 0: version = FF, identification = 1ABCD8, machine = 3931\ncpu number      : 0\ncore id : 1\n";
        assert_eq!(cpuinfo(s390, Clock::Kept), "cpu number      : 0\ncore id : 1\n");
        let x86 = "processor\t: 0\ncpu MHz\t\t: 2100.123\ncore id\t: 4\n";
        assert_eq!(cpuinfo(x86, Clock::Kept), x86);
        assert_eq!(cpuinfo(x86, Clock::LeftOut), "processor\t: 0\ncore id\t: 4\n");
    }
}
