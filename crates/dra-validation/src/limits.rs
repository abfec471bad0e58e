//! Limits that several kinds of objects share.

/// The most selectors of a request or class.
pub(crate) const SELECTORS: usize = 32;
