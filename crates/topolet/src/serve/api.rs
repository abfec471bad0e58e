//! The HTTP interface: who may ask, how much at once, and what there is to ask.

mod listen;
mod access;
mod routes;
mod reply;
mod decide;
mod containers;
mod look;
mod pods;
mod explain;

#[cfg(test)]
mod hostile;

pub(super) use access::Token;
pub(super) use listen::{Listeners, serve};
pub(crate) use reply::OUTCOME;
pub(super) use routes::router;
