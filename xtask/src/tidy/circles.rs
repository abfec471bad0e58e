//! Circles of files: files of a crate of which each uses the next, and the last the first.
//!
//! A file uses another if a path that begins with `crate::` leads into it, through re-exports too, or if a path begins
//! with a module that it has imported so. What a file says of its children and its parent (`self::`, `super::`) is not
//! looked at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// A module by its path below the crate; empty: the crate's root.
type Module = Vec<String>;

/// A message for each circle of files below `source`, the folder `src` of the crate `name`.
pub(super) fn circles(name: &str, source: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = BTreeMap::new();
    read(source, &mut Vec::new(), &mut files)?;
    Ok(Graph::new(&files).circles().into_iter().map(|circle| told(name, &circle)).collect())
}

fn told(name: &str, circle: &[String]) -> String {
    let first = circle.first().map_or("", String::as_str);
    format!("files of {name} use each other in a circle: {} -> {first}", circle.join(" -> "))
}

/// The files below a folder, by module: their path, and what the compiler sees of them.
fn read(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, Source>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
        if path.is_dir() {
            module.push(stem);
            read(&path, module, files)?;
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut own = module.clone();
            if !matches!(stem.as_str(), "lib" | "main" | "mod") {
                own.push(stem.clone());
            }
            let shown = [module.as_slice(), &[format!("{stem}.rs")]].concat().join("/");
            files.insert(own, Source::new(shown, &fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// What a file says of other modules.
struct Source {
    file: String,
    /// Paths from the crate's root, without `crate`.
    paths: BTreeSet<Vec<String>>,
    /// Names that it exports, and the paths that they stand for.
    exports: BTreeMap<String, Vec<String>>,
}

impl Source {
    fn new(file: String, text: &str) -> Self {
        let tokens = tokens(text);
        let (mut paths, mut exports, mut imports) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        let mut rest = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            // `use<'a>` in a type says what it captures.
            if *token != "use" || tokens.get(at + 1) == Some(&"<") {
                rest.push(*token);
                at += 1;
                continue;
            }
            let is_public = match at.checked_sub(1).and_then(|before| tokens.get(before)) {
                Some(&"pub") => true,
                Some(&")") => tokens.get(..at).is_some_and(ends_with_visibility),
                _ => false,
            };
            at += 1;
            let mut found = Vec::new();
            tree(&tokens, &mut at, &mut Vec::new(), &mut found);
            for (path, name) in found {
                if let Some(("crate", inside)) =
                    path.split_first().map(|(first, rest)| (first.as_str(), rest))
                {
                    paths.insert(inside.to_vec());
                    imports.insert(name.clone(), inside.to_vec());
                }
                if is_public {
                    exports.insert(name, path);
                }
            }
        }
        for path in plain_paths(&rest) {
            match path.split_first() {
                Some((&"crate", inside)) => {
                    paths.insert(inside.iter().map(|part| (*part).to_owned()).collect());
                }
                Some((first, inside)) => {
                    if let Some(imported) = imports.get(*first) {
                        let inside = inside.iter().map(|part| (*part).to_owned());
                        paths.insert(imported.iter().cloned().chain(inside).collect());
                    }
                }
                None => {}
            }
        }
        Self { file, paths, exports }
    }
}

/// Whether the tokens end with `pub(…)`.
fn ends_with_visibility(tokens: &[&str]) -> bool {
    let open = tokens.iter().rposition(|token| *token == "(");
    open.and_then(|open| open.checked_sub(1)).and_then(|at| tokens.get(at)) == Some(&"pub")
}

/// The paths of a use tree up to its end, with the name that each has in the file.
fn tree(tokens: &[&str], at: &mut usize, prefix: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let depth = prefix.len();
    let mut alias = None;
    let mut is_leaf = true;
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match *token {
            "::" => {}
            "{" => {
                is_leaf = false;
                loop {
                    tree(tokens, at, prefix, found);
                    if tokens.get(*at - 1) != Some(&",") {
                        break;
                    }
                }
            }
            "as" => {
                alias = tokens.get(*at).map(|name| (*name).to_owned());
                *at += 1;
            }
            "," | ";" | "}" => break,
            part => prefix.push(part.to_owned()),
        }
    }
    if is_leaf && prefix.len() > depth {
        if prefix.last().is_some_and(|last| last == "self") && prefix.len() > 1 {
            prefix.pop();
        }
        let name = alias.or_else(|| prefix.last().cloned()).unwrap_or_default();
        found.push((prefix.clone(), name));
    }
    prefix.truncate(depth);
}

/// Paths of two or more parts outside of `use`.
fn plain_paths<'t>(tokens: &[&'t str]) -> Vec<Vec<&'t str>> {
    let mut paths = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut is_open = false;
    for token in tokens.iter().copied().chain([";"]) {
        match token {
            "::" if !path.is_empty() => is_open = true,
            name if is_name(name) && (is_open || path.is_empty()) => {
                path.push(name);
                is_open = false;
            }
            name => {
                if path.len() > 1 {
                    paths.push(std::mem::take(&mut path));
                }
                path.clear();
                is_open = false;
                if is_name(name) {
                    path.push(name);
                }
            }
        }
    }
    paths
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::` and single other characters; comments and literals are left out.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' | 'b' if raw_text(rest).is_some() => raw_text(rest).unwrap_or(rest.len()),
            '"' => quoted(rest),
            // A character or a lifetime.
            '\'' => character(rest),
            ':' if rest.starts_with("::") => {
                tokens.push("::");
                2
            }
            name if name.is_alphanumeric() || name == '_' => {
                let is_part = |part: char| part.is_alphanumeric() || part == '_';
                let length = rest.find(|part| !is_part(part)).unwrap_or(rest.len());
                tokens.push(rest.get(..length).unwrap_or_default());
                length
            }
            white if white.is_whitespace() => white.len_utf8(),
            other => {
                tokens.push(rest.get(..other.len_utf8()).unwrap_or_default());
                other.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// The length of a text in quotes, with them.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, part) in text.char_indices().skip(1) {
        match part {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw text: `r"…"`, `r#"…"#`, `br"…"`.
fn raw_text(text: &str) -> Option<usize> {
    let start = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let inside = start.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end)? + end.len();
    Some(text.len() - inside.len() + length)
}

/// The length of a character with its quotes, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    match inside.next() {
        Some((_, '\\')) => text.get(3..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| end + 4),
        Some(_) => inside.next().filter(|(_, end)| *end == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
}

/// Which file uses which.
struct Graph<'a> {
    files: &'a BTreeMap<Module, Source>,
    uses: BTreeMap<&'a Module, BTreeSet<&'a Module>>,
}

impl<'a> Graph<'a> {
    fn new(files: &'a BTreeMap<Module, Source>) -> Self {
        let mut graph = Self { files, uses: BTreeMap::new() };
        for (module, source) in files {
            let targets = source.paths.iter().filter_map(|path| graph.home(path, 0));
            let targets = targets.filter(|target| *target != module).collect();
            graph.uses.insert(module, targets);
        }
        graph
    }

    /// The file in which what a path leads to is declared, by re-exports.
    fn home(&self, path: &[String], followed: usize) -> Option<&'a Module> {
        let depth = (0..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        let (module, source) = self.files.get_key_value(&path[..depth])?;
        // Two modules may export each other's names.
        if let Some(target) = path.get(depth).and_then(|name| source.exports.get(name))
            && followed < 8
        {
            let (first, inside) = target.split_first()?;
            let mut full = match first.as_str() {
                "crate" => Vec::new(),
                "self" => module.clone(),
                "super" => module.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default(),
                first => [module.as_slice(), &[first.to_owned()]].concat(),
            };
            full.extend(inside.iter().chain(&path[depth + 1..]).cloned());
            if full != path {
                return self.home(&full, followed + 1);
            }
        }
        Some(module)
    }

    /// The shortest circle through each file that no circle before it has.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for module in self.files.keys() {
            if seen.contains(module) {
                continue;
            }
            if let Some(circle) = self.shortest(module) {
                seen.extend(circle.iter().copied());
                let named = circle.iter().filter_map(|module| Some(self.files.get(*module)?.file.clone()));
                circles.push(named.collect());
            }
        }
        circles
    }

    fn shortest(&self, start: &'a Module) -> Option<Vec<&'a Module>> {
        let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(module) = waiting.pop_front() {
            for next in self.uses.get(module).into_iter().flatten().copied() {
                if next == start {
                    let mut circle = vec![module];
                    while let Some(before) = circle.last().and_then(|last| came_from.get(last)) {
                        circle.push(before);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(next) {
                    came_from.insert(next, module);
                    waiting.push_back(next);
                }
            }
        }
        None
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
            (module, Source::new((*file).to_owned(), text))
        });
        Graph::new(&files.collect()).circles()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let lines =
            [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;")];
        assert_eq!(found(&[&lines[..], &[("c.rs", "struct C;")]].concat()), [[""; 0]; 0]);
        let back = "fn c() { crate::a::a() }";
        assert_eq!(found(&[&lines[..], &[("c.rs", back)]].concat()), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_name_leads_through_reexports_groups_and_imported_modules() {
        for back in [
            "use crate::part::Thing;",
            "use crate::{other::X, part::{self as p, Thing as Other}};",
            "use crate::part; fn f() -> part::Thing { part::thing() }",
            "pub(crate) use crate::part::inner::Thing;",
        ] {
            let files = [
                ("lib.rs", "mod part; mod other; mod user;"),
                ("part/mod.rs", "mod inner;\npub(crate) use self::inner::{Thing, thing};"),
                ("part/inner.rs", "use crate::user::User; pub(crate) struct Thing;"),
                ("user.rs", back),
            ];
            assert_eq!(found(&files), [["part/inner.rs", "user.rs"]], "{back}");
        }
    }

    #[test]
    fn comments_and_texts_are_no_paths() {
        let text = "// use crate::a::A;\n/* crate::a::B */ const T: &str = \"crate::a::C\"; \
                    const R: &str = r#\"use crate::a::D; \"\"#; const Q: char = '\"'; fn f<'a>(_: &'a str) -> impl Sized + use<> {}";
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", text)];
        assert_eq!(found(&files), [[""; 0]; 0]);
        let used = format!("{text} fn g() {{ crate::a::g() }}");
        assert_eq!(found(&[files[0], files[1], ("b.rs", &used)]), [["a.rs", "b.rs"]], "what follows is seen");
    }
}
