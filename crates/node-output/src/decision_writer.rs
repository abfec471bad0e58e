//! Decisions as text, piece by piece: a table and a JSON list decision by decision, a YAML document and a summary at the end.

use admission_report::Report;
use terminal_text::Page;

use crate::decision::decision;
use crate::decisions::{DecisionSummary, Decisions, Explanations};
use crate::document::{Document, Format, JsonList, WriteError};
use crate::explanation::explanation;
use crate::legend::legend;
use crate::node_line::NodeLine;
use crate::pod_group::{PodGroup, PodGroups};
use crate::tally::Tally;

/// What is written before the first decision: the node, what runs on it, and notes.
#[derive(Clone, Debug)]
pub struct Preamble {
    node: NodeLine,
    /// What runs on the node, in one line.
    residents: Option<String>,
    /// How many of `notes` say what is assumed. A table has these above the node, and the others below it.
    assumed: usize,
    /// What is assumed, then what was not checked.
    notes: Vec<String>,
}

impl Preamble {
    /// Of a node, with what runs there in one line, notes on what is assumed, and notes on what was not checked.
    #[must_use]
    pub fn new(
        node: NodeLine,
        residents: Option<String>,
        assumed: Vec<String>,
        unchecked: impl IntoIterator<Item = String>,
    ) -> Self {
        let count = assumed.len();
        let notes = assumed.into_iter().chain(unchecked).collect();
        Self { node, residents, assumed: count, notes }
    }

    /// The lines above a table.
    fn text(&self, page: Page) -> String {
        let (assumed, notes) = self.notes.split_at(self.assumed);
        let note = |note: &String| page.wrapped(&format!("! {note}"), 2);
        let mut text = self.node.imagined_line(page);
        text.extend(assumed.iter().map(note));
        text.push_str(&self.node.headline(page));
        text.extend(self.residents.as_ref().map(|line| page.wrapped(line, 2)));
        text.extend(notes.iter().map(note));
        text
    }

    /// A JSON or YAML document with these decisions; a list that is written item by item begins with that of none.
    fn document(
        &self,
        depth: DecisionDepth,
        decisions: Vec<Report>,
        format: Format,
    ) -> Result<String, WriteError> {
        let Self { node, notes, .. } = self;
        let text = match depth {
            DecisionDepth::Decision => {
                let decisions = Decisions::new(node, notes, decisions);
                Document::new("Decisions", decisions).of(&node.rules_of).text(format)?
            }
            DecisionDepth::Explanation => {
                let explanations = Explanations::new(node, notes, decisions);
                Document::new("Explanation", explanations).of(&node.rules_of).text(format)?
            }
        };
        Ok(text.unwrap_or_default())
    }
}

/// How much of each decision is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecisionDepth {
    /// The decision alone.
    Decision,
    /// Everything that led to it, and the changes that would fit.
    Explanation,
}

/// What is written of decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecisionParts {
    /// How much of each.
    pub depth: DecisionDepth,
    /// Whether only their counts are written.
    pub summary: bool,
    /// Whether a table ends with what its signs mean.
    pub legend: bool,
}

/// Takes all decisions in their order, and makes text of those that are shown: each method returns the next piece, maybe empty.
pub struct DecisionWriter {
    preamble: Preamble,
    parts: DecisionParts,
    form: Form,
    page: Page,
}

enum Form {
    /// A table, in which pods of one workload with the same outcome are one entry. A table without any decision has the counts.
    Table { groups: PodGroups, has_any: bool },
    /// A document that has the counts alone.
    Summary(Format),
    /// A document in JSON, item by item.
    List(JsonList),
    /// A document that is written at the end.
    Whole(Vec<Report>, Format),
}

impl DecisionWriter {
    /// A writer in this format. `groups` are those that a table shows pods in.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn new(
        preamble: Preamble,
        parts: DecisionParts,
        groups: PodGroups,
        format: Format,
        page: Page,
    ) -> Result<Self, WriteError> {
        let form = match format {
            Format::Table => Form::Table { groups, has_any: false },
            Format::Json | Format::Yaml if parts.summary => Form::Summary(format),
            Format::Json => Form::List(JsonList::new(preamble.document(parts.depth, Vec::new(), format)?)),
            // The serializer of YAML takes the whole document, so that it is written at the end.
            Format::Yaml => Form::Whole(Vec::new(), format),
        };
        Ok(Self { preamble, parts, form, page })
    }

    /// What comes before the first decision.
    #[must_use]
    pub fn head(&self) -> String {
        match self.form {
            Form::Table { .. } => self.preamble.text(self.page),
            Form::Summary(_) | Form::List(_) | Form::Whole(..) => String::new(),
        }
    }

    /// The next decision, which is shown.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn show(&mut self, report: Report) -> Result<String, WriteError> {
        Ok(match &mut self.form {
            Form::Table { groups, has_any } => {
                *has_any = true;
                let complete = groups.add(report);
                drawn(complete, self.parts.depth, self.page)
            }
            Form::Summary(_) => String::new(),
            Form::List(list) => list.item(&report)?,
            Form::Whole(decisions, _) => {
                decisions.push(report);
                String::new()
            }
        })
    }

    /// The next decision, which is not shown; a table can still finish a group of pods with it.
    pub fn leave_out(&mut self, report: &Report) -> String {
        match &mut self.form {
            Form::Table { groups, .. } => {
                let complete = groups.leave_out(report);
                drawn(complete, self.parts.depth, self.page)
            }
            Form::Summary(_) | Form::List(_) | Form::Whole(..) => String::new(),
        }
    }

    /// What comes after the last decision; `tally` counts all of them.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn end(self, tally: &Tally) -> Result<String, WriteError> {
        let Self { preamble, parts, form, page } = self;
        match form {
            Form::Table { has_any, .. } => {
                let mut text = String::new();
                if parts.legend {
                    text.push_str(&format!("\n{}", legend(page)));
                }
                if parts.summary || tally.pods() > usize::from(has_any) {
                    text.push_str(&format!("\n{}", page.wrapped(&tally.to_string(), 2)));
                }
                Ok(text)
            }
            Form::Summary(format) => {
                let Preamble { node, notes, .. } = &preamble;
                let summary = DecisionSummary::new(node, notes, tally);
                let text = Document::new("DecisionSummary", summary).of(&node.rules_of).text(format)?;
                Ok(text.unwrap_or_default())
            }
            Form::List(list) => Ok(list.end()),
            Form::Whole(decisions, format) => preamble.document(parts.depth, decisions, format),
        }
    }
}

fn drawn(complete: impl IntoIterator<Item = PodGroup>, depth: DecisionDepth, page: Page) -> String {
    let draw = match depth {
        DecisionDepth::Decision => decision,
        DecisionDepth::Explanation => explanation,
    };
    complete.into_iter().map(|group| format!("\n{}", draw(&group, None, page))).collect()
}
