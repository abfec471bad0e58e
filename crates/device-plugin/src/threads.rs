//! What threads share and start. In tests of this crate's own these are those of a model, in which they take turns.

#[cfg(not(test))]
pub(crate) use parking_lot::{Mutex, MutexGuard};

#[cfg(test)]
pub(crate) use model::{Mutex, MutexGuard};

/// Has something done beside everything else.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    #[cfg(not(test))]
    tokio::spawn(task);
    #[cfg(test)]
    drop(shuttle::future::spawn(task));
}

#[cfg(test)]
mod model {
    use std::sync::PoisonError;

    pub(crate) use shuttle::sync::MutexGuard;

    /// The model's lock with the interface of the real one.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
