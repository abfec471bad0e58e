#![doc = include_str!("../README.md")]

mod file;
mod listener;

pub use file::{BoundSocket, FileIdentity, ListeningSocket, is_served};
pub use listener::{KeptListener, SocketChange};
