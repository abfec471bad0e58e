//! Conditions: what a program reports about itself, in the shape that Kubernetes gives the conditions of an object.
//!
//! A condition has a type, a status, a reason, a message and the time since which it has its status. It is about the program
//! itself, or about one of several subjects: a socket, a container, a pod. [`Conditions`] is the table of them. The code that
//! checks something calls [`Conditions::set`] after each check, whatever the result; the [`Change`] that it returns says whether
//! the log needs a line. Health checks, metrics and pages read the table.
//!
//! [`Status::True`] always means that all is well, as in `LeaseRenewed`: a type is named after what should be true. As in
//! Kubernetes, `since` changes with the status and not with the message.
//!
//! The crate does not know what is checked, which clock the times are from, or where log lines go.
//!
//! ```
//! use std::time::Duration;
//!
//! use conditions::{Change, Conditions, State};
//!
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
//! enum ConditionType {
//!     LeaseRenewed,
//!     SocketServed,
//! }
//!
//! let mut conditions = Conditions::<ConditionType, &str>::new();
//! let failed = || State::failed("Unreachable", "the API server does not answer");
//! let at = Duration::from_secs;
//! assert_eq!(conditions.set(ConditionType::LeaseRenewed, "", failed(), at(10)), Change::Status);
//! assert_eq!(conditions.set(ConditionType::LeaseRenewed, "", failed(), at(20)), Change::None);
//! assert_eq!(conditions.set(ConditionType::SocketServed, "/run/a.sock", State::Works, at(20)), Change::None);
//! assert_eq!(conditions.failing().count(), 1);
//!
//! let lease = conditions.get(ConditionType::LeaseRenewed, &"").unwrap();
//! assert_eq!((lease.message(), lease.since), ("the API server does not answer", at(10)));
//! assert_eq!(conditions.set(ConditionType::LeaseRenewed, "", State::Works, at(30)), Change::Status);
//! ```
#![no_std]

extern crate alloc;

mod condition;
mod table;

pub use self::condition::{Change, Condition, State, Status};
pub use self::table::Conditions;
