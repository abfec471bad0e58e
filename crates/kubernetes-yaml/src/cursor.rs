//! A place in a text that only moves on, and what YAML 1.1 calls blanks and line breaks there.

/// A place in a text. Lines and columns count from 0, columns and `index` in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) byte: usize,
    pub(crate) index: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// What is left of a text. Its end reads as zeros, which no text has in it.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    pub(crate) mark: Mark,
}

impl<'a> Cursor<'a> {
    /// A byte order mark at the start is passed over.
    pub(crate) fn new(text: &'a str) -> Self {
        let byte = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, mark: Mark { byte, ..Mark::default() } }
    }

    /// The byte so many bytes ahead.
    pub(crate) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.mark.byte + ahead).copied().unwrap_or(0)
    }

    pub(crate) fn is(&self, byte: u8) -> bool {
        self.byte(0) == byte
    }

    pub(crate) fn is_any(&self, bytes: &[u8]) -> bool {
        bytes.contains(&self.byte(0))
    }

    pub(crate) fn is_end(&self) -> bool {
        self.is(0)
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.is_any(b" \t")
    }

    /// A letter, a digit, `_` or `-`.
    pub(crate) fn is_word(&self) -> bool {
        let byte = self.byte(0);
        byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
    }

    /// CR, LF, NEL, or a separator of lines or paragraphs.
    pub(crate) fn is_break(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.byte(ahead + 1) == 0x85,
            0xe2 => self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    /// A line break or the end.
    pub(crate) fn is_line_end(&self) -> bool {
        self.is_end() || self.is_break(0)
    }

    /// A blank, a line break or the end.
    pub(crate) fn is_gap(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | 0) || self.is_break(ahead)
    }

    /// `---` or `...` at the margin, alone.
    pub(crate) fn is_document_marker(&self) -> bool {
        let bytes = [self.byte(0), self.byte(1), self.byte(2)];
        self.mark.column == 0 && matches!(&bytes, b"---" | b"...") && self.is_gap(3)
    }

    /// Passes a character.
    pub(crate) fn skip(&mut self) {
        let rest = self.text.get(self.mark.byte..).unwrap_or_default();
        self.mark.byte += rest.chars().next().map_or(1, char::len_utf8);
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Passes a character and appends it.
    pub(crate) fn read(&mut self, text: &mut String) {
        let rest = self.text.get(self.mark.byte..).unwrap_or_default();
        text.extend(rest.chars().next());
        self.skip();
    }

    /// Passes a line break, if there is one.
    pub(crate) fn skip_line(&mut self) {
        self.read_line(&mut String::new());
    }

    /// Passes a line break, if there is one, and appends it: LF for all but the separators of lines and paragraphs.
    pub(crate) fn read_line(&mut self, text: &mut String) {
        if !self.is_break(0) {
            return;
        }
        match self.byte(0) {
            0xe2 => self.read(text),
            byte => {
                text.push('\n');
                let is_crlf = byte == b'\r' && self.byte(1) == b'\n';
                self.skip();
                if is_crlf {
                    self.skip();
                }
            }
        }
        self.mark.line += 1;
        self.mark.column = 0;
    }

    pub(crate) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.skip();
        }
    }

    /// Passes what is left of a line if it is a comment.
    pub(crate) fn skip_comment(&mut self) {
        if self.is(b'#') {
            while !self.is_line_end() {
                self.skip();
            }
        }
    }
}
