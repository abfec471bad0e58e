//! What is restored when a device is given back.

use alloc::vec::Vec;

use super::constraint::Seen;
use super::groups::Groups;

/// States to which an undone device returns.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    pub(crate) constraints: Vec<(usize, Seen)>,
    pub(crate) groups: Vec<(usize, Groups)>,
}
