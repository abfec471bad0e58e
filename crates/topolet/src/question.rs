//! What `admit`, `explain` and `repack` are asked: pods, on a node, beside what runs there.

use anyhow::bail;
use node_input::{Asked, LoadedNode, Residents};

use crate::arguments::PodsArguments;
use crate::claim_arguments::ClaimArguments;
use crate::screen::Screen;

/// Pods in question, on a node, beside what runs there.
pub(crate) struct Question {
    pub(crate) node: LoadedNode,
    pub(crate) residents: Residents,
    pub(crate) asked: Asked,
}

impl Question {
    /// Everything that the arguments name, with the objects by which claims are decided.
    pub(crate) fn read(
        arguments: &PodsArguments,
        claims: &ClaimArguments,
        screen: Screen,
    ) -> anyhow::Result<Self> {
        let sources = arguments.sources();
        let node = sources.load()?.node;
        let reading = arguments.reading.of_node(&node);
        let asked = Asked::from_files(&arguments.files, reading, node.node.pod_rules(), &screen)?;
        let mut asked = asked.in_cluster(&claims.listed(screen)?)?;
        asked.keep_those_of(node.node.identity().map(|identity| identity.name.as_str()), &screen)?;
        check_count(asked.pods.len())?;
        let residents = node.residents(&sources.residents)?;
        Ok(Self { node, residents, asked })
    }
}

/// The most pods of one run: those of the largest cluster that Kubernetes says it supports ("no more than 150,000 total
/// pods"), so that what `kubectl get pods -A` lists is decided on, whichever cluster it is.
const MAX_PODS: usize = 150_000;

fn check_count(pods: usize) -> anyhow::Result<()> {
    if pods > MAX_PODS {
        bail!(
            "{pods} pods are to be decided on, more than {MAX_PODS}: split the list, or let `topolet simulate` place \
             them on a fleet of nodes"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_largest_number_of_pods() {
        assert!(check_count(MAX_PODS).is_ok());
        let said = check_count(150_001).map_err(|error| error.to_string());
        assert!(
            said.is_err_and(|said| said.starts_with("150001 pods are to be decided on, more than 150000"))
        );
    }
}
