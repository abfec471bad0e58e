//! The grammar, by descent.
//!
//! Depth is limited, and by it what every later step may use of the stack: brackets may be nested 64 deep, and no
//! way down the expanded expression is longer than 300 nodes. cel-go's own limit is 250 for each rule of the grammar.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::expression::{Element, Entry, Expression, Kind, Literal, Need, Select, Wanted};
use super::ids::Ids;
use super::literal;
use super::macros;
use super::token::{Token, TokenKind, tokens};
use crate::fault::Place;

/// How deep brackets may be nested.
const DEEPEST: usize = 64;

/// How many nodes a way down an expression may have.
const HIGHEST: usize = 300;

/// The most code points that an expression may have.
const LONGEST: usize = 100_000;

/// These are fields at most, never variables or functions.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

type Parsed = Result<Expression, Place>;

/// What an expression begins with, in the words of the parser that Kubernetes uses.
const EXPRESSION: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, \
                          IDENTIFIER}";

/// Reads an expression and expands its macros. The number is that of ids given out.
pub(crate) fn parse(source: &str) -> Result<(Expression, usize), Place> {
    let length = source.chars().count();
    if length > LONGEST {
        let message = format!("expression code point size exceeds limit: size: {length}, limit {LONGEST}");
        return Err(Place::new(0, message));
    }
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, ids: Ids::default() };
    let expression = parser.expression()?;
    if parser.peek().kind != TokenKind::End {
        let message = format!("Syntax error: mismatched input '{}' expecting <EOF>", parser.peek().text);
        return Err(Place::new(parser.peek().offset, message));
    }
    Ok((expression, parser.ids.count()))
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    ids: Ids,
}

impl<'a> Parser<'a> {
    /// The last token is the end, which is never passed.
    fn peek(&self) -> Token<'a> {
        let end = Token { kind: TokenKind::End, text: "", offset: 0 };
        self.tokens.get(self.at).or(self.tokens.last()).copied().unwrap_or(end)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn sees(&self, symbol: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Symbol && token.text == symbol
    }

    fn takes(&mut self, symbol: &str) -> Option<Token<'a>> {
        self.sees(symbol).then(|| self.next())
    }

    fn expects(&mut self, symbol: &str) -> Result<Token<'a>, Place> {
        self.takes(symbol).ok_or_else(|| self.unexpected(&format!("'{symbol}'")))
    }

    fn unexpected(&self, expected: &str) -> Place {
        let found = self.peek();
        let shown = if found.kind == TokenKind::End { "<EOF>" } else { found.text };
        Place::new(found.offset, format!("Syntax error: mismatched input '{shown}' expecting {expected}"))
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Place>) -> Result<T, Place> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.too_deep());
        }
        let inner = inside(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    fn too_deep(&self) -> Place {
        Place::new(self.peek().offset, format!("expression recursion limit exceeded: {DEEPEST}"))
    }

    /// The expression, unless a way down it is too long.
    fn checked(&self, expression: Expression) -> Parsed {
        if expression.height > HIGHEST { Err(self.too_deep()) } else { Ok(expression) }
    }

    fn expression(&mut self) -> Parsed {
        self.deeper(|parser| {
            let condition = parser.either()?;
            let Some(question) = parser.takes("?") else { return Ok(condition) };
            let yes = parser.either()?;
            parser.expects(":")?;
            let no = parser.expression()?;
            let choice = parser.ids.call(question.offset, "_?_:_", vec![condition, yes, no]);
            parser.checked(choice)
        })
    }

    fn either(&mut self) -> Parsed {
        self.logic("||", "_||_", |parser| parser.logic("&&", "_&&_", Self::relation))
    }

    /// Terms with one operator between, as a balanced tree: long chains are not deep.
    fn logic(&mut self, symbol: &str, function: &str, term: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut terms = vec![term(self)?];
        let mut operators = Vec::new();
        while let Some(operator) = self.takes(symbol) {
            operators.push(operator.offset);
            terms.push(term(self)?);
        }
        let mut terms: Vec<_> = terms.into_iter().map(Some).collect();
        let last = operators.len();
        self.balanced(function, &mut terms, &operators, 0..last).ok_or_else(|| self.unexpected("a term"))
    }

    /// The tree over the terms around `range` of the operators: `range.start` to `range.end` inclusive.
    fn balanced(
        &mut self,
        function: &str,
        terms: &mut [Option<Expression>],
        operators: &[usize],
        range: core::ops::Range<usize>,
    ) -> Option<Expression> {
        if range.is_empty() {
            return terms.get_mut(range.start)?.take();
        }
        let middle = usize::midpoint(range.start, range.end);
        let left = self.balanced(function, terms, operators, range.start..middle)?;
        let right = self.balanced(function, terms, operators, middle + 1..range.end)?;
        Some(self.ids.call(*operators.get(middle)?, function, vec![left, right]))
    }

    fn relation(&mut self) -> Parsed {
        let symbols = ["<", "<=", ">=", ">", "==", "!=", "in"];
        self.chain(&symbols, |parser| {
            parser.chain(&["+", "-"], |parser| parser.chain(&["*", "/", "%"], Self::unary))
        })
    }

    fn chain(&mut self, symbols: &[&str], operand: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = operand(self)?;
        while let Some(symbol) = symbols.iter().find(|symbol| self.sees(symbol)) {
            let operator = self.next();
            let right = operand(self)?;
            let function = if *symbol == "in" { "@in".to_string() } else { format!("_{symbol}_") };
            let link = self.ids.call(operator.offset, &function, vec![left, right]);
            left = self.checked(link)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        for (symbol, function) in [("!", "!_"), ("-", "-_")] {
            let first = self.peek();
            let mut count = 0_usize;
            while self.takes(symbol).is_some() {
                count += 1;
            }
            if count == 0 {
                continue;
            }
            let is_number = matches!(self.peek().kind, TokenKind::Int | TokenKind::Double);
            if symbol == "-" && count == 1 && is_number {
                let literal = self.number(first.offset, "-")?;
                return self.member(literal);
            }
            let primary = self.primary()?;
            let operand = self.member(primary)?;
            if count.is_multiple_of(2) {
                return Ok(operand);
            }
            return Ok(self.ids.call(first.offset, function, vec![operand]));
        }
        let primary = self.primary()?;
        self.member(primary)
    }

    /// What follows a primary: fields, calls, indices.
    fn member(&mut self, primary: Expression) -> Parsed {
        let mut member = primary;
        loop {
            let link = if let Some(dot) = self.takes(".") {
                self.field(member, dot.offset)?
            } else if let Some(bracket) = self.takes("[") {
                let function = if self.takes("?").is_some() { "_[?_]" } else { "_[_]" };
                let index = self.expression()?;
                self.expects("]")?;
                self.ids.call(bracket.offset, function, vec![member, index])
            } else {
                return Ok(member);
            };
            member = self.checked(link)?;
        }
    }

    fn field(&mut self, operand: Expression, dot: usize) -> Parsed {
        let optional = self.takes("?");
        let name = self.next();
        if name.kind != TokenKind::Identifier {
            self.at -= 1;
            if name.kind == TokenKind::Escaped {
                return Err(Place::new(name.offset, "unsupported syntax: '`'"));
            }
            return Err(self.unexpected("{IDENTIFIER, ESC_IDENTIFIER}"));
        }
        if optional.is_some() {
            let field = self.ids.literal(name.offset, Literal::String(name.text.into()));
            return Ok(self.ids.call(dot, "_?._", vec![operand, field]));
        }
        if let Some(open) = self.takes("(") {
            let arguments = self.arguments()?;
            return macros::receiver(&mut self.ids, open.offset, name.text, operand, arguments);
        }
        let field = name.text.to_string();
        Ok(self.ids.node(dot, Kind::Select(Box::new(Select { operand, field, wanted: Wanted::Value }))))
    }

    /// Up to the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<Expression>, Place> {
        let mut arguments = Vec::new();
        if self.takes(")").is_some() {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.takes(",").is_none() {
                self.expects(")")?;
                return Ok(arguments);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let token = self.peek();
        match token.kind {
            TokenKind::Int | TokenKind::Uint | TokenKind::Double => self.number(token.offset, ""),
            TokenKind::String | TokenKind::Bytes => self.quoted(),
            TokenKind::Identifier => self.named(""),
            TokenKind::Symbol => self.symbol(),
            TokenKind::Escaped | TokenKind::End => Err(self.unexpected(EXPRESSION)),
        }
    }

    fn symbol(&mut self) -> Parsed {
        let token = self.next();
        let literal = match token.text {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" => Literal::Null,
            "(" => {
                let inner = self.expression()?;
                self.expects(")")?;
                return Ok(inner);
            }
            "[" => return self.list(token.offset),
            "{" => return self.map(token.offset),
            "." if self.peek().kind == TokenKind::Identifier => return self.named("."),
            _ => {
                self.at -= 1;
                return Err(self.unexpected(EXPRESSION));
            }
        };
        Ok(self.ids.literal(token.offset, literal))
    }

    fn number(&mut self, offset: usize, sign: &str) -> Parsed {
        let token = self.next();
        let hexadecimal = token.text.strip_prefix("0x");
        let radix = if hexadecimal.is_some() { 16 } else { 10 };
        let text = hexadecimal.unwrap_or(token.text);
        let signed = [sign, text].concat();
        let (literal, name) = match token.kind {
            TokenKind::Int => (i64::from_str_radix(&signed, radix).ok().map(Literal::Int), "int"),
            TokenKind::Uint => {
                let text = text.trim_end_matches(['u', 'U']);
                (u64::from_str_radix(text, radix).ok().map(Literal::Uint), "uint")
            }
            _ => (
                signed.parse::<f64>().ok().filter(|number| number.is_finite()).map(Literal::Double),
                "double",
            ),
        };
        let literal = literal.ok_or_else(|| Place::new(offset, format!("invalid {name} literal")))?;
        Ok(self.ids.literal(offset, literal))
    }

    fn quoted(&mut self) -> Parsed {
        let token = self.next();
        let value = match token.kind {
            TokenKind::Bytes => literal::bytes(&token.text[1..]).map(|bytes| Literal::Bytes(bytes.into())),
            _ => literal::string(token.text).map(|text| Literal::String(text.into())),
        };
        let value = value.ok_or_else(|| Place::new(token.offset, "unable to unescape string"))?;
        Ok(self.ids.literal(token.offset, value))
    }

    /// A variable, a call, or a message.
    fn named(&mut self, dot: &str) -> Parsed {
        let token = self.next();
        let name: String = [dot, token.text].concat();
        if let Some(message) = self.message(&name) {
            return message.map(|name| self.ids.node(token.offset, Kind::Message(name)));
        }
        if RESERVED.contains(&token.text) {
            return Err(Place::new(token.offset, format!("reserved identifier: {}", token.text)));
        }
        if let Some(open) = self.takes("(") {
            let arguments = self.arguments()?;
            return macros::global(&mut self.ids, open.offset, &name, arguments);
        }
        Ok(self.ids.identifier(token.offset, &name))
    }

    /// `a.b.C{…}`: the name, if a brace follows the names. Its fields are skipped: no message type is declared.
    fn message(&mut self, first: &str) -> Option<Result<String, Place>> {
        let mut name = first.to_string();
        let mut at = self.at;
        while let [dot, part, ..] = self.tokens.get(at..)?
            && (dot.text, part.kind) == (".", TokenKind::Identifier)
        {
            name = format!("{name}.{}", part.text);
            at += 2;
        }
        if self.tokens.get(at)?.text != "{" || self.tokens.get(at)?.kind != TokenKind::Symbol {
            return None;
        }
        self.at = at + 1;
        Some(self.skip_fields().map(|()| name))
    }

    fn skip_fields(&mut self) -> Result<(), Place> {
        while self.takes("}").is_none() {
            self.takes("?");
            if !matches!(self.next().kind, TokenKind::Identifier | TokenKind::Escaped) {
                self.at -= 1;
                return Err(self.unexpected("'}'"));
            }
            self.expects(":")?;
            self.expression()?;
            if self.takes(",").is_none() {
                self.expects("}")?;
                break;
            }
        }
        Ok(())
    }

    fn need(&mut self) -> Need {
        if self.takes("?").is_some() { Need::Optional } else { Need::Required }
    }

    fn list(&mut self, offset: usize) -> Parsed {
        let mut elements = Vec::new();
        loop {
            if elements.is_empty() && self.takes(",").is_some() {
                self.expects("]")?;
                break;
            }
            if self.takes("]").is_some() {
                break;
            }
            let need = self.need();
            elements.push(Element { value: self.expression()?, need });
            if self.takes(",").is_none() {
                self.expects("]")?;
                break;
            }
        }
        Ok(self.ids.node(offset, Kind::List(elements)))
    }

    fn map(&mut self, offset: usize) -> Parsed {
        let mut entries = Vec::new();
        loop {
            if entries.is_empty() && self.takes(",").is_some() {
                self.expects("}")?;
                break;
            }
            if self.takes("}").is_some() {
                break;
            }
            let need = self.need();
            let key = self.expression()?;
            self.expects(":")?;
            entries.push(Entry { key, value: self.expression()?, need });
            if self.takes(",").is_none() {
                self.expects("}")?;
                break;
            }
        }
        Ok(self.ids.node(offset, Kind::Map(entries)))
    }
}
