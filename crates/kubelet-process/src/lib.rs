#![doc = include_str!("../README.md")]
//!
//! # Which process is a kubelet
//!
//! The name of the executable (the link `/proc/PID/exe`) decides, so a shell script called `kubelet` and `vi kubelet` are
//! none. Without the right to read that link, the name in the first argument decides. Names with a version count too
//! (`kubelet1.33`, `kubelet-1.36.3`), and so does a program behind the dynamic loader (`ld-linux-x86-64.so.2
//! /usr/bin/kubelet`). Of `hyperkube` the first argument has to be `kubelet`, of `k3s` it has to be `server` or `agent`.
//! Threads, kernel threads and zombies are none. A process that ends while it is read is left out.
//!
//! # Where a release is read
//!
//! A kubelet has its version in the variable `gitVersion`, which `-ldflags "-X …gitVersion=v1.36.3"` sets. The module
//! `executable` reads three places, in this order:
//!
//! 1. The flags in Go's build information. Official builds have none there: `-trimpath` leaves them out.
//! 2. The variable itself. The linker ends the text of such a variable with a NUL, unlike all other strings of a Go
//!    program, and `.data` has its address and length. Where two versions look like that, neither is taken.
//! 3. The version of the module `k8s.io/kubernetes` in the build information.
//!
//! A program without Go's build information, or without ELF section headers (packed by UPX), has no release here. Only
//! 64-bit little-endian ELF is read.

mod find;
mod process;
mod arguments;
mod program;
mod k3s;
mod args_file;
mod flags;
mod proc;
mod namespaces;
mod open;
mod executable;
mod build_info;
mod linked_version;
mod elf;
#[cfg(test)]
mod made_elf;

pub use arguments::NoArguments;
pub use find::{FindError, Found, NotSeen, find};
pub use k3s::{DataDir, NamedBy};
pub use namespaces::{MountNamespace, PidNamespace};
pub use proc::{MOST_PROCESSES, boot_time};
pub use process::KubeletProcess;
pub use program::Program;
