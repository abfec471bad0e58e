//! Attempts and explanations on machines of all sizes; at the end a table of the best times against those that must be
//! reached.
#![expect(clippy::print_stdout, reason = "the table is what the bench is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;

mod cases;
#[path = "../tests/all/fixture/mod.rs"]
mod fixture;
#[path = "../tests/all/repacking/mod.rs"]
mod repacking;

use cases::{Case, MustReach};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    let cases = cases::all();
    for case in cases.iter().filter(|case| case.is_short) {
        criterion.bench_function(&case.name, |bencher| bencher.iter(|| black_box(case).run()));
    }
    criterion.final_summary();
    println!("{:<72} {:>14} {:>14} {:>11} {:>10}", "WORK", "MUST REACH", "BEST", "ALLOCATIONS", "PEAK KiB");
    let mut base = Duration::ZERO;
    for case in &cases {
        let allocations = allocation_counter::measure(|| case.run());
        let best = best_of(case);
        let (must_reach, best) = match case.must_reach {
            MustReach::Nanos(nanos) => {
                base = best;
                (micros(Duration::from_nanos(nanos)), micros(best))
            }
            MustReach::TimesTheOneBefore(times) => {
                let reached = best.as_secs_f64() / base.as_secs_f64();
                (format!("{times:.2} x"), format!("{reached:.2} x"))
            }
        };
        println!(
            "{:<72} {must_reach:>14} {best:>14} {:>11} {:>10}",
            case.name,
            allocations.count_total,
            allocations.bytes_max / 1024
        );
    }
}

fn micros(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}

/// The best of many short runs: what disturbs a run only makes it longer.
fn best_of(case: &Case) -> Duration {
    let started = Instant::now();
    case.run();
    let once = started.elapsed().max(Duration::from_nanos(20));
    let many = u32::try_from(200_000 / once.as_nanos()).unwrap_or(1).max(1);
    let runs = if case.is_short { 200 } else { 5 };
    let runs = (0..runs).map(|_| {
        let started = Instant::now();
        for _ in 0..many {
            black_box(case).run();
        }
        started.elapsed() / many
    });
    runs.min().unwrap_or(once)
}
