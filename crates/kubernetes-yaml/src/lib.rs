//! YAML and JSON as kubectl and the kubelet read them, as trees with places.
//!
//! Both programs stand on `sigs.k8s.io/yaml`, which makes JSON of YAML 1.1: [`read_stream`] reads what is applied, all
//! documents of it, and [`read_single`] a configuration. A number is what it is in that JSON. What is wrong with a text is
//! one [`TextError`] with its place; nothing that comes in makes the readers panic.
//!
//! [`Pieces`] reads large lists object by object, [`edit`] changes one key of a text and leaves every other byte as it was.
//!
//! It opens no files and knows no object of Kubernetes. `cargo xtask texts` compares what it reads with the Go code.

mod position;
mod excerpt;
mod error;
mod node;
mod cursor;
mod token;
mod scanner;
mod scalars;
mod tags;
mod parser;
mod resolve;
mod mapping;
mod compose;
mod json;
mod documents;
mod outline;
mod pieces;
mod plain;
pub mod edit;

pub use documents::{Documents, read_single, read_stream};
pub use error::{TextError, TextProblem};
pub use excerpt::Excerpt;
pub use node::{Entry, Node, Value};
pub use outline::Outline;
pub use pieces::{Piece, Pieces};
pub use plain::plain_json;
pub use position::{Position, TextPosition};

/// The largest object that is read: 1 MiB, more than an API server stores of one.
pub const MAX_BYTES: usize = 1 << 20;

/// How deep values may be nested. Pods stay below 16, and definitions of resources that have pod templates in them below
/// 100. Trees are walked by recursion, which must not leave the two mebibytes of stack that a thread has.
pub const MAX_DEPTH: usize = 200;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
