//! Recorded cases asked anew: what another release of the kubelet answers otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use conformance::{Case, Corpus};
use kubelet_release::{Release, UnknownRelease};
use serde_json::{Value, json};

use crate::programs::{Attempt, Programs, complaint, domains};

/// Asks recorded cases anew.
#[derive(Debug, clap::Args)]
pub(super) struct Again {
    /// Instead of playing, ask the kubelet's own code the cases of this folder anew, and say which answers are others.
    #[arg(long = "again", id = "again", value_name = "DIR", requires = "programs")]
    cases: Option<PathBuf>,
    /// With --again: the Go module with its programs.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// With --again: ask this version, whose answers are compared with those of the folder of its release in DIR, or of
    /// the nearest release that is known, and with DIR's own where there are none.
    #[arg(long, requires = "again", value_name = "VERSION")]
    kubelet: Option<String>,
    /// With --again: write the new answers over the old ones; with --kubelet, those that differ from DIR's own, up to
    /// 200 of each file, to the folder of the release. A patch release is only compared.
    #[arg(long, requires = "again")]
    write: bool,
}

/// How many cases of a file are written for another release.
const MOST: usize = 200;

/// What came of one file.
#[derive(Default)]
struct Compared {
    same: usize,
    differing: Vec<String>,
    /// Cases that the release cannot be asked: they name what it does not know.
    unanswered: usize,
    /// The lines with the new answers.
    text: String,
    /// The lines whose answers are not those of the file.
    changed: Vec<String>,
}

impl Again {
    /// Whether this is what was asked for.
    pub(super) const fn is_asked(&self) -> bool {
        self.cases.is_some()
    }

    /// Asks and compares; only `domain` if one is given.
    #[expect(clippy::print_stdout, reason = "the differences are what it is for")]
    pub(super) fn ask(&self, domain: Option<&str>) -> anyhow::Result<()> {
        let (Some(folder), Some(programs)) = (&self.cases, &self.programs) else { return Ok(()) };
        let release = self.kubelet.as_deref().map(|kubelet| Answers::of(folder, kubelet));
        if let Some(release) = release.as_ref().filter(|release| self.write && !release.is_own) {
            bail!("the answers that are recorded in {} are another version's", release.folder.display());
        }
        let wanted = domains(programs, domain)?;
        let programs =
            Programs::build(programs, &Corpus::at(folder.clone())?, &wanted, self.kubelet.as_deref())?;
        let mut all = Compared::default();
        for (domain, program) in wanted {
            let own = release.as_ref().map(|release| release.alone(domain)).transpose()?.unwrap_or_default();
            let own = own.into_iter().map(|file| (file, None));
            let others = files(&folder.join(domain))?.into_iter().map(|file| {
                let overlay = release.as_ref().map(|release| Overlay::of(release, domain, &file));
                (file, overlay)
            });
            for (file, overlay) in others.chain(own) {
                let compared = ask_file(&programs, program, domain, &file, overlay.as_ref())?;
                match &overlay {
                    Some(overlay) if self.write => overlay.write(&compared.changed)?,
                    None if self.write && !compared.differing.is_empty() => write(&file, &compared.text)?,
                    _ => {}
                }
                all.same += compared.same;
                all.unanswered += compared.unanswered;
                all.differing.extend(compared.differing);
            }
        }
        for difference in &all.differing {
            println!("{difference}");
        }
        println!("{} answers are the same, {} differ", all.same, all.differing.len());
        if all.unanswered > 0 {
            println!("{} cases name what the release does not know", all.unanswered);
        }
        Ok(())
    }
}

/// The recorded answers of the release of a version.
struct Answers {
    folder: PathBuf,
    /// The version that gave them.
    version: String,
    /// Whether that is the one that is asked now.
    is_own: bool,
}

impl Answers {
    fn of(folder: &Path, kubelet: &str) -> Self {
        let release = match kubelet.parse() {
            // A release that is to come is compared with the last one before it.
            Ok(release) | Err(UnknownRelease::Unknown { nearest: release, .. }) => Some(release),
            Err(UnknownRelease::NotAVersion) => None,
        };
        let version = release
            .filter(|_| !folder.join(kubelet).is_dir())
            .map_or_else(|| kubelet.to_owned(), |release: Release| release.verified().to_string());
        Self { folder: folder.join(&version), is_own: version == kubelet, version }
    }

    /// The files of a domain with cases of this release alone. Those of `downgrade` hold the default release's answers.
    fn alone(&self, domain: &str) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.folder.join(domain);
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let is_alone = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            !["changed-", "downgrade"].iter().any(|other| name.starts_with(other))
        };
        Ok(files(&folder)?.into_iter().filter(is_alone).collect())
    }
}

/// What another release answers to the cases of a file otherwise.
struct Overlay<'a> {
    release: &'a Answers,
    file: PathBuf,
}

impl<'a> Overlay<'a> {
    fn of(release: &'a Answers, domain: &str, file: &Path) -> Self {
        let name = format!("changed-{}", file.file_name().unwrap_or_default().to_string_lossy());
        Self { file: release.folder.join(domain).join(name), release }
    }

    /// Its recorded lines by id.
    fn lines(&self) -> anyhow::Result<BTreeMap<String, Value>> {
        if !self.file.is_file() {
            return Ok(BTreeMap::new());
        }
        let lines = read(&self.file)?;
        Ok(lines.into_iter().map(|line| (line["id"].to_string(), line)).collect())
    }

    fn write(&self, changed: &[String]) -> anyhow::Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        }
        write(&self.release.folder.join("RELEASE"), &format!("{}\n", self.release.version))?;
        // Evenly spaced, so that what stands at the end of a file has its part.
        let step = changed.len().div_ceil(MOST);
        write(&self.file, &changed.iter().step_by(step).map(|line| line.clone() + "\n").collect::<String>())
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))
}

/// The lines of a file.
fn read(file: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    lines.with_context(|| format!("{} holds no JSON lines", file.display()))
}

/// The case files of a domain.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn ask_file(
    programs: &Programs,
    program: &str,
    domain: &str,
    file: &Path,
    overlay: Option<&Overlay<'_>>,
) -> anyhow::Result<Compared> {
    let recorded = overlay.map(Overlay::lines).transpose()?.unwrap_or_default();
    let mut compared = Compared::default();
    let (mut lines, mut asked) = (Vec::new(), Vec::new());
    for line in read(file)? {
        // Data that cases name, and facts that take minutes of waiting, are not asked for.
        let kind = line["case"]["kind"].as_str().unwrap_or_default();
        let is_asked = line["case"].is_object() && !kind.is_empty() && !["fact", "watch"].contains(&kind);
        if is_asked {
            let mut question = line["case"].clone();
            question["id"] = line["id"].clone();
            asked.push(question);
        }
        lines.push((line, is_asked));
    }
    if asked.is_empty() {
        return Ok(compared);
    }
    eprintln!("{}: asking {} cases", file.display(), asked.len());
    let mut answers = programs.ask(program, domain, &asked, Attempt::First)?.into_iter();
    let case = |line: &Value| Case::answered(domain, "", line["case"].clone(), line.clone());
    for (mut line, is_asked) in lines {
        if is_asked && let Some(answer) = answers.next() {
            if let Some(complaint) = complaint(&answer) {
                if overlay.is_none() {
                    bail!("{program} does not take case {}: {complaint}", answer["id"]);
                }
                compared.unanswered += 1;
                continue;
            }
            let mut new = json!({ "id": line["id"], "case": line["case"] });
            for field in ["result", "panic", "hang", "unstable"] {
                if let Some(value) = answer.get(field) {
                    new[field] = value.clone();
                }
            }
            let now = case(&new)?;
            let is_changed = !case(&line)?.agrees_with(&now);
            if is_changed {
                compared.changed.push(new.to_string());
            }
            if case(recorded.get(&line["id"].to_string()).unwrap_or(&line))?.agrees_with(&now) {
                compared.same += 1;
            } else {
                compared.differing.push(format!("{domain} {}", now.id));
            }
            if is_changed {
                line = new;
            }
        }
        compared.text += &(line.to_string() + "\n");
    }
    Ok(compared)
}
