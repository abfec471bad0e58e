//! What a file of Rust says of other modules: the paths that it uses, what it imports, re-exports and declares.
//!
//! The text is taken apart into names and signs only. What `#[cfg(test)]` marks is left out, and where it marks a module, the
//! module's file is.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A module by its path below the crate; empty: the crate's root.
pub(super) type Module = Vec<String>;

/// What a file says of other modules. Paths begin at the crate's root; one that leads into another crate begins with the
/// file's own module, which has nothing of that name.
pub(super) struct Source {
    pub(super) file: String,
    pub(super) paths: BTreeSet<Module>,
    /// Names that its imports bind, private ones too: child modules see them.
    pub(super) names: BTreeMap<String, Module>,
    /// Modules of which everything is imported.
    pub(super) globs: Vec<Module>,
    pub(super) declared: BTreeSet<String>,
    /// Modules in other files that only tests compile.
    pub(super) of_tests: Vec<Module>,
}

/// Before what they declare.
const DECLARE: &[&str] =
    &["struct", "enum", "union", "fn", "trait", "type", "const", "static", "mod", "macro_rules"];

impl Source {
    pub(super) fn new(file: String, module: &[String], text: &str) -> anyhow::Result<Self> {
        let text: TokenStream = text.parse().map_err(|error| anyhow!("{file} is no Rust: {error}"))?;
        let mut source = Self {
            file,
            paths: BTreeSet::new(),
            names: BTreeMap::new(),
            globs: Vec::new(),
            declared: BTreeSet::new(),
            of_tests: Vec::new(),
        };
        let all = tokens(text);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let tokens = source.without_tests(module, &all);
        let mut rest = Vec::new();
        let mut exported = Vec::new();
        let mut scopes = Scopes::new(module);
        let mut at = 0;
        while let Some(token) = tokens.get(at).copied() {
            // `use<'a>` in a type says what it captures.
            if token == "use" && tokens.get(at + 1) != Some(&"<") {
                let is_public = is_public(tokens.get(..at).unwrap_or_default());
                at += 1;
                let mut found = Vec::new();
                tree(&tokens, &mut at, &mut Vec::new(), &mut found);
                for (path, name) in found {
                    source.import(scopes.absolute(&path), name, is_public, &mut exported);
                }
                continue;
            }
            if DECLARE.contains(&token)
                && let Some(name) = tokens.get(at + 1..).unwrap_or_default().iter().find(|next| is_name(next))
            {
                source.declared.insert((*name).to_owned());
            }
            scopes.enter(&tokens, at);
            if token == "(" && at.checked_sub(1).and_then(|before| tokens.get(before)) == Some(&"pub") {
                at += tokens.get(at..).and_then(|rest| rest.iter().position(|end| *end == ")")).unwrap_or(0);
            }
            rest.push((token, scopes.current().to_vec()));
            at += 1;
        }
        let used: BTreeSet<&str> = used(&rest).collect();
        source.paths.extend(
            exported.into_iter().filter_map(|(name, path)| used.contains(name.as_str()).then_some(path)),
        );
        for (path, scope) in plain_paths(&rest) {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            source.paths.insert(absolute(&scope, &path));
        }
        Ok(source)
    }

    fn import(&mut self, path: Module, name: String, is_public: bool, exported: &mut Vec<(String, Module)>) {
        if let Some((last, of)) = path.split_last()
            && last == "*"
        {
            self.globs.push(of.to_vec());
            if !is_public {
                self.paths.insert(of.to_vec());
            }
            return;
        }
        // What is only handed on is not used here.
        if is_public {
            exported.push((name.clone(), path.clone()));
        } else {
            self.paths.insert(path.clone());
        }
        self.names.insert(name, path);
    }

    /// The tokens without the items that only tests compile.
    fn without_tests<'t>(&mut self, module: &[String], tokens: &[&'t str]) -> Vec<&'t str> {
        const TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
        let mut kept = Vec::new();
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            let Some(after) = rest.strip_prefix(TESTS.as_slice()) else {
                kept.push(*first);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            };
            let length = item(after);
            if let [.., "mod", name, ";"] = after.get(..length).unwrap_or_default() {
                self.of_tests.push([module, &[(*name).to_owned()]].concat());
            }
            rest = after.get(length..).unwrap_or_default();
        }
        kept
    }
}

/// How many tokens the item has that begins here, with its attributes: up to a `;` or to the end of a block.
fn item(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    let mut is_import = false;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && !is_import {
                    return at + 1;
                }
            }
            "use" if depth == 0 => is_import = true,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The names that may be imported ones: neither a module that is declared nor a method.
fn used<'t>(tokens: &[(&'t str, Module)]) -> impl Iterator<Item = &'t str> {
    let before = std::iter::once("").chain(tokens.iter().map(|(token, _)| *token));
    let pairs = before.zip(tokens.iter().map(|(token, _)| *token));
    pairs.filter(|(before, _)| !["mod", "."].contains(before)).map(|(_, token)| token)
}

/// Whether what follows these tokens is `pub` or `pub(…)`.
fn is_public(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => {
            let open = before.iter().rposition(|token| *token == "(").unwrap_or(0);
            matches!(before.get(..open), Some([.., "pub"]))
        }
        _ => false,
    }
}

/// The module that the text is in, with the modules that are written inside of the file.
struct Scopes {
    module: Module,
    depth: usize,
    /// At which depth each inner module began.
    inner: Vec<usize>,
}

impl Scopes {
    fn new(module: &[String]) -> Self {
        Self { module: module.to_vec(), depth: 0, inner: Vec::new() }
    }

    fn current(&self) -> &[String] {
        &self.module
    }

    fn absolute(&self, path: &[String]) -> Module {
        absolute(&self.module, path)
    }

    /// Takes the token at this place into account.
    fn enter(&mut self, tokens: &[&str], at: usize) {
        match tokens.get(at) {
            Some(&"{") => {
                if let Some(["mod", name]) = at.checked_sub(2).and_then(|start| tokens.get(start..at)) {
                    self.module.push((*name).to_owned());
                    self.inner.push(self.depth);
                }
                self.depth += 1;
            }
            Some(&"}") => {
                self.depth = self.depth.saturating_sub(1);
                if self.inner.last() == Some(&self.depth) {
                    self.inner.pop();
                    self.module.pop();
                }
            }
            _ => {}
        }
    }
}

/// A path as it is written in a module, from the crate's root.
fn absolute(module: &[String], path: &[String]) -> Module {
    let mut from = module.to_vec();
    let mut rest = path;
    while let Some((first, inside)) = rest.split_first() {
        match first.as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => {
                from.pop();
            }
            _ => break,
        }
        rest = inside;
    }
    from.extend(rest.iter().cloned());
    from
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

/// Paths of two or more parts outside of `use`, each with the module that it is written in.
fn plain_paths<'t>(tokens: &[(&'t str, Module)]) -> Vec<(Vec<&'t str>, Module)> {
    let mut paths = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut is_open = false;
    let end = (";", Module::new());
    for (token, scope) in tokens.iter().chain([&end]) {
        match *token {
            "::" if !path.is_empty() => is_open = true,
            name if is_name(name) && (is_open || path.is_empty()) => {
                path.push(name);
                is_open = false;
            }
            name => {
                if path.len() > 1 {
                    paths.push((std::mem::take(&mut path), scope.clone()));
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
fn tokens(text: TokenStream) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut is_joint = false;
    for token in text {
        let joins = std::mem::take(&mut is_joint);
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(open.to_owned());
                tokens.extend(self::tokens(group.stream()));
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(name) => tokens.push(name.to_string()),
            TokenTree::Punct(sign) if joins && sign.as_char() == ':' => {
                tokens.last_mut().into_iter().for_each(|last| last.push(':'));
            }
            TokenTree::Punct(sign) => {
                is_joint = sign.as_char() == ':' && sign.spacing() == Spacing::Joint;
                tokens.push(sign.to_string());
            }
            TokenTree::Literal(_) => {}
        }
    }
    tokens
}
