//! An event is one line, whatever texts of manifests, plugins and the system are in it.

use std::io::{self, Write};

/// Writes each event, which comes as a whole, as one line: control characters in it are escaped.
pub(super) struct OneLine<W>(pub(super) W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // Texts of the system are fragments in the log as on the terminal.
        match std::str::from_utf8(event) {
            Ok(text) => self.0.write_all(&escaped(terminal_text::plain_causes(text).as_bytes()))?,
            Err(_) => self.0.write_all(&escaped(event))?,
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The event with `\n` instead of a line feed in it, and so on; the line feed at its end stays.
fn escaped(event: &[u8]) -> Vec<u8> {
    let (text, end) = event.strip_suffix(b"\n").map_or((event, &b""[..]), |text| (text, b"\n"));
    let mut line = Vec::with_capacity(event.len());
    for byte in text {
        if byte.is_ascii_control() {
            line.extend(byte.escape_ascii());
        } else {
            line.push(*byte);
        }
    }
    line.extend(end);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        for (event, expected) in [
            ("pod admitted pod=\"default/ä\"\n", "pod admitted pod=\"default/ä\"\n"),
            ("two\nlines\r\n", "two\\nlines\\r\n"),
            ("a\ttab and \u{1b}[31mred\n", "a\\ttab and \\x1b[31mred\n"),
            ("no end", "no end"),
            ("failed error=No such file or directory (os error 2)\n", "failed error=no such file\n"),
        ] {
            let mut written = Vec::new();
            OneLine(&mut written).write_all(event.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }
}
