//! Marks that a terminal can show.

/// The set of marks in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// `✔ ✘ → · ×`
    Unicode,
    /// `+ x -> - x`, for terminals that are not UTF-8.
    Ascii,
}

impl Glyphs {
    const fn of(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// Something fits or is right.
    pub const fn yes(self) -> &'static str {
        self.of("✔", "+")
    }

    /// Something does not fit or is wrong.
    pub const fn no(self) -> &'static str {
        self.of("✘", "x")
    }

    /// From one value to the next.
    pub const fn arrow(self) -> &'static str {
        self.of("→", "->")
    }

    /// Between the parts of a line.
    pub const fn dot(self) -> &'static str {
        self.of("·", "-")
    }

    /// Between a count and what is counted.
    pub const fn times(self) -> &'static str {
        self.of("×", "x")
    }

    /// Between a figure and its error.
    pub const fn plus_minus(self) -> &'static str {
        self.of("±", "+-")
    }

    /// From a line of a tree to those inside it, where the line takes several.
    pub const fn inside(self) -> &'static str {
        self.of("│ ", "| ")
    }
}
