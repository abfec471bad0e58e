//! A machine for a person: a headline, a drawing, and what differs from the drawing.

use terminal_text::Glyphs;

use crate::RELEASE;
use crate::machine_view::MachineView;

/// The table of the machine with what pods hold below it, ending in a newline.
#[must_use]
pub fn topology(view: &MachineView, pods: &str, glyphs: Glyphs) -> String {
    frame(view, &(view.summary.table(glyphs) + pods), glyphs)
}

/// A drawing of the machine between its headline and the notes about it.
#[must_use]
pub fn frame(view: &MachineView, drawing: &str, glyphs: Glyphs) -> String {
    let mut text = headline(view, glyphs);
    text.push_str(drawing);
    for (head, lines) in [
        ("given instead of what the machine has", &view.given),
        ("the kubelet sees another machine", &view.kubelet_differs),
        ("problems", &view.problems),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{head}:\n"));
            text.extend(lines.iter().map(|line| format!("! {line}\n")));
        }
    }
    text
}

/// The machine in a line that ends in a newline.
fn headline(view: &MachineView, glyphs: Glyphs) -> String {
    let dot = glyphs.dot();
    format!("{}   {} {dot} rules of kubelet {RELEASE}\n", view.machine, view.summary.line(glyphs))
}
