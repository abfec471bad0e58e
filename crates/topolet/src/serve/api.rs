//! The HTTP interface: who may ask, how much at once, and what there is to ask.

mod access;
mod places;
mod seats;
mod socket;
mod listen;
mod work;
mod pace;
mod audit;
mod routes;
mod query;
mod accept;
mod segments;
mod reply;
mod decide;
mod containers;
mod look;
mod pods;
mod explain;
mod sent;

#[cfg(any(test, fuzzing))]
mod small;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod crowd;
#[cfg(fuzzing)]
mod fuzzing;

pub(super) use accept::{Offer, chosen};
#[cfg(fuzzing)]
pub(super) use access::Peer;
pub(super) use access::Token;
#[cfg(fuzzing)]
pub(crate) use fuzzing::clients;
pub(super) use listen::{Listeners, serve};
pub(crate) use reply::{OUTCOME, PARTIAL, SOME_REFUSED};
pub(super) use routes::router;
pub(crate) use sent::FILE;
pub(crate) use socket::{Open, SocketGroup};
