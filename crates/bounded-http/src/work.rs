//! Work that may take a while or much memory: under a place ([`crate::places`]), on a separate thread.
//!
//! A request takes its place when its body is there. Its answer keeps the place until the client has read it. So the memory of
//! work and answers is bounded by places, and that of bodies by the bytes of their user. Work looks now and then
//! whether its client is gone ([`Client::is_gone`]), and ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Busy;
use crate::places::{Group, Share, Who, limits};

/// How long a request waits for a place.
pub const WAIT: Duration = Duration::from_secs(30);

/// What a place is for. A user's looks do not keep that user's changes waiting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Work {
    /// Reading what is to be changed.
    Change,
    /// Explaining and listing.
    Look,
}

impl Work {
    const fn share(self, group: Group) -> Share {
        match self {
            Self::Change => limits(group).changes,
            Self::Look => limits(group).looks,
        }
    }
}

/// All places for work.
pub struct Workshop {
    together: BTreeMap<(Group, Work), Arc<Semaphore>>,
    /// Of users that work or wait.
    each: Mutex<BTreeMap<(Who, Work), Weak<Semaphore>>>,
}

impl Default for Workshop {
    fn default() -> Self {
        let groups = [Group::Owners, Group::Users, Group::Tcp, Group::Holders, Group::Certified];
        let kinds = groups.into_iter().flat_map(|group| [(group, Work::Change), (group, Work::Look)]);
        let together =
            kinds.map(|(group, work)| ((group, work), Arc::new(Semaphore::new(work.share(group).together))));
        Self { together: together.collect(), each: Mutex::default() }
    }
}

impl Workshop {
    /// Whether no request has a place or waits for one.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let each = self.each.lock();
        let mut together = self.together.iter();
        together.all(|((group, work), places)| places.available_permits() == work.share(*group).together)
            && each.values().all(|places| places.strong_count() == 0)
    }

    /// A place, when the user has one free and so have all users together. Users wait in turn, and each user's requests
    /// do.
    ///
    /// # Errors
    /// None comes free in time.
    pub async fn place(&self, who: Who, work: Work) -> Result<Place, Busy> {
        let (each, together) = (self.of(who, work), self.together.get(&(who.group(), work)).cloned());
        let both = async {
            let each = each.clone().acquire_owned().await.ok()?;
            let together = together?.acquire_owned().await.ok()?;
            Some(Place { _each: each, _together: together })
        };
        match tokio::time::timeout(WAIT, both).await {
            Ok(Some(place)) => Ok(place),
            Ok(None) | Err(_) => Err(Busy(format!(
                "{who} has requests in progress that take long, and others wait: try again"
            ))),
        }
    }

    /// The places of one user.
    fn of(&self, who: Who, work: Work) -> Arc<Semaphore> {
        let mut each = self.each.lock();
        if let Some(there) = each.get(&(who, work)).and_then(Weak::upgrade) {
            return there;
        }
        each.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(work.share(who.group()).each));
        each.insert((who, work), Arc::downgrade(&places));
        places
    }
}

/// A place for work, until it is dropped.
pub struct Place {
    _each: OwnedSemaphorePermit,
    _together: OwnedSemaphorePermit,
}

impl Place {
    /// Runs the work on a separate thread. The place stays taken until the thread has ended, even if the client
    /// has gone.
    pub async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce(&Client) -> T + Send + 'static,
    ) -> Result<(T, Self), Panicked> {
        let client = Client::default();
        let _leaves = Leaves(client.clone());
        on_a_thread(move || (work(&client), self)).await
    }
}

/// Runs work that needs no place on a separate thread.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Panicked(error.to_string()))
}

/// The thread that did some work has panicked.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct Panicked(String);

/// Who waits for work to be done.
#[derive(Clone, Default, Debug)]
pub struct Client(Arc<AtomicBool>);

impl Client {
    /// Whether the client has gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The connection drops it when its client goes.
struct Leaves(Client);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::{Place, Who, Work, Workshop};

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// A place if there is one right now.
    async fn free(workshop: &Workshop, who: Who) -> Option<Place> {
        tokio::select! {
            biased;
            place = workshop.place(who, Work::Look) => place.ok(),
            () = tokio::task::yield_now() => None,
        }
    }

    #[test]
    fn nobody_takes_the_places_of_others() {
        runtime().block_on(async {
            let workshop = Workshop::default();
            let mut taken = Vec::new();
            for (who, is_free) in [
                (Who::User(1), true),
                (Who::User(1), false),
                (Who::User(2), true),
                // All users together have two.
                (Who::User(4), false),
                (Who::Tcp, true),
                (Who::Holder, true),
                (Who::Owner(0), true),
            ] {
                let place = free(&workshop, who).await;
                assert_eq!(place.is_some(), is_free, "{who}");
                taken.extend(place);
            }
            taken.remove(0);
            assert!(free(&workshop, Who::User(4)).await.is_some());
            assert!(workshop.place(Who::Owner(0), Work::Change).await.is_ok());
        });
    }

    #[test]
    fn a_client_that_goes_ends_its_work_and_the_place_is_free_then() {
        runtime().block_on(async {
            let workshop = Workshop::default();
            let (began, begins) = mpsc::channel();
            let Ok(place) = workshop.place(Who::User(1), Work::Look).await else { panic!("there is room") };
            let work = place.work(move |client| {
                let _ = began.send(());
                while !client.is_gone() {
                    std::thread::yield_now();
                }
            });
            {
                let mut work = std::pin::pin!(work);
                std::future::poll_fn(|context| {
                    assert!(work.as_mut().poll(context).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
                assert!(begins.recv().is_ok());
                assert!(free(&workshop, Who::User(1)).await.is_none(), "it works");
            }
            // Waits for the thread to end.
            assert!(workshop.place(Who::User(1), Work::Look).await.is_ok());
        });
    }
}
