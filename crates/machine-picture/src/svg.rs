//! A machine as an SVG picture: boxes with text in them.

mod devices;
mod machine;
mod pods;
mod decision;
mod distances;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use crate::shares::{Owner, PodIndex, Shares};

pub use decision::{CpuUse, Decision, NodePart, NodeRoom, ResourceRoom, decision};
pub use machine::{Contents, Heading, picture, picture_of};
pub use pods::{PodKey, pod_keys};

/// A length in pixels of the picture at its natural size.
pub type Pixels = u32;

const FONT: Pixels = 12;
const SMALL_FONT: Pixels = 10;
/// Height of a line of text with a box around it.
const BAR: Pixels = 20;
/// Between a box and what is in it, and between boxes.
const GAP: Pixels = 6;

/// The kind of a box, in the colours of lstopo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Page,
    Package,
    Group,
    Memory,
    Cache,
    Core,
    Cpu,
    Isolated,
    Reserved,
    Held,
    Same,
    Near,
    Middle,
    Far,
    Root,
    Bridge,
    Device,
    Nothing,
    Several,
}

impl Look {
    const ALL: [Self; 19] = [
        Self::Page,
        Self::Package,
        Self::Group,
        Self::Memory,
        Self::Cache,
        Self::Core,
        Self::Cpu,
        Self::Isolated,
        Self::Reserved,
        Self::Held,
        Self::Same,
        Self::Near,
        Self::Middle,
        Self::Far,
        Self::Root,
        Self::Bridge,
        Self::Device,
        Self::Nothing,
        Self::Several,
    ];

    /// The name of its class in the picture.
    const fn class(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Package => "package",
            Self::Group => "group",
            Self::Memory => "memory",
            Self::Cache => "cache",
            Self::Core => "core",
            Self::Cpu => "cpu",
            Self::Isolated => "isolated",
            Self::Reserved => "reserved",
            Self::Held => "held",
            Self::Same => "same",
            Self::Near => "near",
            Self::Middle => "middle",
            Self::Far => "far",
            Self::Root => "root",
            Self::Bridge => "bridge",
            Self::Device => "device",
            Self::Nothing => "nothing",
            Self::Several => "several",
        }
    }

    const fn style(self) -> &'static str {
        match self {
            Self::Page => "fill:#ffffff;stroke:none",
            Self::Package => "fill:#e7f3cf;stroke:#7d9150",
            Self::Group => "fill:#f4f6f0;stroke:#9aa38c",
            Self::Memory => "fill:#f3d9d7;stroke:#b07a76",
            Self::Cache => "fill:#ffffff;stroke:#808080",
            Self::Core => "fill:#c8c8c8;stroke:#808080",
            Self::Cpu => "fill:#ffffff;stroke:#a0a0a0",
            Self::Isolated => "fill:#f4f0ff;stroke:#6a4fb0;stroke-dasharray:3 2",
            Self::Reserved => "fill:#8c8c8c;stroke:#404040",
            Self::Held => "fill:#dedede;stroke:#707070;stroke-dasharray:2 2",
            Self::Same => "fill:none;stroke:#a0a0a0",
            Self::Near => "fill:#e3edf7;stroke:#a0a0a0",
            Self::Middle => "fill:#b3cde6;stroke:#a0a0a0",
            Self::Far => "fill:#7fa9d1;stroke:#a0a0a0",
            Self::Root => "fill:#eef3f8;stroke:#7f93a8",
            Self::Bridge => "fill:none;stroke:#7f93a8;stroke-dasharray:4 2",
            Self::Device => "fill:#ffffff;stroke:#5f7a96",
            Self::Nothing => "fill:none;stroke:#a0a0a0;stroke-dasharray:3 3",
            Self::Several => "fill:#ffffff;stroke:#d00000;stroke-width:3",
        }
    }

    /// The style on a dark page.
    const fn dark_style(self) -> &'static str {
        match self {
            Self::Page => "fill:#16181c;stroke:none",
            Self::Package => "fill:#252c1c;stroke:#8fa45c",
            Self::Group => "fill:#20241d;stroke:#7b8570",
            Self::Memory => "fill:#43292a;stroke:#b07a76",
            Self::Cache | Self::Cpu | Self::Device => "fill:#23262b;stroke:#868c94",
            Self::Core => "fill:#4a4d52;stroke:#868c94",
            Self::Isolated => "fill:#2b2540;stroke:#a48ae0",
            Self::Reserved => "fill:#6c7178;stroke:#b8bec6",
            Self::Held => "fill:#3b3e44;stroke:#9aa0a8",
            Self::Near => "fill:#22303e;stroke:#868c94",
            Self::Middle => "fill:#2f4d6b;stroke:#868c94",
            Self::Far => "fill:#3f6fa0;stroke:#868c94",
            Self::Root => "fill:#1c242d;stroke:#7f93a8",
            Self::Bridge => "fill:none;stroke:#7f93a8",
            Self::Same | Self::Nothing => "fill:none;stroke:#868c94",
            Self::Several => "fill:#16181c;stroke:#ff5050",
        }
    }
}

/// How a text is placed at its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Anchor {
    Start,
    Middle,
    /// At the start, in bold.
    Heading,
}

/// The colour of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ink {
    /// Dark on a light page, light on a dark one.
    Page,
    /// Dark on the colour of a pod, whatever the page.
    Pod,
}

#[derive(Clone, Debug)]
enum Shape {
    Box { width: Pixels, height: Pixels, look: Look, owner: Owner, title: Option<String> },
    Text { text: String, size: Pixels, anchor: Anchor, ink: Ink },
}

/// Shapes with their places, on an area of a size.
#[derive(Clone, Debug, Default)]
struct Figure {
    width: Pixels,
    height: Pixels,
    shapes: Vec<(Pixels, Pixels, Shape)>,
}

impl Figure {
    /// An empty box.
    fn boxed(width: Pixels, height: Pixels, look: Look) -> Self {
        let shape = Shape::Box { width, height, look, owner: Owner::Nobody, title: None };
        Self { width, height, shapes: vec![(0, 0, shape)] }
    }

    /// The outermost box in the colour of whose it is, with the texts in it.
    fn owned(mut self, by: Owner) -> Self {
        if matches!(by, Owner::Pod(_)) {
            for (_, _, shape) in &mut self.shapes {
                if let Shape::Text { ink, .. } = shape {
                    *ink = Ink::Pod;
                }
            }
        }
        if let Some((_, _, Shape::Box { owner, .. })) = self.shapes.first_mut() {
            *owner = by;
        }
        self
    }

    /// The outermost box with a text that appears when the pointer is on it.
    fn titled(mut self, text: String) -> Self {
        if let Some((_, _, Shape::Box { title, .. })) = self.shapes.first_mut() {
            *title = Some(text);
        }
        self
    }

    /// A box around one line of text, at least `at_least` wide.
    fn bar(text: &str, look: Look, at_least: Pixels) -> Self {
        let mut bar = Self::boxed((text_width(text, FONT) + 2 * GAP).max(at_least), BAR, look);
        bar.text(GAP, BAR - GAP, text, FONT, Anchor::Start);
        bar
    }

    fn text(&mut self, x: Pixels, y: Pixels, text: &str, size: Pixels, anchor: Anchor) {
        self.shapes.push((x, y, Shape::Text { text: text.to_owned(), size, anchor, ink: Ink::Page }));
    }

    /// Puts another figure on this one, which grows as needed.
    fn put(&mut self, x: Pixels, y: Pixels, other: Self) {
        self.width = self.width.max(x + other.width);
        self.height = self.height.max(y + other.height);
        self.shapes.extend(other.shapes.into_iter().map(|(at_x, at_y, shape)| (x + at_x, y + at_y, shape)));
    }

    /// Puts another figure below this one.
    fn put_below(&mut self, other: Self) {
        let y = if self.height == 0 { 0 } else { self.height + GAP };
        self.put(0, y, other);
    }

    /// This figure in a box, with a gap all around.
    fn in_box(self, look: Look, at_least: (Pixels, Pixels)) -> Self {
        let (width, height) =
            ((self.width + 2 * GAP).max(at_least.0), (self.height + 2 * GAP).max(at_least.1));
        let mut outer = Self::boxed(width, height, look);
        outer.put(GAP, GAP, self);
        outer
    }
}

/// A line of small text.
fn small_text(text: &str) -> Figure {
    let mut figure = Figure { width: text_width(text, SMALL_FONT), height: SMALL_FONT, shapes: Vec::new() };
    figure.text(0, SMALL_FONT, text, SMALL_FONT, Anchor::Start);
    figure
}

/// A box of a kind in a key, and what it is.
fn keyed(look: Look, text: &str) -> Figure {
    let mut square = Figure::boxed(SMALL_FONT, SMALL_FONT, look);
    square.text(SMALL_FONT + GAP, SMALL_FONT - 1, text, SMALL_FONT, Anchor::Start);
    square.width += GAP + text_width(text, SMALL_FONT);
    square
}

/// Kinds of boxes and what they are, in rows no wider than that.
fn key_rows(looks: &[(Look, &str)], width: Pixels) -> Figure {
    let mut key = Figure::default();
    let mut row = Figure::default();
    for (look, text) in looks {
        let entry = keyed(*look, text);
        if row.width > 0 && row.width + 3 * GAP + entry.width > width {
            key.put_below(mem::take(&mut row));
        }
        let x = if row.width == 0 { 0 } else { row.width + 3 * GAP };
        row.put(x, 0, entry);
    }
    key.put_below(row);
    key
}

/// A line of parts between dots, folded to a width.
fn folded(line: &str, width: Pixels) -> Vec<String> {
    const DOT: &str = " · ";
    let mut lines: Vec<String> = Vec::new();
    for part in line.split(DOT) {
        match lines.last_mut() {
            Some(last) if text_width(last, SMALL_FONT) + text_width(part, SMALL_FONT) + 3 * GAP <= width => {
                last.push_str(DOT);
                last.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// A text in lines no wider than that, broken after spaces and commas.
fn wrapped(text: &str, width: Pixels, size: Pixels) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive([' ', ',']) {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() || text_width(last, size) + text_width(part.trim_end(), size) <= width {
            last.push_str(part);
        } else {
            lines.push(part.to_owned());
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Figures in rows and columns, in about the shape of a screen; each column is as wide as the widest figure.
fn grid(figures: Vec<Figure>) -> Figure {
    let width = figures.iter().map(|figure| figure.width).max().unwrap_or(0) + GAP;
    let height = figures.iter().map(|figure| figure.height).max().unwrap_or(0) + GAP;
    let columns = columns_for(figures.len(), width, height);
    let mut all = Figure::default();
    let (mut x, mut y) = (0, 0);
    for (at, figure) in figures.into_iter().enumerate() {
        if at > 0 && at % columns == 0 {
            (x, y) = (0, all.height + GAP);
        }
        all.put(x, y, figure);
        x += width;
    }
    all
}

/// The number of columns that makes full rows and a picture that is neither long nor tall.
fn columns_for(count: usize, width: Pixels, height: Pixels) -> usize {
    let badness = |columns: usize| {
        let rows = count.div_ceil(columns);
        let (wide, tall) = (columns as u64 * u64::from(width) * 10, rows as u64 * u64::from(height) * 16);
        // How far from 16 to 10 in percent; a cell that stays empty looks worse than a shape that is not a screen's.
        let shape = wide.max(tall) * 100 / wide.min(tall).max(1);
        let unused = (rows * columns - count) as u64 * 800 / count.max(1) as u64;
        shape + unused
    };
    (1..=count.max(1)).min_by_key(|columns| badness(*columns)).unwrap_or(1)
}

/// About how wide a text is drawn: letters of ordinary fonts are no wider.
pub fn text_width(text: &str, size: Pixels) -> Pixels {
    let letters = Pixels::try_from(text.chars().count()).unwrap_or(Pixels::MAX / 100);
    letters.saturating_mul(size * 6) / 10
}

/// The whole file, with a margin.
fn written(figure: Figure, title: &str, shares: &Shares) -> String {
    let mut page = Figure::boxed(figure.width + 4 * GAP, figure.height + 4 * GAP, Look::Page);
    page.put(2 * GAP, 2 * GAP, figure);
    let (width, height) = (page.width, page.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif\">\n<title>{}</title>\n<style>\n",
        escaped(title)
    );
    for look in Look::ALL {
        text.push_str(&format!(".{}{{{}}}\n", look.class(), look.style()));
    }
    for pod in (0..shares.pods.len()).map(PodIndex) {
        text.push_str(&format!(".{}{{{}}}\n", pods::class(pod), pods::style(pod)));
    }
    text.push_str(".m{text-anchor:middle}\n.h{font-weight:bold}\n.k{fill:#000000}\n");
    text.push_str("@media (prefers-color-scheme:dark){\ntext{fill:#e4e6e9}\n.k{fill:#000000}\n");
    for look in Look::ALL {
        text.push_str(&format!(".{}{{{}}}\n", look.class(), look.dark_style()));
    }
    // After the looks, whose colours they replace.
    for pod in (0..shares.pods.len()).map(PodIndex) {
        text.push_str(&format!(".{}{{{}}}\n", pods::class(pod), pods::style(pod)));
    }
    text.push_str("}\n</style>\n");
    for (x, y, shape) in &page.shapes {
        match shape {
            Shape::Box { width, height, look, owner, title } => {
                let mut class = look.class().to_owned();
                // The pointer shows what the box is and which pod holds it.
                let mut tips: Vec<&str> = title.iter().map(String::as_str).collect();
                match owner {
                    Owner::Nobody => {}
                    Owner::Several => class.push_str(" several"),
                    Owner::Pod(pod) => {
                        class = format!("{class} {}", pods::class(*pod));
                        tips.extend(shares.pod(*pod).map(|pod| pod.name.as_str()));
                    }
                }
                let end = match tips.as_slice() {
                    [] => "/>".to_owned(),
                    tips => format!("><title>{}</title></rect>", escaped(&tips.join(", of "))),
                };
                text.push_str(&format!(
                    "<rect class=\"{class}\" x=\"{x}.5\" y=\"{y}.5\" width=\"{width}\" height=\"{height}\" rx=\"2\"{end}\n"
                ));
            }
            Shape::Text { text: own, size, anchor, ink } => {
                let class = match (anchor, ink) {
                    (Anchor::Start, Ink::Page) => "",
                    (Anchor::Start, Ink::Pod) => " class=\"k\"",
                    (Anchor::Middle, Ink::Page) => " class=\"m\"",
                    (Anchor::Middle, Ink::Pod) => " class=\"m k\"",
                    (Anchor::Heading, _) => " class=\"h\"",
                };
                let own = escaped(own);
                text.push_str(&format!(
                    "<text{class} x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{own}</text>\n"
                ));
            }
        }
    }
    text.push_str("</svg>\n");
    text
}

/// A text as the content of an XML element.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_full_where_they_can_be() {
        for (count, width, height, columns) in
            [(1, 50, 20, 1), (16, 260, 120, 4), (8, 60, 40, 4), (2, 900, 600, 2), (2, 300, 600, 2)]
        {
            assert_eq!(columns_for(count, width, height), columns, "{count} of {width}x{height}");
        }
    }

    #[test]
    fn long_texts_are_broken_after_spaces_and_commas() {
        assert_eq!(wrapped("one two three", 50, SMALL_FONT), ["one two", "three"]);
        assert_eq!(wrapped("0-3,8-11,16", 50, SMALL_FONT), ["0-3,", "8-11,16"]);
        assert_eq!(wrapped("", 60, SMALL_FONT), [""]);
    }

    #[test]
    fn text_cannot_end_what_it_is_in() {
        let mut figure = Figure::boxed(10, 10, Look::Cpu);
        figure.text(0, 0, "</text><script>&", FONT, Anchor::Start);
        let text = written(figure, "</title>", &Shares::default());
        assert!(
            text.contains("&lt;/text&gt;&lt;script&gt;&amp;") && text.contains("<title>&lt;/title&gt;"),
            "{text}"
        );
    }
}
