//! The HTTP interface: what there is to ask. Who may ask how much at once is up to `bounded_http`.

mod audit;
mod operations;
mod openapi;
mod node;
mod health;
mod description;
mod routes;
mod query;
mod segments;
mod json;
mod failure;
mod reply;
mod resize;
mod decide;
mod repack;
mod benches;
mod view;
mod tried;
mod desk;
mod simulations;
mod containers;
mod look;
mod exposition;
mod page;
mod events;
mod pods;
mod sent;

#[cfg(any(test, fuzzing))]
mod small;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod crowd;
#[cfg(any(test, fuzzing))]
mod fuzzing;

pub(super) use desk::Desk;
#[cfg(fuzzing)]
pub use fuzzing::clients;
pub(super) use node::NodeControl;
pub use openapi::{forms, interface as openapi};
pub(super) use routes::{for_a_page, for_monitoring, router, service};
