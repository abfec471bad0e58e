//! What pods demand of a node besides resources, compared with what the node is.

use alloc::vec::Vec;

use pod_spec::{Origin, Pod, Taint};

use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::identity::{Identity, Mismatch};

impl Node {
    /// Everything else that the node is not, in the order in which the kubelet reports it. A node without an identity
    /// has any name and all labels.
    pub(crate) fn mismatches(&self, ledger: &Ledger, pod: &Pod) -> Vec<Mismatch> {
        let constraints = &pod.constraints;
        let mut found = self.identity.as_ref().map(|identity| identity.not_called(pod)).unwrap_or_default();
        let others = ledger.pods().filter(|other| other.uid != pod.uid);
        let mut taken = others.flat_map(|other| &other.constraints.host_ports);
        if !constraints.host_ports.is_empty()
            && taken.any(|taken| constraints.host_ports.iter().any(|own| own.conflicts_with(taken)))
        {
            found.push(Mismatch::NodePorts);
        }
        found.extend(self.identity.as_ref().and_then(|identity| identity.keeps_away(pod)));
        found
    }
}

impl Identity {
    /// What of the node's name, labels and taints does not suit the pod, whatever runs there.
    #[must_use]
    pub fn mismatches(&self, pod: &Pod) -> Vec<Mismatch> {
        let mut found = self.not_called(pod);
        found.extend(self.keeps_away(pod));
        found
    }

    /// The name and labels that the pod demands.
    fn not_called(&self, pod: &Pod) -> Vec<Mismatch> {
        let Self { name, labels, .. } = self;
        let constraints = &pod.constraints;
        let selected = constraints.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        let terms = constraints.node_affinity.as_deref();
        let wanted = terms.is_none_or(|terms| terms.iter().any(|term| term.matches(labels, name)));
        let mut found = Vec::new();
        if !(selected && wanted) {
            found.push(Mismatch::NodeAffinity);
        }
        if constraints.node_name.as_ref().is_some_and(|wanted| wanted != name) {
            found.push(Mismatch::NodeName);
        }
        found
    }

    /// A taint that the pod does not tolerate.
    fn keeps_away(&self, pod: &Pod) -> Option<Mismatch> {
        let constraints = &pod.constraints;
        let mut taints = self.taints.iter().filter(|taint| taint.effect == "NoExecute");
        let tolerated =
            |taint: &Taint| constraints.tolerations.iter().any(|toleration| toleration.tolerates(taint));
        let is_kept_away = constraints.origin != Origin::Static && taints.any(|taint| !tolerated(taint));
        is_kept_away.then_some(Mismatch::TaintToleration)
    }
}
