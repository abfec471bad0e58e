//! A text with a name, and how much there may be of it.

/// The largest text that is read: 1 MiB, more than an API server stores of one object.
pub const MAX_BYTES: usize = kubernetes_yaml::MAX_BYTES;

/// The largest text with objects of a cluster that is read: 64 MiB, the pods of some ten thousand lines of `kubectl get
/// pods`. No object in it is larger than [`MAX_BYTES`].
pub const MAX_LIST_BYTES: usize = 64 << 20;

/// A text to read, and what to call it in errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file as the user named it, or a word such as `stdin`.
    pub name: &'a str,
    /// The whole text, in UTF-8.
    pub text: &'a str,
}
