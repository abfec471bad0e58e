//! What the namespace of a claim allows.

/// Whether the namespace of a claim has the label `resource.kubernetes.io/admin-access: "true"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminNamespace {
    /// Claims there may ask for admin access.
    Labelled,
    /// They may not.
    Other,
}
