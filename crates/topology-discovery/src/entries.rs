//! The entries of a tar archive, one after the other, from any stream: packed by zstd, gzip, xz or bzip2, in one part or in many, or
//! not packed at all. What packs a stream, its first bytes say.
//!
//! Nothing is kept of an entry that its reader does not ask for, so that the memory that a stream takes does not grow with it: the
//! window of its packer, at most 64 MiB, and 64 KiB of it. How much of the entries may be kept is for the caller to say.
//!
//! ```
//! use topology_discovery::entries::{Entries, Packer};
//!
//! // 1024 zeros are an archive without entries.
//! let archive = [0_u8; 1024];
//! assert_eq!(Packer::of(&archive), None);
//! let mut entries = Entries::new(&archive[..]);
//! assert!(entries.next()?.is_none());
//! # Ok::<(), topology_discovery::entries::EntriesError>(())
//! ```

mod blocks;
#[cfg(feature = "archives")]
mod other;
#[cfg(not(feature = "archives"))]
#[path = "entries/no_other.rs"]
mod other;
mod packer;
mod tar_stream;

pub use blocks::is_tar;
pub use packer::{Packer, UnreadPacking};
pub use tar_stream::{Entries, EntriesError, Entry, EntryContent, EntryKind};
