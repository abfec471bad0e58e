//! A node that decides on pods which its kubelet refused.

use admission_report::{KubeletRefusal, Report};
use machine_picture::svg;
use node_output::{NodeBefore, decision_picture};
use pod_claims::ClusterObjects;
use pod_spec::{Phase, Pod};
use terminal_text::{Glyphs, Page};
use topology_admission::{Detail, Series, Tries};

use crate::asked::Asked;
use crate::claims::NodeClaims;
use crate::node::LoadedNode;
use crate::residents::Residents;
use crate::sequence::Sequence;

/// Whether decisions on refused pods are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pictures {
    /// No.
    #[default]
    None,
    /// Each that could be made.
    Drawn,
}

/// A node that decides, with what runs there.
pub(super) struct Decides {
    pub(super) node: LoadedNode,
    pub(super) residents: Residents,
    /// Whether something tells what runs there; else pods are decided on as if nothing did.
    pub(super) knows_residents: bool,
    pub(super) objects: ClusterObjects,
}

impl Decides {
    /// The decision on a pod beside what runs there, with its picture if that is wanted; it holds nothing itself.
    pub(super) fn decide(
        &self,
        pod: Pod,
        said: &KubeletRefusal,
        pictures: Pictures,
    ) -> anyhow::Result<(Report, Option<Box<svg::Decision>>)> {
        let pod = Pod { phase: Phase::Active, ..pod }.delivered();
        let asked = Asked {
            refused: [(pod.uid.clone(), said.clone())].into(),
            pods: vec![pod],
            objects: self.objects.clone(),
            ..Asked::default()
        };
        let ledger = self.residents.ledger.clone();
        let series = Series::new(&self.node.node, ledger, Detail::Merges, Tries::default());
        let claims = NodeClaims::on(&self.node, asked.objects.clone(), dra_model::Features::default());
        let mut sequence = Sequence::new(&self.node, &asked, series).with_claims(claims);
        let pod = asked.pods.first().ok_or_else(|| anyhow::anyhow!("there is no pod"))?;
        let report = sequence.decide(pod)?;
        let picture = (pictures == Pictures::Drawn).then(|| {
            let page = Page::endless(Glyphs::Unicode);
            let lines = vec![self.node.line.headline(page).trim_end().to_owned()];
            let before = NodeBefore::new(&self.node.node, &self.node.cpus, &self.residents.ledger);
            Box::new(decision_picture(&report, before, lines))
        });
        Ok((report, picture))
    }
}
