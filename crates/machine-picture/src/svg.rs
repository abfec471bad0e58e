//! Pictures in SVG: machines and decisions as boxes with text in them, and charts.

mod machine;
mod decision;
mod pods;
mod charts;
#[cfg(test)]
mod contrast;
mod devices;
mod distances;
mod document;
mod figure;
mod look;
mod text;

pub use charts::{AxisMark, Bar, BarPart, Bars, Charts, Curve, CurveStep, Curves, PartColour};
pub use decision::{AskedRoom, CpuUse, Decision, NodePart, NodeRoom, ResourceRoom, RoomFit, decision};
pub use document::escaped;
pub use machine::{Contents, Heading, picture, picture_of};
pub use pods::{PodKey, pod_keys};
pub use text::{Pixels, text_width};
