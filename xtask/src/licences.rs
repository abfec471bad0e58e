//! `cargo xtask licences`: the licences of everything that the program contains, as `topolet --licences` prints them.
//!
//! Of a crate that leaves the choice among several licences one is chosen that `deny.toml` allows, the first in its list
//! where several are. The texts are those in the crates' packages.

mod choice;
mod part;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use fs_err as fs;
use serde_json::Value;
use workspace_tools::document::Renewal;
use workspace_tools::workspace::{metadata, root};

use self::part::Part;
use self::texts::Texts;

/// What the program includes.
const FILE: &str = "crates/topolet/licences.txt";
/// What it is built for: other targets need crates that it does not contain.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

const HEAD: &str = "\
topolet is licensed under the Apache License, version 2.0, the first text below.

It contains the crates that are listed below, each under the licence at the head of its list, and
- the Rust standard library, under the Apache License, version 2.0 or the MIT licence at your option;
- a part of the PCI ID list (https://pci-ids.ucw.cz) by Martin Mares, Albert Pool and other volunteers, under the 3-clause
  BSD licence;
- a YAML parser after libyaml (https://pyyaml.org/wiki/LibYAML), Copyright (c) 2006 Kirill Simonov, under the MIT licence;
- if it was built statically, the GNU C library (https://www.gnu.org/software/libc), under the GNU Lesser General Public
  License, version 2.1 or later. topolet's own source, with which it can be linked to another version, is public.
";

/// Collects the licences of all crates that the program contains, or fails if one is not allowed.
#[derive(Debug, clap::Args)]
pub(crate) struct Licences {
    /// Write crates/topolet/licences.txt, instead of comparing it.
    #[arg(long)]
    pub(crate) write: bool,
}

impl Licences {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let [one, other] = TARGETS;
        let metadata = metadata(&["--locked", "--filter-platform", one, "--filter-platform", other])?;
        let parts = parts(&metadata).context("cargo metadata lacks the tree of crates")?;
        let deny = fs::read_to_string(root().join("deny.toml"))?;
        let text = text(&parts, &choice::allowed(&deny)?)?;
        let renewal = if self.write { Renewal::Write } else { Renewal::Compare };
        renewal.renew(vec![(FILE.into(), text.into_bytes())], "cargo xtask licences --write")?;
        eprintln!("licences: {} crates in order", parts.len());
        Ok(())
    }
}

/// All crates of others that the program is linked of, with what their macros are made of.
fn parts(metadata: &Value) -> Option<Vec<Part>> {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()?
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let (program, _) = packages.iter().find(|(_, package)| package["name"] == "topolet")?;
    let (mut seen, mut open) = (BTreeSet::new(), vec![*program]);
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        for used in nodes.get(id)?["deps"].as_array()? {
            let mut kinds = used["dep_kinds"].as_array()?.iter();
            // What tests and build scripts use is not in the program.
            if kinds.any(|kind| kind["kind"].is_null()) {
                open.push(used["pkg"].as_str()?);
            }
        }
    }
    let mut parts = Vec::new();
    for package in
        seen.iter().filter_map(|id| packages.get(id)).filter(|package| package["source"].is_string())
    {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        let manifest = std::path::PathBuf::from(text("manifest_path"));
        parts.push(Part {
            name: text("name"),
            version: text("version"),
            licence: text("license"),
            repository: text("repository"),
            folder: manifest.parent()?.to_path_buf(),
        });
    }
    parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Some(parts)
}

/// The whole text.
fn text(parts: &[Part], allowed: &[String]) -> anyhow::Result<String> {
    let mut texts = Texts::default();
    let mut faults = Vec::new();
    for part in parts {
        match choice::chosen(&part.licence, allowed) {
            None => faults.push(format!(
                "{} {}: its licence is {:?}, which deny.toml does not allow",
                part.name, part.version, part.licence
            )),
            Some(licences) => {
                for licence in licences {
                    if let Err(fault) = texts.add(part, &licence, parts) {
                        faults.push(format!("{} {}: {fault:#}", part.name, part.version));
                    }
                }
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let mut out = HEAD.to_owned();
    let own = fs::read_to_string(root().join("LICENSE"))?;
    texts.write(&mut out, &own, allowed);
    let _ = writeln!(out, "\n{}", "=".repeat(100));
    Ok(out)
}
