//! Letters of a text with their places, and the words that they make.
//!
//! Quotes and backslashes are those of a shell, which systemd has too: `'…'` as it is, `"…"` with backslashes, and a
//! backslash before any other letter.

use core::ops::Range;

/// Letters, each with its first byte in the text.
pub(super) type Letters = Vec<(usize, char)>;

/// A word without its quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Word {
    letters: Letters,
    /// The bytes of it as it is written.
    span: Range<usize>,
}

impl Word {
    pub(super) fn of(letters: Letters) -> Self {
        let start = letters.first().map_or(0, |(at, _)| *at);
        let end = letters.last().map_or(start, |(at, letter)| at + letter.len_utf8());
        Self { letters, span: start..end }
    }

    const fn starting(at: usize) -> Self {
        Self { letters: Vec::new(), span: at..at + 1 }
    }

    fn push(&mut self, (at, letter): (usize, char)) {
        self.span.end = at + letter.len_utf8();
        self.letters.push((at, letter));
    }

    pub(super) fn text(&self) -> String {
        self.letters.iter().map(|(_, letter)| *letter).collect()
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The letters behind the first so many bytes of the word's text.
    pub(super) fn behind(&self, bytes: usize) -> Letters {
        let mut before = 0;
        let is_before = |(_, letter): &&(usize, char)| {
            before += letter.len_utf8();
            before <= bytes
        };
        let skipped = self.letters.iter().take_while(is_before).count();
        self.letters.iter().skip(skipped).copied().collect()
    }

    /// The same word with another text.
    pub(super) fn with_text(&self, text: &str) -> Self {
        let letters = text.chars().map(|letter| (self.span.start, letter)).collect();
        Self { letters, span: self.span.clone() }
    }
}

/// A word, and the number of the text that it is in.
pub(super) type Placed = (usize, Word);
/// A variable with the number of its text, and its value.
pub(super) type Variable = (String, usize, Letters);

/// The first line that is no comment.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', ';']))
}

/// The letters of a part of a text.
pub(super) fn letters(text: &str, range: Range<usize>) -> Letters {
    let part = text.get(range.clone()).unwrap_or_default();
    part.char_indices().map(|(at, letter)| (range.start + at, letter)).collect()
}

/// The words of letters, between which there are blanks and line ends. A word that begins with `#` ends its line where
/// `comments` are.
///
/// # Errors
/// A quote that does not end: the bytes from it to the end.
pub(super) fn split(letters: &[(usize, char)], comments: Comments) -> Result<Vec<Word>, Range<usize>> {
    let whole = split_commands(letters, comments, Separators::None)?;
    Ok(whole.into_iter().flat_map(|command| command.words).collect())
}

/// A command of a shell, of which the words are one at least.
pub(super) struct ShellCommand {
    pub(super) words: Vec<Word>,
    /// Whether another command reads what it prints.
    pub(super) is_piped: bool,
}

/// The commands of a shell's text: what is between `;`, `&`, `|` and line ends that are in no quotes. Lines that begin with `;` or
/// `//`, as comments of other files do, are left out.
///
/// # Errors
/// A quote that does not end: the bytes from it to the end.
pub(super) fn commands(text: &str) -> Result<Vec<ShellCommand>, Range<usize>> {
    split_commands(&uncommented(text), Comments::Skipped, Separators::OfShell)
}

/// The same of a text whose quotes are none of a shell.
pub(super) fn plain_commands(text: &str) -> Vec<ShellCommand> {
    let letters: Letters =
        uncommented(text).into_iter().filter(|(_, letter)| !matches!(letter, '\'' | '"' | '\\')).collect();
    split_commands(&letters, Comments::Skipped, Separators::OfShell).unwrap_or_default()
}

/// The letters of a text without the lines that are comments by their first letters.
fn uncommented(text: &str) -> Letters {
    let mut at = 0;
    let mut kept = Letters::new();
    for line in text.split_inclusive('\n') {
        let is_comment = line.trim_start().starts_with([';']) || line.trim_start().starts_with("//");
        kept.extend(letters(
            text,
            if is_comment { at + line.trim_end().len()..at + line.len() } else { at..at + line.len() },
        ));
        at += line.len();
    }
    kept
}

/// Which signs end a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separators {
    /// By the signs that a shell has for it.
    OfShell,
    /// All words are one command's.
    None,
}

fn split_commands(
    letters: &[(usize, char)],
    comments: Comments,
    separators: Separators,
) -> Result<Vec<ShellCommand>, Range<usize>> {
    let mut commands = Vec::new();
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut letters = letters.iter().copied().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map_or(' ', |(_, letter)| *letter);
        // `2>&1` and `&>` are one word.
        let is_end = match letter {
            ';' | '|' | '\n' => true,
            '&' => !matches!(before, '>' | '<') && next != '>',
            _ => false,
        };
        before = letter;
        match letter {
            '#' if word.is_none() && comments == Comments::Skipped => {
                while letters.next_if(|(_, letter)| *letter != '\n').is_some() {}
            }
            _ if is_end && separators == Separators::OfShell => {
                words.extend(word.take());
                if !words.is_empty() {
                    let is_piped = letter == '|' && next != '|';
                    commands.push(ShellCommand { words: core::mem::take(&mut words), is_piped });
                }
            }
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                quoted(letter, at, &mut letters, word.get_or_insert_with(|| Word::starting(at)))?;
            }
            '\\' => match letters.next() {
                // The line goes on.
                Some((_, '\n')) => words.extend(word.take()),
                Some(next) => word.get_or_insert_with(|| Word::starting(at)).push(next),
                None => {}
            },
            letter => word.get_or_insert_with(|| Word::starting(at)).push((at, letter)),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        commands.push(ShellCommand { words, is_piped: false });
    }
    Ok(commands)
}

/// Whether `#` before a word begins a comment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// It ends with the line.
    Skipped,
    /// There are none.
    None,
}

/// The words of a variable's value, as systemd splits it: a quote without its end ends with the value.
pub(super) fn split_letters(letters: &Letters) -> Vec<Word> {
    split(letters, Comments::None).unwrap_or_else(|_| {
        let plain: Letters =
            letters.iter().copied().filter(|(_, letter)| !matches!(letter, '\'' | '"')).collect();
        split(&plain, Comments::None).unwrap_or_default()
    })
}

/// Adds the letters up to the quote at the end.
fn quoted(
    quote: char,
    start: usize,
    letters: &mut impl Iterator<Item = (usize, char)>,
    word: &mut Word,
) -> Result<(), Range<usize>> {
    let mut end = start;
    while let Some((at, letter)) = letters.next() {
        end = at;
        match letter {
            letter if letter == quote => {
                word.span.end = at + 1;
                return Ok(());
            }
            '\\' if quote == '"' => match letters.next() {
                Some((_, '\n')) => {}
                Some(next @ (_, '"' | '\\' | '$' | '`')) => word.push(next),
                Some(next) => {
                    word.push((at, '\\'));
                    word.push(next);
                }
                None => break,
            },
            letter => word.push((at, letter)),
        }
    }
    Err(start..end + 1)
}
