//! A node as the `NodeResourceTopology` that schedulers read, with pods that are admitted first.

use admission_report::{Notice, unchecked_notice};
use anyhow::{anyhow, bail};
use node_resource_topology::{Fingerprint, FingerprintMethod, NodeFacts, NodeResourceTopology, UnnamedPods};
use pod_spec::Pod;
use topology_admission::{Ledger, Verdict};
use topology_manifest::check_node_name;

use crate::node::LoadedNode;
use crate::residents::{Known, Residents};
use crate::sources::ADVICE;

/// A node as an object, and what became of the pods that were to be admitted.
#[derive(Debug)]
pub struct ExportedNode {
    /// The object.
    pub object: NodeResourceTopology,
    /// So many of the pods were refused, and are left out.
    pub refused: usize,
}

impl LoadedNode {
    /// What no manager books by NUMA node, as warnings: a scheduler that reads the object may take it for what is free.
    #[must_use]
    pub fn unbooked(&self) -> Vec<Notice> {
        let managers = [
            ("CPU", "none", "cpu", self.node.cpus().is_none()),
            ("memory", "None", "memory and huge pages", self.node.memory().is_none()),
        ];
        let off = managers.into_iter().filter(|(.., is_off)| *is_off);
        off.map(|(manager, policy, resources, _)| {
            Notice::warning(format!(
                "the {manager} manager's policy is {policy}, so the kubelet books no {resources} by NUMA node: each \
                 zone shows all that its node has, without reservations, as available"
            ))
        })
        .collect()
    }

    /// The node as an object of this name, on which `residents` run and `pods` are admitted one after the other. `warn` hears
    /// what a reader has to know.
    ///
    /// # Errors
    /// A device plugin would have to be asked, or no node can have the name.
    pub fn exported(
        &self,
        name: &str,
        residents: &Residents,
        pods: &[Pod],
        mut warn: impl FnMut(Notice),
    ) -> anyhow::Result<ExportedNode> {
        // What pods hold that are gone is available.
        let (mut ledger, mut refused) = (residents.ledger.collect(), 0);
        for pod in pods {
            let attempt = self.node.admission(&ledger, pod).attempt();
            match &attempt.verdict {
                Verdict::Admitted(_) => {
                    unchecked_notice(&self.node, ledger.inventory(), pod, ADVICE).map(&mut warn);
                }
                Verdict::Refused(why) => {
                    let Pod { namespace, name, .. } = pod;
                    warn(Notice::warning(format!(
                        "pod {namespace}/{name} is refused and left out: {}: {}",
                        why.reason, why.message
                    )));
                    refused += 1;
                }
                Verdict::NeedsPlugin(question) => bail!(
                    "the device plugin of {} would have to be asked, and there is none",
                    question.resource()
                ),
            }
            ledger = ledger.commit(attempt)?;
        }
        let fingerprint = fingerprint(residents.known, &ledger, warn);
        check_node_name(name)
            .map_err(|wrong| anyhow!("no node can be called {name:?}: {wrong}; --node-name gives another"))?;
        let facts = NodeFacts { node: &self.node, view: self.view(), config: self.config(), ledger: &ledger };
        Ok(ExportedNode { object: NodeResourceTopology::new(name, facts, fingerprint.as_ref()), refused })
    }
}

/// `None` where pods are not known, or by UID alone.
fn fingerprint(known: Known, ledger: &Ledger, mut warn: impl FnMut(Notice)) -> Option<Fingerprint> {
    let method = match known {
        Known::All => FingerprintMethod::All,
        Known::Holders => FingerprintMethod::WithExclusiveResources,
        Known::Nothing => return None,
    };
    match Fingerprint::of_pods(method, ledger.pods()) {
        Ok(fingerprint) => Some(fingerprint),
        Err(UnnamedPods(unnamed)) => {
            let (pods, they) = if unnamed == 1 { ("pod is", "it is") } else { ("pods are", "they are") };
            warn(Notice::warning(format!(
                "{unnamed} {pods} known by UID alone, so there is no fingerprint; --pods says what {they} called"
            )));
            None
        }
    }
}
