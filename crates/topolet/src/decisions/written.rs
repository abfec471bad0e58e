//! Writers of decisions, one for each kind of output: a table and a JSON list are written decision by decision, a YAML document
//! and a summary at the end.

use admission_report::Report;
use node_input::{Asked, LoadedNode, Residents};
use node_output::{
    DecisionSummary, Decisions, Document, Explanations, Format, JsonList, NodeLine, PodGroup, PodGroups,
    Tally,
};
use pod_spec::Pod;
use terminal_text::Page;

use super::options::{Depth, OutputOptions};
use crate::screen::Screen;

/// What is written before the first decision: the node, what runs on it, and notes.
pub(super) struct Preamble {
    node: NodeLine,
    /// What runs on the node, in one line.
    residents: Option<String>,
    /// How many of `notes` say what is assumed. A table has these above the node, and the others below it.
    assumed: usize,
    /// What is assumed, then what was not checked.
    notes: Vec<String>,
}

impl Preamble {
    pub(super) fn new(node: &LoadedNode, residents: &Residents, pods: &[Pod]) -> Self {
        let mut notes: Vec<String> = node.first_notes().collect();
        let assumed = notes.len();
        notes.extend(residents.not_looked_at());
        notes.extend(node.not_looked_at(pods));
        notes.extend(node.hazards.iter().cloned());
        Self { node: node.line.clone(), residents: residents.line.clone(), assumed, notes }
    }

    /// The same behind these notes, which say what is assumed.
    pub(super) fn after(mut self, mut notes: Vec<String>) -> Self {
        self.assumed += notes.len();
        notes.append(&mut self.notes);
        Self { notes, ..self }
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
    fn document(&self, depth: Depth, decisions: Vec<Report>, format: Format) -> anyhow::Result<String> {
        let Self { node, notes, .. } = self;
        let text = match depth {
            Depth::Short => {
                let decisions = Decisions::new(node, notes, decisions);
                Document::new("Decisions", decisions).of(&node.rules_of).text(format)?
            }
            Depth::Full(_) => {
                let explanations = Explanations::new(node, notes, decisions);
                Document::new("Explanation", explanations).of(&node.rules_of).text(format)?
            }
        };
        Ok(text.unwrap_or_default())
    }
}

/// Takes all decisions in their order, and writes those that are shown.
pub(super) trait DecisionWriter {
    /// Takes the next decision, which is shown.
    fn show(&mut self, report: Report) -> anyhow::Result<()>;

    /// Takes the next decision, which is not shown; a table can still finish a group of pods with it.
    fn leave_out(&mut self, report: &Report) -> anyhow::Result<()>;

    /// Writes what is left after the last decision; `tally` counts all of them.
    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()>;
}

/// The writer for `options`. A table's preamble is written at once.
pub(super) fn writer<'a>(
    preamble: Preamble,
    asked: &Asked,
    options: OutputOptions<'a>,
) -> anyhow::Result<Box<dyn DecisionWriter + 'a>> {
    let OutputOptions { depth, shown, format, screen } = options;
    Ok(match format {
        Format::Table => {
            screen.show(&preamble.text(screen.page))?;
            Box::new(Table { groups: shown.groups(asked), has_any: false, options })
        }
        Format::Json | Format::Yaml if shown.summary => {
            Box::new(SummaryDocument { preamble, format, screen })
        }
        Format::Json => Box::new(StreamedList {
            list: JsonList::new(preamble.document(depth, Vec::new(), format)?),
            screen,
        }),
        // The serializer of YAML takes the whole document, so that it is written at the end.
        Format::Yaml => Box::new(WholeDocument { preamble, decisions: Vec::new(), options }),
    })
}

/// A table, in which pods of one workload with the same outcome are one entry.
struct Table<'a> {
    groups: PodGroups,
    /// Whether a decision was shown: a table without any has the counts.
    has_any: bool,
    options: OutputOptions<'a>,
}

impl Table<'_> {
    fn draw(&self, complete: impl IntoIterator<Item = PodGroup>) -> anyhow::Result<()> {
        let OutputOptions { depth, screen, .. } = self.options;
        let draw = match depth {
            Depth::Short => node_output::decision,
            Depth::Full(_) => node_output::explanation,
        };
        for group in complete {
            let text = draw(&group, None, screen.page);
            screen.show(&format!("\n{text}"))?;
        }
        Ok(())
    }
}

impl DecisionWriter for Table<'_> {
    fn show(&mut self, report: Report) -> anyhow::Result<()> {
        self.has_any = true;
        let complete = self.groups.add(report);
        self.draw(complete)
    }

    fn leave_out(&mut self, report: &Report) -> anyhow::Result<()> {
        let complete = self.groups.leave_out(report);
        self.draw(complete)
    }

    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()> {
        let OutputOptions { shown, screen, .. } = self.options;
        if shown.legend {
            screen.show(&format!("\n{}", node_output::legend(screen.page)))?;
        }
        if shown.summary || tally.pods() > usize::from(self.has_any) {
            screen.show(&format!("\n{}", screen.page.wrapped(&tally.to_string(), 2)))?;
        }
        Ok(())
    }
}

/// A document in JSON, written item by item.
struct StreamedList {
    list: JsonList,
    screen: Screen,
}

impl DecisionWriter for StreamedList {
    fn show(&mut self, report: Report) -> anyhow::Result<()> {
        self.screen.print(&self.list.item(&report)?)
    }

    fn leave_out(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>, _: &Tally) -> anyhow::Result<()> {
        self.screen.print(&self.list.end())
    }
}

/// A document that is written at the end.
struct WholeDocument<'a> {
    preamble: Preamble,
    decisions: Vec<Report>,
    options: OutputOptions<'a>,
}

impl DecisionWriter for WholeDocument<'_> {
    fn show(&mut self, report: Report) -> anyhow::Result<()> {
        self.decisions.push(report);
        Ok(())
    }

    fn leave_out(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>, _: &Tally) -> anyhow::Result<()> {
        let OutputOptions { depth, format, screen, .. } = self.options;
        screen.print(&self.preamble.document(depth, self.decisions, format)?)
    }
}

/// A document that has the counts of `--summary` and no decisions.
struct SummaryDocument {
    preamble: Preamble,
    format: Format,
    screen: Screen,
}

impl DecisionWriter for SummaryDocument {
    fn show(&mut self, _: Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn leave_out(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()> {
        let Preamble { node, notes, .. } = &self.preamble;
        let summary = DecisionSummary::new(node, notes, tally);
        let summary = Document::new("DecisionSummary", summary).of(&node.rules_of).text(self.format)?;
        self.screen.print(&summary.unwrap_or_default())
    }
}
