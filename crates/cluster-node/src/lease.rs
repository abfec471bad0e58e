//! The Lease of a node: by it a control plane knows that the node's agent lives, and an agent that another one of the
//! same name does.
//!
//! A kubelet's Lease names the node as its holder. Here the holder is an agent, which distinguishes two agents
//! on one node; control planes read the time of a node's Lease alone.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;

use crate::bound::WRITER;
use crate::connection::Cluster;
use crate::error::ClusterError;

/// Where the Leases of nodes are. The API server itself makes the namespace.
const NAMESPACE: &str = "kube-node-lease";

/// The Lease of a node, as an agent wants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeLease {
    /// The name of the node.
    pub node: String,
    /// The UID of the node's object, which owns the Lease.
    pub node_uid: String,
    /// Who renews it.
    pub holder: String,
    /// How long it is valid after each renewal.
    pub duration: Duration,
}

/// Another agent that renews the Lease of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherHolder {
    /// Its name: a kubelet's is that of its node.
    pub holder: String,
    /// How long ago it has renewed the Lease.
    pub renewed: Duration,
}

impl Cluster {
    /// The other agent that renews the Lease of the node of that name now; `None`: there is none.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to get leases is missing.
    pub fn other_holder(&self, node: &str, own: &str) -> Result<Option<OtherHolder>, ClusterError> {
        let lease = self.wait(self.leases().get_opt(node))?;
        Ok(lease.as_ref().and_then(|lease| living_other(lease, own, self.clock.since_1970())))
    }

    /// Renews the Lease, which is made if it is missing. Gives who else holds it: then nothing is written.
    ///
    /// # Errors
    /// The API server cannot be reached, another client has written in between ([`ClusterError::Refused`] with
    /// 409), or the right to get, create or update leases is missing.
    pub fn renew_lease(&self, wanted: &NodeLease) -> Result<Option<OtherHolder>, ClusterError> {
        let now = self.clock.since_1970();
        let parameters = PostParams { field_manager: Some(WRITER.to_owned()), ..PostParams::default() };
        let Some(mut lease) = self.wait(self.leases().get_opt(&wanted.node))? else {
            let lease = written(wanted, Lease::default(), now);
            return self.wait(self.leases().create(&parameters, &lease)).map(|_| None);
        };
        if let Some(other) = living_other(&lease, &wanted.holder, now) {
            return Ok(Some(other));
        }
        lease = written(wanted, lease, now);
        self.wait(self.leases().replace(&wanted.node, &parameters, &lease)).map(|_| None)
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn written(wanted: &NodeLease, lease: Lease, now: Duration) -> Lease {
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: wanted.node.clone(),
        uid: wanted.node_uid.clone(),
        ..OwnerReference::default()
    };
    let metadata = ObjectMeta {
        name: Some(wanted.node.clone()),
        namespace: Some(NAMESPACE.to_owned()),
        owner_references: Some(vec![owner]),
        ..lease.metadata
    };
    let spec = LeaseSpec {
        holder_identity: Some(wanted.holder.clone()),
        lease_duration_seconds: Some(i32::try_from(wanted.duration.as_secs()).unwrap_or(i32::MAX)),
        renew_time: timestamp(now).map(MicroTime),
        ..lease.spec.unwrap_or_default()
    };
    Lease { metadata, spec: Some(spec) }
}

/// A time since 1970, in whole seconds, as API servers keep times: `2026-03-01T12:00:00Z`.
#[must_use]
pub fn in_seconds(since_1970: Duration) -> String {
    let at = i64::try_from(since_1970.as_secs()).ok().and_then(|at| Timestamp::from_second(at).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// In whole microseconds.
fn timestamp(since_1970: Duration) -> Option<Timestamp> {
    Timestamp::from_microsecond(i64::try_from(since_1970.as_micros()).ok()?).ok()
}

/// The holder of a Lease that is valid `now`, unless it is `own`.
fn living_other(lease: &Lease, own: &str, now: Duration) -> Option<OtherHolder> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.as_ref().filter(|holder| !holder.is_empty() && *holder != own)?;
    let valid = u64::try_from(spec.lease_duration_seconds?).ok()?;
    let renewed = u64::try_from(spec.renew_time.as_ref()?.0.as_microsecond()).ok()?;
    let since = now.saturating_sub(Duration::from_micros(renewed));
    (since < Duration::from_secs(valid)).then(|| OtherHolder { holder: holder.clone(), renewed: since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_lives_as_long_as_its_lease_is_valid() {
        let renewed = Duration::from_hours(500_000);
        let wanted = |holder: &str| NodeLease {
            node: "worker-1".to_owned(),
            node_uid: "9f1c".to_owned(),
            holder: holder.to_owned(),
            duration: Duration::from_secs(40),
        };
        for (holder, age, expected) in
            [("ours", 5, None), ("worker-1", 5, Some(5)), ("worker-1", 39, Some(39)), ("worker-1", 40, None)]
        {
            let lease = written(&wanted(holder), Lease::default(), renewed);
            let other = living_other(&lease, "ours", renewed + Duration::from_secs(age))
                .map(|other| other.renewed.as_secs());
            assert_eq!(other, expected, "{holder} {age}");
        }
        assert_eq!(living_other(&Lease::default(), "ours", renewed), None);
    }
}
