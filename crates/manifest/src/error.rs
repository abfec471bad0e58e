//! The one error of every reader: what is wrong, where, and what was expected.

use core::fmt;
use core::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use kubernetes_yaml::{Excerpt, Position};
use terminal_text::nearest;

use crate::problem::Problem;
use crate::source::Source;

/// Why a text was refused, and the place in it. Displays as one line, [`render`](ManifestError::render) shows the
/// place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestError(Box<Fault>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Fault {
    file: String,
    position: Position,
    field: String,
    problem: Problem,
    excerpt: Excerpt,
}

/// How an error is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Nothing but ASCII; other characters of the text become `?`.
    Ascii,
    /// Unicode lines.
    #[default]
    Unicode,
    /// Unicode lines, with terminal colours.
    Coloured,
}

impl ManifestError {
    /// `field` is a path such as `spec.containers[0].name`, or empty; `span` is in bytes of the text.
    pub(crate) fn at(source: &Source<'_>, field: &str, span: &Range<usize>, problem: Problem) -> Self {
        Self(Box::new(Fault {
            file: source.name.to_owned(),
            position: Position::of(source.text, span.start),
            field: field.to_owned(),
            problem,
            excerpt: Excerpt::around(source.text, span),
        }))
    }

    /// The same in a text of which what was read is a part that begins there.
    pub(crate) fn after(mut self, start: Position) -> Self {
        self.0.position = self.0.position.after(start);
        self.0.excerpt.first_line += start.line - 1;
        self
    }

    /// The same in another text with as many bytes before the place.
    pub(crate) fn in_text(mut self, text: &str) -> Self {
        let Position { line, column } = self.0.position;
        let start_of_line: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let of_line = text.get(start_of_line..).unwrap_or_default();
        let start =
            start_of_line + of_line.char_indices().nth(column - 1).map_or(of_line.len(), |(at, _)| at);
        self.0.excerpt = Excerpt::around(text, &(start..start + self.0.excerpt.marked.len()));
        self
    }

    /// Another problem of this field at the same place.
    pub(crate) fn about(mut self, field: &str, problem: Problem) -> Self {
        field.clone_into(&mut self.0.field);
        self.0.problem = problem;
        self
    }

    /// The name of the source.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.position.line
    }

    /// The column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.position.column
    }

    /// Path of the field, such as `spec.containers[0].name`; empty where no field is at fault.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// The field and what is wrong, without the place.
    pub(crate) fn title(&self) -> String {
        self.0.title()
    }

    /// Place, what is wrong, and what to give, in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let Fault { file, position: Position { line, column }, problem, .. } = &*self.0;
        let advice = problem.advice().map_or_else(String::new, |advice| format!(": {advice}"));
        format!("{file}:{line}:{column}: {}{advice}", self.title())
    }

    /// An API server's words for an object that it cannot decode, given the text that has it.
    #[must_use]
    pub fn decoder_text(&self, source: &Source<'_>) -> String {
        match &self.0.problem {
            Problem::Missing { field: field @ ("apiVersion" | "kind"), .. } => {
                let name = if *field == "kind" { "Kind" } else { field };
                format!("Object '{name}' is missing in '{}'", source.text)
            }
            Problem::Quantity { error, .. } => error.to_string(),
            problem => problem.to_string(),
        }
    }

    /// The kubelet's own words for an error in its configuration, given the text that has it; `None` where it has
    /// none, or where they are the parser's.
    #[must_use]
    pub fn kubelet_text(&self, source: &Source<'_>) -> Option<String> {
        match &self.0.problem {
            problem @ (Problem::Decode { .. } | Problem::NotRegistered { .. }) => Some(problem.to_string()),
            Problem::Missing { field: field @ ("apiVersion" | "kind"), .. } => {
                let name = if *field == "kind" { "Kind" } else { field };
                Some(format!("failed to decode: Object '{name}' is missing in '{}'", source.text))
            }
            _ => None,
        }
    }

    /// The error with the lines it is about, without a newline at the end.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        draw(Level::ERROR, &self.0, style)
    }

    /// The same as a warning.
    pub(crate) fn render_warning(&self, style: Style) -> String {
        draw(Level::WARNING, &self.0, style)
    }
}

fn draw(level: Level<'_>, fault: &Fault, style: Style) -> String {
    let title = fault.title();
    let advice = fault.problem.advice();
    let excerpt = &fault.excerpt;
    let Position { line, column } = fault.position;
    let renderer = match style {
        Style::Ascii => Renderer::plain().decor_style(DecorStyle::Ascii),
        Style::Unicode => Renderer::plain().decor_style(DecorStyle::Unicode),
        Style::Coloured => Renderer::styled().decor_style(DecorStyle::Unicode),
    };
    if fault.is_of_nothing() {
        let line = fault.line();
        let drawn = renderer.render(&[Group::with_title(level.primary_title(&line))]);
        return if style == Style::Ascii { in_ascii(&drawn) } else { drawn };
    }
    let group = level.primary_title(&title);
    // Without a text there is nothing to show, only a file to name.
    let drawn = if excerpt.text.trim().is_empty() {
        let group = group.element(Origin::path(&fault.file));
        renderer.render(&[group.elements(advice.as_deref().map(|advice| Level::NOTE.message(advice)))])
    } else {
        let mark = AnnotationKind::Primary.span(excerpt.marked.clone()).label(advice.as_deref());
        let snippet =
            Snippet::source(&excerpt.text).line_start(excerpt.first_line).fold(false).annotation(mark);
        let group = if excerpt.shows_column(column) {
            group.element(snippet.path(&fault.file))
        } else {
            // The excerpt of a long line begins within the line, so its columns are not those of the file.
            group.element(Origin::path(&fault.file).line(line).char_column(column)).element(snippet)
        };
        renderer.render(&[group])
    };
    match style {
        Style::Ascii => in_ascii(&drawn),
        Style::Unicode | Style::Coloured => drawn,
    }
}

fn in_ascii(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// The kinds of files with a kubelet's configuration.
const CONFIGURATIONS: [&str; 4] =
    ["KubeletConfiguration", "KubeletConfig", "PerformanceProfile", "NodeConfig"];

impl Fault {
    fn title(&self) -> String {
        if let Problem::NotRegistered { kind, .. } = &self.problem
            && kind != "KubeletConfiguration"
        {
            let meant = nearest(kind, &CONFIGURATIONS);
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            format!(
                "{} is a {kind}, not a kubelet's configuration: {}: {}{meant}",
                self.file, self.field, self.problem
            )
        } else if let Some(plain) = self.plain_syntax() {
            format!("{plain}: {}", self.problem)
        } else if self.field.is_empty() {
            self.problem.to_string()
        } else {
            format!("{}: {}", self.field, self.problem)
        }
    }

    /// Whether the text has nothing but space.
    fn is_of_nothing(&self) -> bool {
        matches!(self.problem, Problem::Empty) && self.excerpt.text.trim().is_empty()
    }

    /// The whole error as one line.
    fn line(&self) -> String {
        let Self { file, position: Position { line, column }, problem, .. } = self;
        let advice = problem.advice();
        if self.is_of_nothing() {
            return format!("{file} is empty: {}", advice.unwrap_or_default());
        }
        let advice = advice.map_or_else(String::new, |advice| format!(", {advice}"));
        format!("{file}:{line}:{column}: {}{advice}", self.title())
    }

    /// What the writer of a line did that the parser's words do not name: they are about what it looked for.
    fn plain_syntax(&self) -> Option<&'static str> {
        let Problem::Syntax(words) = &self.problem else { return None };
        let before = self.excerpt.text.get(..self.excerpt.marked.start)?;
        let begins_line = before.rsplit('\n').next()?.trim().is_empty();
        match words.as_str() {
            "did not find expected key" if begins_line => {
                Some("the indentation of this line fits no key above")
            }
            "did not find expected '-' indicator" if begins_line => {
                Some("the indentation of this line fits no item above")
            }
            _ => None,
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.line())
    }
}

impl core::error::Error for ManifestError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.0.problem.source()
    }
}
