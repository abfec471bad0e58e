//! `cargo xtask tidy`: the structure that the compiler does not check.
//!
//! Rows: a crate uses crates of lower rows only. Map: the picture and the table of crates in `ARCHITECTURE.md` have these rows, each path
//! that it or the head of a file names exists, and it explains every field of `Compat`. Modules open with `//!`. Crates of the pure rows are
//! `no_std`. Tiers: each crate has one, what `workspace_tools::tiers` asks of it, and its line in `docs/crates.md`. Size: no crate but
//! `conformance` has more than 12 % of the workspace's lines of Rust, and no folder of `LIMITS` more than its lines. Circles: no files of a crate
//! use each other in a circle, but for those listed in `xtask/circles.txt`. The rows are printed, highest first, and the
//! largest crates. Links: each link of a document leads somewhere. Paths: none leaves the repository. Words: comments have none of
//! those that `workspace_tools::words` denies. Files below the root folder are opened in one place.

mod sources;
mod circles;
mod links;
mod opened;
mod outside;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fs_err as fs;
use workspace_tools::document::Renewal;
use workspace_tools::tiers::{self, Promise};
use workspace_tools::words;
use workspace_tools::workspace::{metadata_of, root};

use self::sources::files_of;

/// Checks rows, map, tiers, module documentation and `no_std`.
#[derive(Debug, clap::Args)]
pub(crate) struct Tidy {
    /// Write docs/crates.md, the table of tiers, instead of comparing it.
    #[arg(long)]
    pub(crate) write: bool,
}

/// Crates that know nothing of each other.
struct Row {
    name: &'static str,
    reach: Reach,
    crates: &'static [&'static str],
}

/// What the crates of a row may touch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// No files, clocks, threads or randomness: they are `no_std`.
    Pure,
    /// The system.
    Outside,
}
use Reach::{Outside, Pure};

const fn row(name: &'static str, reach: Reach, crates: &'static [&'static str]) -> Row {
    Row { name, reach, crates }
}

/// The rows, lowest first. A dependency must lie in a lower row than who uses it.
const ROWS: &[Row] = &[
    row(
        "values",
        Pure,
        &[
            "cpuset",
            "kubelet-release",
            "k8s-quantity",
            "conditions",
            "terminal-text",
            "numa-bitmask",
            "pci-names",
            "node-page",
            "machine-fixtures",
        ],
    ),
    row("machine, pod, configuration", Pure, &["topology-model", "pod-spec", "node-config"]),
    row("claims", Pure, &["dra-model"]),
    row("expressions", Pure, &["dra-cel"]),
    row("rules of claims", Pure, &["dra-validation"]),
    row("search", Pure, &["node-cover"]),
    row("hints", Pure, &["topology-hint"]),
    row("laws", Pure, &["manager-contract"]),
    row("merge", Pure, &["topology-policy"]),
    row("managers", Pure, &["cpu-manager", "memory-manager", "device-manager"]),
    row("pictures", Pure, &["machine-picture"]),
    row("state files", Pure, &["kubelet-checkpoint"]),
    row("whole pod", Pure, &["claim-allocator", "topology-admission"]),
    row("claims of a pod", Pure, &["pod-claims", "claim-explanation"]),
    row("fates", Pure, &["kubelet-fates"]),
    row("reports", Pure, &["admission-report"]),
    row(
        "node as a value",
        Pure,
        &["claim-advice", "config-advice", "distribution-config", "node-resource-topology", "kubelet-status"],
    ),
    row("many nodes", Pure, &["scheduler-extender"]),
    row("many pods", Pure, &["node-simulation"]),
    row("texts", Outside, &["kubernetes-yaml"]),
    row("sockets", Outside, &["kept-socket", "http-exchange"]),
    row(
        "effects",
        Outside,
        &[
            "topology-discovery",
            "machine-text",
            "device-plugin",
            "pods-api",
            "nri-plugin",
            "bounded-http",
            "cgroup-cpuset",
            "kubelet-process",
            "topology-manifest",
        ],
    ),
    row("bundles", Outside, &["support-bundle"]),
    row("guard of a node", Outside, &["node-guard"]),
    row("cluster", Outside, &["cluster-node"]),
    row("state of a node", Outside, &["node-state"]),
    row("upgrade of a node", Outside, &["release-upgrade"]),
    row("owner of a node", Outside, &["node-agent"]),
    row("output", Outside, &["node-output"]),
    row("input", Outside, &["node-input", "kubelet-topology"]),
    row("view of a node", Outside, &["node-view"]),
    row("parts of a daemon", Outside, &["node-enforce", "node-http", "node-publish"]),
    row("parts beside a kubelet", Outside, &["node-observe"]),
    row("parts in a cluster", Outside, &["node-member"]),
    row("scenarios", Outside, &["scenario-runs"]),
    row("nodes of a cluster", Outside, &["cluster-overview"]),
    row("daemon", Outside, &["node-daemon", "node-fleet", "scheduler-service"]),
    row("assembly", Outside, &["topolet", "conformance", "workloads", "local-cluster"]),
    row("tools", Outside, &["workspace-tools"]),
    row("long runs", Outside, &["campaigns", "guest"]),
    row("commands", Outside, &["xtask", "xtask-start"]),
];

/// The most of the workspace's lines that one crate may have, in percent.
const LARGEST: usize = 12;
/// It grows with the answers that are compared, and no crate depends on it.
const OF_ANY_SIZE: &str = "conformance";

/// The most lines of Rust that a folder may have.
struct Limit {
    folder: &'static str,
    lines: usize,
}

const LIMITS: [Limit; 3] = [
    Limit { folder: "xtask", lines: 6_000 },
    Limit { folder: "crates/topolet/src", lines: 8_000 },
    Limit { folder: "crates/node-daemon/src", lines: 4_000 },
];

impl Limit {
    /// How many lines there are, and the fault that there are too many.
    fn check(&self) -> anyhow::Result<(String, Option<String>)> {
        let lines = lines(&root().join(self.folder))?;
        let found = format!("{} has {lines} lines of Rust of at most {}", self.folder, self.lines);
        let fault = (lines > self.lines).then(|| found.clone());
        Ok((found, fault))
    }
}

/// What the checks need to know of a crate.
#[derive(Clone, Debug)]
struct Crate {
    name: String,
    folder: PathBuf,
    /// Workspace crates that it uses outside its tests.
    uses: BTreeSet<String>,
}

impl Tidy {
    #[expect(clippy::print_stdout, reason = "the result of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let crates = workspace(&root())?;
        let mut faults = rows(&crates);
        faults.extend(self.tiers()?);
        let map = fs::read_to_string(root().join("ARCHITECTURE.md"))?;
        faults.extend(mapped(&map));
        faults.extend(drawn(&map));
        faults.extend(paths("ARCHITECTURE.md", &map, &root()));
        let compat = root().join("crates/admission/src/node/compat.rs");
        let compat = fs::read_to_string(&compat)?;
        faults.extend(differences(&compat, &map));
        for folder in ["crates", "xtask"] {
            faults.extend(modules(&root().join(folder))?);
            for file in files_of("rs", &root().join(folder))? {
                faults.extend(words::faults(&file)?);
            }
        }
        let mut sizes = Vec::new();
        for found in &crates {
            faults.extend(purity(found)?);
            sizes.push((found.name.as_str(), lines(&found.folder)?));
        }
        faults.extend(circles(&crates)?);
        faults.extend(too_large(&sizes));
        let limits = LIMITS.iter().map(Limit::check).collect::<anyhow::Result<Vec<_>>>()?;
        faults.extend(limits.iter().filter_map(|(_, fault)| fault.clone()));
        faults.extend(links::faults(&root())?);
        faults.extend(outside::faults(&root())?);
        faults.extend(opened::faults(&root())?);
        if !faults.is_empty() {
            bail!("{}", faults.join("\n"));
        }
        print!("{}", floors());
        sizes.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        let all = all_lines(&sizes);
        let largest = sizes.iter().take(5).map(|(name, lines)| format!("{name} {}", share(*lines, all)));
        println!("{all} lines of Rust, most of them in {}", largest.collect::<Vec<_>>().join(", "));
        for (found, _) in limits {
            println!("{found}");
        }
        eprintln!("tidy: {} crates in order", crates.len());
        Ok(())
    }

    /// What is wrong with tiers, and that their table is old.
    fn tiers(&self) -> anyhow::Result<Vec<String>> {
        let promises = Promise::all(&metadata_of(&root(), &["--no-deps", "--offline"])?, &root());
        let renewal = if self.write { Renewal::Write } else { Renewal::Compare };
        let table = vec![(tiers::TABLE.into(), tiers::table(&promises).into_bytes())];
        let old = renewal.renew(table, "cargo xtask tidy --write").err();
        Ok(tiers::faults(&promises).into_iter().chain(old.map(|error| error.to_string())).collect())
    }
}

/// The crates of the workspace in a folder, with what they use.
fn workspace(folder: &Path) -> anyhow::Result<Vec<Crate>> {
    let metadata = metadata_of(folder, &["--no-deps", "--offline"])?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let crates = packages.iter().map(|package| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let own = dependencies.filter(|used| used["path"].is_string() && used["kind"] != "dev");
        Crate {
            name: package["name"].as_str().unwrap_or_default().to_owned(),
            folder: Path::new(package["manifest_path"].as_str().unwrap_or_default())
                .parent()
                .unwrap_or(folder)
                .to_path_buf(),
            uses: own.filter_map(|used| used["name"].as_str()).map(str::to_owned).collect(),
        }
    });
    Ok(crates.collect())
}

/// The lines of Rust below a folder.
fn lines(folder: &Path) -> anyhow::Result<usize> {
    files_of("rs", folder)?.iter().map(|file| Ok(fs::read_to_string(file)?.lines().count())).sum()
}

fn all_lines(sizes: &[(&str, usize)]) -> usize {
    sizes.iter().map(|(_, lines)| lines).sum()
}

/// In percent, with one digit after the point.
fn share(lines: usize, all: usize) -> String {
    let thousandths = lines * 1000 / all.max(1);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// Crates with more lines than a part of the workspace may have.
fn too_large(sizes: &[(&str, usize)]) -> Vec<String> {
    let all = all_lines(sizes);
    let large = sizes.iter().filter(|(name, lines)| *name != OF_ANY_SIZE && lines * 100 > all * LARGEST);
    let fault = |(name, lines): &(&str, usize)| {
        let share = share(*lines, all);
        format!(
            "{name} has {lines} of {all} lines of Rust ({share}), more than {LARGEST} %: take a crate out of it that can say \
             in one sentence what it does not know"
        )
    };
    large.map(fault).collect()
}

/// What is wrong with circles of files, beside the list of those that still stand.
fn circles(crates: &[Crate]) -> anyhow::Result<Vec<String>> {
    let listed = fs::read_to_string(root().join(circles::LIST))?;
    let sources: Vec<(&str, PathBuf)> =
        crates.iter().map(|found| (found.name.as_str(), found.folder.join("src"))).collect();
    circles::faults(&listed, &sources)
}

fn row_of(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.crates.contains(&name))
}

fn rows(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for found in crates {
        let Some(row) = row_of(&found.name) else {
            faults.push(format!("{} is in no row", found.name));
            continue;
        };
        for used in &found.uses {
            match row_of(used) {
                Some(lower) if lower < row => {}
                Some(same) if same == row => faults.push(format!("{} uses {used} beside it", found.name)),
                Some(_) => faults.push(format!("{} uses {used} above it", found.name)),
                None => faults.push(format!("{} uses {used}, which is in no row", found.name)),
            }
        }
    }
    faults
}

/// The map's table of crates, lines `| row | `name` | …`, has the rows of [`ROWS`], highest first.
fn mapped(map: &str) -> Vec<String> {
    let section = section(map, "## Crates");
    let line = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (row, name) = (cells.next()?, cells.next()?);
        Some((row.to_owned(), name.strip_prefix('`')?.strip_suffix('`')?.to_owned()))
    };
    let found: Vec<(String, String)> = section.lines().filter_map(line).collect();
    let of = |row: &'static Row| row.crates.iter().map(|name| (row.name.to_owned(), (*name).to_owned()));
    let expected: Vec<(String, String)> =
        ROWS.iter().rev().filter(|row| row.name != "commands").flat_map(of).collect();
    let shown = |(row, name): &(String, String)| format!("| {row} | `{name}` |");
    if found == expected {
        return Vec::new();
    }
    let lines: Vec<String> = expected.iter().map(shown).collect();
    vec![format!("the table of crates in ARCHITECTURE.md should have these lines:\n{}", lines.join("\n"))]
}

/// The rows as a picture, highest first.
fn floors() -> String {
    ROWS.iter().rev().fold(String::new(), |text, row| {
        let crates = row.crates.chunks(4).map(|some| some.join("  ")).collect::<Vec<_>>();
        text + &format!("{:<29}{}\n", row.name, crates.join(&format!("\n{:29}", "")))
    })
}

/// The map opens with that picture.
fn drawn(map: &str) -> Option<String> {
    let expected = floors();
    let has = section(map, "## Floors").contains(&format!("```text\n{expected}```"));
    (!has).then(|| format!("the picture of floors in ARCHITECTURE.md should be:\n{expected}"))
}

/// The part of a document below a heading.
fn section<'a>(map: &'a str, heading: &str) -> &'a str {
    map.split(heading).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("")
}

/// Each path in a text is there: what is quoted and has a slash, from the project's root.
fn paths(name: &str, text: &str, root: &Path) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let named = quoted
        .filter(|text| ["crates/", "xtask/", "fixtures/", "docs/"].iter().any(|top| text.starts_with(top)));
    // A name in capitals stands for any.
    let gone = named.filter(|path| !path.contains("NAME") && !root.join(path).exists());
    gone.map(|path| format!("{name} names {path}, which is not there")).collect()
}

/// The fields of `Compat` are those of the map's table of differences.
fn differences(compat: &str, map: &str) -> Vec<String> {
    let body =
        compat.split("pub struct Compat {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or("");
    let fields: BTreeSet<&str> =
        body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next()).collect();
    let section = section(map, "## Differences from kubelet");
    let listed: BTreeSet<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let missing =
        fields.difference(&listed).map(|name| format!("ARCHITECTURE.md does not explain Compat::{name}"));
    let gone = listed
        .difference(&fields)
        .map(|name| format!("ARCHITECTURE.md explains Compat::{name}, which is gone"));
    missing.chain(gone).collect()
}

/// Every source file opens with its purpose.
fn modules(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in files_of("rs", folder)? {
        let text = fs::read_to_string(&path)?;
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let head: Vec<&str> =
            text.lines().take_while(|line| line.starts_with("//!") || line.starts_with("#![")).collect();
        faults.extend(paths(&shown, &head.join("\n"), &root()));
        if !text.starts_with("//!") && !text.starts_with("#![doc = include_str!(") {
            faults.push(format!("{shown} does not open with what it is for"));
        }
    }
    Ok(faults)
}

/// Crates of the pure rows cannot reach files, clocks or threads.
fn purity(found: &Crate) -> anyhow::Result<Option<String>> {
    let row = ROWS.iter().find(|row| row.crates.contains(&found.name.as_str()));
    if row.is_none_or(|row| row.reach == Outside) {
        return Ok(None);
    }
    let text = fs::read_to_string(found.folder.join("src/lib.rs"))?;
    let is_pure = text.lines().any(|line| line == "#![no_std]");
    Ok((!is_pure).then(|| format!("{} is in a pure row and not #![no_std]", found.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, uses: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            folder: PathBuf::new(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        }
    }

    #[test]
    fn a_dependency_that_points_up_or_sideways_is_a_fault() {
        assert_eq!(rows(&[found("topology-policy", &["topology-hint", "numa-bitmask"])]), [""; 0]);
        assert_eq!(
            rows(&[found("topology-hint", &["topology-policy"])]),
            ["topology-hint uses topology-policy above it"]
        );
        assert_eq!(
            rows(&[found("cpu-manager", &["memory-manager"])]),
            ["cpu-manager uses memory-manager beside it"]
        );
        assert_eq!(rows(&[found("helpers", &[])]), ["helpers is in no row"]);
    }

    /// A workspace of two crates, of which the lower uses the upper.
    struct UpsideDown(PathBuf);

    impl UpsideDown {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("tidy-{}", std::process::id()));
            let uses = "[dependencies]\ntopology-policy = { path = \"../topology-policy\" }\n";
            for (name, uses) in [("topology-hint", uses), ("topology-policy", "")] {
                let source = folder.join("crates").join(name).join("src");
                fs::create_dir_all(&source).unwrap();
                fs::write(source.join("lib.rs"), "").unwrap();
                let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{uses}");
                fs::write(source.with_file_name("Cargo.toml"), manifest).unwrap();
            }
            fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n")
                .unwrap();
            Self(folder)
        }
    }

    impl Drop for UpsideDown {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_manifest_that_points_up_is_found() {
        let workspace = workspace(&UpsideDown::new().0).unwrap();
        assert_eq!(rows(&workspace), ["topology-hint uses topology-policy above it"]);
    }

    #[test]
    fn the_map_has_the_rows_that_are_checked() {
        let of =
            |row: &'static Row| row.crates.iter().map(|name| format!("| {} | `{name}` | x |\n", row.name));
        let lines: Vec<String> = ROWS.iter().rev().skip(1).flat_map(of).collect();
        let map = |lines: &[String]| {
            format!("# Map\n## Crates\n| row | crate | what |\n{}\n## Next\n| a | `b` |", lines.concat())
        };
        assert_eq!(mapped(&map(&lines)), [""; 0]);
        assert_eq!(mapped(&map(&lines[1..])).len(), 1, "a crate is missing");
        let moved = [&lines[1..], &lines[..1]].concat();
        assert_eq!(mapped(&map(&moved)).len(), 1, "a crate is in another place");
    }

    #[test]
    fn paths_of_the_map_are_there() {
        let map = "`crates/gone/src/lib.rs`, `xtask/src/tidy.rs`, `single-numa-node`, `a/b`";
        assert_eq!(
            paths("ARCHITECTURE.md", map, &root()),
            ["ARCHITECTURE.md names crates/gone/src/lib.rs, which is not there"]
        );
    }

    #[test]
    fn every_difference_from_the_kubelet_is_explained() {
        let compat =
            "pub struct Compat {\n    /// A.\n    pub a: A,\n    pub b: B,\n}\npub struct Other { pub c: C }";
        let map = "| `x` | crate |\n## Differences from kubelet\n| field | kubelet |\n| `b` | why |\n| `z` | why |\n";
        assert_eq!(
            differences(compat, map),
            [
                "ARCHITECTURE.md does not explain Compat::a",
                "ARCHITECTURE.md explains Compat::z, which is gone",
            ]
        );
    }

    #[test]
    fn a_crate_has_its_part_of_the_lines_and_no_more() {
        let others = [("conformance", 500), ("cpu-manager", 380)];
        let with = |name, lines| too_large(&[&others[..], &[(name, lines)]].concat());
        assert_eq!(with("topolet", 120).len(), 1, "cpu-manager has 38 %");
        let small = |lines| {
            too_large(&[
                ("a", 12),
                ("b", 12),
                ("c", 12),
                ("d", 12),
                ("conformance", 100 - lines),
                ("topolet", lines),
            ])
        };
        assert_eq!(small(17), [""; 0]);
        let told = small(18);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("topolet has 18 of 148 lines of Rust (12.1 %), more than 12 %"),
            "{told:?}"
        );
    }

    #[test]
    fn this_workspace_is_in_order() {
        let crates = workspace(&root()).unwrap();
        assert_eq!(rows(&crates), [""; 0]);
        let sizes: Vec<(&str, usize)> =
            crates.iter().map(|found| (found.name.as_str(), lines(&found.folder).unwrap())).collect();
        assert_eq!(too_large(&sizes), [""; 0]);
        assert_eq!(circles(&crates).unwrap(), [""; 0]);
    }
}
