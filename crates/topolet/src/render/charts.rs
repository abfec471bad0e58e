//! Charts of a simulation: bars of what became of the pods, and steps over time.

use std::collections::BTreeSet;

use machine_picture::svg::{Pixels, escaped, text_width};

use crate::render::Glyphs;
use crate::render::simulation::{headline, percent, time};
use crate::simulation::{Report, Summary, share};

const WIDTH: Pixels = 960;
const MARGIN: Pixels = 24;
/// Where bars and curves begin.
const LEFT: Pixels = 210;
const BAR: Pixels = 24;
const CURVES: Pixels = 190;
const TITLE: Pixels = 17;
const HEAD: Pixels = 14;
const FONT: Pixels = 12;

/// Colours that people with any kind of sight can tell apart (Okabe and Ito, 2008).
const CURVE_COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];
const ALIGNED: &str = "#009e73";
const NOT_ALIGNED: &str = "#e69f00";
const NOTHING_HELD: &str = "#a9cfc2";
const NO_ROOM: &str = "#d9d9d9";
/// Of refusals, by reason.
const REFUSED: [(&str, &str); 4] = [
    ("TopologyAffinityError", "#d55e00"),
    ("UnexpectedAdmissionError", "#8f2f6b"),
    ("SMTAlignmentError", "#cc79a7"),
    ("NoRoom", NO_ROOM),
];
const OTHER_REFUSAL: &str = "#6b6b6b";

/// The whole picture.
pub(crate) fn charts(report: &Report) -> String {
    let mut page = Page::default();
    let name = report.scenario.rsplit('/').next().unwrap_or(&report.scenario);
    page.down(MARGIN + TITLE / 2);
    page.text(MARGIN, name, TITLE, Style::Bold);
    page.down(22);
    page.text(
        MARGIN,
        headline(report, crate::render::Page::endless(Glyphs::Unicode)).trim_end(),
        FONT,
        Style::Faint,
    );
    bars(&mut page, report);
    let most =
        report.configurations.iter().flat_map(|own| &own.steps).map(|step| step.refused).fold(0.0, f64::max);
    curves(&mut page, report, "CPUs that containers have for themselves", Axis::Share, |step| step.cpus_held);
    curves(&mut page, report, "Pods refused so far", Axis::Count(most), |step| step.refused);
    page.written(name)
}

/// A part of a bar: how many pods, in which colour, and what they are.
struct Part {
    pods: u64,
    colour: &'static str,
    what: String,
}

fn parts(own: &Summary) -> Vec<Part> {
    let admitted = [
        (own.aligned, ALIGNED, "admitted, on the fewest NUMA nodes"),
        (own.placed - own.aligned.min(own.placed), NOT_ALIGNED, "admitted, on more NUMA nodes than needed"),
        (own.admitted - own.placed.min(own.admitted), NOTHING_HELD, "admitted, holds nothing of its own"),
    ];
    let admitted = admitted.map(|(pods, colour, what)| Part { pods, colour, what: what.to_owned() });
    let refused = own.refused.iter().map(|(reason, pods)| {
        let known = REFUSED.iter().find(|(known, _)| known == reason);
        let what =
            if reason == "NoRoom" { "no machine has room".to_owned() } else { format!("refused: {reason}") };
        Part { pods: *pods, colour: known.map_or(OTHER_REFUSAL, |(_, colour)| *colour), what }
    });
    let mut refused: Vec<Part> = refused.collect();
    // What has to do with topology stands beside what was admitted.
    refused.sort_by_key(|part| REFUSED.iter().position(|(_, colour)| *colour == part.colour).unwrap_or(2));
    admitted.into_iter().chain(refused).filter(|part| part.pods > 0).collect()
}

fn bars(page: &mut Page, report: &Report) {
    page.down(34);
    page.text(MARGIN, "What became of the pods", HEAD, Style::Bold);
    let width = WIDTH - MARGIN - LEFT - 70;
    let mut legend: Vec<(String, &'static str)> = Vec::new();
    page.at(LEFT + width + 8, page.y, "admitted", FONT, Style::Faint);
    page.down(12);
    for own in &report.configurations {
        page.label(&own.configuration, page.y + BAR / 2 + 4);
        let (mut x, mut before) = (LEFT, 0);
        for part in parts(own) {
            before += part.pods;
            let end = LEFT + scaled(share(before, own.pods), width);
            page.bar(x, end - x, part.colour, &format!("{}: {} of {}", part.what, part.pods, own.pods));
            let label = percent(share(part.pods, own.pods));
            if end - x > text_width(&label, FONT) + 8 {
                let style = if part.colour == NO_ROOM || part.colour == NOTHING_HELD {
                    Style::Inside
                } else {
                    Style::Light
                };
                page.at(x + (end - x) / 2, page.y + BAR / 2 + 4, &label, FONT, style);
            }
            if !legend.iter().any(|(what, _)| *what == part.what) {
                legend.push((part.what, part.colour));
            }
            x = end;
        }
        let admitted = percent(share(own.admitted, own.pods));
        page.at(LEFT + width + 8, page.y + BAR / 2 + 4, &admitted, FONT, Style::Bold);
        page.down(BAR + 8);
    }
    // Those of admitted pods first, whichever configuration came upon them first.
    legend.sort_by_key(|(what, _)| !what.starts_with("admitted"));
    page.legend(&legend);
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

fn curves(
    page: &mut Page,
    report: &Report,
    head: &str,
    axis: Axis,
    value: impl Fn(&crate::simulation::Moment) -> f64,
) {
    page.down(36);
    page.text(MARGIN, head, HEAD, Style::Bold);
    page.down(16);
    let (most, step) = axis.range();
    let width = WIDTH - 2 * MARGIN - LEFT;
    let height = |value: f64| page_height(value / most);
    let top = page.y;
    let mut line = 0.0;
    while line <= most * 1.0001 {
        let y = top + CURVES - height(line);
        page.line((LEFT, y), (LEFT + width, y), "grid");
        page.at(LEFT - 8, y + 4, &axis.label(line), FONT, Style::End);
        line += step;
    }
    let span = report.configurations.iter().map(|own| own.span_seconds).fold(0.0, f64::max);
    let (unit, tick) = ticks(span);
    let mut at = 0.0;
    while at <= span * 1.0001 {
        let x = LEFT + scaled(if span > 0.0 { at / span } else { 0.0 }, width);
        page.line((x, top + CURVES), (x, top + CURVES + 5), "tick");
        page.at(
            x,
            top + CURVES + 20,
            &if at == 0.0 { "0".to_owned() } else { unit(at) },
            FONT,
            Style::Middle,
        );
        if span <= 0.0 {
            break;
        }
        at += tick;
    }
    // Configurations that come to the same are one curve with all their names.
    let mut drawn: Vec<(String, usize, String)> = Vec::new();
    for (number, own) in report.configurations.iter().enumerate() {
        let mut path = String::new();
        for step in &own.steps {
            let x = LEFT + scaled(if span > 0.0 { step.seconds / span } else { 0.0 }, width);
            let y = top + CURVES - height(value(step));
            path.push_str(&if path.is_empty() { format!("M{x} {y}") } else { format!("H{x}V{y}") });
        }
        match drawn.iter_mut().find(|(same, ..)| *same == path) {
            Some((.., names)) => names.push_str(&format!(", {}", own.configuration)),
            None => drawn.push((path, number, own.configuration.clone())),
        }
    }
    for (path, number, _) in &drawn {
        page.curve(path, *number);
    }
    page.down(CURVES + 26);
    let legend: Vec<(String, &'static str)> =
        drawn.into_iter().map(|(_, number, names)| (names, colour(number))).collect();
    page.legend(&legend);
}

/// A share of the height of a chart.
fn page_height(share: f64) -> Pixels {
    scaled(share, CURVES)
}

/// How moments are written on the axis, and how far apart in seconds.
fn ticks(span: f64) -> (fn(f64) -> String, f64) {
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
    let step = STEPS.into_iter().find(|step| span / step <= 10.0).unwrap_or(span / 8.0);
    (time, step)
}

const fn colour(number: usize) -> &'static str {
    CURVE_COLOURS[number % CURVE_COLOURS.len()]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is one")]
fn scaled(share: f64, length: Pixels) -> Pixels {
    (share.clamp(0.0, 1.0) * f64::from(length)).round() as Pixels
}

/// How a text stands and looks.
#[derive(Clone, Copy)]
enum Style {
    Bold,
    Faint,
    /// In the middle of its point.
    Middle,
    /// The same on a light ground.
    Inside,
    /// The same on a dark ground.
    Light,
    /// Before its point.
    End,
}

impl Style {
    const fn class(self) -> &'static str {
        match self {
            Self::Bold => "b",
            Self::Faint => "f",
            Self::Middle => "m f",
            Self::Inside => "m",
            Self::Light => "m w",
            Self::End => "e f",
        }
    }
}

/// A picture that grows downwards.
#[derive(Default)]
struct Page {
    y: Pixels,
    body: String,
    classes: BTreeSet<usize>,
}

impl Page {
    fn down(&mut self, by: Pixels) {
        self.y += by;
    }

    fn text(&mut self, x: Pixels, text: &str, size: Pixels, style: Style) {
        self.at(x, self.y, text, size, style);
    }

    fn at(&mut self, x: Pixels, y: Pixels, text: &str, size: Pixels, style: Style) {
        let (class, text) = (style.class(), escaped(text));
        self.body.push_str(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{text}</text>\n"
        ));
    }

    /// What a bar is, before it; cut where there is no room.
    fn label(&mut self, text: &str, y: Pixels) {
        let most = (LEFT - MARGIN - 8) * 10 / (FONT * 6);
        let fits = text.chars().count() <= most as usize;
        let short: String = text.chars().take(most as usize - 1).collect();
        self.at(LEFT - 8, y, &if fits { text.to_owned() } else { format!("{short}…") }, FONT, Style::End);
    }

    fn bar(&mut self, x: Pixels, width: Pixels, colour: &str, what: &str) {
        let (y, what) = (self.y, escaped(what));
        self.body.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BAR}\" fill=\"{colour}\"><title>{what}</title></rect>\n"
        ));
    }

    fn line(&mut self, from: (Pixels, Pixels), to: (Pixels, Pixels), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.body.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"
        ));
    }

    fn curve(&mut self, path: &str, number: usize) {
        self.classes.insert(number);
        self.body.push_str(&format!("<path class=\"c c{number}\" d=\"{path}\"/>\n"));
    }

    /// Colours and what they mean, in as many lines as they need.
    fn legend(&mut self, entries: &[(String, &'static str)]) {
        self.down(18);
        let mut x = LEFT;
        for (what, colour) in entries {
            let width = text_width(what, FONT) + 34;
            if x > LEFT && x + width > WIDTH - MARGIN {
                x = LEFT;
                self.down(18);
            }
            let (top, left) = (self.y - 10, x);
            self.body.push_str(&format!(
                "<rect x=\"{left}\" y=\"{top}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\n"
            ));
            self.at(x + 17, self.y, what, FONT, Style::Faint);
            x += width;
        }
    }

    fn written(self, title: &str) -> String {
        let (height, title) = (self.y + MARGIN, escaped(title));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif\">\n<title>{title}</title>\n<style>\n\
             .b{{font-weight:bold;fill:#222}}\n.f{{fill:#444}}\n.m{{text-anchor:middle}}\n.e{{text-anchor:end}}\n.w{{fill:#fff}}\n\
             .grid{{stroke:#ddd}}\n.tick{{stroke:#888}}\n.c{{fill:none;stroke-width:2;stroke-linejoin:round}}\n"
        );
        for number in self.classes {
            // When the colours are all used they begin again, dashed.
            let dashes = match number / CURVE_COLOURS.len() {
                0 => String::new(),
                again => format!(";stroke-dasharray:{} 3", 8 / again.min(4)),
            };
            text.push_str(&format!(".c{number}{{stroke:{}{dashes}}}\n", colour(number)));
        }
        text.push_str(&format!("</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"));
        text.push_str(&self.body);
        text.push_str("</svg>\n");
        text
    }
}
