//! Boxes and texts with their places, put beside and below each other.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use super::look::Look;
use super::text::{BAR, FONT, GAP, Pixels, SMALL_FONT, text_width};
use crate::shares::Owner;

/// How a text is placed at its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    /// At the start, in bold.
    Heading,
}

/// The colour of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ink {
    /// Dark on a light page, light on a dark one.
    Page,
    /// Dark on the colour of a pod, whatever the page.
    Pod,
    /// Red: something lacks.
    Lack,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Box { width: Pixels, height: Pixels, look: Look, owner: Owner, title: Option<String> },
    Text { text: String, size: Pixels, anchor: Anchor, ink: Ink },
}

/// Shapes with their places, on an area of a size.
#[derive(Clone, Debug, Default)]
pub(super) struct Figure {
    pub(super) width: Pixels,
    pub(super) height: Pixels,
    pub(super) shapes: Vec<(Pixels, Pixels, Shape)>,
}

impl Figure {
    /// An empty box.
    pub(super) fn boxed(width: Pixels, height: Pixels, look: Look) -> Self {
        let shape = Shape::Box { width, height, look, owner: Owner::Nobody, title: None };
        Self { width, height, shapes: vec![(0, 0, shape)] }
    }

    /// The outermost box in the colour of whose it is, with the texts in it.
    pub(super) fn owned(mut self, by: Owner) -> Self {
        if matches!(by, Owner::Pod(_)) {
            self = self.inked(Ink::Pod);
        }
        if let Some((_, _, Shape::Box { owner, .. })) = self.shapes.first_mut() {
            *owner = by;
        }
        self
    }

    /// The same with its texts in another colour.
    pub(super) fn inked(mut self, with: Ink) -> Self {
        for (_, _, shape) in &mut self.shapes {
            if let Shape::Text { ink, .. } = shape {
                *ink = with;
            }
        }
        self
    }

    /// The outermost box with a text that appears when the pointer is on it.
    pub(super) fn titled(mut self, text: String) -> Self {
        if let Some((_, _, Shape::Box { title, .. })) = self.shapes.first_mut() {
            *title = Some(text);
        }
        self
    }

    /// A box around one line of text, at least `at_least` wide.
    pub(super) fn bar(text: &str, look: Look, at_least: Pixels) -> Self {
        let mut bar = Self::boxed((text_width(text, FONT) + 2 * GAP).max(at_least), BAR, look);
        bar.text(GAP, BAR - GAP, text, FONT, Anchor::Start);
        bar
    }

    pub(super) fn text(&mut self, x: Pixels, y: Pixels, text: &str, size: Pixels, anchor: Anchor) {
        self.shapes.push((x, y, Shape::Text { text: text.to_owned(), size, anchor, ink: Ink::Page }));
    }

    /// Puts another figure on this one, which grows as needed.
    pub(super) fn put(&mut self, x: Pixels, y: Pixels, other: Self) {
        self.width = self.width.max(x + other.width);
        self.height = self.height.max(y + other.height);
        self.shapes.extend(other.shapes.into_iter().map(|(at_x, at_y, shape)| (x + at_x, y + at_y, shape)));
    }

    /// Puts another figure below this one.
    pub(super) fn put_below(&mut self, other: Self) {
        let y = if self.height == 0 { 0 } else { self.height + GAP };
        self.put(0, y, other);
    }

    /// This figure in a box, with a gap all around.
    pub(super) fn in_box(self, look: Look, at_least: (Pixels, Pixels)) -> Self {
        let (width, height) =
            ((self.width + 2 * GAP).max(at_least.0), (self.height + 2 * GAP).max(at_least.1));
        let mut outer = Self::boxed(width, height, look);
        outer.put(GAP, GAP, self);
        outer
    }
}

/// A line of small text.
pub(super) fn small_text(text: &str) -> Figure {
    let mut figure = Figure { width: text_width(text, SMALL_FONT), height: SMALL_FONT, shapes: Vec::new() };
    figure.text(0, SMALL_FONT, text, SMALL_FONT, Anchor::Start);
    figure
}

/// A box of a kind in a key, and what it is.
pub(super) fn keyed(look: Look, text: &str) -> Figure {
    let mut square = Figure::boxed(SMALL_FONT, SMALL_FONT, look);
    square.text(SMALL_FONT + GAP, SMALL_FONT - 1, text, SMALL_FONT, Anchor::Start);
    square.width += GAP + text_width(text, SMALL_FONT);
    square
}

/// Kinds of boxes and what they are, in rows no wider than that.
pub(super) fn key_rows(looks: &[(Look, &str)], width: Pixels) -> Figure {
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

/// Figures in rows and columns, in about the shape of a screen; each column is as wide as the widest figure.
pub(super) fn grid(figures: Vec<Figure>) -> Figure {
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
}
