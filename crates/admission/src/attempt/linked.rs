//! The steps of an attempt on a node where devices come from one link.
//!
//! Each way in which links could serve a unit is merged as if the node had no other devices, and the best of these hints is
//! taken, as the policy ranks them. Where fewer devices are free than a unit asks for, it is refused as in the kubelet. Under `prefer` that holds while the hint is as good as it would be without links. Which
//! of several links with the same hint is taken is decided by [`device_manager::Links`].

use alloc::sync::Arc;
use alloc::vec::Vec;

use device_manager::{Choice, Choices, LinkLack, Linked, Links};
use node_config::LinkRule;
use pod_spec::{ContainerName, ResourceName, Unit};
use topology_hint::{Affinity, Hint, ListedHint};
use topology_model::Link;
use topology_policy::NodeScores;

use crate::attempt::refusal::Cause;
use crate::attempt::steps::{Steps, Stop};
use crate::node::Node;

/// More ways in which links could serve the demands of a unit are not merged.
const MOST_WAYS: usize = 64;

/// Devices that cannot be given as the option `devices.links` requires.
#[derive(Clone, PartialEq, Debug)]
pub enum NotLinked {
    /// No link has enough.
    Lacks(LinkLack),
    /// Links have enough, on NUMA nodes where the unit cannot have the rest.
    Elsewhere {
        /// The first demand of the unit.
        demand: device_manager::Demand,
        /// The links that serve it.
        links: Vec<Link>,
    },
}

impl core::fmt::Display for NotLinked {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let demand = match self {
            Self::Lacks(lack) => &lack.demand,
            Self::Elsewhere { demand, .. } => demand,
        };
        f.write_str("devices.links requires one link for ")?;
        let last = demand.asked.len().saturating_sub(1);
        for (at, (resource, count)) in demand.asked.iter().enumerate() {
            let before = if at == 0 {
                ""
            } else if at == last {
                " and "
            } else {
                ", "
            };
            write!(f, "{before}{count} {resource}")?;
        }
        f.write_str(match self {
            Self::Lacks(_) => ", and none has them free",
            Self::Elsewhere { .. } => ", and none that has them free is where the other resources are",
        })
    }
}

impl Node {
    /// The node where devices come from links; a rule that ignores them leaves it as it was.
    #[must_use]
    pub fn with_links(mut self, links: Links) -> Self {
        self.links = (links.rule() != LinkRule::Ignore).then(|| Arc::new(links));
        self
    }

    /// The links that devices come from; `None`: they are chosen without, as in the kubelet.
    #[must_use]
    pub fn links(&self) -> Option<&Links> {
        self.links.as_deref()
    }
}

impl Steps<'_> {
    /// Aligns a unit with its devices on links.
    pub(crate) fn align_linked(
        &mut self,
        unit: Unit<'_>,
        container: Option<&ContainerName>,
    ) -> Result<Hint, Stop> {
        let Some(links) = self.node.links.clone() else { return self.align(unit, container) };
        let scores = self.scores(unit);
        let hint = self.align_scored(unit, container, scores.as_ref())?;
        let before = self.after.clone();
        let demands = self.node.devices.linked(before.inventory(), before.devices(), &links, unit);
        if demands.is_empty() || demands.iter().any(Linked::is_short) {
            self.chosen.clear();
            return Ok(hint);
        }
        self.must_serve(&demands, container)?;
        let hints = self.hints_of_ways(&links, &demands, unit, scores.as_ref());
        let hint = match links.rule() {
            LinkRule::Require => {
                let best = self.best_of(hints, scores.as_ref());
                best.ok_or_else(|| Stop::refused(container, elsewhere(&links, &demands)))?
            }
            LinkRule::Prefer | LinkRule::Ignore => {
                let width = |hint: Hint| hint.affinity.nodes().map(numa_bitmask::NodeMask::len);
                let as_good = hints.into_iter().filter(|other| {
                    (other.is_preferred(), width(*other)) == (hint.is_preferred(), width(hint))
                });
                let as_good = as_good.collect();
                self.best_of(as_good, scores.as_ref()).unwrap_or(hint)
            }
        };
        self.merged_otherwise(hint);
        self.choose(&demands, hint.affinity);
        Ok(hint)
    }

    /// Chooses links for a unit whose hints are not merged.
    pub(crate) fn choose_links(
        &mut self,
        unit: Unit<'_>,
        container: Option<&ContainerName>,
    ) -> Result<(), Stop> {
        let Some(links) = self.node.links.clone() else { return Ok(()) };
        let before = self.after.clone();
        let demands = self.node.devices.linked(before.inventory(), before.devices(), &links, unit);
        if demands.iter().any(Linked::is_short) {
            self.chosen.clear();
            return Ok(());
        }
        self.must_serve(&demands, container)?;
        self.choose(&demands, Affinity::Any);
        Ok(())
    }

    fn choose(&mut self, demands: &[Linked<'_>], affinity: Affinity) {
        self.chosen = demands.iter().filter_map(|demand| demand.choice(affinity.nodes())).collect();
    }

    /// What is required has to be there.
    fn must_serve(&self, demands: &[Linked<'_>], container: Option<&ContainerName>) -> Result<(), Stop> {
        let is_required = self.node.links().is_some_and(|links| links.rule() == LinkRule::Require);
        match demands.iter().find(|demand| demand.serving.is_empty()).filter(|_| is_required) {
            Some(lacking) => {
                let lack = NotLinked::Lacks(lacking.lack());
                Err(Stop::refused(container, Cause::NotLinked(lack.into())))
            }
            None => Ok(()),
        }
    }

    /// The hints that are admitted where devices are on links only; without those of demands that no link serves.
    fn hints_of_ways(
        &mut self,
        links: &Links,
        demands: &[Linked<'_>],
        unit: Unit<'_>,
        scores: Option<&NodeScores>,
    ) -> Vec<Hint> {
        let mut ways: Vec<Vec<Choice>> = alloc::vec![Vec::new()];
        for demand in demands.iter().filter(|demand| !demand.serving.is_empty()) {
            let on = |link| Choice {
                resources: demand.demand.asked.keys().cloned().collect(),
                within: Some(link),
                order: Vec::new(),
            };
            let alternatives = demand.alternatives();
            let longer = |way: Vec<Choice>| {
                let each = alternatives.iter().map(move |link| {
                    let mut way = way.clone();
                    way.push(on(*link));
                    way
                });
                each.collect::<Vec<_>>()
            };
            ways = ways.into_iter().flat_map(longer).collect();
        }
        if ways.len() > MOST_WAYS {
            ways.truncate(MOST_WAYS);
            self.mark_cut(true);
        }
        let mut hints: Vec<Hint> = Vec::new();
        for choices in ways.iter().filter(|way| !way.is_empty()) {
            self.ask_on(unit, Some(Choices { links, choices }));
            let admitted = self.node.admit(self.rules.policy, self.node.ties(scores), &self.answers);
            hints.extend(admitted.ok().flatten().filter(|hint| !hints.contains(hint)));
        }
        hints
    }

    /// The hint that the policy would choose of these.
    fn best_of(&mut self, mut hints: Vec<Hint>, scores: Option<&NodeScores>) -> Option<Hint> {
        if hints.len() < 2 || hints.iter().any(|hint| hint.affinity.nodes().is_none()) {
            return (!hints.is_empty()).then(|| hints.swap_remove(0));
        }
        self.answers.clear();
        let listed = hints.iter().copied().map(ListedHint::from);
        self.answers.push_list(ResourceName::new("devices.links"), listed);
        let best = self.node.admit(self.rules.policy, self.node.ties(scores), &self.answers);
        best.ok().flatten()
    }
}

/// Links serve each demand, but not where the rest is.
fn elsewhere(links: &Links, demands: &[Linked<'_>]) -> Cause {
    let first = demands.first();
    let serving = first.into_iter().flat_map(|demand| &demand.serving);
    let demand = first.map(|linked| linked.demand.clone());
    let empty = || device_manager::Demand { group: None, asked: alloc::collections::BTreeMap::new() };
    let not_linked = NotLinked::Elsewhere {
        demand: demand.unwrap_or_else(empty),
        links: serving.filter_map(|link| links.get(*link)).cloned().collect(),
    };
    Cause::NotLinked(not_linked.into())
}
