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
        let mut found = Vec::new();
        if let Some(Identity { name, labels, .. }) = &self.identity {
            let selected =
                constraints.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
            let terms = constraints.node_affinity.as_deref();
            let wanted = terms.is_none_or(|terms| terms.iter().any(|term| term.matches(labels, name)));
            if !(selected && wanted) {
                found.push(Mismatch::NodeAffinity);
            }
            if constraints.node_name.as_ref().is_some_and(|wanted| wanted != name) {
                found.push(Mismatch::NodeName);
            }
        }
        let others = ledger.pods().filter(|other| other.uid != pod.uid);
        let mut taken = others.flat_map(|other| &other.constraints.host_ports);
        if !constraints.host_ports.is_empty()
            && taken.any(|taken| constraints.host_ports.iter().any(|own| own.conflicts_with(taken)))
        {
            found.push(Mismatch::NodePorts);
        }
        if let Some(Identity { taints, .. }) = &self.identity
            && constraints.origin != Origin::Static
        {
            let mut taints = taints.iter().filter(|taint| taint.effect == "NoExecute");
            let tolerated =
                |taint: &Taint| constraints.tolerations.iter().any(|toleration| toleration.tolerates(taint));
            if taints.any(|taint| !tolerated(taint)) {
                found.push(Mismatch::TaintToleration);
            }
        }
        found
    }
}
