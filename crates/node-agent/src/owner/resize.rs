//! A pod that runs and is to have other amounts.

use std::sync::Arc;

use node_state::{Record, Source};
use pod_spec::PodUid;
use topology_admission::{ResizeRequestError, Sizes, When};

use super::Owner;
use super::plan::Outcome;
use crate::effect::RequestError;

impl Owner {
    /// The outcome of a resize, whose answer is that of any other change.
    pub(super) fn resized(&self, uid: &PodUid, sizes: &Sizes) -> Result<Outcome, RequestError> {
        let record = self.running(uid)?;
        if record.source != Source::Request {
            let pod = format!("{}/{}", record.pod.namespace, record.pod.name);
            return Err(RequestError::ResizedElsewhere { pod, source_name: record.source.name() });
        }
        if let Some(why) = &record.quarantine {
            let message = format!("the pod is quarantined and stays as it is until it is deleted: {why}");
            return Err(RequestError::NotResized { when: When::Infeasible, message });
        }
        let attempt = self.node.resize(&self.ledger, uid, sizes).map_err(|error| match error {
            ResizeRequestError::Size(error) => RequestError::Size(error),
            _ => RequestError::NoPod(uid.clone()),
        })?;
        if let Err(refused) = &attempt.verdict {
            let mut message = refused.message.clone();
            if let Some(fits) = self.node.largest_resize(&self.ledger, uid, sizes) {
                message.push_str(&format!("; {} {} fits for {}", fits.resource, fits.amount, fits.container));
            }
            return Err(RequestError::NotResized { when: refused.when, message });
        }
        // What the pod asked for is kept as it was written; what the node makes of it is not.
        let pod = sizes.applied(&record.pod).map_err(RequestError::Size)?;
        let Record { pod, manifest, .. } = Record::new(Arc::new(pod), record.source.clone(), record.arrival);
        let record = Record { pod, manifest, resized: true, ..Record::clone(record) };
        let after = self.ledger.resized(attempt).unwrap_or_else(|_| self.ledger.clone());
        Ok(self.changed(after, record))
    }
}
