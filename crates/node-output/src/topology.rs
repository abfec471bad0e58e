//! A machine for a person: a headline, a drawing, and what differs from the drawing.

use terminal_text::Page;

use crate::RELEASE;
use crate::machine_view::MachineView;

/// The table of the machine with what pods hold below it, ending in a newline.
#[must_use]
pub fn topology(view: &MachineView, pods: &str, page: Page) -> String {
    frame(view, &(view.summary.table(page) + pods), page)
}

/// A drawing of the machine between its headline and the notes about it.
#[must_use]
pub fn frame(view: &MachineView, drawing: &str, page: Page) -> String {
    let mut text = headline(view, page);
    text.push_str(drawing);
    if let Some(reserved) = &view.reserved {
        text.push_str(&format!("\n{}", reserved.table(&view.summary.nodes, page)));
    }
    for (head, lines) in [
        ("given instead of what the machine has", &view.given),
        ("the kubelet sees another machine", &view.kubelet_differs),
        ("problems", &view.problems),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{head}:\n"));
            text.extend(lines.iter().map(|line| page.wrapped(&format!("! {line}"), 2)));
        }
    }
    text
}

/// The machine in a line, ending in a newline.
fn headline(view: &MachineView, page: Page) -> String {
    let dot = page.dot();
    let line = view.summary.line(page.glyphs);
    page.wrapped(&format!("{}   {line} {dot} rules of kubelet {RELEASE}", view.machine), 2)
}
