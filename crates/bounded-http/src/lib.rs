#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! The private module `places` holds the table of shares and the rule for whose connection is closed when a user has too
//! many: a value that a model test drives. [`Seats`] closes real connections by it, [`Workshop`] hands out places for
//! work, and [`serve`] accepts. What holds for each request of every server is in the private module `connection`: whether it is
//! meant for this host, how its body comes in, and its share.

mod places;
mod seats;
mod socket;
mod peer;
mod listen;
#[cfg(feature = "tls")]
mod tls;
mod connection;
mod arrival;
mod refused;
mod work;
mod body;
mod accept;
mod pace;

use thiserror::Error;

pub use accept::{Offer, chosen};
pub use body::{keep, text};
pub use connection::{Arrival, HEAD, Service};
pub use listen::{
    ListenError, Listeners, LoopbackListener, OpenListener, serve, serve_on_loopback, serve_openly,
};
#[cfg(feature = "tls")]
pub use listen::{TlsListener, serve_with_tls};
pub use pace::{Line, Pace};
pub use peer::{Certified, Forbidden, Peer, ShortToken, Token};
pub use places::{BODY, READING, SILENT, Who};
pub use refused::Refused;
pub use seats::Seats;
pub use socket::{GroupError, Open, OptionNames, SocketError, SocketGroup, UnixSocket};
#[cfg(feature = "tls")]
pub use tls::{TlsError, TlsFiles, TlsNews};
pub use work::{Client, Panicked, Place, WAIT, Work, Workshop, on_a_thread};

/// Too much of a user's is in progress, as a sentence: the same can be asked again in a second (status 503).
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct Busy(pub String);
