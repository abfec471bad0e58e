//! The allocations that are written into claims, made of the devices that were chosen.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use dra_model::{
    AllocatedConfig, AllocationResult, ConfigSource, DeviceResult, Feature, Implementation, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, RequestName, ResourceClaim, ShareId,
};

use crate::capacity::{Amounts, Fit, fit};
use crate::error::AllocateError;
use crate::prepared::{Placed, Prepared};
use crate::search::{Access, Choice, Form, Solution};

impl Prepared<'_> {
    /// One allocation for each claim, in order.
    pub(crate) fn allocations(&self, solution: &Solution) -> Result<Vec<AllocationResult>, AllocateError> {
        let mut allocations = Vec::new();
        let mut shares = 0;
        for (number, claim) in self.question.claims.iter().enumerate() {
            let of_claim =
                solution.choices.iter().filter(|choice| self.asked[choice.alternative].claim == number);
            let choices: Vec<Choice> = of_claim.copied().collect();
            allocations.push(AllocationResult {
                results: choices.iter().map(|choice| self.result(*choice, &mut shares)).collect(),
                config: self.config(number, claim, solution),
                node_selector: self.node_selector(claim, &choices)?,
            });
        }
        Ok(allocations)
    }

    fn result(&self, choice: Choice, shares: &mut u32) -> DeviceResult {
        let asked = &self.asked[choice.alternative];
        let placed = self.devices[choice.device];
        let is_admin = self.problem.alternatives[choice.alternative].access == Access::Admin;
        let mut result = DeviceResult {
            request: asked.full_name(),
            device: placed.id(),
            admin_access: is_admin.then_some(true),
            tolerations: asked.devices.tolerations.clone(),
            ..DeviceResult::default()
        };
        if self.implementation == Implementation::Experimental {
            result.skip_node_operations.clone_from(&placed.slice.skip_node_operations);
        }
        if self.has(Feature::DeviceBindingConditions) && self.implementation != Implementation::Stable {
            result.binding_conditions = placed.device.conditions().to_vec();
            result.binding_failure_conditions = placed.device.failure_conditions().to_vec();
        }
        if self.is_shared(choice.device) {
            *shares += 1;
            result.share = Some(ShareId::from(alloc::format!("share-{shares}")));
            result.consumed_capacity = self.consumed(choice).filter(|amounts| !amounts.is_empty());
        }
        result
    }

    fn consumed(&self, choice: Choice) -> Option<Amounts> {
        let capacities = &self.devices[choice.device].device.capacity;
        match fit(self.amounts(choice.alternative), capacities, self.fractions()) {
            Ok(Fit::Takes(amounts)) => Some(amounts),
            Ok(Fit::Refused) | Err(_) => None,
        }
    }

    /// Configuration of classes, each class once, then of the claim.
    fn config(&self, number: usize, claim: &ResourceClaim, solution: &Solution) -> Vec<AllocatedConfig> {
        let requests = self.problem.claims[number].requests.clone();
        let selected: Vec<usize> = requests.map(|request| solution.selected[request]).collect();
        let mut config = self.config_of_classes(&selected);
        for entry in &claim.spec.config {
            let names = |alternative: &usize| self.names(*alternative);
            let applies = selected.iter().flat_map(names).any(|name| entry.requests.contains(&name));
            if entry.requests.is_empty() || applies {
                let (source, requests) = (ConfigSource::Claim, entry.requests.clone());
                config.push(AllocatedConfig { source, requests, opaque: entry.opaque.clone() });
            }
        }
        for entry in &mut config {
            let covers = |alternative: &usize| {
                self.names(*alternative).iter().any(|name| entry.requests.contains(name))
            };
            if selected.iter().all(covers) {
                entry.requests.clear();
            }
        }
        config
    }

    fn config_of_classes(&self, selected: &[usize]) -> Vec<AllocatedConfig> {
        let mut config: Vec<AllocatedConfig> = Vec::new();
        let mut places = BTreeMap::new();
        for &alternative in selected {
            let asked = &self.asked[alternative];
            let name = asked.full_name();
            let start = config.len();
            let range = places.entry(&asked.class.metadata.name).or_insert_with(|| {
                let own = asked.class.config.iter().map(|opaque| AllocatedConfig {
                    source: ConfigSource::Class,
                    requests: Vec::new(),
                    opaque: opaque.clone(),
                });
                config.extend(own);
                start..config.len()
            });
            config[range.clone()].iter_mut().for_each(|entry| entry.requests.push(name.clone()));
        }
        config
    }

    /// The names by which configuration may mean an alternative.
    fn names(&self, alternative: usize) -> Vec<RequestName> {
        let asked = &self.asked[alternative];
        let mut names = Vec::from([asked.request.name.clone()]);
        if asked.form == Form::FirstAvailable {
            names.push(asked.full_name());
        }
        names
    }

    /// The nodes that can use all devices of a claim.
    fn node_selector(
        &self,
        claim: &ResourceClaim,
        choices: &[Choice],
    ) -> Result<Option<NodeSelector>, AllocateError> {
        let mut term = NodeSelectorTerm::default();
        for choice in choices {
            let Placed { slice, device } = self.devices[choice.device];
            let nodes = if slice.selects_nodes_per_device() { &device.nodes } else { &slice.nodes };
            let binds = device.binds_to_node == Some(true) && self.implementation != Implementation::Stable;
            if nodes.node_name.is_some() || binds {
                return Ok(Some(NodeSelector::of_node(&self.question.node.name)));
            }
            match nodes.node_selector.as_ref().map(|selector| selector.terms.as_slice()) {
                None | Some([]) => {}
                Some([own]) => {
                    add_new(&own.fields, &mut term.fields);
                    add_new(&own.labels, &mut term.labels);
                }
                Some(terms) => {
                    let claim = claim.metadata.name.clone();
                    return Err(AllocateError::ResultSelector { claim, terms: terms.len() });
                }
            }
        }
        let is_empty = term.fields.is_empty() && term.labels.is_empty();
        Ok((!is_empty).then(|| NodeSelector { terms: Vec::from([term]) }))
    }
}

/// Adds requirements that are not there yet; the order of values does not matter.
fn add_new(from: &[NodeSelectorRequirement], to: &mut Vec<NodeSelectorRequirement>) {
    for requirement in from {
        let values = |requirement: &NodeSelectorRequirement| {
            requirement.values.iter().cloned().collect::<BTreeSet<_>>()
        };
        let is_known = to.iter().any(|known| {
            known.key == requirement.key
                && known.operator == requirement.operator
                && values(known) == values(requirement)
        });
        if !is_known {
            to.push(requirement.clone());
        }
    }
}
