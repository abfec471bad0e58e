//! Whether an answer is exact.

/// The answer of a search that may be cut.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solution<T> {
    /// None is better: with fewer nodes none is enough.
    Exact(T),
    /// The search ran out of steps. The value is enough, but a better one may be too.
    Cut(T),
}

impl<T> Solution<T> {
    /// The value, exact or not.
    pub fn into_inner(self) -> T {
        match self {
            Self::Exact(value) | Self::Cut(value) => value,
        }
    }

    /// Whether the search ran out of steps.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Cut(_))
    }

    /// The same for a value made from this one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Solution<U> {
        match self {
            Self::Exact(value) => Solution::Exact(change(value)),
            Self::Cut(value) => Solution::Cut(change(value)),
        }
    }

    /// The value as a reference.
    pub const fn as_ref(&self) -> Solution<&T> {
        match self {
            Self::Exact(value) => Solution::Exact(value),
            Self::Cut(value) => Solution::Cut(value),
        }
    }
}

impl<T: Default> Default for Solution<T> {
    fn default() -> Self {
        Self::Exact(T::default())
    }
}
