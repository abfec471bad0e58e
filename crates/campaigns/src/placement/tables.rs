//! The results as tables and a picture.

use std::fmt::Write as _;

use super::cell::{Cell, Run, Strategy};
use super::fleet::mean_and_error;
use super::scenario::STRATEGIES;
use super::workloads::WORKLOADS;
use crate::charts::opening;

/// The strategies that look at one thing.
const SIMPLE: [&str; 4] = ["lowest-number", "most-allocated", "least-allocated", "spare-devices"];

/// A line while it goes on.
pub(super) fn line(cell: &Cell) -> String {
    let refused = cell.strategies.iter().map(|own| format!("{} {}", own.configuration, own.refused()));
    let refused = refused.collect::<Vec<_>>().join(", ");
    format!("{} on {}: {refused}; unavoidable {}", cell.workload.name, cell.machine, cell.unavoidable())
}

/// What the workloads are, and both tables.
pub(super) fn text(cells: &[Cell]) -> String {
    let mut text = "| workload | what comes |\n|---|---|\n".to_owned();
    for workload in &WORKLOADS {
        let _ = writeln!(text, "| {} | {} |", workload.name, workload.what);
    }
    text + &shares(cells) + &medians(cells)
}

/// Refusals of each workload on all machines.
fn shares(cells: &[Cell]) -> String {
    let names = STRATEGIES.map(|(name, _)| name).join(" | ");
    let mut text = format!(
        "\nRefused, in hundredths of all pods on six machines; the last three columns are about keep-room and, where there are two \
         figures, lowest-number before it:\n\n\
         | workload | {names} | every placement | avoidable that is left | aligned | CPUs held |\n\
         |{}\n",
        "---|".repeat(STRATEGIES.len() + 5)
    );
    for workload in &WORKLOADS {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.workload.name == workload.name).collect();
        if !own.is_empty() {
            text.push_str(&summary(workload.name, &own));
        }
    }
    text
}

/// Refusals of each workload on each machine.
fn medians(cells: &[Cell]) -> String {
    let names = STRATEGIES.map(|(name, _)| name).join(" | ");
    let mut text = format!(
        "\nRefused in a run: the median of each strategy, and how keep-room differs from the best simple strategy of the \
         line, on the average of runs with the same pods, give or take two standard errors. *every placement* is the average of the runs:\n\n\
         | workload | machine | {names} | every placement | keep-room against |\n|{}\n",
        "---|".repeat(STRATEGIES.len() + 4)
    );
    for cell in cells {
        let medians = STRATEGIES.map(|(name, _)| cell.strategy(name).map_or(0.0, median));
        let medians = medians.map(|median| median.to_string()).join(" | ");
        let runs = cell.strategies.first().map_or(1, |own| own.each_run.len()).max(1);
        let _ = writeln!(
            text,
            "| {} | {} | {medians} | {} | {} |",
            cell.workload.name,
            cell.machine,
            rounded(number(cell.unavoidable()) / number(runs as u64)),
            against(cell)
        );
    }
    text
}

/// The line of a workload over all machines.
fn summary(workload: &str, cells: &[&Cell]) -> String {
    let sum = |name: &str, of: fn(&Strategy) -> u64| -> u64 {
        cells.iter().filter_map(|cell| cell.strategy(name)).map(of).sum()
    };
    let pods = number(sum("lowest-number", |own| own.pods).max(1));
    let share = |refused: u64| format!("{:.1}", 100.0 * number(refused) / pods);
    let refused = |name| sum(name, Strategy::refused);
    let unavoidable: u64 = cells.iter().map(|cell| cell.unavoidable()).sum();
    let avoidable = |name| number(refused(name).saturating_sub(unavoidable));
    let left = avoidable("keep-room") / avoidable("lowest-number").max(1.0);
    let mean = |name: &str, of: fn(&Strategy) -> f64| {
        let shares: Vec<f64> = cells.iter().filter_map(|cell| cell.strategy(name)).map(of).collect();
        100.0 * shares.iter().sum::<f64>() / number(shares.len().max(1) as u64)
    };
    let both = |of| format!("{:.1} → {:.1} %", mean("lowest-number", of), mean("keep-room", of));
    let shares = STRATEGIES.map(|(name, _)| share(refused(name))).join(" | ");
    format!(
        "| {workload} | {shares} | {} | {:.0} % | {} | {} |\n",
        share(unavoidable),
        100.0 * left,
        both(|own| own.aligned_share),
        both(Strategy::cpus_held)
    )
}

fn refused(run: &Run) -> f64 {
    number(run.pods - run.admitted)
}

/// Of refused pods in a run.
fn median(strategy: &Strategy) -> f64 {
    let mut sorted: Vec<f64> = strategy.each_run.iter().map(refused).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |at: usize| sorted.get(at).copied().unwrap_or(0.0);
    f64::midpoint(at(sorted.len().saturating_sub(1) / 2), at(sorted.len() / 2))
}

/// The best simple strategy, and what keep-room refuses more or less in a run.
fn against(cell: &Cell) -> String {
    let simple = SIMPLE.iter().filter_map(|name| cell.strategy(name));
    let (Some(best), Some(own)) = (simple.min_by_key(|own| own.refused()), cell.strategy("keep-room")) else {
        return String::new();
    };
    let differences = own.each_run.iter().zip(&best.each_run).map(|(own, best)| refused(own) - refused(best));
    let (mean, error) = mean_and_error(&differences.collect::<Vec<f64>>());
    format!("{}: {mean:+.1} ± {error:.1}", best.configuration)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Sizes of the picture in pixels.
const LEFT: f64 = 215.0;
const PANEL: f64 = 250.0;
const GAP: f64 = 26.0;
const ROW: f64 = 34.0;
const TOP: f64 = 30.0;
const FOOT: f64 = 42.0;
/// Radius of a point, and how far those of a machine are below each other: none covers another.
const RADIUS: f64 = 2.8;
const STEP: f64 = 5.8;
const IN_A_ROW: usize = 3;

/// What the axis of each panel counts.
const AXIS: &str = "refused pods, % of all";

/// The strategies in the picture, with colours that stay apart for all eyes.
const DRAWN: [(&str, &str, &str); 5] = [
    ("lowest-number", "#d55e00", "#ff8a3d"),
    ("most-allocated", "#999999", "#8a8d92"),
    ("least-allocated", "#cc79a7", "#dd98bd"),
    ("spare-devices", "#e69f00", "#f0b840"),
    ("keep-room", "#0072b2", "#4aa8e8"),
];

/// A panel for each workload: a row for each machine, in it a point for each strategy, in their order, and where the bound is.
pub(super) fn picture(cells: &[Cell]) -> String {
    let mut machines: Vec<&str> = cells.iter().map(|cell| cell.machine).collect();
    machines.dedup();
    let workloads: Vec<&str> = WORKLOADS.iter().map(|own| own.name).collect();
    let panel_height = TOP + ROW * number(machines.len() as u64) + FOOT;
    let rows = workloads.len().div_ceil(IN_A_ROW);
    let wide = LEFT + (PANEL + GAP) * number(IN_A_ROW as u64);
    let high = panel_height * number(rows as u64) + 40.0;
    let share = |cell: &Cell, refused: u64| {
        100.0 * number(refused) / number(cell.strategies.first().map_or(1, |own| own.pods).max(1))
    };
    let most = cells
        .iter()
        .flat_map(|cell| cell.strategies.iter().map(|own| share(cell, own.refused())))
        .fold(1.0, f64::max);
    let tick = if most > 40.0 { 20.0 } else { 10.0 };
    // The axis ends at a mark, so that no point is cut by its end.
    let end = (most / tick).ceil() * tick;
    let mut svg = head(wide, high);
    for (at, workload) in workloads.iter().enumerate() {
        let (column, row) = (number((at % IN_A_ROW) as u64), number((at / IN_A_ROW) as u64));
        let (left, top) = (LEFT + (PANEL + GAP) * column, panel_height * row);
        let x = |share: f64| left + PANEL * share / end;
        let bottom = top + TOP + ROW * number(machines.len() as u64);
        let _ =
            writeln!(svg, "<text class=\"title\" x=\"{left:.0}\" y=\"{:.0}\">{workload}</text>", top + 20.0);
        let mut mark = 0.0;
        while mark <= end {
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{0:.1} {1:.0}V{2:.0}\"/><text class=\"axis\" x=\"{0:.1}\" y=\"{3:.0}\">{mark}</text>",
                x(mark),
                top + TOP,
                bottom,
                bottom + 13.0
            );
            mark += tick;
        }
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.0}\">{AXIS}</text>",
            left + PANEL / 2.0,
            bottom + 27.0
        );
        for (line, machine) in machines.iter().enumerate() {
            let y = top + TOP + ROW * (number(line as u64) + 0.5);
            if at % IN_A_ROW == 0 {
                let _ = writeln!(
                    svg,
                    "<text class=\"machine\" x=\"{:.0}\" y=\"{:.1}\">{machine}</text>",
                    LEFT - 10.0,
                    y + 4.0
                );
            }
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left:.0} {y:.1}h{PANEL:.0}\"/>");
            let own = cells.iter().find(|cell| cell.workload.name == *workload && cell.machine == *machine);
            let Some(cell) = own else { continue };
            let _ = writeln!(
                svg,
                "<path class=\"bound\" d=\"M{:.1} {:.1}v{:.1}\"/>",
                x(share(cell, cell.unavoidable())),
                y - ROW / 2.0 + 2.0,
                ROW - 4.0
            );
            for (number, (name, ..)) in DRAWN.iter().enumerate() {
                if let Some(strategy) = cell.strategy(name) {
                    let _ = writeln!(
                        svg,
                        "<circle class=\"s{number}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{RADIUS}\"/>",
                        x(share(cell, strategy.refused())),
                        y + STEP * (index(number) - index(DRAWN.len() - 1) / 2.0)
                    );
                }
            }
        }
    }
    svg + &legend(high - 16.0) + "</svg>\n"
}

#[expect(clippy::cast_precision_loss, reason = "positions of a few strategies")]
const fn index(at: usize) -> f64 {
    at as f64
}

fn head(wide: f64, high: f64) -> String {
    let colours = |dark: bool| {
        let line = |(at, (_, light, in_dark)): (usize, &(&str, &str, &str))| {
            format!(".s{at}{{fill:{};fill-opacity:.85}} ", if dark { in_dark } else { light })
        };
        DRAWN.iter().enumerate().map(line).collect::<String>()
    };
    let style = format!(
        ".page{{fill:#ffffff}} text{{fill:#333333}} .title{{font-weight:bold;font-size:13px}} .machine{{text-anchor:end}} \
         .axis{{text-anchor:middle;font-size:11px}} .grid{{stroke:#e4e4e4;fill:none}} \
         .bound{{stroke:#111111;stroke-width:2;fill:none}} {}\n\
         @media (prefers-color-scheme:dark){{.page{{fill:#16181c}} text{{fill:#dddddd}} .grid{{stroke:#33363b}} \
         .bound{{stroke:#ffffff}} {}}}",
        colours(false),
        colours(true)
    );
    opening(wide, high, 11, &style)
}

fn legend(y: f64) -> String {
    let mut text = String::new();
    let mut x = LEFT;
    for (at, (name, ..)) in DRAWN.iter().enumerate() {
        let _ = writeln!(
            text,
            "<circle class=\"s{at}\" cx=\"{x:.0}\" cy=\"{:.0}\" r=\"{RADIUS}\"/><text x=\"{:.0}\" y=\"{y:.0}\">{name}</text>",
            y - 4.0,
            x + 9.0
        );
        x += 125.0;
    }
    let _ = writeln!(
        text,
        "<path class=\"bound\" d=\"M{x:.0} {:.0}v12\"/><text x=\"{:.0}\" y=\"{y:.0}\">refused by every placement</text>",
        y - 10.0,
        x + 8.0
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::cell::Run;

    /// All strategies refuse as many, so that their points are below each other.
    fn cell() -> Cell {
        let of = |name: &str| Strategy {
            configuration: name.to_owned(),
            pods: 600,
            admitted: 400,
            aligned_share: 1.0,
            steps: Vec::new(),
            each_run: vec![Run { pods: 600, admitted: 400, at_most: None }],
        };
        Cell {
            workload: &WORKLOADS[0],
            machine: "a",
            strategies: STRATEGIES.map(|(name, _)| of(name)).into(),
        }
    }

    #[test]
    fn points_of_a_row_do_not_cover_each_other_and_the_axis_has_a_title() {
        let svg = picture(&[cell()]);
        let heights =
            svg.split("cy=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        let heights: Vec<f64> = heights.take(DRAWN.len()).collect();
        assert_eq!(heights.len(), DRAWN.len(), "{svg}");
        for (at, one) in heights.iter().enumerate() {
            assert!(heights[..at].iter().all(|other| (one - other).abs() >= 2.0 * RADIUS), "{heights:?}");
        }
        assert_eq!(svg.matches(AXIS).count(), WORKLOADS.len());
        // A third is refused: the axis goes on to the next mark.
        assert_eq!(svg.matches(">40<").count(), WORKLOADS.len(), "{svg}");
    }
}
