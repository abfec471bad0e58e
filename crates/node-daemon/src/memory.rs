//! The size of a daemon's memory.

use anyhow::bail;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit};

/// The least address space of a daemon, in bytes: 2 GiB. The allocator reserves 1 GiB at once, and each thread has about
/// 100 MiB: 32 MiB of the allocator, 64 MiB of the C library and its stack. Hardly any of it is ever memory.
const ADDRESS_SPACE: u64 = 2 << 30;

/// Refuses an address space in which an allocation or a new thread fails sooner or later, which ends the process without a
/// message.
///
/// # Errors
/// It is limited to less than 2 GiB.
pub fn check_address_space() -> anyhow::Result<()> {
    // A system that does not tell the limit has none.
    let Ok((soft, _)) = getrlimit(Resource::RLIMIT_AS) else { return Ok(()) };
    if soft < ADDRESS_SPACE {
        bail!(
            "the address space of this process is limited to {} MiB (ulimit -v, LimitAS=), and a daemon reserves up to {} MiB of it,              most of which never becomes memory: raise that limit; MemoryMax= limits memory itself",
            soft >> 20,
            ADDRESS_SPACE >> 20
        );
    }
    Ok(())
}

/// Switches transparent huge pages off for the process, and for what it executes at a reload. A huge page stays resident
/// while anything in it is in use: `cargo xtask observe` measured 53 MiB with them and 42 MiB without, at the same CPU time.
pub fn in_small_pages() {
    // A kernel without huge pages has nothing to switch off.
    let _ = prctl::set_thp_disable(true);
}
