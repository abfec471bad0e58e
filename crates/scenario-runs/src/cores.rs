//! Work on all cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Applies `work` to each job on all cores; the results are in the order of the jobs. A thread that is done takes the next
/// job, so that a long one delays no other. A panic of a job reaches the caller.
pub(crate) fn map<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let worker = || {
        let taken = std::iter::from_fn(|| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(number).map(|job| (number, work(job)))
        });
        taken.collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..500).collect();
        // The first jobs take longest.
        let busy =
            |job: &u64| (0..(500 - job) * 200).fold(*job, |sum, next| sum ^ std::hint::black_box(next));
        let expected: Vec<u64> = jobs.iter().map(busy).collect();
        assert_eq!(map(&jobs, busy), expected);
        assert_eq!(map(&[] as &[u64], busy), [0; 0]);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| map(&[1, 2, 3], |job| assert!(*job < 3, "job {job}")));
        assert!(caught.is_err());
    }
}
