//! Words that comments and messages do without: each has a plain one, which names who acts or what is wrong.

use std::io;
use std::path::Path;

use fs_err as fs;

/// The words and phrases that are denied.
const DENIED: [&str; 10] = [
    "told",
    "said",
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "of its own",
    "of their own",
    "comes of",
    "come of",
];

/// Words of an error that say nothing.
const VAGUE: [&str; 7] = [
    "please",
    "sorry",
    "oops",
    "something went wrong",
    "an error occurred",
    "invalid input",
    "unexpected error",
];

/// What begins the text of an error.
const OF_ERRORS: [&str; 4] = ["#[error(\"", "bail!(\"", "anyhow!(\"", ".context(\""];

/// What is wrong with the comments and the texts of errors of a file.
///
/// # Errors
/// The file cannot be read.
pub fn faults(file: &Path) -> io::Result<Vec<String>> {
    let source = fs::read_to_string(file)?;
    let of_comment =
        |(line, word)| format!("{}:{line}: a comment has `{word}`; name who acts", file.display());
    let of_error = |(line, fault)| format!("{}:{line}: the text of an error {fault}", file.display());
    let comments = denied(&source).into_iter().map(of_comment);
    Ok(comments.chain(of_errors(&source).into_iter().map(of_error)).collect())
}

/// The line numbers of texts of errors that are not in the form of a message, each with what is wrong. A text is looked at as far
/// as it stands on one line.
fn of_errors(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let begun = OF_ERRORS.iter().find_map(|start| Some(line.split_once(start)?.1));
        let Some((text, _)) = begun.and_then(|text| text.split_once('"')) else { continue };
        if text.ends_with(['.', '!']) && !text.ends_with("..") {
            found.push((number + 1, "ends like a sentence; it is a fragment".to_owned()));
        }
        let lower = text.to_lowercase();
        let vague = VAGUE.iter().filter(|word| lower.contains(*word));
        found.extend(vague.map(|word| (number + 1, format!("has `{word}`; name what is wrong"))));
    }
    found
}

/// The line numbers at which a comment begins that has a denied word, each with the word. Code in comments is left alone:
/// what stands between backticks, and blocks of it.
fn denied(source: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut block = Block::default();
    for (number, line) in source.lines().enumerate() {
        if let Some(text) = line.trim_start().strip_prefix("//") {
            block.add(number + 1, text.trim_start_matches(['/', '!']));
            continue;
        }
        block.end(&mut found);
        if let Some((_, trailing)) = line.split_once("; // ").or_else(|| line.split_once(", // ")) {
            block.add(number + 1, trailing);
            block.end(&mut found);
        }
    }
    block.end(&mut found);
    found
}

/// Comment lines that follow each other, since a phrase may be broken over two.
#[derive(Default)]
struct Block {
    begins: usize,
    text: String,
    is_code: bool,
}

impl Block {
    fn add(&mut self, number: usize, line: &str) {
        if self.text.is_empty() {
            self.begins = number;
        }
        if line.trim_start().starts_with("```") {
            self.is_code = !self.is_code;
        } else if !self.is_code {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn end(&mut self, found: &mut Vec<(usize, &'static str)>) {
        let block = std::mem::take(self);
        let prose: String = block.text.split('`').step_by(2).collect::<Vec<_>>().join(" x ");
        let words: Vec<String> = prose
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let words = format!(" {} ", words.join(" "));
        let denied = DENIED.into_iter().filter(|word| words.contains(&format!(" {word} ")));
        found.extend(denied.map(|word| (block.begins, word)));
    }
}

#[cfg(test)]
mod tests {
    use super::{denied, of_errors};

    #[test]
    fn texts_of_errors_are_fragments_that_name_what_is_wrong() {
        let source = "\
@error(*cannot read {0}*)]
@error(*cannot read {0}.*)]
@error(*cannot read {0}...*)]
    bail!(*Please give a file*);
let text = *Please wait.*;
";
        let source = source.replace('*', "\"").replace('@', "\u{23}[");
        let found = of_errors(&source);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4], "{found:?}");
    }

    #[test]
    fn a_denied_word_is_found_in_prose_alone() {
        // Tidy reads this file too.
        let source = "\
#/ A folder of its
#/ own, which nobody reads.
let told = 1; # It is told.

#! The key `said` and
#! ```
#! let somebody = said;
#! ```
#! behind unsaid words.
let text = \"nobody\";
";
        let source = source.replace('#', "\u{2f}\u{2f}");
        assert_eq!(denied(&source), [(1, "nobody"), (1, "of its own"), (3, "told")]);
    }
}
