//! A file as lines of text, between two lines that say where it begins and ends: what comes through a log.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const LINE: usize = 76;

/// The file in base64, in lines of 76 letters between `-----BEGIN NODE FILE-----` and `-----END NODE FILE-----`.
pub fn armored(file: &[u8]) -> String {
    let mut text = "-----BEGIN NODE FILE-----\n".to_owned();
    // Whole groups of three bytes give whole lines.
    for line in file.chunks(LINE / 4 * 3) {
        STANDARD.encode_string(line, &mut text);
        text.push('\n');
    }
    text + "-----END NODE FILE-----\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_between_are_the_file() {
        let file: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let text = armored(&file);
        let inside: Vec<&str> = text.lines().filter(|line| !line.starts_with('-')).collect();
        assert!(inside.iter().all(|line| line.len() <= LINE));
        assert_eq!(STANDARD.decode(inside.concat()).unwrap(), file);
        assert_eq!(text.lines().count(), inside.len() + 2);
    }
}
