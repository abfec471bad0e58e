//! `cargo xtask spelling`: what people read, in documents, comments and messages.

use std::process::Command;

use anyhow::Context as _;
use workspace_tools::workspace::{root, run};

use crate::tool::Tool;

const TYPOS: Tool = Tool {
    name: "typos",
    package: "typos-cli",
    version: "1.52.0",
    wheel: "typos==1.52.0 --hash=sha256:418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6\n",
    features: "",
};

/// Checks the spelling of documents, comments and messages with typos, by the list of `.config/typos.toml`.
#[derive(Debug, clap::Args)]
pub(crate) struct Spelling {
    /// Installs the pinned typos first if none is there: a built one by pip, else from its source (takes some minutes).
    #[arg(long)]
    pub(crate) install: bool,
}

impl Spelling {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let missing = "typos is not installed; `cargo xtask spelling --install` does that";
        let typos = if self.install { TYPOS.find_or_install()? } else { TYPOS.find().context(missing)? };
        run(Command::new(typos)
            .args(["--config", ".config/typos.toml", "--format", "brief"])
            .current_dir(root()))
    }
}
