//! The containers of a pod, shared: a copy of a pod is made for each attempt to admit it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use crate::Container;

/// A list of containers of which a copy costs nothing. A change of one container copies the list first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Containers(Arc<[Container]>);

impl Deref for Containers {
    type Target = [Container];

    fn deref(&self) -> &[Container] {
        &self.0
    }
}

impl DerefMut for Containers {
    fn deref_mut(&mut self) -> &mut [Container] {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Container>> for Containers {
    fn from(containers: Vec<Container>) -> Self {
        Self(containers.into())
    }
}

impl FromIterator<Container> for Containers {
    fn from_iter<I: IntoIterator<Item = Container>>(containers: I) -> Self {
        Self(containers.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Containers {
    type Item = &'a Container;
    type IntoIter = core::slice::Iter<'a, Container>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Containers {
    type Item = &'a mut Container;
    type IntoIter = core::slice::IterMut<'a, Container>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
