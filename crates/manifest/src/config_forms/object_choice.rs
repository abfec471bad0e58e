//! Which of several objects for different nodes is read.

/// Which of a file's objects is read, and which of the same purpose are not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectChoice {
    /// The object that is read, such as `KubeadmConfigTemplate "workers"`.
    pub chosen: String,
    /// Those that set the same, or nothing of the kubelet.
    pub alike: Vec<String>,
    /// Those that set other values, for other nodes.
    pub differing: Vec<String>,
}

impl ObjectChoice {
    /// What is chosen of a file's objects, and of its documents with flags beside them.
    pub(super) fn of_both(objects: Option<Self>, flags: Option<Self>) -> Option<Self> {
        let (Some(objects), Some(flags)) = (&objects, &flags) else { return objects.or(flags) };
        Some(Self {
            chosen: format!("{} with {}", objects.chosen, flags.chosen),
            alike: [objects.alike.as_slice(), &flags.alike].concat(),
            differing: [objects.differing.as_slice(), &flags.differing].concat(),
        })
    }
}
