//! Tiers of crates: what each crate promises, and the table of all in [`TABLE`].
//!
//! A manifest has the tier, and for a crate that is published what it cannot do yet, in `[package.metadata.topolet]`. The
//! README of a crate says the same where it would be missed: its tier, and that the crate is `no_std`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde_json::Value;

use crate::workspace::{is_published, own_packages};

/// The document with the table, from the root of the workspace.
pub const TABLE: &str = "docs/crates.md";
/// The most crates of the tier *stable*: a promise for more would not be kept.
const MOST_STABLE: usize = 15;

/// What follows for users from a change of a crate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tier {
    /// Items go and change with a new minor number only, and a program checks that.
    Stable,
    /// Of use by itself; any minor number may change its items.
    Growing,
    /// A part of the program or a tool of the workspace.
    Internal,
}

impl Tier {
    const ALL: [Self; 3] = [Self::Stable, Self::Growing, Self::Internal];

    fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Growing => "growing",
            Self::Internal => "internal",
        }
    }

    /// What follows, as lines of a list in the document.
    fn promise(self) -> &'static str {
        match self {
            Self::Stable => {
                "Before 1.0, public items are removed or changed only with a new minor number and a line in CHANGELOG.md;\n  \
                 `cargo xtask semver` looks for what breaks. It depends on stable crates only."
            }
            Self::Growing => {
                "Of use by itself, and still changing: any minor number may rename, change or remove items. CHANGELOG.md\n  \
                 names what users notice, and no program compares the items."
            }
            Self::Internal => {
                "A part of the program `topolet`, published because the program needs it, or a tool of this repository.\n  \
                 It changes with what uses it: depend on no such crate."
            }
        }
    }
}

/// What a crate of the workspace promises.
#[derive(Clone, Debug)]
pub struct Promise {
    name: String,
    /// From the root of the workspace.
    folder: PathBuf,
    /// What is promised.
    tier: Option<Tier>,
    description: String,
    /// What it cannot do yet, behind *it cannot*.
    cannot: String,
    published: bool,
    no_std: bool,
    categories: Vec<String>,
    readme: String,
    /// Crates of the workspace that it uses outside its tests.
    uses: Vec<String>,
}

impl Promise {
    /// The promises of all crates of a workspace in a folder, by name; `metadata` is what cargo says of it.
    pub fn all(metadata: &Value, root: &Path) -> Vec<Self> {
        let mut all: Vec<Self> = own_packages(metadata).map(|package| Self::of(package, root)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn of(package: &Value, root: &Path) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = |field: &str| package[field].as_array().into_iter().flatten();
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().unwrap_or(root);
        let own = &package["metadata"]["topolet"];
        let library = fs::read_to_string(folder.join("src/lib.rs")).unwrap_or_default();
        let used = all("dependencies").filter(|used| used["path"].is_string() && used["kind"] != "dev");
        Self {
            name: text(&package["name"]),
            folder: folder.strip_prefix(root).unwrap_or(folder).to_path_buf(),
            tier: Tier::ALL.into_iter().find(|tier| own["tier"] == tier.name()),
            description: text(&package["description"]),
            cannot: text(&own["cannot"]),
            published: is_published(package),
            no_std: library.lines().any(|line| line == "#![no_std]"),
            categories: all("categories").map(text).collect(),
            readme: fs::read_to_string(folder.join("README.md")).unwrap_or_default(),
            uses: used.map(|used| text(&used["name"])).collect(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder, from the root of the workspace.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is of a tier.
    pub fn is(&self, tier: Tier) -> bool {
        self.tier == Some(tier)
    }

    /// What is wrong with it among the crates that it may use.
    fn faults(&self, tiers: &BTreeMap<&str, Tier>) -> Vec<String> {
        let mut faults = Vec::new();
        let Some(tier) = self.tier else {
            let names = Tier::ALL.map(Tier::name).join(", ");
            return vec![format!("{}: [package.metadata.topolet] has no tier of {names}", self.name)];
        };
        let mut check = |fine: bool, fault: String| {
            if !fine {
                faults.push(format!("{}: {fault}", self.name));
            }
        };
        let name = tier.name();
        check(
            self.published || tier == Tier::Internal,
            format!("it is not published, so that its tier is internal and not {name}"),
        );
        if self.published {
            let is_one = !self.cannot.is_empty() && !self.cannot.ends_with('.') && !self.cannot.contains('|');
            check(
                is_one,
                "`cannot` has to be a phrase without a full stop: what the crate cannot do yet".into(),
            );
            check(
                self.readme.contains(&format!("Tier *{name}*")),
                format!("the README lacks `Tier *{name}*`"),
            );
            let listed = self.categories.iter().any(|category| category == "no-std");
            check(listed == self.no_std, "the category no-std and `#![no_std]` differ".into());
        }
        check(!self.no_std || self.readme.contains("`no_std`"), "the README does not say `no_std`".into());
        for used in self.uses.iter().filter(|_| tier == Tier::Stable) {
            let stable = tiers.get(used.as_str()) == Some(&Tier::Stable);
            check(stable, format!("it is stable and uses {used}, which is not"));
        }
        faults
    }
}

/// What is wrong with tiers, and with what READMEs say of them.
pub fn faults(all: &[Promise]) -> Vec<String> {
    let tiers = all.iter().filter_map(|crate_| Some((crate_.name(), crate_.tier?))).collect();
    let mut faults: Vec<String> = all.iter().flat_map(|crate_| crate_.faults(&tiers)).collect();
    let stable = all.iter().filter(|crate_| crate_.is(Tier::Stable)).count();
    if stable > MOST_STABLE {
        faults.push(format!("{stable} crates are stable, and at most {MOST_STABLE} may be"));
    }
    faults
}

/// The document with the table.
pub fn table(all: &[Promise]) -> String {
    let mut text = "# Crates and their tiers\n\n".to_owned();
    text.push_str(concat!(
        "`cargo xtask tidy --write` writes this page from the manifests. All crates have one version.\n\n\
         Until the first release is on crates.io, `cargo add NAME --git ",
        env!("CARGO_PKG_REPOSITORY"),
        "` takes a crate from its repository.\n\n",
    ));
    for tier in Tier::ALL {
        let _ = writeln!(text, "- **{}**: {}", tier.name(), tier.promise());
    }
    text.push_str(
        "\n| crate | tier | what it is | `no_std` | what it cannot do yet |\n|---|---|---|---|---|\n",
    );
    for tier in Tier::ALL {
        for Promise { name, folder, description, no_std, published, cannot, .. } in
            all.iter().filter(|crate_| crate_.is(tier))
        {
            let no_std = if *no_std { "yes" } else { "" };
            let cannot = if *published { cannot.as_str() } else { "(not published)" };
            let (folder, tier) = (folder.display(), tier.name());
            let _ =
                writeln!(text, "| [{name}](../{folder}) | {tier} | {description} | {no_std} | {cannot} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, tier: Tier) -> Promise {
        Promise {
            name: name.into(),
            folder: Path::new("crates").join(name),
            tier: Some(tier),
            description: "sets".into(),
            cannot: "hold ids above 8191".into(),
            published: true,
            no_std: true,
            categories: vec!["no-std".into()],
            readme: format!("# x\n\nSets. `no_std`.\n\n## Stability\n\nTier *{}*.\n", tier.name()),
            uses: Vec::new(),
        }
    }

    #[test]
    fn a_promise_is_whole_and_kept_by_what_it_uses() {
        let good = named("cpuset", Tier::Stable);
        assert_eq!(faults(std::slice::from_ref(&good)), [""; 0]);
        let faults_of = |change: fn(&mut Promise)| {
            let mut bad = good.clone();
            change(&mut bad);
            faults(&[named("low", Tier::Growing), bad])
        };
        for (change, fault) in [
            (
                (|bad| bad.tier = None) as fn(&mut Promise),
                "[package.metadata.topolet] has no tier of stable, growing, internal",
            ),
            (
                |bad| bad.cannot.clear(),
                "`cannot` has to be a phrase without a full stop: what the crate cannot do yet",
            ),
            (
                |bad| bad.cannot.push('.'),
                "`cannot` has to be a phrase without a full stop: what the crate cannot do yet",
            ),
            (|bad| bad.tier = Some(Tier::Growing), "the README lacks `Tier *growing*`"),
            (|bad| bad.published = false, "it is not published, so that its tier is internal and not stable"),
            (|bad| bad.no_std = false, "the category no-std and `#![no_std]` differ"),
            (|bad| bad.readme = "Tier *stable*".into(), "the README does not say `no_std`"),
            (|bad| bad.uses.push("low".into()), "it is stable and uses low, which is not"),
        ] {
            assert_eq!(faults_of(change), [format!("cpuset: {fault}")]);
        }
    }

    #[test]
    fn few_crates_are_stable() {
        let many: Vec<Promise> = (0..16).map(|at| named(&format!("c{at}"), Tier::Stable)).collect();
        assert_eq!(faults(&many), ["16 crates are stable, and at most 15 may be"]);
        assert_eq!(faults(&many[1..]), [""; 0]);
    }

    #[test]
    fn the_table_has_the_stable_crates_first() {
        let mut tool = named("a-tool", Tier::Internal);
        (tool.published, tool.no_std) = (false, false);
        let text = table(&[tool, named("cpuset", Tier::Stable)]);
        let rows = text.lines().filter(|line| line.starts_with("| ["));
        let rows: Vec<String> = rows.map(|row| row.replace("(../", "(")).collect();
        assert_eq!(
            rows,
            [
                "| [cpuset](crates/cpuset) | stable | sets | yes | hold ids above 8191 |",
                "| [a-tool](crates/a-tool) | internal | sets |  | (not published) |",
            ]
        );
    }
}
