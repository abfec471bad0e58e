//! How the daemon's memory is had.

use nix::sys::prctl;

/// Small pages from now on, for all threads and after a reload too. Huge ones hold on to what is free in them, and a daemon
/// that answers a few requests a second gains nothing by them: beside 500 pods they made it a third larger.
pub(super) fn in_small_pages() {
    // A kernel without huge pages has nothing to switch off.
    let _ = prctl::set_thp_disable(true);
}
