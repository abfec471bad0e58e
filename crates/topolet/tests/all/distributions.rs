//! What distributions set in their kubelets: `fixtures/distributions`, a folder for each file as a user writes it, with what the
//! distribution's own source documents (`documented.yaml`, never read from this program), against what `config show` prints;
//! and one table of all, `docs/distributions.md`. `DISTRIBUTIONS=overwrite cargo test -p topolet --test all distributions` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Documented {
    distribution: String,
    /// Of the distribution and of its kubelet.
    release: String,
    /// A command line, in the folder.
    run: String,
    /// Repository, commit and files.
    source: String,
    /// The kubelet's fields that decide, as far as the file and the distribution set them.
    fields: Value,
    /// Why a field is printed otherwise, by its name.
    #[serde(default)]
    differences: BTreeMap<String, String>,
    /// Why a field is neither documented nor printed, by its name.
    #[serde(default)]
    not_compared: BTreeMap<String, String>,
}

/// Of one field.
struct Compared {
    name: String,
    documented: Option<String>,
    printed: Option<String>,
}

impl Compared {
    fn is_equal(&self) -> bool {
        self.documented == self.printed
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The cases by folder, in the order of their numbers.
fn cases() -> Vec<(PathBuf, Documented)> {
    let folders = fs::read_dir(root().join("fixtures/distributions")).unwrap();
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let read = |folder: PathBuf| {
        let file = folder.join("documented.yaml");
        let text = fs::read_to_string(&file).unwrap();
        let case =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (folder, case)
    };
    folders.into_iter().map(read).collect()
}

/// The fields by name, those of a map by both names: `kubeReserved.memory`.
fn flat(fields: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"));
    let mut flat = BTreeMap::new();
    for (name, value) in fields.as_object().unwrap() {
        match value.as_object() {
            Some(entries) => {
                flat.extend(entries.iter().map(|(key, value)| (format!("{name}.{key}"), text(value))));
            }
            None => {
                flat.insert(name.clone(), text(value));
            }
        }
    }
    flat
}

impl Documented {
    /// All fields that are documented or printed.
    fn compared(&self, folder: &Path) -> Vec<Compared> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
        let output = command.args(self.run.split_whitespace()).current_dir(folder).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", folder.display());
        let printed: Value = serde_saphyr::from_str(&String::from_utf8(output.stdout).unwrap()).unwrap();
        let mut printed = flat(&printed);
        let head = ["apiVersion", "kind"].map(|name| printed.remove(name));
        assert!(head.iter().all(Option::is_some), "{}", folder.display());
        let documented = flat(&self.fields);
        let names: BTreeSet<&String> = documented.keys().chain(printed.keys()).collect();
        let of = |name: &String| Compared {
            name: name.clone(),
            documented: documented.get(name).cloned(),
            printed: printed.get(name).cloned(),
        };
        names.into_iter().map(of).collect()
    }

    /// What is not as the case says.
    fn wrong(&self, compared: &[Compared]) -> Vec<String> {
        let mut wrong = Vec::new();
        for field in compared {
            let Compared { name, documented, printed } = field;
            match (field.is_equal(), self.differences.contains_key(name)) {
                (false, false) => {
                    wrong.push(format!("{name}: documented {documented:?}, printed {printed:?}"));
                }
                (true, true) => wrong.push(format!("{name} is equal now: its difference can go")),
                _ => {}
            }
            if self.not_compared.contains_key(name) {
                wrong.push(format!("{name} is documented or printed, and so compared"));
            }
        }
        let is_known = |name: &String| compared.iter().any(|field| field.name == *name);
        wrong.extend(
            self.differences.keys().filter(|name| !is_known(name)).map(|name| format!("no field {name}")),
        );
        wrong
    }
}

#[test]
fn effective_configurations_are_the_documented_ones() {
    let cases = cases();
    assert!(cases.len() >= 18, "{} cases", cases.len());
    let mut failed = String::new();
    for (folder, case) in &cases {
        for wrong in case.wrong(&case.compared(folder)) {
            let _ = writeln!(failed, "{}: {wrong}", case.distribution);
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn the_table_lists_all_files() {
    let mut head = String::from(
        "# What distributions document, and what topolet makes of it\n\n\
         For each whole distribution a file as a user writes it ([`fixtures/distributions`](../fixtures/distributions)), and the fields of the\n\
         kubelet that decide: as the distribution's own source documents them, and as `topolet config show` prints them. They are equal, or the\n\
         difference is named. A field of a map counts alone. `DISTRIBUTIONS=overwrite cargo test -p topolet --test all distributions` writes this page.\n\n\
         | file | distribution | release | fields compared | equal | named differences | not compared |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut sections = String::new();
    let mut sums = (0, 0, 0);
    for (folder, case) in &cases() {
        let compared = case.compared(folder);
        let equal = compared.iter().filter(|field| field.is_equal()).count();
        let differing = compared.len() - equal;
        let name = folder.file_name().unwrap().to_string_lossy();
        let Documented { distribution, release, run, source, differences, not_compared, .. } = case;
        let open = not_compared.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            head,
            "| [{name}](../fixtures/distributions/{name}/documented.yaml) | {distribution} | {release} | {} | {equal} | {differing} | {open} |",
            compared.len(),
        );
        let _ = write!(
            sections,
            "\n## {distribution}\n\n`topolet {run}`; documented by {source}\n\n| field | documented | effective | |\n|---|---|---|---|\n"
        );
        for field in &compared {
            let cell =
                |value: &Option<String>| value.as_ref().map_or_else(String::new, |text| format!("`{text}`"));
            let word = match differences.get(&field.name) {
                Some(why) => why.as_str(),
                None if field.is_equal() => "equal",
                None => "not equal",
            };
            let (documented, printed) = (cell(&field.documented), cell(&field.printed));
            let _ = writeln!(sections, "| `{}` | {documented} | {printed} | {word} |", field.name);
        }
        for (name, why) in not_compared {
            let _ = writeln!(sections, "| `{name}` | | | not compared: {why} |");
        }
        sums = (sums.0 + compared.len(), sums.1 + equal, sums.2 + differing);
    }
    let _ = writeln!(head, "| all | | | {} | {} | {} | |", sums.0, sums.1, sums.2);
    let page = head + &sections;
    let file = root().join("docs/distributions.md");
    if std::env::var_os("DISTRIBUTIONS").is_some_and(|value| value == "overwrite") {
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        written, page,
        "`DISTRIBUTIONS=overwrite cargo test -p topolet --test all distributions` writes docs/distributions.md"
    );
}
