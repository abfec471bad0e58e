//! The service's conditions: one table, which the threads that find something set, and which `/readyz` and metrics read. The
//! log has one line per transition.

use std::sync::Arc;

use cluster_node::Clock;
use conditions::{Change, Conditions, State, Status};
use parking_lot::Mutex;

/// What is true of a service that is well, in the order in which notes are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ServiceCondition {
    /// Objects of the API server are watched; by what they are.
    Watched,
    /// Only clients with a certificate may ask.
    AskersCertified,
    /// The files of TLS that are there are used.
    FilesUsed,
    /// kube-scheduler asks.
    Asked,
    /// The state of a node can be read; by nodes of which it once could not.
    StateReadable,
    /// What decides on claims of devices is watched; by what it is. Without it pods are scheduled all the same.
    ClaimsWatched,
    /// kube-scheduler's own searches for devices end in time; by pods, of which those whose search does are not in the table.
    SearchesEnd,
}

use ServiceCondition::{
    Asked, AskersCertified, ClaimsWatched, FilesUsed, SearchesEnd, StateReadable, Watched,
};

/// So many pods whose search does not end are listed.
const MOST_PODS: usize = 3;

impl ServiceCondition {
    const fn reason(self) -> &'static str {
        match self {
            Watched => "NotWatched",
            AskersCertified => "InsecureHttp",
            FilesUsed => "FilesUnusable",
            Asked => "Silent",
            StateReadable => "Unreadable",
            ClaimsWatched => "ClaimsNotWatched",
            SearchesEnd => "ClaimSearchTimedOut",
        }
    }
}

/// The service's conditions.
pub(crate) struct ServiceConditions {
    table: Mutex<Conditions<ServiceCondition, String>>,
    clock: Arc<dyn Clock>,
}

impl ServiceConditions {
    /// None has been set. Times are those of the clock on the wall.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { table: Mutex::default(), clock }
    }

    /// It is not so of a subject (empty: of the service), with why.
    pub(crate) fn fails(&self, of: ServiceCondition, on: &str, why: impl Into<String>) -> Change {
        self.table.lock().set(of, on.to_owned(), State::failed(of.reason(), why), self.clock.since_1970())
    }

    /// It is so.
    pub(crate) fn works(&self, of: ServiceCondition, on: &str) -> Change {
        self.table.lock().set(of, on.to_owned(), State::Works, self.clock.since_1970())
    }

    /// The same, of a subject that does not exist any more or of which nothing is to be reported.
    pub(crate) fn ends(&self, of: ServiceCondition, on: &str) {
        self.table.lock().retain(|other, subject| other != of || subject != on);
    }

    /// It is still not so of a subject, and now it is known why; where it is so by now, nothing changes.
    pub(crate) fn explains(&self, of: ServiceCondition, on: &str, why: String) {
        let mut table = self.table.lock();
        if table.get(of, &on.to_owned()).is_some() {
            let _ = table.set(of, on.to_owned(), State::failed(of.reason(), why), self.clock.since_1970());
        }
    }

    /// These objects are not watched, with why.
    pub(crate) fn unheard(&self, what: &str, why: &str) {
        let message = format!("{what} are not watched: {why}");
        // One cause is one line, whatever it keeps from being watched: `/readyz` lists all of that.
        let is_known =
            self.wrong(Watched).iter().any(|wrong| wrong.ends_with(&format!(" are not watched: {why}")));
        if self.fails(Watched, what, message.clone()).is_some() {
            if is_known {
                tracing::debug!("{message}");
            } else {
                tracing::warn!("{message}");
            }
        }
    }

    /// These objects are watched.
    pub(crate) fn heard(&self, what: &str) {
        if self.works(Watched, what).is_some() && self.wrong(Watched).is_empty() {
            tracing::info!("nodes and pods are watched again");
        }
    }

    /// The state of a node can be read. Nodes of which it always could are not in the table.
    pub(crate) fn readable(&self, node: &str) {
        let mut table = self.table.lock();
        if table.get(StateReadable, &node.to_owned()).is_some() {
            // The node is filtered by its state again, which metrics show.
            let _ = table.set(StateReadable, node.to_owned(), State::Works, self.clock.since_1970());
        }
    }

    /// Messages of what is not so.
    pub(crate) fn wrong(&self, of: ServiceCondition) -> Vec<String> {
        let table = self.table.lock();
        let wrong = table.of(of).filter(|(_, condition)| condition.status() == Status::False);
        wrong.map(|(_, condition)| condition.message().to_owned()).collect()
    }

    /// What is to be known of who asks and of claims, and does not keep the service from answering.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = [AskersCertified, FilesUsed, Asked, ClaimsWatched].map(|of| self.wrong(of)).concat();
        let mut searches = self.wrong(SearchesEnd).into_iter();
        notes.extend(searches.by_ref().take(MOST_PODS));
        match searches.count() {
            0 => {}
            1 => notes.push("the search for devices of 1 more pod does not end in time".to_owned()),
            more => notes.push(format!("the searches for devices of {more} more pods do not end in time")),
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use cluster_node::SystemClock;

    use super::*;

    #[test]
    fn notes_are_of_who_asks_and_end() {
        let conditions = ServiceConditions::new(Arc::new(SystemClock));
        conditions.unheard("pods", "failed to reach x");
        let _ = conditions.fails(Asked, "", "no question for 5 min");
        let _ = conditions.fails(FilesUsed, "", "no key");
        assert_eq!(conditions.wrong(Watched), ["pods are not watched: failed to reach x"]);
        assert_eq!(conditions.notes(), ["no key", "no question for 5 min"]);
        assert!(conditions.fails(Asked, "", "no question for 6 min").is_some());
        assert_eq!(conditions.works(FilesUsed, ""), Change::Status);
        assert_eq!(conditions.notes(), ["no question for 6 min"]);
    }

    #[test]
    fn a_state_that_always_could_be_read_takes_no_place() {
        let conditions = ServiceConditions::new(Arc::new(SystemClock));
        conditions.readable("a");
        assert_eq!(conditions.table.lock().iter().count(), 0);
        assert_eq!(conditions.fails(StateReadable, "a", "no JSON"), Change::Status);
        assert_eq!(conditions.fails(StateReadable, "a", "no JSON"), Change::None);
        conditions.readable("a");
        assert_eq!(conditions.wrong(StateReadable), [""; 0]);
        assert_eq!(conditions.fails(StateReadable, "a", "no JSON"), Change::Status, "it is news");
    }
}
