#![doc = include_str!("../README.md")]

mod answer;
mod read;
mod request;
mod timed;

pub use answer::{ExchangeError, Fields, Response};
pub use read::Body;
pub use request::{Opened, Request};
pub use timed::{Timed, Timeout};
