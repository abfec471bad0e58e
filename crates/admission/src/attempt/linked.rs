//! The steps of an attempt on a node where devices come from one link.
//!
//! Each way in which links could serve a unit is merged as if the node had no other devices, and the best of these hints is
//! taken, as the policy ranks them. Under `prefer` that holds while the hint is as good as it would be without links. Which
//! of several links with the same hint is taken is decided by [`device_manager::Links`]. Where fewer devices are free than a
//! unit asks for, it is refused as in the kubelet.

use alloc::sync::Arc;
use alloc::vec::Vec;

use device_manager::{Choice, Choices, Linked, Links};
use node_config::{Fit, LinkRule};
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, Unit};
use topology_hint::{Affinity, Hint};
use topology_policy::NodeScores;

use crate::attempt::not_linked::NotLinked;
use crate::attempt::refusal::Cause;
use crate::attempt::steps::{Steps, Stop};
use crate::node::Node;

/// More ways in which links could serve the demands of a unit are not merged: those on the fewest NUMA nodes are.
const MOST_WAYS: usize = 64;

/// What came of the ways in which links could serve a unit.
struct Ways {
    /// The hints that are admitted, with the first way to each.
    hints: Vec<(Hint, Vec<Choice>)>,
    /// Whether there are more ways than were merged.
    is_cut: bool,
}

impl Node {
    /// The node where devices come from links, or leave them whole. Under a rule that ignores them and a strategy that keeps
    /// nothing whole it is as it was.
    #[must_use]
    pub fn with_links(mut self, links: Links) -> Self {
        let links = Arc::new(links);
        self.links = (links.rule() != LinkRule::Ignore).then(|| links.clone());
        self.keep_whole = (self.options.placement.strategy.fit() == Fit::Best).then_some(links);
        self
    }

    /// The links by which this node decides. A restart of the node needs them.
    #[must_use]
    pub fn known_links(&self) -> Option<&Links> {
        self.links().or(self.keep_whole.as_deref())
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
        let first = demands.first().filter(|_| !demands.iter().any(Linked::is_short));
        let Some(first) = first else {
            self.chosen.clear();
            return Ok(hint);
        };
        self.must_serve(&demands, container)?;
        let Ways { hints: ways, is_cut } = self.hints_of_ways(&links, &demands, unit, scores.as_ref());
        let hints = ways.iter().map(|(hint, _)| *hint);
        let without = hint;
        let hint = match links.rule() {
            LinkRule::Require => {
                let best = self.best_of(hints.collect(), scores.as_ref());
                best.ok_or_else(|| Stop::refused(container, elsewhere(&links, first, is_cut)))?
            }
            LinkRule::Prefer | LinkRule::Ignore => {
                let width = |hint: Hint| hint.affinity.nodes().map(NodeMask::len);
                let as_good = hints.filter(|other| {
                    (other.is_preferred(), width(*other)) == (hint.is_preferred(), width(hint))
                });
                let as_good = as_good.collect();
                self.best_of(as_good, scores.as_ref()).unwrap_or(hint)
            }
        };
        if hint != without {
            let way = ways.iter().find(|(own, _)| *own == hint).map(|(_, choices)| choices.as_slice());
            let choices = way.unwrap_or_default();
            self.ask_on(unit, Some(Choices { links: &links, choices }));
            self.merged_otherwise(hint, scores.as_ref());
        }
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

    /// The hints that are admitted where devices are on links only, with the first way to each; without those of demands
    /// that no link serves.
    fn hints_of_ways(
        &mut self,
        links: &Links,
        demands: &[Linked<'_>],
        unit: Unit<'_>,
        scores: Option<&NodeScores>,
    ) -> Ways {
        let mut ways: Vec<(NodeMask, Vec<Choice>)> = alloc::vec![(NodeMask::EMPTY, Vec::new())];
        let mut is_cut = false;
        for demand in demands.iter().filter(|demand| !demand.serving.is_empty()) {
            let on = |link| Choice {
                resources: demand.demand.asked.keys().cloned().collect(),
                within: Some(link),
                order: Vec::new(),
            };
            let alternatives: Vec<_> =
                demand.alternatives().into_iter().map(|link| (demand.nodes(link), link)).collect();
            let longer = |(nodes, way): (NodeMask, Vec<Choice>)| {
                let each = alternatives.iter().map(move |(own, link)| {
                    let mut way = way.clone();
                    way.push(on(*link));
                    (nodes | *own, way)
                });
                each.collect::<Vec<_>>()
            };
            ways = ways.into_iter().flat_map(longer).collect();
            // Devices on the same nodes can be aligned at all.
            ways.sort_by_key(|(nodes, _)| nodes.len());
            is_cut |= ways.len() > MOST_WAYS;
            ways.truncate(MOST_WAYS);
        }
        if is_cut {
            self.mark_cut(true);
        }
        let mut hints: Vec<(Hint, Vec<Choice>)> = Vec::new();
        for (_, way) in ways.into_iter().filter(|(_, way)| !way.is_empty()) {
            self.ask_on(unit, Some(Choices { links, choices: &way }));
            let admitted = self.node.admit(self.rules.policy, self.node.ties(scores), &self.answers);
            if let Ok(Some(hint)) = admitted
                && hints.iter().all(|(known, _)| *known != hint)
            {
                hints.push((hint, way));
            }
        }
        Ways { hints, is_cut }
    }

    /// The hint that the policy would choose of these.
    fn best_of(&mut self, mut hints: Vec<Hint>, scores: Option<&NodeScores>) -> Option<Hint> {
        if hints.len() < 2 || hints.iter().any(|hint| hint.affinity.nodes().is_none()) {
            return (!hints.is_empty()).then(|| hints.swap_remove(0));
        }
        self.answers.clear();
        self.answers.push_list("devices.links", hints.iter().copied());
        let best = self.node.admit(self.rules.policy, self.node.ties(scores), &self.answers);
        best.ok().flatten()
    }
}

/// Links serve each demand, but not where the rest is.
fn elsewhere(links: &Links, first: &Linked<'_>, is_cut: bool) -> Cause {
    let serving = first.serving.iter().filter_map(|link| links.get(*link));
    let (demand, links) = (first.demand.clone(), serving.cloned().collect());
    Cause::NotLinked(NotLinked::Elsewhere { demand, links, is_cut }.into())
}
