//! The user of a crate: a package that does what the crate's README says.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::ensure;
use fs_err as fs;
use workspace_tools::workspace::{cargo, run};

/// What a README shows.
#[derive(Debug)]
pub(super) struct User {
    /// The crate.
    pub(super) of: String,
    /// The lines that begin with `cargo add`, without these words.
    adds: Vec<Vec<String>>,
    /// The examples, as programs.
    programs: Vec<String>,
}

impl User {
    /// Reads a README.
    ///
    /// # Errors
    /// It has no line that adds the crate.
    pub(super) fn of(name: &str, readme: &str) -> anyhow::Result<Self> {
        let (mut adds, mut programs, mut block) = (Vec::new(), Vec::new(), None::<(&str, String)>);
        for line in readme.lines() {
            match (&mut block, line.strip_prefix("```")) {
                (None, Some(language)) => block = Some((language, String::new())),
                (Some((language, text)), Some(_)) => {
                    // What is `ignore` or `no_run` for rustdoc: the first is no program, the second is.
                    if language.starts_with("rust") && !language.contains("ignore") {
                        programs.push(program(text));
                    }
                    block = None;
                }
                (Some((_, text)), None) => {
                    if let Some(words) = line.strip_prefix("cargo add ") {
                        adds.push(words.split_whitespace().map(str::to_owned).collect());
                    }
                    let _ = writeln!(text, "{line}");
                }
                (None, None) => {}
            }
        }
        let is_added = adds.iter().flatten().any(|word| word == name);
        ensure!(is_added, "the README of {name} has no `cargo add {name}`");
        Ok(Self { of: name.to_owned(), adds, programs })
    }

    /// The name of its package.
    pub(super) fn name(&self) -> String {
        format!("user-of-{}", self.of)
    }

    /// Makes its package in a folder; `index` has the crates that can be added.
    pub(super) fn make(&self, folder: &Path, index: &Path) -> anyhow::Result<()> {
        let package = folder.join(self.name());
        fs::create_dir_all(package.join("src"))?;
        fs::create_dir_all(package.join("examples"))?;
        let manifest = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
             [lints.rust]\nunused = {{ level = \"allow\", priority = -1 }}\n\n[workspace]\n",
            self.name()
        );
        fs::write(package.join("Cargo.toml"), manifest)?;
        fs::write(package.join("src/lib.rs"), "")?;
        for (at, program) in self.programs.iter().enumerate() {
            fs::write(package.join("examples").join(format!("example-{}.rs", at + 1)), program)?;
        }
        for words in &self.adds {
            let registry = format!("source.packages.local-registry={:?}", index.display().to_string());
            let mut add = cargo(&["add", "--quiet", "--config", &registry]);
            add.args(["--config", "source.crates-io.replace-with='packages'"]).args(words);
            run(add.current_dir(&package))?;
        }
        // It becomes a member of the workspace of all packages.
        let path = package.join("Cargo.toml");
        let manifest = fs::read_to_string(&path)?;
        fs::write(&path, manifest.replace("[workspace]\n", ""))?;
        // What cargo has resolved there is not what is locked.
        let _ = fs::remove_file(package.join("Cargo.lock"));
        Ok(())
    }
}

/// An example as a program, as rustdoc makes it: hidden lines are shown, and what is no function is put into one.
fn program(example: &str) -> String {
    let lines = example.lines().map(|line| match line.trim_start() {
        "#" => "",
        // It asks for a feature of the crate, which its user has by `cargo add`.
        hidden if hidden.starts_with("# #[cfg(feature") => "",
        hidden if hidden.starts_with("# ") => &hidden[2..],
        _ => line,
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.contains("fn main()") {
        return text;
    }
    // So rustdoc knows that an example can fail.
    if text.trim_end().ends_with("(())") {
        let result = "Result<(), impl core::fmt::Debug>";
        return format!("fn main() {{\nfn example() -> {result} {{\n{text}\n}}\nexample().unwrap();\n}}\n");
    }
    format!("fn main() {{\n{text}\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_says_what_its_user_does() {
        let readme = "cargo add nothing\n```sh\ncargo add low other\n```\n```rust\nuse low::A;\n# let b = A;\n# Ok::<(), low::E>(())\n```\n```rust,ignore\nx\n```\n";
        let user = User::of("low", readme).unwrap();
        assert_eq!(user.adds, [["low", "other"]]);
        assert_eq!(user.programs.len(), 1);
        let expected = "fn main() {\nfn example() -> Result<(), impl core::fmt::Debug> {\nuse low::A;\nlet b = A;\nOk::<(), low::E>(())\n}\nexample().unwrap();\n}\n";
        assert_eq!(user.programs[0], expected);
        assert!(User::of("high", readme).is_err());
    }

    #[test]
    fn a_program_stays_one() {
        assert_eq!(program("# #[cfg(feature = \"x\")]\n# fn main() {}\n"), "\nfn main() {}");
        assert_eq!(program("fn main() {}\n"), "fn main() {}");
        assert_eq!(program("let a = 1;\n"), "fn main() {\nlet a = 1;\n}\n");
    }
}
