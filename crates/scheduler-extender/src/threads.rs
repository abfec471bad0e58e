//! Who does the work of a filter: this thread, or several.

use alloc::vec::Vec;

/// Threads among which items of work are divided.
pub trait Threads {
    /// `work` on each item; the results are in the order of the items.
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R>;
}

/// Everything is done by the thread that asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneThread;

impl Threads for OneThread {
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        items.into_iter().map(work).collect()
    }
}

/// So many threads of the system, which end before the answer is there. The thread that asks is one of them.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct ScopedThreads(pub core::num::NonZeroUsize);

#[cfg(feature = "std")]
impl ScopedThreads {
    /// Fewer items are not worth a thread.
    const FEW: usize = 16;
}

#[cfg(feature = "std")]
impl Threads for ScopedThreads {
    fn map<T: Send, R: Send>(&self, mut items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if self.0.get() == 1 || items.len() <= Self::FEW {
            return OneThread.map(items, work);
        }
        let share = items.len().div_ceil(self.0.get());
        let mut parts = Vec::new();
        while items.len() > share {
            parts.push(items.split_off(items.len() - share));
        }
        let work = &work;
        std::thread::scope(|scope| {
            let others: Vec<_> = parts
                .into_iter()
                .rev()
                .map(|part| scope.spawn(move || part.into_iter().map(work).collect::<Vec<R>>()))
                .collect();
            let mut results: Vec<R> = items.into_iter().map(work).collect();
            for other in others {
                match other.join() {
                    Ok(part) => results.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::num::NonZeroUsize;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for (threads, count) in [(1, 100), (2, 5), (2, 101), (3, 1000), (7, 33)] {
            let threads = ScopedThreads(NonZeroUsize::new(threads).unwrap());
            let doubled = threads.map((0..count).collect(), |number| number * 2);
            assert_eq!(doubled, (0..count).map(|number| number * 2).collect::<Vec<_>>(), "{threads:?}");
        }
    }
}
