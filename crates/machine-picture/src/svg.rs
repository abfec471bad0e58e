//! A machine as an SVG picture: boxes with text in them.

mod machine;
mod decision;
mod pods;
mod devices;
mod distances;
mod document;
mod figure;
mod look;
mod text;

pub use decision::{CpuUse, Decision, NodePart, NodeRoom, ResourceRoom, decision};
pub use document::escaped;
pub use machine::{Contents, Heading, picture, picture_of};
pub use pods::{PodKey, pod_keys};
pub use text::{Pixels, text_width};
