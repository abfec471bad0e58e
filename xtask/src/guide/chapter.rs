//! A chapter as a book has it: without anything that lies beside the guide.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

/// Where links that leave the guide lead: the branch that people read.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// The text of a chapter, and the files of the repository that it needs beside it, under the same paths.
#[derive(Default)]
pub(super) struct Chapter {
    pub(super) text: String,
    pub(super) copied: Vec<PathBuf>,
}

/// A chapter with links that are good in the book.
pub(super) fn standing_alone(text: &str) -> anyhow::Result<Chapter> {
    let mut chapter = Chapter::default();
    for line in text.lines() {
        let mut parts = line.split("](../");
        chapter.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (link, rest) = part.split_once(')').context("a link has no end")?;
            let path = in_repository(&format!("../{link}"))?;
            let link = if is_copied(&path) {
                chapter.copied.push(path.clone());
                path.display().to_string()
            } else {
                format!("{REPOSITORY}/{}", path.display())
            };
            chapter.text.push_str("](");
            chapter.text.push_str(&link);
            chapter.text.push(')');
            chapter.text.push_str(rest);
        }
        chapter.text.push('\n');
    }
    Ok(chapter)
}

/// Pictures are seen without a network, and the files of the guide are there to be used.
fn is_copied(path: &Path) -> bool {
    let picture = path.extension().is_some_and(|extension| extension == "png" || extension == "svg");
    picture || path.starts_with("docs/guide/files")
}

/// The path in the repository, from a link in a chapter.
fn in_repository(link: &str) -> anyhow::Result<PathBuf> {
    let mut path = PathBuf::from("docs/guide/src");
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir if path.pop() => {}
            Component::Normal(name) => path.push(name),
            _ => bail!("{link} leads out of the repository"),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_stands_alone() {
        let text = "see [a](merge.md), [b](../../nrt.md#placement) and ![c](../../growth.svg)\n";
        let made = standing_alone(text).unwrap();
        let expected =
            format!("see [a](merge.md), [b]({REPOSITORY}/docs/nrt.md#placement) and ![c](docs/growth.svg)\n");
        assert_eq!(made.text, expected);
        assert_eq!(made.copied, [Path::new("docs/growth.svg")]);
    }

    #[test]
    fn no_link_leaves_the_repository() {
        assert!(in_repository("../../../../x.md").is_err());
        assert!(standing_alone("[a](../no-end").is_err());
    }
}
