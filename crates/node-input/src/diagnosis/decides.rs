//! A node that decides on pods which its kubelet refused.

use admission_report::{KubeletRefusal, Report};
use pod_claims::ClusterObjects;
use pod_spec::{Phase, Pod};
use topology_admission::{Detail, Series, Tries};

use crate::asked::Asked;
use crate::claims::NodeClaims;
use crate::node::LoadedNode;
use crate::residents::Residents;
use crate::sequence::Sequence;

/// A node that decides, with what runs there.
pub(super) struct Decides {
    pub(super) node: LoadedNode,
    pub(super) residents: Residents,
    pub(super) objects: ClusterObjects,
}

impl Decides {
    /// The decision on a pod beside what runs there; it holds nothing itself.
    pub(super) fn decide(&self, pod: Pod, said: &KubeletRefusal) -> anyhow::Result<Report> {
        let pod = Pod { phase: Phase::Active, ..pod }.delivered();
        let asked = Asked {
            refused: [(pod.uid.clone(), said.clone())].into(),
            pods: vec![pod],
            objects: self.objects.clone(),
            ..Asked::default()
        };
        let series =
            Series::new(&self.node.node, self.residents.ledger.clone(), Detail::Merges, Tries::default());
        let claims = NodeClaims::on(&self.node, asked.objects.clone(), dra_model::Features::default());
        let mut sequence = Sequence::new(&self.node, &asked, series).with_claims(claims);
        let pod = asked.pods.first().ok_or_else(|| anyhow::anyhow!("there is no pod"))?;
        sequence.decide(pod)
    }
}
