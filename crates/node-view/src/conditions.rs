//! The node's conditions: one table, which every thread sets, and which `/readyz`, the status, events and metrics read. The log
//! has one line per transition.

use std::sync::Arc;

use conditions::{Change, Conditions, State, Status};
use parking_lot::Mutex;

use super::clock::{self, Clock};

/// A condition of the node; `True` is the good case. In the order in which problems are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NodeCondition {
    /// The state on disk is what pods hold.
    StateWritten,
    /// The served state is that of the kubelet's files.
    Current,
    /// The kubelet's files fit together.
    FilesAgree,
    /// The watched folder can be read, and its files used; by file, empty: the folder.
    ManifestsUsable,
    /// The folders below the root folder exist.
    FoldersPresent,
    /// This process serves a socket; by path.
    SocketServed,
    /// The file of quarantined pods can be read.
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
    /// Changes of that object by other clients are watched.
    TopologyWatched,
    /// The object `NodeState` is written.
    StatePublished,
    /// A container has the CPUs and memory nodes of the kubelet's files; by container.
    InPlace,
    /// The devices of claims lie where the CPUs and memory of their containers are.
    ClaimsAligned,
    /// No more than one program is known to pin CPUs of containers.
    OnePinsCpus,
    /// The runtime asks the guard of exclusive CPUs.
    GuardConnected,
    /// The guard had time to free exclusive CPUs before the container that holds them was created.
    GuardInTime,
    /// No container runs on CPUs that another one holds exclusively, as far as the guard sees.
    GuardEffective,
    /// The next start of the kubelet will succeed on the machine as it is.
    KubeletStarts,
    /// The machine has the memory and huge pages that the kubelet counted at its start.
    MachineAsCounted,
    /// The partition of a container is valid, or released if it is not wanted; by cgroup.
    PartitionValid,
    /// Nothing else runs on CPUs of partitions.
    PartitionsQuiet,
    /// What else runs on CPUs of partitions can be read and moved; by error.
    PartitionsSeen,
}

use NodeCondition::{
    ClaimsAligned, Current, EventsWritten, FilesAgree, FoldersPresent, GuardConnected, GuardEffective,
    GuardInTime, InPlace, KubeletStarts, LeaseRenewed, MachineAsCounted, ManifestsUsable, NodeStatusSent,
    OnePinsCpus, PartitionValid, PartitionsQuiet, PartitionsSeen, PodStatusesSent, PodsRemoved, PodsWatched,
    QuarantineKnown, Registered, SocketServed, StatePublished, StateWritten, TopologyPublished,
    TopologyWatched,
};

/// The conditions of a node that is a member of a cluster.
const OF_MEMBER: [NodeCondition; 7] =
    [Registered, NodeStatusSent, LeaseRenewed, PodsWatched, PodStatusesSent, PodsRemoved, EventsWritten];

impl NodeCondition {
    /// The reason when it fails, for programs.
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
            ClaimsAligned => "DevicesElsewhere",
            OnePinsCpus => "SeveralPin",
            GuardConnected => "NotConnected",
            GuardInTime => "Late",
            GuardEffective => "Overlap",
            KubeletStarts => "StartFails",
            MachineAsCounted => "MachineChanged",
            PartitionValid => "PartitionInvalid",
            PartitionsQuiet => "OthersRun",
            PartitionsSeen => "NotSeen",
        }
    }

    /// The text of its failure, for conditions of a member.
    const fn failed(self) -> &'static str {
        match self {
            Registered => "the node is not registered",
            NodeStatusSent => "the node's status is not sent",
            LeaseRenewed => "the node's Lease is not renewed",
            PodsWatched => "pods are not watched",
            PodStatusesSent => "statuses of pods are not sent",
            PodsRemoved => "objects of deleted pods are not removed",
            EventsWritten => "events are not written",
            _ => "",
        }
    }
}

/// Whether the devices of claims lie where the CPUs and memory of their containers are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimsFound {
    /// All do.
    Aligned,
    /// Some lie elsewhere, as the message says.
    Elsewhere(String),
    /// None is known to lie elsewhere, and not all are known, as the message says.
    Unknown(String),
}

/// The node's conditions.
pub struct NodeConditions {
    all: Mutex<Conditions<NodeCondition, String>>,
    clock: Arc<dyn Clock>,
}

impl NodeConditions {
    /// Without a condition yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { all: Mutex::default(), clock }
    }

    /// The clock by which conditions change.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Sets a condition of a subject; empty: of the node.
    pub fn set(&self, of: NodeCondition, on: &str, state: State) -> Change {
        self.all.lock().set(of, on.to_owned(), state, self.clock.since_1970())
    }

    /// Sets a condition of the node to failed. The log has a line if it has not failed before with this message.
    pub fn fails(&self, of: NodeCondition, message: &str) {
        let change = self.set(of, "", State::failed(of.reason(), message));
        if is_news(&change, message) {
            tracing::warn!("{message}");
        }
    }

    /// Sets a condition of the node to `True`; returns whether it was not.
    pub fn works(&self, of: NodeCondition) -> bool {
        self.set(of, "", State::Works).is_some()
    }

    /// Sets a condition of the node to failed with the message `wrong`, or to `True` without one.
    pub fn found(&self, of: NodeCondition, wrong: Option<&str>) {
        match wrong {
            None => _ = self.works(of),
            Some(message) => self.fails(of, message),
        }
    }

    /// Sets a condition to failed for these subjects, each with a message, and removes it from others. Returns the messages that
    /// are new.
    pub fn fails_of(
        &self,
        of: NodeCondition,
        found: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<String> {
        let (mut conditions, now) = (self.all.lock(), self.clock.since_1970());
        let mut new = Vec::new();
        let mut failing = std::collections::BTreeSet::new();
        for (on, message) in found {
            if conditions.set(of, on.clone(), State::failed(of.reason(), message.clone()), now).is_some() {
                new.push(message);
            }
            failing.insert(on);
        }
        conditions.retain(|other, on| other != of || failing.contains(on));
        new
    }

    /// Sets whether the socket at a path is served; `not_served`: why not.
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

    /// All conditions, as the status lists them.
    pub fn all(&self) -> Vec<node_output::NodeCondition> {
        let conditions = self.all.lock();
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
        let conditions = self.all.lock();
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

    /// The messages of those of these conditions that fail.
    fn wrong(&self, of: &[NodeCondition]) -> Vec<String> {
        let conditions = self.all.lock();
        let failing = conditions.failing().filter(|(found, ..)| of.contains(found));
        failing.map(|(.., condition)| condition.message().to_owned()).collect()
    }

    /// Why the served state may not be that of the kubelet's files; `None`: it is.
    pub fn why_stale(&self) -> Option<String> {
        self.wrong(&[Current, FilesAgree]).into_iter().next()
    }

    /// Why a folder, a socket or the file of quarantined pods cannot be used; `None`: all can.
    pub fn why_not_served(&self) -> Option<String> {
        joined(&self.wrong(&[FoldersPresent, SocketServed, QuarantineKnown]))
    }

    /// Whether it is known which pods are quarantined.
    pub fn quarantine_is_known(&self) -> bool {
        self.wrong(&[QuarantineKnown]).is_empty()
    }

    /// Why objects that schedulers read of the node are out of date.
    pub fn unpublished(&self) -> Vec<String> {
        self.wrong(&[TopologyPublished, TopologyWatched, StatePublished])
    }

    /// The containers that have other CPUs or memory nodes than the kubelet's files say.
    pub fn drifted(&self) -> Vec<String> {
        self.wrong(&[InPlace])
    }

    /// The devices of claims that lie elsewhere than the CPUs and memory of their containers; `None`: no device is known to.
    pub fn misaligned_claims(&self) -> Option<String> {
        let conditions = self.all.lock();
        let mut found =
            conditions.of(ClaimsAligned).filter(|(_, condition)| condition.status() == Status::False);
        found.next().map(|(_, condition)| condition.message().to_owned())
    }

    /// Sets whether the devices of claims lie where the CPUs and memory of their containers are. Each device has an event and a line
    /// of the log already.
    pub fn claims_aligned(&self, found: ClaimsFound) {
        let state = match found {
            ClaimsFound::Aligned => State::Works,
            ClaimsFound::Elsewhere(message) => State::failed(ClaimsAligned.reason(), message),
            ClaimsFound::Unknown(message) => State::unknown("PlacesUnknown", message),
        };
        let _ = self.set(ClaimsAligned, "", state);
    }

    /// The programs that pin CPUs, if there are several.
    pub fn several_pin(&self) -> Option<String> {
        self.wrong(&[OnePinsCpus]).pop()
    }

    /// What is wrong with the guard of exclusive CPUs, where one reports.
    pub fn guard_failures(&self) -> Vec<String> {
        let conditions = self.all.lock();
        let failing = conditions.iter().filter(|(of, _, condition)| {
            matches!(of, GuardConnected | GuardInTime | GuardEffective) && condition.status() == Status::False
        });
        failing.map(|(.., condition)| condition.message().to_owned()).collect()
    }

    /// Removes the conditions of a guard that is not there any more.
    pub fn forget_guard(&self) {
        let of_guard = |of| matches!(of, GuardConnected | GuardInTime | GuardEffective);
        self.all.lock().retain(|of, _| !of_guard(of));
    }

    /// Why the next start of the kubelet fails; `None`: it does not.
    pub fn next_start_fails(&self) -> Option<String> {
        self.wrong(&[KubeletStarts]).pop()
    }

    /// How the machine differs from what the kubelet counted; `None`: it does not.
    pub fn machine_changed(&self) -> Option<String> {
        self.wrong(&[MachineAsCounted]).pop()
    }

    /// The partitions that are not valid, or not released.
    pub fn invalid_partitions(&self) -> Vec<String> {
        self.wrong(&[PartitionValid])
    }

    /// What else runs on CPUs of partitions; `None`: nothing.
    pub fn noise(&self) -> Option<String> {
        self.wrong(&[PartitionsQuiet]).pop()
    }

    /// What else runs on CPUs of partitions, and errors in reading or moving that.
    pub fn of_partitions(&self) -> Vec<String> {
        self.wrong(&[PartitionsQuiet, PartitionsSeen])
    }

    /// Why the node's membership of its cluster fails; `None`: it works, or the node is a member of none.
    pub fn why_no_member(&self) -> Option<String> {
        let conditions = self.all.lock();
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
    /// Sets a condition of a member to failed.
    pub fn member_fails(&self, of: NodeCondition, why: &str) {
        self.fails(of, &format!("{}: {why}", of.failed()));
    }

    /// Sets a condition of a member to pending: nothing has failed yet.
    pub fn member_waits(&self, of: NodeCondition, why: &str) {
        let _ = self.set(of, "", State::pending(format!("{}: {why}", of.failed())));
    }

    /// Sets a condition of a member to `True`.
    pub fn member_works(&self, of: NodeCondition) {
        if self.works(of) {
            tracing::info!("no longer: {}", of.failed());
        }
    }
}

pub(crate) fn joined(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether the log needs a line. A missing right is reported once, not for each object.
fn is_news(change: &Change, message: &str) -> bool {
    match change {
        Change::None => false,
        Change::Status => true,
        Change::Message(before) => gist(before) != gist(message),
    }
}

/// The message without the text of the failure in front.
fn cause<'a>(message: &'a str, failed: &str) -> &'a str {
    message.strip_prefix(failed).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message)
}

/// A message without the object that it names.
fn gist(why: &str) -> &str {
    match why.split_once(" is forbidden: ") {
        Some((_, right)) => right.split(" in the namespace ").next().unwrap_or(right),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    fn none() -> NodeConditions {
        NodeConditions::new(Arc::new(SystemClock))
    }

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
        let conditions = none();
        assert_eq!(conditions.why_no_member(), None);
        conditions.member_fails(LeaseRenewed, "x cannot be reached");
        conditions.member_fails(PodsWatched, "x cannot be reached");
        conditions.member_fails(EventsWritten, "a right is missing");
        assert_eq!(
            conditions.why_no_member().as_deref(),
            Some(
                "pods are not watched, the node's Lease is not renewed: x cannot be reached; events are not written: a \
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
        let conditions = none();
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
        let conditions = none();
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
