//! Command lines of kubelets, running and in recorded trees.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../src/made_elf.rs"]
mod made_elf;
mod running;
mod trees;
