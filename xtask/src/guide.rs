//! `cargo xtask guide`: the guide as a book of web pages.
//!
//! The chapters link to documents and pictures of the repository, so that they can be read there. A book has none of these:
//! included files are put in, and links that leave the guide lead to the repository on the web.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::{cargo, root, run, target};

/// The version that is installed where none is there.
const MDBOOK: &str = "0.5.4";
/// Where links that leave the guide lead: the branch that people read.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// Builds the guide with mdBook, in the folder guide of cargo's target folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Guide {
    /// Installs the pinned mdBook first if none is there (takes some minutes).
    #[arg(long)]
    install: bool,
}

impl Guide {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let installed =
            Command::new("mdbook").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !installed.is_ok_and(|status| status.success()) {
            if !self.install {
                bail!("mdBook is not installed; `cargo xtask guide --install` installs mdBook {MDBOOK}");
            }
            // Without its server and its watcher, which take most of the build.
            let features = ["--no-default-features", "--features", "search"];
            run(cargo(&["install", "--locked", "mdbook", "--version", MDBOOK]).args(features))?;
        }
        let (guide, book) = (root().join("docs/guide"), target().join("guide"));
        let source = book.join("src");
        fs::create_dir_all(&source).with_context(|| format!("failed to create {}", source.display()))?;
        fs::copy(guide.join("book.toml"), book.join("book.toml")).context("failed to copy book.toml")?;
        let chapters = guide.join("src");
        for entry in
            fs::read_dir(&chapters).with_context(|| format!("failed to read {}", chapters.display()))?
        {
            let chapter = entry?.path();
            let name = chapter.file_name().context("a chapter has no name")?;
            let text = fs::read_to_string(&chapter)
                .with_context(|| format!("failed to read {}", chapter.display()))?;
            let text = standing_alone(&text, &chapters)
                .with_context(|| format!("failed to prepare {}", chapter.display()))?;
            fs::write(source.join(name), text)?;
        }
        run(Command::new("mdbook").arg("build").arg(&book))
    }
}

/// A chapter with included files put in and without links to files beside the guide.
fn standing_alone(text: &str, folder: &Path) -> anyhow::Result<String> {
    let mut out = String::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            let included =
                fs::read_to_string(folder.join(path)).with_context(|| format!("failed to include {path}"))?;
            out.push_str(&included);
        } else {
            let line = line.replace("](../", "](\u{0}../");
            let mut parts = line.split('\u{0}');
            out.push_str(parts.next().unwrap_or_default());
            for part in parts {
                let (link, rest) = part.split_once(')').context("a link has no end")?;
                out.push_str(&on_the_web(link)?);
                out.push(')');
                out.push_str(rest);
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// The address of a file of the repository, from a link in a chapter.
fn on_the_web(link: &str) -> anyhow::Result<String> {
    let mut path = PathBuf::from("docs/guide/src");
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir if path.pop() => {}
            Component::Normal(name) => path.push(name),
            _ => bail!("{link} leads out of the repository"),
        }
    }
    let picture = path.extension().is_some_and(|extension| extension == "png" || extension == "svg");
    let raw = if picture { "?raw=true" } else { "" };
    Ok(format!("{REPOSITORY}/{}{raw}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_stands_alone() {
        let folder = root().join("docs/guide/src");
        let text = "see [a](merge.md), [b](../../nrt.md#placement) and ![c](../../growth.svg)\n{{#include ../files/kubelet.yaml}}\n";
        let made = standing_alone(text, &folder).unwrap();
        let (first, included) = made.split_once('\n').unwrap();
        let expected = format!(
            "see [a](merge.md), [b]({REPOSITORY}/docs/nrt.md#placement) and ![c]({REPOSITORY}/docs/growth.svg?raw=true)"
        );
        assert_eq!(first, expected);
        assert_eq!(included, fs::read_to_string(root().join("docs/guide/files/kubelet.yaml")).unwrap());
    }

    #[test]
    fn no_link_leaves_the_repository() {
        assert!(on_the_web("../../../../x.md").is_err());
        assert!(standing_alone("{{#include nowhere.rs}}", &root()).is_err());
    }
}
