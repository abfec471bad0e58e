//! A daemon under load, as a process: what `cargo xtask chaos` and `cargo xtask soak` share.
//!
//! [`Daemon`] starts and kills it, [`load`] applies and deletes pods and keeps what was acknowledged, and [`invariants`]
//! looks for what must never be in its folder.

pub(crate) mod invariants;
pub(crate) mod load;
mod process;

pub(crate) use process::{Access, Clock, Daemon, DevicePlugin, Profile, Programs, Usage};
