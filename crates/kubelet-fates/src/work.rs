//! What a kubelet walks through before it answers, counted; and how long that takes, to an order of magnitude.

use alloc::string::ToString as _;
use core::fmt;

/// What the kubelet walks through before it answers.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// CPUs looked at in sets of nodes.
    pub cpus: f64,
    /// Sets of nodes whose memory is summed up.
    pub memory: f64,
    /// Nodes in those sets, in sum.
    pub memory_nodes: f64,
    /// Devices looked at in sets of nodes.
    pub devices: f64,
    /// Combinations of hints.
    pub combinations: f64,
    /// Combinations and subsets of nodes that CPUs are distributed over; a lower bound where the walk was cut.
    pub shares: u64,
    /// How often a CPU is looked at meanwhile.
    pub looks: u64,
}

impl core::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpus: self.cpus + other.cpus,
            memory: self.memory + other.memory,
            memory_nodes: self.memory_nodes + other.memory_nodes,
            devices: self.devices + other.devices,
            combinations: self.combinations + other.combinations,
            shares: self.shares + other.shares,
            looks: self.looks + other.looks,
        }
    }
}

impl Work {
    /// Seconds that a kubelet takes for it on an ordinary machine, to an order of magnitude.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.parts().iter().sum::<f64>() / 1e9
    }

    /// Nanoseconds for CPUs, memory, devices, combinations and shares.
    fn parts(&self) -> [f64; 5] {
        const CPU: f64 = 190.0;
        const MEMORY_SET: f64 = 1000.0;
        const MEMORY_NODE: f64 = 75.0;
        const DEVICE: f64 = 60.0;
        const COMBINATION: f64 = 220.0;
        const SHARE: f64 = 1500.0;
        const LOOK: f64 = 7.5;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (shares, looks) = (self.shares as f64, self.looks as f64);
        [
            self.cpus * CPU,
            self.memory * MEMORY_SET + self.memory_nodes * MEMORY_NODE,
            self.devices * DEVICE,
            self.combinations * COMBINATION,
            shares * SHARE + looks * LOOK,
        ]
    }
}

/// A span of time in words, to an order of magnitude.
struct About(f64);

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, f64, &str); 4] = [
            (120.0, 1.0, "s"),
            (7200.0, 60.0, "minutes"),
            (259_200.0, 3600.0, "hours"),
            (31_536_000.0, 86_400.0, "days"),
        ];
        match UNITS.into_iter().find(|(below, ..)| self.0 < *below) {
            Some((_, unit, name)) => write!(f, "about {:.0} {name}", (self.0 / unit).max(1.0)),
            None => f.write_str("years"),
        }
    }
}

/// How long it takes in all, and its largest part, with the time for that where it is not all.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: it ", About(self.seconds()))?;
        let [cpus, memory, devices, combinations, shares] = self.parts();
        let most = [cpus, memory, devices, combinations, shares].into_iter().fold(0.0, f64::max);
        if combinations >= most {
            write!(f, "tries {} combinations of hints", Rounded(self.combinations))
        } else if cpus >= most {
            write!(f, "looks at {} CPUs in sets of NUMA nodes", Rounded(self.cpus))
        } else if memory >= most {
            write!(f, "sums up the memory of {} sets of NUMA nodes", Rounded(self.memory))
        } else if devices >= most {
            write!(f, "looks at {} devices in sets of NUMA nodes", Rounded(self.devices))
        } else {
            write!(f, "tries {} ways to spread CPUs over NUMA nodes", self.shares)
        }?;
        let (all, alone) = (About(self.seconds()).to_string(), About(most / 1e9).to_string());
        if alone == all { Ok(()) } else { write!(f, ", which alone takes {alone}") }
    }
}

/// A count to two digits, in words.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] =
            [(1e12, "million million"), (1e9, "thousand million"), (1e6, "million"), (1e3, "thousand")];
        let unit = UNITS.into_iter().find(|(unit, _)| self.0 >= *unit && self.0 < unit * 1e6);
        match unit {
            Some((unit, name)) => write!(f, "{:.0} {name}", self.0 / unit),
            None if self.0 < 1e3 => write!(f, "{:.0}", self.0),
            None => write!(f, "{:.0e}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_has_its_time_where_it_is_not_all() {
        let sets = 34.0 * 1e9;
        let alone = Work { memory: 17e9, memory_nodes: 17.0 * sets, ..Work::default() };
        let text = "about 17 hours: it sums up the memory of 17 thousand million sets of NUMA nodes";
        assert_eq!(alone.to_string(), text);
        let with_others = Work { combinations: 51e9, ..alone };
        assert_eq!(
            with_others.to_string(),
            "about 20 hours: it sums up the memory of 17 thousand million sets of NUMA nodes, which alone takes about 17 hours"
        );
    }
}
