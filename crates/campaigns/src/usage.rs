//! What a process uses, as the kernel counts it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

/// Clock ticks per second (`USER_HZ`), the same on every Linux that this runs on.
const TICKS: f64 = 100.0;

/// What a process uses.
pub(crate) struct Usage {
    folder: PathBuf,
    ticks: f64,
    /// The most memory that was seen, in KiB.
    pub(crate) largest: u64,
}

impl Usage {
    pub(crate) fn new(process: u32) -> anyhow::Result<Self> {
        let mut usage = Self { folder: PathBuf::from(format!("/proc/{process}")), ticks: 0.0, largest: 0 };
        usage.ticks = usage.now()?;
        Ok(usage)
    }

    /// User and system time, in ticks.
    fn now(&self) -> anyhow::Result<f64> {
        let text = fs::read_to_string(self.folder.join("stat")).context("the process has ended")?;
        // The name of the program may have anything in it.
        let (_, rest) = text.rsplit_once(')').context("/proc/PID/stat has no name")?;
        let times = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(times.collect::<Result<Vec<_>, _>>()?.into_iter().sum())
    }

    pub(crate) fn sample(&mut self) -> anyhow::Result<()> {
        let text = fs::read_to_string(self.folder.join("status")).context("the process has ended")?;
        let resident = text
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        self.largest = self.largest.max(resident.unwrap_or(0));
        Ok(())
    }

    pub(crate) fn percent_of_a_core(&self, over: Duration) -> anyhow::Result<f64> {
        Ok((self.now()? - self.ticks) / TICKS / over.as_secs_f64() * 100.0)
    }
}
