//! The words of a command as a shell takes them apart.

/// The words, without quotes; variables stay as they are.
pub(super) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => match letters.next() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_and_lines_that_go_on_are_taken_apart() {
        assert_eq!(words("a 'b c' \"d e\"f \\\n g\\\nh \"\" x\\ y\n"), ["a", "b c", "d ef", "gh", "", "x y"]);
        assert_eq!(words("a 'b"), ["a", "b"]);
    }
}
