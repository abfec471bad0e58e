//! Signatures as text: `string.(string, int) -> list(A)`, where a single capital letter is a type variable.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::types::{CIDR, FORMAT, IP, QUANTITY, SEMVER, Type, URL};
use super::unification::Unification;

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `target.name(…)`.
    Member,
    /// `name(…)`.
    Global,
}

/// The types of an overload; the target is the first argument.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) style: Style,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
}

/// Reads a signature; each variable in it becomes a fresh one. `None` if the text is not one.
pub(super) fn signature(text: &str, variables: &mut Unification) -> Option<Signature> {
    let (arguments, result) = text.split_once(" -> ")?;
    let mut reader = Reader { names: Vec::new(), variables };
    let arguments = arguments.strip_suffix(')')?;
    let (style, target, rest) = match arguments.strip_prefix('(') {
        Some(rest) => (Style::Global, None, rest),
        None => {
            let (target, rest) = arguments.split_once(".(")?;
            (Style::Member, Some(target), rest)
        }
    };
    let mut types: Vec<_> = target.map(|target| reader.read(target)).into_iter().collect::<Option<_>>()?;
    types.extend(parts(rest).into_iter().map(|part| reader.read(part)).collect::<Option<Vec<_>>>()?);
    Some(Signature { style, arguments: types, result: reader.read(result)? })
}

/// Cuts at the commas that are in no parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

struct Reader<'a> {
    names: Vec<(u8, Type)>,
    variables: &'a mut Unification,
}

impl Reader<'_> {
    fn read(&mut self, text: &str) -> Option<Type> {
        if let &[letter @ b'A'..=b'Z'] = text.as_bytes() {
            return Some(self.variable(letter));
        }
        if let Some((name, parameters)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            let parameters: Option<Vec<_>> =
                parts(parameters).into_iter().map(|part| self.read(part)).collect();
            return match (name, &*parameters?) {
                ("list", [element]) => Some(Type::list(element.clone())),
                ("map", [key, value]) => Some(Type::map(key.clone(), value.clone())),
                ("optional", [value]) => Some(Type::optional(value.clone())),
                ("type", [of]) => Some(Type::Type(Some(Arc::new(of.clone())))),
                _ => None,
            };
        }
        Some(match text {
            "dyn" => Type::Dyn,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "quantity" => Type::Object(QUANTITY),
            "semver" => Type::Object(SEMVER),
            "url" => Type::Object(URL),
            "format" => Type::Object(FORMAT),
            "ip" => Type::Opaque(IP, Arc::new([])),
            "cidr" => Type::Opaque(CIDR, Arc::new([])),
            name => Type::named(name)?,
        })
    }

    fn variable(&mut self, letter: u8) -> Type {
        if let Some((_, known)) = self.names.iter().find(|(name, _)| *name == letter) {
            return known.clone();
        }
        let fresh = self.variables.fresh();
        self.names.push((letter, fresh.clone()));
        fresh
    }
}
