//! Charts of a simulation: bars of what became of the pods, and steps over time.

use std::collections::BTreeSet;

use machine_picture::svg::{Pixels, escaped, text_width};
use terminal_text::Glyphs;

use crate::report::{Moment, Report, Summary, share};
use crate::tables::{headline, percent, time};

const WIDTH: Pixels = 960;
const MARGIN: Pixels = 24;
/// Where bars and curves begin.
const LEFT: Pixels = 210;
const BAR: Pixels = 24;
const CURVES: Pixels = 190;
const TITLE: Pixels = 17;
const HEAD: Pixels = 14;
const FONT: Pixels = 12;

/// Of configurations, on a light and on a dark page: none of them is the colour of an outcome.
const CURVE_COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#4aa8e8"),
    ("#111111", "#f2f2f2"),
    ("#5b3fa8", "#b39df0"),
    ("#6b7300", "#c9cf5a"),
    ("#3aa6d8", "#8fd8f8"),
    ("#00687a", "#4fc3d4"),
];
/// Dashes of configurations, so that curves stay apart without colours.
const DASHES: [&str; 5] = ["", "9 4", "2 4", "12 4 2 4", "5 3"];
/// Widths of curves: one below others is seen beside them.
const CURVE_WIDTHS: [Pixels; 4] = [5, 3, 3, 2];
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

/// The report as a picture in SVG.
#[must_use]
pub fn charts(report: &Report) -> String {
    let mut page = Page::default();
    let name = report.scenario.rsplit('/').next().unwrap_or(&report.scenario);
    page.down(MARGIN + TITLE / 2);
    page.text(MARGIN, name, TITLE, Style::Bold);
    page.down(22);
    page.text(
        MARGIN,
        headline(report, terminal_text::Page::endless(Glyphs::Unicode)).trim_end(),
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
        let mut narrow: Vec<(Pixels, String)> = Vec::new();
        for part in parts(own) {
            before += part.pods;
            let end = LEFT + scaled(share(before, own.pods), width);
            page.bar(x, end - x, part.colour, &format!("{}: {} of {}", part.what, part.pods, own.pods));
            let label = percent(share(part.pods, own.pods));
            if end - x > text_width(&label, FONT) + 8 {
                let is_light = [NO_ROOM, NOTHING_HELD, NOT_ALIGNED].contains(&part.colour);
                let style = if is_light { Style::Inside } else { Style::Light };
                page.at(x + (end - x) / 2, page.y + BAR / 2 + 4, &label, FONT, style);
            } else {
                narrow.push((x + (end - x) / 2, label));
            }
            if !legend.iter().any(|(what, _)| *what == part.what) {
                legend.push((part.what, part.colour));
            }
            x = end;
        }
        let admitted = percent(share(own.admitted, own.pods));
        page.at(LEFT + width + 8, page.y + BAR / 2 + 4, &admitted, FONT, Style::Bold);
        page.down(BAR);
        page.below(&narrow, LEFT + width);
        page.down(8);
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
    value: impl Fn(&Moment) -> f64,
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
    for (at, (path, number, _)) in drawn.iter().enumerate() {
        page.curve(path, *number, at);
    }
    page.down(CURVES + 26);
    page.legend_of_curves(drawn.iter().map(|(_, number, names)| (names.as_str(), *number)));
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

    /// The curve of a configuration; `above` is how many curves are drawn before it.
    fn curve(&mut self, path: &str, number: usize, above: usize) {
        self.classes.insert(number);
        let width = CURVE_WIDTHS.get(above).copied().unwrap_or(2);
        self.body.push_str(&format!("<path class=\"c c{number}\" stroke-width=\"{width}\" d=\"{path}\"/>\n"));
    }

    /// Labels of parts that are too narrow for them, below the bar, each with a line to the middle of its part.
    fn below(&mut self, narrow: &[(Pixels, String)], right: Pixels) {
        let Some((_, last)) = narrow.last() else { return };
        let mut free = LEFT;
        let mut places: Vec<Pixels> = Vec::new();
        for (middle, label) in narrow {
            let own = text_width(label, FONT);
            let x = middle.saturating_sub(own / 2).max(free);
            places.push(x);
            free = x + own + 8;
        }
        // Labels that would leave the page move to the left, and those before them.
        let mut end = right + 40 + text_width(last, FONT) / 2;
        for (x, (_, label)) in places.iter_mut().zip(narrow).rev() {
            *x = (*x).min(end.saturating_sub(text_width(label, FONT)));
            end = x.saturating_sub(8);
        }
        for (x, (middle, label)) in places.iter().zip(narrow) {
            let under = x + text_width(label, FONT) / 2;
            self.line((*middle, self.y), (under, self.y + 7), "tick");
            self.at(*x, self.y + 18, label, FONT, Style::Faint);
        }
        self.down(22);
    }

    /// Colours and what they mean, in as many lines as they need.
    fn legend(&mut self, entries: &[(String, &'static str)]) {
        let entries = entries.iter().map(|(what, colour)| {
            let draw = move |x: Pixels, y: Pixels| {
                format!("<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\n", y - 10)
            };
            (what.as_str(), draw)
        });
        self.samples(17, entries);
    }

    /// Curves and whose they are.
    fn legend_of_curves<'a>(&mut self, entries: impl Iterator<Item = (&'a str, usize)>) {
        let entries = entries.enumerate().map(|(above, (names, number))| {
            let width = CURVE_WIDTHS.get(above).copied().unwrap_or(2);
            let draw = move |x: Pixels, y: Pixels| {
                let y = y - 4;
                format!("<path class=\"c c{number}\" stroke-width=\"{width}\" d=\"M{x} {y}h34\"/>\n")
            };
            (names, draw)
        });
        self.samples(40, entries);
    }

    /// Texts after samples, which are that wide.
    fn samples<'a>(
        &mut self,
        wide: Pixels,
        entries: impl Iterator<Item = (&'a str, impl Fn(Pixels, Pixels) -> String)>,
    ) {
        self.down(18);
        let mut x = LEFT;
        for (what, draw) in entries {
            let width = text_width(what, FONT) + wide + 17;
            if x > LEFT && x + width > WIDTH - MARGIN {
                x = LEFT;
                self.down(18);
            }
            self.body.push_str(&draw(x, self.y));
            self.at(x + wide, self.y, what, FONT, Style::Faint);
            x += width;
        }
    }

    fn written(self, title: &str) -> String {
        let (height, title) = (self.y + MARGIN, escaped(title));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif\">\n<title>{title}</title>\n<style>\n\
             .b{{font-weight:bold;fill:#222}}\n.f{{fill:#444}}\n.m{{text-anchor:middle}}\n.e{{text-anchor:end}}\n.w{{fill:#fff}}\n\
             .page{{fill:#fff}}\n.grid{{stroke:#ddd}}\n.tick{{stroke:#888}}\n.c{{fill:none;stroke-linejoin:round}}\n"
        );
        let mut dark =
            ".b{fill:#eee}\n.f{fill:#bbb}\n.page{fill:#16181c}\n.grid{stroke:#3a3d42}\n".to_owned();
        for number in self.classes {
            let (colour, on_dark) = CURVE_COLOURS[number % CURVE_COLOURS.len()];
            let dashes = DASHES[number % DASHES.len()];
            let dashes =
                if dashes.is_empty() { String::new() } else { format!(";stroke-dasharray:{dashes}") };
            text.push_str(&format!(".c{number}{{stroke:{colour}{dashes}}}\n"));
            dark.push_str(&format!(".c{number}{{stroke:{on_dark}}}\n"));
        }
        text.push_str(&format!(
            "@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>\n\
             <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
        ));
        text.push_str(&self.body);
        text.push_str("</svg>\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_means_one_thing() {
        let outcomes = [ALIGNED, NOT_ALIGNED, NOTHING_HELD, OTHER_REFUSAL];
        let outcomes = outcomes.into_iter().chain(REFUSED.map(|(_, colour)| colour));
        for outcome in outcomes {
            assert!(
                !CURVE_COLOURS.iter().any(|(light, dark)| *light == outcome || *dark == outcome),
                "{outcome}"
            );
        }
    }

    #[test]
    fn labels_of_narrow_parts_stay_apart_and_on_the_page() {
        let mut page = Page::default();
        let narrow = [(LEFT, "0.1%"), (LEFT + 2, "0.2%"), (900, "0.3%"), (902, "0.4%")];
        page.below(&narrow.map(|(middle, label)| (middle, label.to_owned())), 890);
        let lefts: Vec<Pixels> = page
            .body
            .split("<text class=\"f\" x=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().parse().unwrap_or_default())
            .collect();
        assert_eq!(lefts.len(), 4);
        assert!(lefts.windows(2).all(|pair| pair[1] >= pair[0] + text_width("0.1%", FONT)), "{lefts:?}");
        assert!(lefts[3] + text_width("0.4%", FONT) <= WIDTH, "{lefts:?}");
    }
}
