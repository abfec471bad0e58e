//! Circles of files: files of a crate of which each uses the next, and the last the first.
//!
//! A file uses another if a path leads into it, by `crate::`, `self::`, `super::`, a child module's or an imported name, through
//! re-exports and imports of everything too. That a parent declares a module, or hands on what a child declares, is no use.
//! Methods are not looked at.
//!
//! The circles that there still are stand in `xtask/circles.txt`, which may only shrink.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use fs_err as fs;
use petgraph::algo::{astar, kosaraju_scc};
use petgraph::graphmap::DiGraphMap;

use super::sources::files_of;

use source::{Module, Source};

/// The list of circles, from the root of the workspace.
pub(super) const LIST: &str = "xtask/circles.txt";

/// What is wrong with circles: one message for each that the list does not allow, and for each line of the list that says
/// more than there is.
///
/// `crates` are the names of all crates and their folders `src`.
pub(super) fn faults(listed: &str, crates: &[(&str, PathBuf)]) -> anyhow::Result<Vec<String>> {
    let listed = Listed::read(listed)?;
    let mut faults = Vec::new();
    let mut found = BTreeSet::new();
    for (name, source) in crates {
        let files = read(source)?;
        let graph = Graph::new(&files);
        for circle in graph.circles() {
            let line = Line { name: (*name).to_owned(), files: graph.named(&circle) };
            if !listed.allows(&line) {
                faults.push(format!("files of {name} use each other in a circle: {}", graph.shown(&circle)));
            }
            found.insert(line);
        }
    }
    for gone in listed.0.difference(&found) {
        let left = found.iter().filter(|left| gone.has(left)).map(Line::to_string);
        let left: Vec<String> = left.collect();
        let instead = if left.is_empty() { "nothing".to_owned() } else { left.join("; ") };
        faults.push(format!("{LIST}: instead of `{gone}` it is {instead} now"));
    }
    Ok(faults)
}

/// A circle that there is, by its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    name: String,
    files: BTreeSet<String>,
}

impl Line {
    fn has(&self, other: &Self) -> bool {
        self.name == other.name && self.files.is_superset(&other.files)
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        write!(f, "{}: {}", self.name, files.join(" "))
    }
}

/// `xtask/circles.txt`: lines `crate: file file`, and comments that begin with `#`.
struct Listed(BTreeSet<Line>);

impl Listed {
    fn read(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines = lines.map(|line| {
            let (name, files) =
                line.split_once(": ").with_context(|| format!("circles.txt: `{line}` names no crate"))?;
            let files = files.split_whitespace().map(str::to_owned).collect();
            Ok(Line { name: name.to_owned(), files })
        });
        Ok(Self(lines.collect::<anyhow::Result<_>>()?))
    }

    fn allows(&self, found: &Line) -> bool {
        self.0.iter().any(|listed| listed.has(found))
    }
}

/// The files below a folder, by module: their path, and what the compiler sees of them.
fn read(folder: &Path) -> anyhow::Result<BTreeMap<Module, Source>> {
    let mut files = BTreeMap::new();
    for path in files_of("rs", folder)? {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let mut module: Module = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let stem = below.file_stem().unwrap_or_default().to_string_lossy();
        module.pop();
        let is_root = match &*stem {
            // Beside a library the program is a separate crate.
            "main" => !path.with_file_name("lib.rs").exists(),
            stem => matches!(stem, "lib" | "mod"),
        };
        if !is_root {
            module.push(stem.into_owned());
        }
        let source = Source::new(below.display().to_string(), &module, &fs::read_to_string(&path)?)?;
        files.insert(module, source);
    }
    Ok(files)
}

/// Which file uses which.
struct Graph<'a> {
    files: &'a BTreeMap<Module, Source>,
    /// By file the files that it uses, each with a path that leads there.
    uses: DiGraphMap<&'a Module, &'a Module>,
}

impl<'a> Graph<'a> {
    fn new(files: &'a BTreeMap<Module, Source>) -> Self {
        let mut graph = Self { files, uses: DiGraphMap::new() };
        let of_tests: Vec<&Module> = files.values().flat_map(|source| &source.of_tests).collect();
        for (module, source) in files {
            if of_tests.iter().any(|tests| module.starts_with(tests)) {
                continue;
            }
            let targets = source.paths.iter().filter_map(|path| Some((graph.home(path, 0)?, path)));
            let targets: Vec<_> = targets.filter(|(target, _)| *target != module).collect();
            for (target, path) in targets {
                graph.uses.add_edge(module, target, path);
            }
        }
        graph
    }

    /// The file in which what a path leads to is declared, by re-exports.
    fn home(&self, path: &[String], followed: usize) -> Option<&'a Module> {
        let depth = (0..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        let (module, source) = self.files.get_key_value(&path[..depth])?;
        let Some((name, inside)) = path.get(depth..).and_then(|rest| rest.split_first()) else {
            return Some(module);
        };
        // Two modules may export each other's names.
        if followed == 8 {
            return Some(module);
        }
        let through = |target: &Module| [target.as_slice(), inside].concat();
        if let Some(target) = source.names.get(name) {
            let full = through(target);
            if full != path {
                return self.home(&full, followed + 1);
            }
        }
        if !source.declared.contains(name) {
            for glob in &source.globs {
                let full = [glob.as_slice(), &path[depth..]].concat();
                let target = self.home(&full, followed + 1);
                let of = self.home(glob, followed + 1);
                if target != of || of.is_some_and(|of| self.declares(of, name)) {
                    return target;
                }
            }
        }
        Some(module)
    }

    fn declares(&self, module: &Module, name: &str) -> bool {
        self.files.get(module).is_some_and(|source| source.declared.contains(name))
    }

    /// Files of which each leads to each other, as many as belong together.
    fn circles(&self) -> Vec<BTreeSet<&'a Module>> {
        let together = kosaraju_scc(&self.uses).into_iter().filter(|files| files.len() > 1);
        let mut circles: Vec<BTreeSet<_>> = together.map(BTreeSet::from_iter).collect();
        circles.sort();
        circles
    }

    fn named(&self, circle: &BTreeSet<&'a Module>) -> BTreeSet<String> {
        circle.iter().filter_map(|module| Some(self.files.get(*module)?.file.clone())).collect()
    }

    /// The shortest way round from the first file, with the path by which each file uses the next.
    fn shown(&self, circle: &BTreeSet<&'a Module>) -> String {
        let Some(first) = circle.first() else { return String::new() };
        let way = self.shortest(first);
        let steps = way.iter().zip(way.iter().cycle().skip(1)).map(|(module, next)| {
            let file = self.files.get(*module).map_or("", |source| source.file.as_str());
            let path = self.uses.edge_weight(module, next);
            format!("{file} uses {}", path.map(|path| path.join("::")).unwrap_or_default())
        });
        let steps: Vec<String> = steps.collect();
        let others = circle.len() - way.len();
        let more = if others == 0 { String::new() } else { format!("; {others} more files belong to it") };
        format!("{}{more}", steps.join(", "))
    }

    /// The files of the shortest way from one back to it, that one first.
    fn shortest(&self, start: &'a Module) -> Vec<&'a Module> {
        let back = |next| astar(&self.uses, next, |file| file == start, |_| 1, |_| 0);
        let ways = self.uses.neighbors(start).filter_map(back);
        let (_, mut way) = ways.min_by_key(|(length, _)| *length).unwrap_or_default();
        way.rotate_right(1);
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate with these files.
    fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = sources.iter().map(|(file, text)| {
            let mut module: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|last| ["lib", "mod"].contains(&last.as_str())) {
                module.pop();
            }
            let source = Source::new((*file).to_owned(), &module, text).unwrap();
            (module, source)
        });
        let files = files.collect();
        let graph = Graph::new(&files);
        graph.circles().iter().map(|circle| graph.named(circle).into_iter().collect()).collect()
    }

    const NONE: [[&str; 0]; 0] = [];

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let lines =
            [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;")];
        assert_eq!(found(&[&lines[..], &[("c.rs", "struct C;")]].concat()), NONE);
        let back = "fn c() { crate::a::a() }";
        assert_eq!(found(&[&lines[..], &[("c.rs", back)]].concat()), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_name_leads_through_reexports_groups_and_imported_modules() {
        for back in [
            "use crate::part::Thing;",
            "use crate::{part::inner as i, part::{self as p, Thing as Other}};",
            "use crate::part; fn f() -> part::Thing { part::thing() }",
            "pub(crate) use crate::part::inner::Thing; fn f(_: Thing) {}",
            "use super::part::Thing;",
            "use super::part; fn f() -> part::Thing { part::thing() }",
            "fn f() -> super::part::Thing { super::super::part::thing() }",
            "mod inside { fn f() -> super::super::part::Thing {} }",
            "use super::Passed;",
            "use super::*; fn f() -> self::part::Thing {}",
        ] {
            let files = [
                ("lib.rs", "mod part; mod user; pub(crate) use part::Thing as Passed;"),
                ("part/mod.rs", "mod inner;\npub(crate) use self::inner::*;"),
                ("part/inner.rs", "use crate::user::User; pub(crate) struct Thing; fn thing() {}"),
                ("user.rs", back),
            ];
            assert_eq!(found(&files), [["part/inner.rs", "user.rs"]], "{back}");
        }
    }

    #[test]
    fn a_child_and_its_parent_are_a_circle_where_both_use_each_other() {
        let child = ("a.rs", "use super::Error; pub struct A;");
        let circle = |parent: &str| found(&[("lib.rs", parent), child, ("error.rs", "pub struct Error;")]);
        for parent in [
            "mod a; use a::A; pub struct Error(A);",
            "mod a; pub use a::A; pub struct Error(A);",
            "mod a; pub struct Error(a::A);",
            "mod a; pub struct Error; fn f() { self::a::f() }",
        ] {
            assert_eq!(circle(parent), [["a.rs", "lib.rs"]], "{parent}");
        }
        for parent in [
            "mod a; pub struct Error;",
            "mod a; pub use a::A; pub struct Error;",
            "mod a; pub(crate) use self::a::{A, self}; pub(in crate::a) struct Error;",
            "mod a; mod error; use error::Error; fn f(_: a::A) {}",
        ] {
            assert_eq!(circle(parent), NONE, "{parent}");
        }
    }

    #[test]
    fn what_only_tests_compile_is_no_use() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod laws;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; #[cfg(test)] #[allow(x)] mod tests { use crate::a::A; fn f() { a() } }"),
            ("laws.rs", "use crate::b::B; mod more;"),
            ("laws/more.rs", "use super::*; fn f(_: super::super::laws::X) {}"),
        ];
        assert_eq!(found(&files), NONE);
        let more = ("b.rs", "#[cfg(test)] use crate::{a::A, c::C}; pub struct B; fn f(_: crate::a::A) {}");
        assert_eq!(found(&[files[0], files[1], more]), [["a.rs", "b.rs"]], "what follows is seen");
    }

    #[test]
    fn comments_and_texts_are_no_paths() {
        let text = "// use crate::a::A;\n/* crate::a::B */ const T: &str = \"crate::a::C\"; \
                    const R: &str = r#\"use crate::a::D; \"\"#; const Q: char = '\"'; fn f<'a>(_: &'a str) -> impl Sized + use<> {}";
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", text)];
        assert_eq!(found(&files), NONE);
        let used = format!("{text} fn g() {{ crate::a::g() }}");
        assert_eq!(found(&[files[0], files[1], ("b.rs", &used)]), [["a.rs", "b.rs"]], "what follows is seen");
    }

    /// A crate whose files `a`, `b` and `c` are in a circle, and `d` in none.
    struct InCircles(PathBuf);

    impl InCircles {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("circles-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in [
                ("lib.rs", "mod a; mod b; mod c; mod d;"),
                ("a.rs", "use crate::b::B; struct A;"),
                ("b.rs", "use crate::c::C; struct B;"),
                ("c.rs", "use super::{a::A, d::D}; struct C;"),
                ("d.rs", "struct D;"),
            ] {
                fs::write(folder.join(file), text).unwrap();
            }
            Self(folder)
        }

        fn faults(&self, listed: &str) -> Vec<String> {
            faults(listed, &[("parts", self.0.clone())]).unwrap()
        }
    }

    impl Drop for InCircles {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_list_may_only_shrink() {
        let parts = InCircles::new();
        let shown =
            "files of parts use each other in a circle: a.rs uses b::B, b.rs uses c::C, c.rs uses a::A";
        assert_eq!(parts.faults(""), [shown]);
        assert_eq!(parts.faults("# Comment.\n\nparts: a.rs b.rs c.rs\n"), [""; 0]);
        assert_eq!(
            parts.faults("parts: a.rs b.rs c.rs d.rs"),
            ["xtask/circles.txt: instead of `parts: a.rs b.rs c.rs d.rs` it is parts: a.rs b.rs c.rs now"]
        );
        assert_eq!(
            parts.faults("parts: a.rs b.rs c.rs\nothers: a.rs b.rs"),
            ["xtask/circles.txt: instead of `others: a.rs b.rs` it is nothing now"]
        );
        assert_eq!(parts.faults("parts: a.rs b.rs").len(), 2, "it has grown");
        assert!(faults("parts", &[]).is_err());
    }
}
