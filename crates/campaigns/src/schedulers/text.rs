//! The figures as a table of `docs/schedulers.md`.

use std::fmt::Write as _;

use super::kinds::Scheduler;
use super::play::{Figures, Killed, Played, Waits};

/// The table, below a sentence that says of what it is.
pub(super) fn table(what: &str, outcomes: &[(Scheduler, Played)]) -> String {
    let mut text = format!(
        "{what}\n\n\
         | scheduler | pods that ran | at the first node | refusals by nodes | until half ran | until 90 % ran |\n\
         |---|---|---|---|---|---|\n"
    );
    for (scheduler, Played { figures, .. }) in outcomes {
        let reasons: Vec<String> =
            figures.refusals.iter().map(|(reason, count)| format!("{count} `{reason}`")).collect();
        let refusals = if reasons.is_empty() { "0".to_owned() } else { reasons.join(", ") };
        let within = |percent| {
            figures
                .within(percent)
                .map_or_else(|| "–".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()))
        };
        let Figures { pods, placed, placed_at_once, .. } = figures;
        // A String takes everything.
        let _ = writeln!(
            text,
            "| {scheduler} | {placed} of {pods} | {placed_at_once} | {refusals} | {} | {} |",
            within(50),
            within(90)
        );
    }
    text += &of_kinds(outcomes);
    for (scheduler, Played { unanswered, .. }) in outcomes.iter().filter(|(_, played)| played.unanswered > 0)
    {
        let _ = write!(
            text,
            "\n{scheduler}: kube-scheduler got no answer {unanswered} times, and went on without.\n"
        );
    }
    for killed in outcomes.iter().filter_map(|(_, played)| played.killed) {
        let Killed { agents, extenders } = killed;
        let _ = write!(
            text,
            "\nMeanwhile agents of nodes were killed {agents} times and `topolet scheduler` {extenders} times, each to start \
             again a moment later.\n"
        );
    }
    text + "\n"
}

/// How long the pods of each kind have waited, in the mean.
fn of_kinds(outcomes: &[(Scheduler, Played)]) -> String {
    let Some((_, first)) = outcomes.first() else { return String::new() };
    let kinds: Vec<&String> = first.figures.kinds.keys().collect();
    let heads: String = kinds.iter().map(|kind| format!(" {kind} |")).collect();
    let mut text =
        format!("\n| ran, and mean wait of all that came |{heads}\n|---|{}\n", "---|".repeat(kinds.len()));
    for (scheduler, Played { figures, .. }) in outcomes {
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let cell = |kind: &&String| {
            let Waits { came, ran, waited } = figures.kinds.get(*kind).copied().unwrap_or_default();
            format!(" {ran} of {came}, {:.1} s |", waited.as_secs_f64() / came.max(1) as f64)
        };
        let cells: String = kinds.iter().map(cell).collect();
        let _ = writeln!(text, "| {scheduler} |{cells}");
    }
    text
}
