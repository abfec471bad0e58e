//! The question to explain, and its objects with changes.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use claim_allocator::Question;
use dra_model::{
    DeviceClass, DriverName, Implementation, PoolName, ResourceClaim, ResourceSlice, node_pools,
};

/// A question that the allocator answered with no, and how the pod calls its claims.
#[derive(Clone, Debug)]
pub struct Asked<'q> {
    /// The question.
    pub question: &'q Question<'q>,
    /// Names of [`Question::claims`], in order. A missing name is that of the object.
    pub names: &'q [String],
}

/// The objects of a question, some of which can be changed.
#[derive(Clone, Debug)]
pub struct Objects<'o> {
    /// All classes.
    pub classes: Cow<'o, [DeviceClass]>,
    /// The slices that matter on the node.
    pub slices: Cow<'o, [ResourceSlice]>,
    /// The claims of others that hold devices which matter on the node.
    pub allocated: Cow<'o, [ResourceClaim]>,
    /// The pod's claims without allocation.
    pub claims: Cow<'o, [ResourceClaim]>,
}

impl Asked<'_> {
    /// How the pod calls a claim of the question.
    pub(crate) fn name(&self, claim: usize) -> String {
        let given = self.names.get(claim).cloned();
        given.or_else(|| Some(self.question.claims.get(claim)?.metadata.name.clone())).unwrap_or_default()
    }
}

impl<'o> Objects<'o> {
    /// Those of a question, without pools of other nodes: the allocator answers the same.
    #[must_use]
    pub fn on_node(question: &Question<'o>) -> Self {
        let Question { classes, slices, allocated, claims, .. } = *question;
        let (classes, claims) = (Cow::Borrowed(classes), Cow::Borrowed(claims));
        let Some(pools) = pools_of_node(question) else {
            return Self {
                classes,
                slices: Cow::Borrowed(slices),
                allocated: Cow::Borrowed(allocated),
                claims,
            };
        };
        let is_here = |driver: &DriverName, pool: &PoolName| pools.contains(&(driver.clone(), pool.clone()));
        let slices: Vec<ResourceSlice> =
            slices.iter().filter(|slice| is_here(&slice.driver, &slice.pool.name)).cloned().collect();
        let holds = |claim: &&ResourceClaim| {
            let mut results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
            results.any(|result| is_here(&result.device.driver, &result.device.pool))
        };
        let allocated: Vec<ResourceClaim> = allocated.iter().filter(holds).cloned().collect();
        Self { classes, slices: Cow::Owned(slices), allocated: Cow::Owned(allocated), claims }
    }
}

impl Objects<'_> {
    /// The same without copies, so that changes copy only what they change.
    #[must_use]
    pub fn borrowed(&self) -> Objects<'_> {
        Objects {
            classes: Cow::Borrowed(&self.classes),
            slices: Cow::Borrowed(&self.slices),
            allocated: Cow::Borrowed(&self.allocated),
            claims: Cow::Borrowed(&self.claims),
        }
    }
}

/// The pools with devices for the node; `None`: they cannot be looked at.
fn pools_of_node(question: &Question<'_>) -> Option<BTreeSet<(DriverName, PoolName)>> {
    let implementation = question.implementation.unwrap_or_else(|| Implementation::of(question.features));
    let slices: Vec<&ResourceSlice> = question.slices.iter().collect();
    let pools = node_pools(&slices, question.node, question.features, implementation).ok()?;
    Some(pools.into_iter().map(|pool| (pool.driver.clone(), pool.name.clone())).collect())
}
