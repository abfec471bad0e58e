//! `cargo xtask schemas`: what documents for programs contain, and the HTTP interface, as files in `docs`.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::workspace::{build, root, target};

/// Writes docs/schemas and docs/openapi.json, as `topolet schema` prints them.
#[derive(Debug, clap::Args)]
pub(crate) struct Schemas {}

impl Schemas {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        build(&["topolet"])?;
        let docs = root().join("docs");
        let list = topolet(&[])?;
        let kinds: BTreeSet<&str> =
            list.lines().skip(1).filter_map(|row| row.split_whitespace().next()).collect();
        ensure!(!kinds.is_empty(), "topolet schema lists no kinds:\n{list}");
        for entry in fs::read_dir(docs.join("schemas"))? {
            let path = entry?.path();
            let kind = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            if path.extension().is_some_and(|end| end == "json") && !kinds.contains(kind) {
                fs::remove_file(&path)?;
            }
        }
        for kind in kinds {
            fs::write(docs.join(format!("schemas/{kind}.json")), topolet(&[kind])?)?;
        }
        Ok(fs::write(docs.join("openapi.json"), topolet(&["--openapi"])?)?)
    }
}

fn topolet(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(target().join("debug/topolet"))
        .arg("schema")
        .args(arguments)
        .output()
        .context("failed to start topolet")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
