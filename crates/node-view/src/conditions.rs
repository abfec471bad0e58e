//! The node's conditions: one table, which the threads that find something set, and which `/readyz`, the status, events and
//! metrics read. The log has one line per transition.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use conditions::{Change, Conditions, State, Status};
use parking_lot::Mutex;

use super::clock;

/// What is true of a node that is well, in the order in which problems are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NodeCondition {
    /// The state on disk is what pods hold.
    StateWritten,
    /// What is served is what the kubelet's files say.
    Current,
    /// Those files fit together.
    FilesAgree,
    /// The watched folder can be read, and its files used; by file, empty: the folder.
    ManifestsUsable,
    /// The folders of the root folder are there.
    FoldersPresent,
    /// This process serves a socket; by path.
    SocketServed,
    /// It is known which pods are quarantined.
    QuarantineKnown,
    /// The node is registered at its API server.
    Registered,
    /// Its API server has the node's status.
    NodeStatusSent,
    /// The node's Lease is renewed in time.
    LeaseRenewed,
    /// The pods of the node are watched.
    PodsWatched,
    /// The API server has the statuses of the node's pods.
    PodStatusesSent,
    /// Objects of deleted pods are removed.
    PodsRemoved,
    /// Events on pods are written.
    EventsWritten,
    /// The object `NodeResourceTopology` is written.
    TopologyPublished,
    /// What others do to it is watched.
    TopologyWatched,
    /// The object `NodeState` is written.
    StatePublished,
    /// A container runs where the kubelet's files say; by container.
    InPlace,
    /// The kubelet starts again on the machine as it is.
    KubeletStarts,
    /// The machine is as the kubelet counted it.
    MachineAsCounted,
    /// The partition of a container is made, valid or released, as it should be; by cgroup.
    PartitionValid,
    /// Nothing else runs on CPUs of partitions.
    PartitionsQuiet,
    /// What runs there can be seen and moved; by what cannot.
    PartitionsSeen,
}

use NodeCondition::{
    Current, EventsWritten, FilesAgree, FoldersPresent, InPlace, KubeletStarts, LeaseRenewed,
    MachineAsCounted, ManifestsUsable, NodeStatusSent, PartitionValid, PartitionsQuiet, PartitionsSeen,
    PodStatusesSent, PodsRemoved, PodsWatched, QuarantineKnown, Registered, SocketServed, StatePublished,
    StateWritten, TopologyPublished, TopologyWatched,
};

/// What makes the node a member of its cluster.
const OF_MEMBER: [NodeCondition; 7] =
    [Registered, NodeStatusSent, LeaseRenewed, PodsWatched, PodStatusesSent, PodsRemoved, EventsWritten];

impl NodeCondition {
    /// The reason of its failure, for programs.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            StateWritten => "StateBehind",
            Current => "FilesNotUsable",
            FilesAgree => "FilesDisagree",
            ManifestsUsable => "ManifestsUnusable",
            FoldersPresent => "FolderMissing",
            SocketServed => "SocketNotServed",
            QuarantineKnown => "QuarantineUnreadable",
            Registered => "NotRegistered",
            NodeStatusSent | PodStatusesSent => "StatusNotSent",
            LeaseRenewed => "LeaseNotRenewed",
            PodsWatched | TopologyWatched => "NotWatched",
            PodsRemoved => "NotRemoved",
            EventsWritten => "NotWritten",
            TopologyPublished | StatePublished => "NotPublished",
            InPlace => "Moved",
            KubeletStarts => "StartFails",
            MachineAsCounted => "MachineChanged",
            PartitionValid => "PartitionInvalid",
            PartitionsQuiet => "OthersRun",
            PartitionsSeen => "NotSeen",
        }
    }

    /// What does not work between the node and its API server.
    const fn failed(self) -> &'static str {
        match self {
            Registered => "the node is not registered",
            NodeStatusSent => "the node's status is not sent",
            LeaseRenewed => "the node's Lease is not renewed",
            PodsWatched => "pods are not heard of",
            PodStatusesSent => "statuses of pods are not sent",
            PodsRemoved => "objects of deleted pods are not removed",
            EventsWritten => "events are not written",
            _ => "",
        }
    }
}

/// The node's conditions.
#[derive(Default)]
pub struct NodeConditions(Mutex<Conditions<NodeCondition, String>>);

impl NodeConditions {
    /// It is so, of a subject; empty: of the node.
    pub fn set(&self, of: NodeCondition, on: &str, state: State) -> Change {
        self.0.lock().set(of, on.to_owned(), state, now())
    }

    /// It is not so, for a reason. The log has a line, unless that is known.
    pub fn fails(&self, of: NodeCondition, message: &str) {
        let change = self.set(of, "", State::failed(of.reason(), message));
        if is_news(&change, message) {
            tracing::warn!("{message}");
        }
    }

    /// It is so; whether it was not before.
    pub fn works(&self, of: NodeCondition) -> bool {
        self.set(of, "", State::Works).is_some()
    }

    /// It is so, or not, for this reason.
    pub fn found(&self, of: NodeCondition, wrong: Option<&str>) {
        match wrong {
            None => _ = self.works(of),
            Some(message) => self.fails(of, message),
        }
    }

    /// It is not so of these subjects, each with why, and of no others. Which messages are new.
    pub fn fails_of(
        &self,
        of: NodeCondition,
        found: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<String> {
        let mut conditions = self.0.lock();
        let mut new = Vec::new();
        let mut failing = std::collections::BTreeSet::new();
        for (on, message) in found {
            if conditions.set(of, on.clone(), State::failed(of.reason(), message.clone()), now()).is_some() {
                new.push(message);
            }
            failing.insert(on);
        }
        conditions.retain(|other, on| other != of || failing.contains(on));
        new
    }

    /// The socket at a path is served, or not, for this reason.
    pub fn socket(&self, path: &std::path::Path, not_served: Option<&str>) {
        let path = path.display();
        let state = not_served.map_or(State::Works, |why| {
            State::failed(
                SocketServed.reason(),
                format!(
                    "socket {path} is not served: {why}; remove what is at that path or end the process that serves it, \
                     and the daemon makes the socket again"
                ),
            )
        });
        // The caller logs it.
        let _ = self.set(SocketServed, &path.to_string(), state);
    }

    /// All that has been found, as the status lists it.
    pub fn all(&self) -> Vec<node_output::NodeCondition> {
        let conditions = self.0.lock();
        let each = conditions.iter().map(|(of, on, condition)| node_output::NodeCondition {
            kind: format!("{of:?}"),
            subject: Some(on.clone()).filter(|on| !on.is_empty()),
            status: condition.status().as_str(),
            reason: condition.reason(),
            message: condition.message().to_owned(),
            last_transition_time: clock::text(condition.since),
        });
        each.collect()
    }

    /// Of whom it is not so, each with the message.
    pub(crate) fn wrong_of(&self, of: NodeCondition) -> Vec<(String, String)> {
        let conditions = self.0.lock();
        let failing = conditions.of(of).filter(|(_, condition)| condition.status() != Status::True);
        failing.map(|(on, condition)| (on.clone(), condition.message().to_owned())).collect()
    }

    /// The state on disk is what pods hold, or is behind for this reason. The caller logs it.
    pub(crate) fn state_written(&self, behind: Option<&str>) {
        let message = behind.map(|why| (String::new(), format!("state is behind on disk: {why}")));
        self.fails_of(StateWritten, message);
    }

    /// Why the state on disk is not what pods hold.
    pub fn why_behind(&self) -> Option<String> {
        self.wrong(&[StateWritten]).pop()
    }

    /// Messages of what is not so.
    fn wrong(&self, of: &[NodeCondition]) -> Vec<String> {
        let conditions = self.0.lock();
        let failing = conditions.failing().filter(|(found, ..)| of.contains(found));
        failing.map(|(.., condition)| condition.message().to_owned()).collect()
    }

    /// Why what is served may not be what is there.
    pub fn why_stale(&self) -> Option<String> {
        self.wrong(&[Current, FilesAgree]).into_iter().next()
    }

    /// What of the root folder and its sockets is not there.
    pub fn why_not_served(&self) -> Option<String> {
        joined(&self.wrong(&[FoldersPresent, SocketServed, QuarantineKnown]))
    }

    /// Whether it is known which pods are quarantined.
    pub fn quarantine_is_known(&self) -> bool {
        self.wrong(&[QuarantineKnown]).is_empty()
    }

    /// Why the objects that schedulers read of the node are not what it is.
    pub fn unpublished(&self) -> Vec<String> {
        self.wrong(&[TopologyPublished, TopologyWatched, StatePublished])
    }

    /// Which containers run elsewhere than the kubelet's files say.
    pub fn drifted(&self) -> Vec<String> {
        self.wrong(&[InPlace])
    }

    /// Why the kubelet does not start again.
    pub fn next_start_fails(&self) -> Option<String> {
        self.wrong(&[KubeletStarts]).pop()
    }

    /// What has changed about the machine since the kubelet counted it.
    pub fn machine_changed(&self) -> Option<String> {
        self.wrong(&[MachineAsCounted]).pop()
    }

    /// Which partitions are not as they should be.
    pub fn invalid_partitions(&self) -> Vec<String> {
        self.wrong(&[PartitionValid])
    }

    /// What runs on CPUs of partitions all the same.
    pub fn noise(&self) -> Option<String> {
        self.wrong(&[PartitionsQuiet]).pop()
    }

    /// The same, and what of it cannot be seen or moved.
    pub fn of_partitions(&self) -> Vec<String> {
        self.wrong(&[PartitionsQuiet, PartitionsSeen])
    }

    /// Why the node is not a member of its cluster as it should be; `None`: it is, or is of none.
    pub fn why_no_member(&self) -> Option<String> {
        let conditions = self.0.lock();
        // One cause makes several calls fail.
        let mut all: Vec<(String, &str)> = Vec::new();
        for (of, _, condition) in conditions.failing().filter(|(of, ..)| OF_MEMBER.contains(of)) {
            let failed = of.failed();
            let why = cause(condition.message(), failed);
            match all.iter_mut().find(|(_, before)| *before == why) {
                Some((whats, _)) => *whats = format!("{failed}, {whats}"),
                None => all.push((failed.to_owned(), why)),
            }
        }
        joined(&all.into_iter().map(|(whats, why)| format!("{whats}: {why}")).collect::<Vec<_>>())
    }
}

impl NodeConditions {
    /// Something between the node and its API server does not work.
    pub fn member_fails(&self, of: NodeCondition, why: &str) {
        self.fails(of, &format!("{}: {why}", of.failed()));
    }

    /// It has not been done yet, and nothing has failed.
    pub fn member_waits(&self, of: NodeCondition, why: &str) {
        let _ = self.set(of, "", State::pending(format!("{}: {why}", of.failed())));
    }

    /// It works.
    pub fn member_works(&self, of: NodeCondition) {
        if self.works(of) {
            tracing::info!("no longer: {}", of.failed());
        }
    }
}

pub(crate) fn joined(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}

/// By the clock on the wall, since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Whether the log needs a line. A right that is missing is missing for all objects.
fn is_news(change: &Change, message: &str) -> bool {
    match change {
        Change::None => false,
        Change::Status => true,
        Change::Message(before) => gist(before) != gist(message),
    }
}

/// What follows what failed.
fn cause<'a>(message: &'a str, failed: &str) -> &'a str {
    message.strip_prefix(failed).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message)
}

/// A sentence without the object that it is about.
fn gist(why: &str) -> &str {
    match why.split_once(" is forbidden: ") {
        Some((_, right)) => right.split(" in the namespace ").next().unwrap_or(right),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_that_is_missing_is_one_whatever_it_is_missing_for() {
        let text = |pod: &str, right: &str| {
            format!(
                "a right is missing: pods \"{pod}\" is forbidden: User \"n\" cannot {right} in the namespace \"{pod}\""
            )
        };
        let (patch, other) = (text("a", "patch"), text("b", "patch"));
        assert_eq!(gist(&patch), gist(&other));
        assert_ne!(gist(&patch), gist(&text("a", "delete")));
    }

    #[test]
    fn one_cause_is_listed_once() {
        let conditions = NodeConditions::default();
        assert_eq!(conditions.why_no_member(), None);
        conditions.member_fails(LeaseRenewed, "x cannot be reached");
        conditions.member_fails(PodsWatched, "x cannot be reached");
        conditions.member_fails(EventsWritten, "a right is missing");
        assert_eq!(
            conditions.why_no_member().as_deref(),
            Some(
                "pods are not heard of, the node's Lease is not renewed: x cannot be reached; events are not written: a \
                 right is missing"
            )
        );
        for of in [LeaseRenewed, PodsWatched, EventsWritten] {
            conditions.member_works(of);
        }
        assert_eq!(conditions.why_no_member(), None);
        conditions.member_waits(Registered, "it has just started");
        assert_eq!(
            conditions.why_no_member().as_deref(),
            Some("the node is not registered: it has just started")
        );
    }

    #[test]
    fn what_is_served_is_as_old_as_the_last_files_that_were_read() {
        let conditions = NodeConditions::default();
        conditions.fails(FilesAgree, "they do not fit together");
        conditions.fails(Current, "they cannot be read");
        assert_eq!(conditions.why_stale().as_deref(), Some("they cannot be read"));
        conditions.works(Current);
        assert_eq!(conditions.why_stale().as_deref(), Some("they do not fit together"));
        conditions.found(FilesAgree, None);
        assert_eq!(conditions.why_stale(), None);
    }

    #[test]
    fn subjects_that_fail_no_more_are_forgotten() {
        let conditions = NodeConditions::default();
        let found = |failing: &[(&str, &str)]| {
            let failing = failing.iter().map(|(on, why)| ((*on).to_owned(), (*why).to_owned()));
            conditions.fails_of(InPlace, failing.collect::<Vec<_>>())
        };
        assert_eq!(found(&[("a", "a moved"), ("b", "b moved")]), ["a moved", "b moved"]);
        assert_eq!(found(&[("b", "b moved"), ("c", "c moved")]), ["c moved"]);
        assert_eq!(conditions.drifted(), ["b moved", "c moved"]);
        assert_eq!(found(&[("b", "b moved again")]), ["b moved again"]);
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[("b", "b moved")]), ["b moved"], "it is news");
    }
}
