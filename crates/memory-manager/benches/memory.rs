//! Families, bookings and releases; at the end a table of the best times against those that must be reached.
#![expect(clippy::print_stdout, reason = "the table is what the bench is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use topology_hint::Answers;

mod cases;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    let cases = cases::all();
    let mut answers = Answers::new();
    for case in &cases {
        criterion.bench_function(&case.name, |bencher| bencher.iter(|| black_box(case).run(&mut answers)));
    }
    criterion.final_summary();
    println!("{:<72} {:>12} {:>12} {:>11}", "WORK", "MUST REACH", "BEST", "ALLOCATIONS");
    for case in &cases {
        case.run(&mut answers);
        let allocations = allocation_counter::measure(|| {
            case.run(&mut answers);
        });
        let is_allowed = case.allocates == cases::Allocates::Something;
        assert!(is_allowed || allocations.count_total == 0, "{} allocates", case.name);
        let best = micros(best_of(case, &mut answers));
        println!(
            "{:<72} {:>12} {best:>12} {:>11}",
            case.name,
            micros(Duration::from_nanos(case.must_reach)),
            allocations.count_total
        );
    }
}

fn micros(time: Duration) -> String {
    format!("{:.3} us", time.as_secs_f64() * 1e6)
}

/// The best of many short runs: what disturbs a run only makes it longer.
fn best_of(case: &cases::Case, answers: &mut Answers) -> Duration {
    let started = Instant::now();
    case.run(answers);
    let once = started.elapsed().max(Duration::from_nanos(20));
    let many = u32::try_from(100_000 / once.as_nanos()).unwrap_or(1).max(1);
    let runs = (0..200).map(|_| {
        let started = Instant::now();
        for _ in 0..many {
            black_box(case).run(answers);
        }
        started.elapsed() / many
    });
    runs.min().unwrap_or(once)
}
