//! What machines print, in each form.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod forms;
mod objects;
mod pasted;
mod printed;
mod virtual_machines;
