//! Conditions: what a program reports about itself, in the shape that Kubernetes gives the conditions of an object.
//!
//! A condition has a type, a status, a reason, a message and the time since which it has its status. It is about the program
//! itself, or about one of several subjects: a socket, a container, a pod. [`Conditions`] is the table of them. The code that
//! checks something sets its condition after each check. It gets a [`Change`], by which it logs one line per transition. Health
//! checks, metrics and pages read the table.
//!
//! As in Kubernetes [`Status::True`] is what should be, `since` moves with the status and not with the message, and
//! [`Status::Unknown`] is what has not been tried yet.
//!
//! The crate does not know what is looked at, which clock the times are of, or where lines go.
//!
//! ```
//! use std::time::Duration;
//!
//! use conditions::{Change, Conditions, State};
//!
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
//! enum Of {
//!     LeaseRenewed,
//!     SocketServed,
//! }
//!
//! let mut conditions = Conditions::<Of, &str>::new();
//! let late = || State::failed("Unreachable", "the API server does not answer");
//! let at = Duration::from_secs;
//! assert_eq!(conditions.set(Of::LeaseRenewed, "", late(), at(10)), Change::Status);
//! assert_eq!(conditions.set(Of::LeaseRenewed, "", late(), at(20)), Change::None);
//! assert_eq!(conditions.set(Of::SocketServed, "/run/a.sock", State::Works, at(20)), Change::None);
//! assert_eq!(conditions.failing().count(), 1);
//!
//! let lease = conditions.get(Of::LeaseRenewed, &"").unwrap();
//! assert_eq!((lease.message(), lease.since), ("the API server does not answer", at(10)));
//! assert_eq!(conditions.set(Of::LeaseRenewed, "", State::Works, at(30)), Change::Status);
//! ```
#![no_std]

extern crate alloc;

mod condition;
mod table;

pub use self::condition::{Change, Condition, State, Status};
pub use self::table::Conditions;
