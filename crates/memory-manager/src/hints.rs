//! Where a unit's memory could be booked.
//!
//! A node set is a hint if it can hold all that the unit asks for together, memory and huge pages of each size (`fit`), and each
//! of these resources gets the same sets. Preferred are the sets with as few nodes as the smallest one that could hold all of it
//! if nothing were booked. So where one size of pages needs two nodes, sets of two are preferred for memory and the other sizes too.

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceName, Unit};
use smallvec::SmallVec;
use topology_hint::{Affinity, Answers, Hint, ListedHint, Preference};

use crate::fit::Fit;
use crate::{Block, Holdings, NotPinned, Request, RequestError, Static};

/// Whether there is an answer for a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opinion {
    /// One for each resource that it asks for.
    Given,
    /// None: any node will do as far as memory is concerned.
    None(Silent),
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Silent {
    /// Nothing is booked for the unit.
    NotPinned(NotPinned),
    /// An amount cannot be read; allocation will refuse it.
    NotInt64,
    /// No memory and no huge pages are asked for.
    NothingAsked,
    /// No node set can hold the request. The kubelet has no opinion then either, so that the unit passes the
    /// merge; allocation will refuse it.
    NothingFits,
    /// What is booked differs from what is asked for: a pod of several containers, init containers whose memory
    /// was taken over, or a request that has changed.
    BookedOtherwise,
}

/// What one NUMA node has of one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnNode {
    /// The node.
    pub node: NodeIndex,
    /// Bytes free there. Of a node in a group only the sum over the group means something.
    pub free: u64,
    /// Bytes that could be booked there if nothing were.
    pub allocatable: u64,
    /// Bytes installed.
    pub total: u64,
    /// Bytes that the pod's init containers left on this node alone.
    pub reusable: u64,
    /// The nodes that it is bound to, itself included.
    pub group: NodeMask,
    /// How many blocks name it.
    pub assignments: i64,
}

impl Static {
    /// What each node has of `resource` for a container of `pod`, in ascending order of nodes.
    pub fn on_nodes<'a>(
        &'a self,
        held: &'a Holdings,
        pod: &'a PodUid,
        resource: &'a ResourceName,
    ) -> impl Iterator<Item = OnNode> + use<'a> {
        let (at, booked) = (self.position(resource.as_str()), held.position(resource));
        self.all().iter().map(move |node| {
            let usable = self.usable.contains(node);
            let installed = at.and_then(|at| self.installed(node, at)).filter(|_| usable).unwrap_or_default();
            let mut left = held.reusable(pod);
            OnNode {
                node,
                free: booked.filter(|_| usable).map_or(0, |at| held.amounts_at(node, at).free),
                allocatable: installed.allocatable,
                total: installed.total,
                reusable: left
                    .find(|(mask, of, _)| *mask == NodeMask::single(node) && *of == resource)
                    .map_or(0, |(_, _, bytes)| bytes),
                group: held.group(node).mask(),
                assignments: held.assignments(node),
            }
        })
    }

    /// Pushes one answer for each resource that `unit` asks for, or none. Every resource has the same node sets,
    /// those that can hold all of them.
    pub fn hints(&self, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) -> Opinion {
        let request = match self.asked(unit) {
            Ok(request) => request,
            Err(RequestError::NotPinned(reason)) => return Opinion::None(Silent::NotPinned(reason)),
            Err(RequestError::NotInt64(_)) => return Opinion::None(Silent::NotInt64),
        };
        let pod = unit.pod();
        let booked = match unit {
            Unit::Container(pod, container) => held.assigned(&pod.uid, &container.name),
            Unit::Pod(pod) => {
                if self.books_whole(pod) && self.check_shared_pool(pod, &request).is_err() {
                    for (resource, _) in request.iter() {
                        answers.push_impossible(resource.clone());
                    }
                    return if request.is_empty() {
                        Opinion::None(Silent::NothingAsked)
                    } else {
                        Opinion::Given
                    };
                }
                if request.is_empty() {
                    return Opinion::None(Silent::NothingAsked);
                }
                first_booked(held, pod)
            }
        };
        match booked {
            Some(blocks) => regenerate(blocks, &request, answers),
            None => calculate(Fit::new(self, held, &pod.uid, &request), &request, answers),
        }
    }
}

/// The blocks of the first container of the pod that has some.
fn first_booked<'a>(held: &'a Holdings, pod: &Pod) -> Option<&'a [Block]> {
    let own = |name: &ContainerName| held.assigned(&pod.uid, name);
    pod.containers.iter().find_map(|Container { name, .. }| own(name))
}

/// The nodes that are booked already, if that is what is asked for.
fn regenerate(blocks: &[Block], request: &Request, answers: &mut Answers) -> Opinion {
    let as_asked = |block: &Block| request.bytes(block.resource.as_str()) == Some(block.size);
    if blocks.len() != request.len() || !blocks.iter().all(as_asked) {
        return Opinion::None(Silent::BookedOtherwise);
    }
    if request.is_empty() {
        return Opinion::None(Silent::NothingAsked);
    }
    for (resource, _) in request.iter() {
        let mut own = blocks.iter().filter(|block| block.resource == *resource).peekable();
        if own.peek().is_some() {
            answers.push_list(
                resource.clone(),
                own.map(|block| hint(block.nodes.mask(), Preference::Preferred)),
            );
        }
    }
    Opinion::Given
}

fn calculate(fit: Fit<'_>, request: &Request, answers: &mut Answers) -> Opinion {
    if request.is_empty() {
        return Opinion::None(Silent::NothingAsked);
    }
    if fit.is_listed() {
        return list(fit, request, answers);
    }
    let unused = fit.unused();
    let is_open = fit.is_open(unused);
    let exact: SmallVec<[NodeMask; NodeIndex::LIMIT]> = fit.exact().collect();
    if !is_open && exact.is_empty() {
        return Opinion::None(Silent::NothingFits);
    }
    let size = fit.preferred_size();
    for (resource, _) in request.iter() {
        let mut family = answers.push_family(resource.clone());
        family.preferred_solution(size);
        for mask in &exact {
            family.mask(*mask, preference(*mask, size.into_inner()));
        }
        if is_open {
            family.open(unused);
            for item in fit.needs() {
                let on = |node| (NodeMask::single(node), fit.free_on(node, item));
                family.need(item.bytes, unused.iter().map(on));
            }
        }
    }
    Opinion::Given
}

/// The accepted sets one by one, where sums wrap.
fn list(fit: Fit<'_>, request: &Request, answers: &mut Answers) -> Opinion {
    if fit.best(NodeMask::EMPTY).is_none() {
        return Opinion::None(Silent::NothingFits);
    }
    let size = fit.preferred_size().into_inner();
    for (resource, _) in request.iter() {
        let accepted = fit.subsets().filter(|mask| fit.accepts(*mask));
        answers.push_list(resource.clone(), accepted.map(|mask| hint(mask, preference(mask, size))));
    }
    Opinion::Given
}

fn preference(mask: NodeMask, preferred_size: u32) -> Preference {
    if mask.len() == preferred_size { Preference::Preferred } else { Preference::Acceptable }
}

fn hint(mask: NodeMask, preference: Preference) -> ListedHint {
    Hint { affinity: Affinity::Nodes(mask), preference }.into()
}
