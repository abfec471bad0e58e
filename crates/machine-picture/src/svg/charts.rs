//! Charts of several rows: bars of parts, and curves of steps.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::escaped;
use super::text::{Pixels, text_width};

const WIDTH: Pixels = 960;
const MARGIN: Pixels = 24;
/// Where bars and curves begin.
const LEFT: Pixels = 210;
const BAR: Pixels = 24;
const CURVES: Pixels = 190;
const TITLE: Pixels = 17;
const HEAD: Pixels = 14;
const FONT: Pixels = 12;

/// Of rows, on a light and on a dark page: none of them is the colour of a part of a bar.
const CURVE_COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#4aa8e8"),
    ("#111111", "#f2f2f2"),
    ("#5b3fa8", "#b39df0"),
    ("#6b7300", "#c9cf5a"),
    ("#3aa6d8", "#8fd8f8"),
    ("#00687a", "#4fc3d4"),
];
/// Dashes of rows, so that curves stay apart without colours.
const DASHES: [&str; 5] = ["", "9 4", "2 4", "12 4 2 4", "5 3"];
/// Widths of curves: one below others is seen beside them.
const CURVE_WIDTHS: [Pixels; 4] = [5, 3, 3, 2];

/// Bars and curves under one title. A row has the same place in the bars and in all curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Charts<'a> {
    /// What the page is called.
    pub title: &'a str,
    /// A line below the title.
    pub headline: &'a str,
    /// Groups of bars with a bar for each row, one below the other.
    pub bars: Vec<Bars<'a>>,
    /// Charts over time, one below the other.
    pub curves: Vec<Curves<'a>>,
}

/// A bar for each row.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars<'a> {
    /// What they are about.
    pub head: String,
    /// What the figures are that stand behind the bars.
    pub figures: &'a str,
    /// The bars.
    pub bars: Vec<Bar<'a>>,
    /// What each colour means, in this order; empty where a group before says so.
    pub legend: Vec<(String, PartColour)>,
}

/// A bar of parts that lie side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar<'a> {
    /// What its row is called.
    pub name: &'a str,
    /// Its parts, from the left.
    pub parts: Vec<BarPart>,
    /// The figure behind it.
    pub figure: String,
}

/// A part of a bar.
#[derive(Clone, PartialEq, Debug)]
pub struct BarPart {
    /// Where it ends, as a share of the bar from 0 to 1.
    pub end: f64,
    /// Its colour.
    pub colour: PartColour,
    /// What stands in it, or below it where it is too narrow.
    pub label: String,
    /// What the pointer shows of it.
    pub tip: String,
}

/// A colour of parts of bars, which is the same on a light and on a dark page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartColour {
    /// As it should be.
    Green,
    /// Less than it should be.
    Orange,
    /// As it should be, for want of anything to be wrong.
    PaleGreen,
    /// There is no room.
    LightGrey,
    /// Refused, for the reason that matters most.
    Vermilion,
    /// Refused, for the second reason.
    Purple,
    /// Refused, for the third reason.
    Pink,
    /// Refused, for any other reason.
    DarkGrey,
}

impl PartColour {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Green,
        Self::Orange,
        Self::PaleGreen,
        Self::LightGrey,
        Self::Vermilion,
        Self::Purple,
        Self::Pink,
        Self::DarkGrey,
    ];

    const fn fill(self) -> &'static str {
        match self {
            Self::Green => "#009e73",
            Self::Orange => "#e69f00",
            Self::PaleGreen => "#a9cfc2",
            Self::LightGrey => "#d9d9d9",
            Self::Vermilion => "#d55e00",
            Self::Purple => "#8f2f6b",
            Self::Pink => "#cc79a7",
            Self::DarkGrey => "#6b6b6b",
        }
    }

    /// How a label in it looks: black or white, whichever has at least 4.5:1 on it.
    const fn label(self) -> Style {
        match self {
            Self::Green | Self::Orange | Self::PaleGreen | Self::LightGrey | Self::Vermilion | Self::Pink => {
                Style::Inside
            }
            Self::Purple | Self::DarkGrey => Style::Light,
        }
    }
}

/// A chart over time with a curve for each row.
#[derive(Clone, PartialEq, Debug)]
pub struct Curves<'a> {
    /// What it is about.
    pub head: &'a str,
    /// Lines across it, by their heights.
    pub lines: Vec<AxisMark>,
    /// Moments below it.
    pub ticks: Vec<AxisMark>,
    /// The curves.
    pub curves: Vec<Curve<'a>>,
}

/// A mark on an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisMark {
    /// Where, as a share of the axis from 0 to 1.
    pub at: f64,
    /// What stands beside it.
    pub label: String,
}

/// A curve that stays at a height until its next step. Rows with the same curve share one.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve<'a> {
    /// What its row is called.
    pub name: &'a str,
    /// Its steps, in order.
    pub steps: Vec<CurveStep>,
}

/// A step of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurveStep {
    /// When, as a share of the time from 0 to 1.
    pub at: f64,
    /// The height from then on, as a share of the chart's from 0 to 1.
    pub height: f64,
}

impl Charts<'_> {
    /// The charts as an SVG picture.
    #[must_use]
    pub fn picture(&self) -> String {
        let mut page = Page::default();
        page.down(MARGIN + TITLE / 2);
        page.text(MARGIN, self.title, TITLE, Style::Bold);
        page.down(22);
        page.text(MARGIN, self.headline, FONT, Style::Faint);
        for group in &self.bars {
            bars(&mut page, group);
        }
        for chart in &self.curves {
            curves(&mut page, chart);
        }
        page.written(self.title)
    }
}

fn bars(page: &mut Page, bars: &Bars<'_>) {
    page.down(34);
    page.text(MARGIN, &bars.head, HEAD, Style::Bold);
    let width = WIDTH - MARGIN - LEFT - 70;
    page.at(LEFT + width + 8, page.y, bars.figures, FONT, Style::Faint);
    page.down(12);
    for bar in &bars.bars {
        page.label(bar.name, page.y + BAR / 2 + 4);
        let mut x = LEFT;
        let mut narrow: Vec<(Pixels, String)> = Vec::new();
        for BarPart { end, colour, label, tip } in &bar.parts {
            let end = LEFT + scaled(*end, width);
            page.bar(x, end - x, colour.fill(), tip);
            if end - x > text_width(label, FONT) + 8 {
                page.at(x + (end - x) / 2, page.y + BAR / 2 + 4, label, FONT, colour.label());
            } else {
                narrow.push((x + (end - x) / 2, label.clone()));
            }
            x = end;
        }
        page.at(LEFT + width + 8, page.y + BAR / 2 + 4, &bar.figure, FONT, Style::Bold);
        page.down(BAR);
        page.below(&narrow, LEFT + width);
        page.down(8);
    }
    if !bars.legend.is_empty() {
        page.legend(&bars.legend);
    }
}

fn curves(page: &mut Page, chart: &Curves<'_>) {
    page.down(36);
    page.text(MARGIN, chart.head, HEAD, Style::Bold);
    page.down(16);
    let width = WIDTH - 2 * MARGIN - LEFT;
    let top = page.y;
    for AxisMark { at, label } in &chart.lines {
        let y = top + CURVES - scaled(*at, CURVES);
        page.line((LEFT, y), (LEFT + width, y), "grid");
        page.at(LEFT - 8, y + 4, label, FONT, Style::End);
    }
    for AxisMark { at, label } in &chart.ticks {
        let x = LEFT + scaled(*at, width);
        page.line((x, top + CURVES), (x, top + CURVES + 5), "tick");
        page.at(x, top + CURVES + 20, label, FONT, Style::Middle);
    }
    // Rows that come to the same are one curve with all their names.
    let mut drawn: Vec<(String, usize, String)> = Vec::new();
    for (number, curve) in chart.curves.iter().enumerate() {
        let mut path = String::new();
        for step in &curve.steps {
            let x = LEFT + scaled(step.at, width);
            let y = top + CURVES - scaled(step.height, CURVES);
            path.push_str(&if path.is_empty() { format!("M{x} {y}") } else { format!("H{x}V{y}") });
        }
        match drawn.iter_mut().find(|(same, ..)| *same == path) {
            Some((.., names)) => names.push_str(&format!(", {}", curve.name)),
            None => drawn.push((path, number, curve.name.to_owned())),
        }
    }
    for (at, (path, number, _)) in drawn.iter().enumerate() {
        page.curve(path, *number, at);
    }
    page.down(CURVES + 26);
    page.legend_of_curves(drawn.iter().map(|(_, number, names)| (names.as_str(), *number)));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is one")]
fn scaled(share: f64, length: Pixels) -> Pixels {
    libm::round(share.clamp(0.0, 1.0) * f64::from(length)) as Pixels
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

    /// The curve of a row; `above` is how many curves are drawn before it.
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
    fn legend(&mut self, entries: &[(String, PartColour)]) {
        let entries = entries.iter().map(|(what, colour)| {
            let colour = colour.fill();
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
    use alloc::borrow::ToOwned as _;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_colour_means_one_thing() {
        for outcome in PartColour::ALL.map(PartColour::fill) {
            assert!(
                !CURVE_COLOURS.iter().any(|(light, dark)| *light == outcome || *dark == outcome),
                "{outcome}"
            );
        }
    }

    #[test]
    fn labels_in_parts_can_be_read() {
        for part in PartColour::ALL {
            let letters = if matches!(part.label(), Style::Light) { "#ffffff" } else { "#000000" };
            let found = crate::svg::contrast::contrast(part.fill(), letters);
            assert!(found >= 4.5, "{part:?}: {found:.2}");
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
