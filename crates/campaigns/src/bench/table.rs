//! The measurements as a table.

use super::kubelet::Answer;
use super::result::Result;
use crate::charts::curves::time;

/// Prints what must be reached first, then the curves.
#[expect(clippy::print_stdout, reason = "the output of the command")]
pub(super) fn print(results: &[Result]) {
    println!(
        "{:<50} {:>10} {:>10} {:>7} {:>10} {:>12} {:>12} {:>11} {:>10}",
        "WORK", "OURS", "TARGET", "ALLOCS", "PEAK", "INSTRUCTIONS", "KUBELET", "ITS ALLOCS", "RATIO"
    );
    for result in results {
        let ours = &result.ours;
        let missed = if ours.is_reached() == Some(false) { " !" } else { "" };
        println!(
            "{:<50} {:>10} {:>10} {:>7} {:>10} {:>12} {:>12} {:>11} {:>10}{missed}",
            ours.name,
            time(ours.nanoseconds),
            ours.target().map_or_else(dash, |(must_reach, _)| time(precise(must_reach))),
            ours.allocated.times,
            bytes(ours.allocated.peak),
            result.instructions.map_or_else(dash, |count| count.to_string()),
            kubelet(result.kubelet.as_ref()),
            match result.kubelet {
                Some(Answer::Took { allocations, .. }) if allocations > 0 => allocations.to_string(),
                _ => dash(),
            },
            ratio(result),
        );
    }
    let missed: Vec<_> = results
        .iter()
        .filter(|result| result.ours.is_reached() == Some(false))
        .map(|result| &*result.ours.name)
        .collect();
    if missed.is_empty() {
        println!("every target is reached");
    } else {
        println!("not reached (!): {}", missed.join("; "));
    }
    for result in results {
        if let Some(Answer::Failed(why)) = &result.kubelet {
            println!("the kubelet failed at {}: {why}", result.ours.name);
        }
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn kubelet(answer: Option<&Answer>) -> String {
    match answer {
        Some(Answer::Took { nanoseconds, .. }) => time(*nanoseconds),
        Some(Answer::Over { nanoseconds }) => format!("> {}", time(*nanoseconds)),
        Some(Answer::Failed(_)) => "failed".to_owned(),
        None => dash(),
    }
}

fn ratio(result: &Result) -> String {
    let Some(ratio) = result.ratio() else { return dash() };
    let over = if matches!(result.kubelet, Some(Answer::Over { .. })) { "> " } else { "" };
    format!("{over}{ratio:.0}x")
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", precise(bytes) / 1024.0),
        _ => format!("{:.1} MiB", precise(bytes) / 1_048_576.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
const fn precise(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(bytes(160), "160 B");
        assert_eq!(bytes(33_448), "32.7 KiB");
    }
}
