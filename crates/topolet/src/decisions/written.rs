//! How decisions are written: a table as they are made, a list in JSON as they are made, or a document at the end.

use admission_report::Report;
use node_input::{Asked, LoadedNode, Residents};
use node_output::{
    DecisionSummary, Decisions, Document, Explanations, Format, JsonList, NodeLine, PodGroup, PodGroups,
    Tally,
};
use pod_spec::Pod;
use terminal_text::Page;

use super::way::{Depth, Way};
use crate::screen::Screen;

/// What is known before the first decision.
pub(super) struct Head {
    node: NodeLine,
    /// What runs there, in a line.
    residents: Option<String>,
    /// How many of the notes are about what is assumed: they come first.
    first: usize,
    /// What is assumed, then what was not looked at.
    notes: Vec<String>,
}

impl Head {
    pub(super) fn new(node: &LoadedNode, residents: &Residents, pods: &[Pod]) -> Self {
        let mut notes: Vec<String> = node.first_notes().collect();
        let first = notes.len();
        notes.extend(residents.not_looked_at());
        notes.extend(node.not_looked_at(pods));
        notes.extend(node.hazards.iter().cloned());
        Self { node: node.line.clone(), residents: residents.line.clone(), first, notes }
    }

    /// Above a table.
    fn text(&self, page: Page) -> String {
        let (first, notes) = self.notes.split_at(self.first);
        let note = |note: &String| page.wrapped(&format!("! {note}"), 2);
        let mut head = first.iter().map(note).collect::<String>() + &self.node.headline(page);
        head.extend(self.residents.as_ref().map(|line| page.wrapped(line, 2)));
        head.extend(notes.iter().map(note));
        head
    }

    /// A document with these decisions.
    fn document(&self, depth: Depth, decisions: Vec<Report>, format: Format) -> anyhow::Result<String> {
        let Self { node, notes, .. } = self;
        let text = match depth {
            Depth::Short => {
                let decisions = Decisions::new(node, notes, decisions);
                Document::new("Decisions", decisions).of(&node.rules_of).text(format)?
            }
            Depth::Whole(_) => {
                let explanations = Explanations::new(node, notes, decisions);
                Document::new("Explanation", explanations).of(&node.rules_of).text(format)?
            }
        };
        Ok(text.unwrap_or_default())
    }
}

/// What takes decisions in their order and writes them.
pub(super) trait Written {
    /// The next decision, which is shown.
    fn show(&mut self, report: Report) -> anyhow::Result<()>;

    /// The next decision, which is not shown.
    fn leave_out(&mut self, report: &Report) -> anyhow::Result<()>;

    /// There are no more; `tally` is their sum.
    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()>;
}

/// What writes the decisions on pods of `asked`, after what comes before the first of them.
pub(super) fn begin<'a>(head: Head, asked: &Asked, way: Way<'a>) -> anyhow::Result<Box<dyn Written + 'a>> {
    let Way { depth, told, format, screen } = way;
    Ok(match format {
        Format::Table => {
            screen.show(&head.text(screen.page))?;
            Box::new(Table { groups: told.groups(asked), way })
        }
        Format::Json | Format::Yaml if told.summary => Box::new(Sum { head, format, screen }),
        Format::Json => {
            Box::new(List { list: JsonList::new(head.document(depth, Vec::new(), format)?), screen })
        }
        // Of a document whose parts depend on each other all have to be there first.
        Format::Yaml => Box::new(Whole { head, decisions: Vec::new(), way }),
    })
}

/// A table, in which pods of one workload with the same outcome are one entry.
struct Table<'a> {
    groups: PodGroups,
    way: Way<'a>,
}

impl Table<'_> {
    fn draw(&self, complete: impl IntoIterator<Item = PodGroup>) -> anyhow::Result<()> {
        let Way { depth, screen, .. } = self.way;
        let draw = match depth {
            Depth::Short => node_output::decision,
            Depth::Whole(_) => node_output::explanation,
        };
        for group in complete {
            let text = draw(&group, None, screen.page);
            screen.show(&format!("\n{text}"))?;
        }
        Ok(())
    }
}

impl Written for Table<'_> {
    fn show(&mut self, report: Report) -> anyhow::Result<()> {
        let complete = self.groups.add(report);
        self.draw(complete)
    }

    fn leave_out(&mut self, report: &Report) -> anyhow::Result<()> {
        let complete = self.groups.leave_out(report);
        self.draw(complete)
    }

    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()> {
        let Way { told, screen, .. } = self.way;
        if told.legend {
            screen.show(&format!("\n{}", node_output::legend(screen.page)))?;
        }
        if told.summary || tally.pods() > 1 {
            screen.show(&format!("\n{}", screen.page.wrapped(&tally.to_string(), 2)))?;
        }
        Ok(())
    }
}

/// A document in JSON, written item by item.
struct List {
    list: JsonList,
    screen: Screen,
}

impl Written for List {
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
struct Whole<'a> {
    head: Head,
    decisions: Vec<Report>,
    way: Way<'a>,
}

impl Written for Whole<'_> {
    fn show(&mut self, report: Report) -> anyhow::Result<()> {
        self.decisions.push(report);
        Ok(())
    }

    fn leave_out(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>, _: &Tally) -> anyhow::Result<()> {
        let Way { depth, format, screen, .. } = self.way;
        screen.print(&self.head.document(depth, self.decisions, format)?)
    }
}

/// A document of the sum alone.
struct Sum {
    head: Head,
    format: Format,
    screen: Screen,
}

impl Written for Sum {
    fn show(&mut self, _: Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn leave_out(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>, tally: &Tally) -> anyhow::Result<()> {
        let Head { node, notes, .. } = &self.head;
        let summary = DecisionSummary::new(node, notes, tally);
        let summary = Document::new("DecisionSummary", summary).of(&node.rules_of).text(self.format)?;
        self.screen.print(&summary.unwrap_or_default())
    }
}
