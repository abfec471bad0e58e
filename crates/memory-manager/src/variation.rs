//! The same node with more huge pages: what an administrator could have decided at boot.

use numa_bitmask::NodeIndex;
use pod_spec::ResourceName;

use crate::{Holdings, Static};

impl Static {
    /// The policy if `node` had `bytes` more in huge pages of that size, taken from its ordinary memory, and what its
    /// containers hold then. `None` where the node has no pages of that size, not even zero, or where that memory is
    /// booked or reserved.
    #[must_use]
    pub fn with_more_pages(
        &self,
        held: &Holdings,
        node: NodeIndex,
        pages: &ResourceName,
        bytes: u64,
    ) -> Option<(Self, Holdings)> {
        let (pages, memory) = (self.position(pages.as_str())?, self.position("memory")?);
        if pages == memory {
            return None;
        }
        let mut other = self.clone();
        let more = other.installed_mut(node, pages)?;
        more.total = more.total.checked_add(bytes)?;
        more.allocatable = more.allocatable.checked_add(bytes)?;
        let less = other.installed_mut(node, memory)?;
        less.allocatable = less.allocatable.checked_sub(bytes)?;
        other.count_supplies();

        let mut held = held.clone();
        let books = held.books_mut();
        let more = books.amounts_mut(node, pages)?;
        more.free = more.free.checked_add(bytes)?;
        let less = books.amounts_mut(node, memory)?;
        less.free = less.free.checked_sub(bytes)?;
        Some((other, held))
    }
}
