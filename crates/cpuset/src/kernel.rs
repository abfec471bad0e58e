//! What the kernel prints in sysfs, procfs and cgroup files, and accepts there.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use smallvec::smallvec;
use thiserror::Error;

use crate::set::Words;
use crate::{CpuId, CpuSet};

/// Why a text is not a list as the kernel writes it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KernelListError {
    /// A part that is not `a`, `a-b` or `a-b:used/group`, with the numbers in order and `used` at most `group`.
    #[error("not a CPU list: bad part {0:?}")]
    Part(String),
    /// A part that names a CPU past [`CpuId::LIMIT`].
    #[error("CPU list part {0:?} is out of range: ids are 0 to {last}", last = CpuId::LIMIT - 1)]
    TooLarge(String),
}

/// Why a text is not a mask as the kernel writes it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KernelMaskError {
    /// A group that is not one to eight hexadecimal digits.
    #[error("not a CPU mask: bad group {0:?}")]
    Group(String),
    /// A bit for a CPU past [`CpuId::LIMIT`] is set.
    #[error("CPU mask is out of range: ids are 0 to {last}", last = CpuId::LIMIT - 1)]
    TooLarge,
}

impl CpuSet {
    /// Reads a list as in `/sys/devices/system/cpu/online` or `cpuset.cpus`: parts `a`, `a-b` or
    /// `a-b:used/group` (of every `group` ids from `a` on the first `used`), parted by commas or white space.
    /// White space alone is the empty set. The words `all` and `N`, which the kernel reads but never prints, are
    /// not understood.
    ///
    /// ```
    /// use cpuset::CpuSet;
    ///
    /// assert_eq!(CpuSet::from_kernel_list("0-1,8-15:1/4\n")?.to_string(), "0-1,8,12");
    /// assert!(CpuSet::from_kernel_list("\n")?.is_empty());
    /// # Ok::<(), cpuset::KernelListError>(())
    /// ```
    pub fn from_kernel_list(text: &str) -> Result<Self, KernelListError> {
        let mut set = Self::new();
        let is_separator = |c: char| c == ',' || c.is_ascii_whitespace();
        for part in text.split(is_separator).filter(|part| !part.is_empty()) {
            let region = Region::parse(part).ok_or_else(|| KernelListError::Part(part.to_owned()))?;
            set |= &region.cpus().ok_or_else(|| KernelListError::TooLarge(part.to_owned()))?;
        }
        Ok(set)
    }

    /// Reads a mask as in `shared_cpu_map` or `local_cpus`: groups of up to eight hexadecimal digits, 32 CPUs
    /// each, the highest CPUs first, joined by commas. White space around the whole is ignored; an empty text is
    /// an error, for the kernel prints a zero.
    ///
    /// ```
    /// use cpuset::CpuSet;
    ///
    /// assert_eq!(CpuSet::from_kernel_mask("00000000,0000000f,f0000001\n")?.to_string(), "0,28-35");
    /// # Ok::<(), cpuset::KernelMaskError>(())
    /// ```
    pub fn from_kernel_mask(text: &str) -> Result<Self, KernelMaskError> {
        let mut words: Words = smallvec![0; CpuId::LIMIT / 64];
        for (at, group) in text.trim_ascii().rsplit(',').enumerate() {
            let is_hex = (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
            let bits = is_hex.then(|| u64::from_str_radix(group, 16).ok()).flatten();
            let bits = bits.ok_or_else(|| KernelMaskError::Group(group.to_owned()))?;
            match words.get_mut(at / 2) {
                Some(word) => *word |= bits << (at % 2 * 32),
                // Kernels built for more CPUs print groups of zeros in front.
                None if bits == 0 => {}
                None => return Err(KernelMaskError::TooLarge),
            }
        }
        Ok(Self::from_words(words))
    }

    /// The set as a kernel mask: `f,00000003` as `0000000f,00000003`, without groups of zeros in front.
    #[must_use]
    pub const fn kernel_mask(&self) -> KernelMask<'_> {
        KernelMask(self)
    }
}

/// A set that displays itself as a kernel mask; made by [`CpuSet::kernel_mask`].
#[derive(Clone, Copy, Debug)]
pub struct KernelMask<'a>(&'a CpuSet);

impl fmt::Display for KernelMask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((highest, rest)) = self.0.words().split_last() else { return f.write_str("00000000") };
        if highest >> 32 != 0 {
            write!(f, "{:08x},", highest >> 32)?;
        }
        write!(f, "{:08x}", highest & 0xffff_ffff)?;
        for word in rest.iter().rev() {
            write!(f, ",{:08x},{:08x}", word >> 32, word & 0xffff_ffff)?;
        }
        Ok(())
    }
}

/// One part of a kernel list: of every `group` ids from `start` to `end`, the first `used`.
struct Region {
    start: u64,
    end: u64,
    used: u64,
    group: u64,
}

impl Region {
    fn parse(part: &str) -> Option<Self> {
        let Some((start, rest)) = part.split_once('-') else {
            let only = number(part)?;
            return Some(Self { start: only, end: only, used: 1, group: 1 });
        };
        let (end, used, group) = match rest.split_once(':') {
            None => (number(rest)?, 1, 1),
            Some((end, stride)) => {
                let (used, group) = stride.split_once('/')?;
                (number(end)?, number(used)?, number(group)?)
            }
        };
        let region = Self { start: number(start)?, end, used, group };
        (region.start <= end && used <= group && group > 0).then_some(region)
    }

    /// The CPUs, or `None` past the limit.
    fn cpus(&self) -> Option<CpuSet> {
        let id = |number: u64| CpuId::new(usize::try_from(number).ok()?).ok();
        let whole = CpuSet::range(id(self.start)?..=id(self.end)?);
        if self.used == self.group {
            return Some(whole);
        }
        Some(whole.iter().filter(|cpu| (cpu.get() as u64 - self.start) % self.group < self.used).collect())
    }
}

/// Decimal digits and nothing else. More than 64 bits saturate, to be refused as too large.
fn number(text: &str) -> Option<u64> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| text.parse().unwrap_or(u64::MAX))
}
