//! `topolet diagnose --anonymise`: a bundle that can be attached to a public issue.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use node_input::{Anonymised, DiagnosisOf, anonymised, diagnose, differences};

use crate::outcome::Outcome;
use crate::screen::Screen;

/// Writes the anonymous bundle, and says whether it is decided on as the original is.
pub(super) fn run(
    paths: &[PathBuf],
    file: &Path,
    mapping: Option<&Path>,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let name = file.to_string_lossy();
    if ![".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end)) {
        bail!("--anonymise packs the bundle as .tar.gz, and its name ends so: {name}.tar.gz");
    }
    let all = DiagnosisOf::default();
    let original = diagnose(support_bundle::read(paths)?, &all)?;
    let made = anonymised(support_bundle::read(paths)?)?;
    let Anonymised { files, names, left_out } = &made;
    if files.is_empty() {
        bail!("nothing in {} tells of a node: there is nothing to write", shown(paths));
    }
    write(file, 0o644, &made.archive()?)?;
    let again = diagnose(support_bundle::read(&[file.to_path_buf()])?, &all)?;
    let differ = differences(&original, &again, names);
    let count =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let nodes = count(original.nodes.len() + original.other_nodes.len(), "node", "nodes");
    let renamed = count(names.by_kind().values().map(BTreeMap::len).sum::<usize>(), "name", "names");
    let page = screen.page;
    let mut text = page
        .wrapped(&format!("{name}: {}, {nodes}, {renamed} made up", count(files.len(), "file", "files")), 2);
    let rows = left_out
        .iter()
        .enumerate()
        .map(|(at, what)| vec![if at == 0 { "left out".to_owned() } else { String::new() }, what.clone()]);
    text.push_str(&page.table(rows, 2, "  "));
    if let Some(path) = mapping {
        let json = serde_json::to_string_pretty(names.by_kind())? + "\n";
        write(path, 0o600, json.as_bytes())?;
        let line = format!("{}: which name stands for which; keep it to yourself", path.display());
        text.push_str(&page.wrapped(&line, 2));
    }
    if differ.is_empty() {
        text.push_str(&page.wrapped(&format!("{} it is diagnosed as the original is", page.yes()), 2));
    }
    for difference in &differ {
        text.push_str(&page.wrapped(&format!("! it is not diagnosed as the original is: {difference}"), 2));
    }
    screen.show(&text)?;
    Ok(if differ.is_empty() { Outcome::Done } else { Outcome::SomethingWrong })
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Writes a new file; one that is there is not written over.
fn write(path: &Path, mode: u32, content: &[u8]) -> anyhow::Result<()> {
    let created = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file: File = match created {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already, and is not written over", path.display())
        }
        created => created.with_context(|| format!("failed to create {}", path.display()))?,
    };
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("failed to write {}", path.display()))
}
