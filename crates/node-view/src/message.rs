//! Messages from the daemon's other parts to the owner of the node, and its replies.

use std::sync::Arc;

use admission_report::Report;
use node_agent::{Answer, Event, PodMove, Request};
use tokio::sync::oneshot;

/// How many messages may wait for the owner; a further sender blocks.
pub const MESSAGES: usize = 1024;

/// A message to the owner's thread.
pub enum Message {
    /// Something happened.
    Event(Event),
    /// Something happened, and the function is called once the owner has recorded it.
    EventThen(Event, Box<dyn FnOnce() + Send>),
    /// A request, and where its reply goes.
    Ask(Request, oneshot::Sender<OwnerReply>),
    /// The owner stops.
    Stop,
}

/// The owner's reply to a request.
#[derive(Debug)]
pub enum OwnerReply {
    /// A pod has been decided on.
    Decided(Arc<Report>),
    /// A pod has been admitted, and these pods have moved for it.
    Moved(Arc<Report>, Vec<PodMove>),
    /// Any other answer.
    Answer(Answer),
}
