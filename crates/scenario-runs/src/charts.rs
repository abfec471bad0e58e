//! Charts of a report: bars of what became of the pods, and steps over time.

use std::collections::BTreeMap;

use machine_picture::svg::{AxisMark, Bar, BarPart, Bars, Charts, Curve, CurveStep, Curves, PartColour};
use terminal_text::{Glyphs, Page};

use crate::report::{Kind, Moment, Report, Summary, share};
use crate::tables::{headline, percent, time};

/// Of refusals, by reason: what has to do with topology stands beside what was admitted.
const REFUSED: [(&str, PartColour); 4] = [
    ("TopologyAffinityError", PartColour::Vermilion),
    ("UnexpectedAdmissionError", PartColour::Purple),
    ("SMTAlignmentError", PartColour::Pink),
    ("NoRoom", PartColour::LightGrey),
];
const OTHER_REFUSAL: PartColour = PartColour::DarkGrey;

/// The report as a picture in SVG.
#[must_use]
pub fn charts(report: &Report) -> String {
    let most = report
        .configurations
        .iter()
        .flat_map(|summary| &summary.steps)
        .map(|step| step.refused)
        .fold(0.0, f64::max);
    let cpus = "Share of the CPUs that containers hold exclusively";
    let headline = headline(report, Page::endless(Glyphs::Unicode));
    let charts = Charts {
        title: report.scenario.rsplit('/').next().unwrap_or(&report.scenario),
        headline: headline.trim_end(),
        bars: std::iter::once(bars(report)).chain(kinds(report)).collect(),
        curves: vec![
            curves(report, cpus, Axis::Share, |step| step.cpus_held),
            curves(report, "Pods refused so far", Axis::Count(most), |step| step.refused),
        ],
    };
    charts.picture()
}

/// A part of a bar: how many pods, in which colour, and what they are.
struct Part {
    pods: u64,
    colour: PartColour,
    what: String,
}

/// What became of pods.
struct Fates<'a> {
    arrived: u64,
    admitted: u64,
    placed: u64,
    aligned: u64,
    refused: &'a BTreeMap<String, u64>,
}

impl<'a> Fates<'a> {
    const fn of_all(summary: &'a Summary) -> Self {
        let Summary { pods, admitted, placed, aligned, refused, .. } = summary;
        Self { arrived: *pods, admitted: *admitted, placed: *placed, aligned: *aligned, refused }
    }

    const fn of_kind(kind: &'a Kind) -> Self {
        let Kind { arrived, admitted, placed, aligned, refused, .. } = kind;
        Self { arrived: *arrived, admitted: *admitted, placed: *placed, aligned: *aligned, refused }
    }
}

fn parts(fates: &Fates<'_>) -> Vec<Part> {
    let admitted = [
        (fates.aligned, PartColour::Green, "admitted, on the fewest NUMA nodes"),
        (
            fates.placed - fates.aligned.min(fates.placed),
            PartColour::Orange,
            "admitted, on more NUMA nodes than needed",
        ),
        (
            fates.admitted - fates.placed.min(fates.admitted),
            PartColour::PaleGreen,
            "admitted, without exclusive resources",
        ),
    ];
    let admitted = admitted.map(|(pods, colour, what)| Part { pods, colour, what: what.to_owned() });
    let refused = fates.refused.iter().map(|(reason, pods)| {
        let known = REFUSED.iter().find(|(known, _)| known == reason);
        let what =
            if reason == "NoRoom" { "no machine has room".to_owned() } else { format!("refused: {reason}") };
        Part { pods: *pods, colour: known.map_or(OTHER_REFUSAL, |(_, colour)| *colour), what }
    });
    let mut refused: Vec<Part> = refused.collect();
    refused.sort_by_key(|part| REFUSED.iter().position(|(_, colour)| *colour == part.colour).unwrap_or(2));
    admitted.into_iter().chain(refused).filter(|part| part.pods > 0).collect()
}

fn bars(report: &Report) -> Bars<'_> {
    let mut legend: Vec<(String, PartColour)> = Vec::new();
    let mut bars = Vec::new();
    for summary in &report.configurations {
        let fates = Fates::of_all(summary);
        for Part { colour, what, .. } in parts(&fates) {
            if !legend.iter().any(|(known, _)| *known == what) {
                legend.push((what, colour));
            }
        }
        bars.push(bar(&summary.configuration, &fates));
    }
    // Those of admitted pods first, whichever configuration came upon them first.
    legend.sort_by_key(|(what, _)| !what.starts_with("admitted"));
    Bars { head: "What became of the pods".to_owned(), figures: "admitted", bars, legend }
}

/// A bar of what became of pods under a configuration.
fn bar<'a>(configuration: &'a str, fates: &Fates<'_>) -> Bar<'a> {
    let arrived = fates.arrived;
    let mut before = 0;
    let part = |Part { pods, colour, what }: Part| {
        before += pods;
        BarPart {
            end: share(before, arrived),
            colour,
            label: percent(share(pods, arrived)),
            tip: format!("{what}: {pods} of {arrived}"),
        }
    };
    let parts = parts(fates).into_iter().map(part).collect();
    Bar { name: configuration, parts, figure: percent(share(fates.admitted, arrived)) }
}

/// The same for each kind of pods; none where there is one kind.
fn kinds(report: &Report) -> Vec<Bars<'_>> {
    let kinds = report.configurations.first().map_or(&[][..], |summary| &summary.kinds);
    if kinds.len() < 2 {
        return Vec::new();
    }
    kinds.iter().enumerate().map(|(at, kind)| of_kind(report, at, kind)).collect()
}

/// The bars of the kind at this position.
fn of_kind<'a>(report: &'a Report, at: usize, kind: &Kind) -> Bars<'a> {
    let mut bars = Vec::new();
    for summary in &report.configurations {
        let fates = summary.kinds.get(at).map(Fates::of_kind);
        bars.extend(fates.map(|fates| bar(&summary.configuration, &fates)));
    }
    let head = format!("{}: {} pods", kind.pod, kind.arrived);
    Bars { head, figures: "admitted", bars, legend: Vec::new() }
}

/// What a curve is measured in.
#[derive(Clone, Copy)]
enum Axis {
    Share,
    /// With the largest.
    Count(f64),
}

impl Axis {
    /// The largest that is drawn, and the distance of lines.
    fn range(self) -> (f64, f64) {
        match self {
            Self::Share => (1.0, 0.25),
            Self::Count(most) => {
                let rough = (most / 4.0).max(1.0);
                let power = 10_f64.powf(rough.log10().floor());
                let step =
                    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough);
                let step = step.unwrap_or(rough);
                (step * (most / step).ceil().max(1.0), step)
            }
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.0}%", value * 100.0),
            Self::Count(_) => format!("{value:.0}"),
        }
    }
}

fn curves<'a>(report: &'a Report, head: &'a str, axis: Axis, value: impl Fn(&Moment) -> f64) -> Curves<'a> {
    let (most, step) = axis.range();
    let mut lines = Vec::new();
    let mut line = 0.0;
    while line <= most * 1.0001 {
        lines.push(AxisMark { at: line / most, label: axis.label(line) });
        line += step;
    }
    let span = report.configurations.iter().map(|summary| summary.span_seconds).fold(0.0, f64::max);
    let of_span = |seconds: f64| if span > 0.0 { seconds / span } else { 0.0 };
    let tick = distance(span);
    let mut ticks = Vec::new();
    let mut at = 0.0;
    while at <= span * 1.0001 {
        ticks.push(AxisMark { at: of_span(at), label: if at == 0.0 { "0".to_owned() } else { time(at) } });
        if span <= 0.0 {
            break;
        }
        at += tick;
    }
    let curve = |summary: &'a Summary| Curve {
        name: &summary.configuration,
        steps: summary
            .steps
            .iter()
            .map(|step| CurveStep { at: of_span(step.seconds), height: value(step) / most })
            .collect(),
    };
    Curves { head, lines, ticks, curves: report.configurations.iter().map(curve).collect() }
}

/// How far moments on the axis are apart, in seconds.
fn distance(span: f64) -> f64 {
    const STEPS: [f64; 16] = [
        1.0,
        5.0,
        15.0,
        60.0,
        300.0,
        900.0,
        1800.0,
        3600.0,
        7200.0,
        10_800.0,
        21_600.0,
        43_200.0,
        86_400.0,
        172_800.0,
        604_800.0,
        2_592_000.0,
    ];
    STEPS.into_iter().find(|step| span / step <= 10.0).unwrap_or(span / 8.0)
}
