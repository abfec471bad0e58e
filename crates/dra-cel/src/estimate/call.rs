//! What calls cost at most.

use alloc::string::ToString as _;

use alloc::vec::Vec;

use super::Estimator;
use super::range::Range;
use super::{Path, declared_size};
use crate::checker::types::Type;
use crate::syntax::expression::{Call, Expression, Kind, Literal};

const TRAVERSAL: f64 = 0.1;
const PATTERN: f64 = 0.25;

/// The cost of a call without its target, and the size of its result where that is known.
struct Estimate {
    cost: Range,
    size: Option<Range>,
}

/// A call that is estimated: its nodes and the costs of its arguments.
struct Asked<'e> {
    call: &'e Call,
    whole: &'e Expression,
    costs: Vec<Range>,
}

const fn only(cost: Range) -> Estimate {
    Estimate { cost, size: None }
}

fn with_size(cost: Range, size: Range) -> Estimate {
    Estimate { cost, size: Some(size) }
}

impl Estimator<'_> {
    pub(super) fn call(&mut self, expression: &Expression, call: &Call) -> Range {
        if let ("dyn", [argument]) = (&*call.function, &*call.arguments) {
            let cost = self.cost(argument);
            let (size, entries) = (self.size(argument), self.entries_of(argument));
            self.set_size(expression, size);
            self.set_entries(expression, entries);
            return Range::fixed(1).plus(cost);
        }
        let costs: Vec<_> = call.arguments.iter().map(|argument| self.cost(argument)).collect();
        let arguments = costs.iter().fold(Range::fixed(0), |sum, cost| sum.plus(*cost));
        let overloads = self.checked.overloads(expression).to_vec();
        if overloads.is_empty() {
            return Range::fixed(0);
        }
        let target = call.target.as_deref().map_or(Range::fixed(0), |target| self.cost(target));
        let asked = Asked { call, whole: expression, costs };
        let mut cost = Range::new(u64::MAX, 0);
        let mut size: Option<Range> = None;
        for overload in overloads {
            let is_lazy = matches!(overload, "logical_and" | "logical_or" | "conditional");
            let found = self.overload(&asked, overload);
            cost = cost.union(if is_lazy { found.cost } else { found.cost.plus(arguments) });
            size = match (size, found.size) {
                (Some(size), Some(more)) => Some(size.union(more)),
                (size, more) => size.or(more),
            };
            self.index(expression, call, overload, &mut size);
            if size.is_none() {
                size = self.size(expression);
            }
        }
        self.set_size(expression, size);
        target.plus(cost)
    }

    /// The path and size of an element.
    fn index(&mut self, expression: &Expression, call: &Call, overload: &str, size: &mut Option<Range>) {
        let below = match overload {
            "index_list" => "@items",
            "index_map" => "@values",
            _ => return,
        };
        let Some(container) = call.arguments.first() else { return };
        *size = self.entries_of(container).map(|entries| entries.value);
        let mut path = self.path(container).unwrap_or_default();
        path.push(below.to_string());
        self.set_path(expression, Some(path));
    }

    /// The size of a node as Kubernetes' estimator asks for it.
    fn sized(&mut self, expression: &Expression) -> Range {
        let known = self.size(expression);
        let path = self.rooted_path(expression);
        known.or_else(|| size_at(path.as_ref())).unwrap_or(Range::UNKNOWN)
    }

    fn overload(&mut self, asked: &Asked<'_>, overload: &str) -> Estimate {
        self.of_lists(asked, overload)
            .or_else(|| self.of_kubernetes(asked, overload))
            .unwrap_or_else(|| self.of_cel(asked, overload))
    }

    /// cel-go's lists and sets.
    fn of_lists(&mut self, asked: &Asked<'_>, overload: &str) -> Option<Estimate> {
        let target = asked.call.target.as_deref();
        let made = |factor: f64, size: Range| {
            Some(with_size(size.scaled(factor).plus(Range::fixed(1)).plus(Range::fixed(10)), size))
        };
        let arguments = &*asked.call.arguments;
        match (overload, target, arguments) {
            ("list_slice", Some(target), [start, end]) => {
                let size = self.sized(target);
                let span = constant(end, size.most).wrapping_sub(constant(start, 0));
                made(1.0, Range::fixed(span))
            }
            ("lists_range", None, [count]) => made(1.0, Range::fixed(constant(count, u64::MAX))),
            ("list_reverse", Some(target), []) => made(1.0, self.sized(target)),
            ("list_flatten" | "list_flatten_int", Some(target), [] | [_]) => {
                #[expect(clippy::cast_precision_loss, reason = "as cel-go")]
                let depth = arguments.first().map_or(1, |depth| constant(depth, u64::MAX)) as f64;
                made(depth, self.sized(target))
            }
            ("list_distinct", Some(target), []) => {
                let size = self.sized(target);
                made(2.0, size.times(size))
            }
            (_, Some(target), []) if overload.starts_with("list_") && overload.ends_with("_sort") => {
                let size = self.sized(target);
                made(sorting(overload), size.times(size))
            }
            (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => {
                let size = self.sized(keys);
                made(sorting(overload), size.times(size))
            }
            (
                "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
                _,
                [left, right],
            ) => {
                let factor = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
                Some(only(self.sized(left).times(self.sized(right)).scaled(factor).plus(Range::fixed(1))))
            }
            _ => None,
        }
    }

    /// Kubernetes' estimates, by function.
    fn of_kubernetes(&mut self, asked: &Asked<'_>, overload: &str) -> Option<Estimate> {
        let target = asked.call.target.as_deref();
        let arguments = &*asked.call.arguments;
        let one = || Some(only(Range::fixed(1)));
        match (&*asked.call.function, target, arguments) {
            (
                "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes",
                Some(target),
                _,
            ) => Some(self.elements(&asked.call.function, target)),
            ("url", _, [argument]) => {
                let size = self.sized(argument);
                Some(with_size(size.scaled(TRAVERSAL), size))
            }
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
                let size = self.sized(target);
                Some(with_size(size.scaled(TRAVERSAL), size))
            }
            ("replace", Some(target), [old, new, ..]) => Some(self.replace(target, old, new)),
            ("split", Some(target), _) => {
                let size = self.sized(target);
                let most = arguments.get(1).and_then(int).map_or(size.most, i64::cast_unsigned);
                Some(with_size(size.scaled(2.0 * TRAVERSAL), Range::new(0, most)))
            }
            ("join", Some(target), _) => Some(self.join(target, arguments.first())),
            ("find" | "findAll", Some(target), [pattern, ..]) => {
                let size = self.sized(target);
                let text = size.plus(Range::fixed(1)).scaled(TRAVERSAL);
                let pattern = self.sized(pattern).scaled(PATTERN);
                Some(with_size(text.times(pattern), Range::new(0, size.most)))
            }
            ("ip", _, _) if overload == "cidr_ip" => one(),
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [argument, ..],
            ) => Some(only(self.sized(argument).scaled(TRAVERSAL))),
            ("ip.isCanonical", _, [argument, ..]) => Some(only(self.sized(argument).scaled(2.0 * TRAVERSAL))),
            ("containsIP" | "containsCIDR", _, [other, ..]) => Some(self.contains(overload, other)),
            ("validate", _, [argument, ..]) => {
                Some(only(self.sized(argument).scaled(TRAVERSAL).scaled(128.0 * PATTERN)))
            }
            (
                "masked"
                | "prefixLength"
                | "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                _,
                _,
            ) => one(),
            ("_==_", _, [left, right]) => self.equality(left, right),
            _ => None,
        }
    }

    fn elements(&mut self, function: &str, target: &Expression) -> Estimate {
        let size = self.sized(target);
        let element = self.type_of(target).parameters().first().cloned();
        let Some(element) = element else {
            return only(if function == "includes" { size } else { size.scaled(TRAVERSAL) });
        };
        let mut each = Range::fixed(1);
        if matches!(element, Type::String | Type::Bytes) {
            let text = self.items(target).unwrap_or(Range::UNKNOWN);
            each = each.plus(text.scaled(TRAVERSAL));
        }
        only(size.times(each))
    }

    /// The size of the elements of a list, where devices limit it.
    fn items(&self, list: &Expression) -> Option<Range> {
        let path = self.rooted_path(list).map(|mut path| {
            path.push("@items".to_string());
            path
        });
        size_at(path.as_ref())
    }

    fn replace(&mut self, target: &Expression, old: &Expression, new: &Expression) -> Estimate {
        let (size, old, new) = (self.sized(target), self.sized(old), self.sized(new));
        let (most, kept_most) = match (old.least, new.most) {
            (0, _) => (size.most.saturating_add(1), size.most),
            (least, longest) if longest <= least => (0, size.most),
            (least, _) => (size.most.div_ceil(least), 0),
        };
        let (least, kept_least) = match (old.most, new.least) {
            (0, _) => (size.least.saturating_add(1), size.least),
            (longest, shortest) if longest <= shortest => (0, size.least),
            (longest, _) => (size.least.div_ceil(longest), 0),
        };
        let result = Range::new(least, most).times(new).plus(Range::new(kept_least, kept_most));
        with_size(size.scaled(2.0 * TRAVERSAL), result)
    }

    fn join(&mut self, target: &Expression, separator: Option<&Expression>) -> Estimate {
        let list = self.sized(target);
        let has_element = !self.type_of(target).parameters().is_empty();
        let element =
            if has_element { self.items(target).unwrap_or(Range::UNKNOWN) } else { Range::fixed(0) };
        let mut size = list.times(element);
        if let Some(separator) = separator {
            let between = Range::new(list.least.saturating_sub(1), list.most.saturating_sub(1));
            size = size.plus(self.sized(separator).times(between));
        }
        with_size(size.scaled(TRAVERSAL), size)
    }

    fn contains(&mut self, overload: &str, other: &Expression) -> Estimate {
        let bytes = Range::new(4, 16);
        let mut cost = bytes.plus(bytes).scaled(TRAVERSAL);
        if overload.starts_with("cidr_contains_cidr") {
            cost = cost.plus(bytes.scaled(TRAVERSAL)).plus(Range::fixed(1));
        }
        if overload.ends_with("_string") {
            cost = cost.plus(self.sized(other).scaled(TRAVERSAL));
        }
        only(cost)
    }

    fn equality(&mut self, left: &Expression, right: &Expression) -> Option<Estimate> {
        use crate::checker::types::{CIDR, FORMAT, IP, QUANTITY, SEMVER, URL};
        let of = self.type_of(left).clone();
        if of != *self.type_of(right) {
            return None;
        }
        match of {
            Type::Opaque(IP | CIDR, _) | Type::Object(QUANTITY | SEMVER) => Some(only(Range::fixed(1))),
            Type::Object(FORMAT) => Some(only(Range::new(1, 64).scaled(TRAVERSAL))),
            Type::Object(URL) => {
                let size = self.size(right).unwrap_or(Range::fixed(1));
                Some(only(Range::new(1, size.most).scaled(TRAVERSAL)))
            }
            _ => None,
        }
    }

    /// cel-go's own estimates, by overload.
    fn of_cel(&mut self, asked: &Asked<'_>, overload: &str) -> Estimate {
        let target = asked.call.target.as_deref();
        let arguments = &*asked.call.arguments;
        match (overload, target, arguments) {
            ("string_format", Some(target), _) => only(self.size_or_unknown(target).scaled(TRAVERSAL)),
            ("string_to_bytes", _, [argument]) => {
                let size = self.size_or_unknown(argument);
                with_size(size.scaled(TRAVERSAL), Range::new(size.least, size.most.wrapping_mul(4)))
            }
            ("bytes_to_string", _, [argument]) => {
                let size = self.size_or_unknown(argument);
                with_size(size.scaled(TRAVERSAL), Range::new(size.least / 4, size.most))
            }
            ("strings_quote", _, [argument]) => {
                let size = self.size_or_unknown(argument);
                let quoted =
                    Range::new(size.least.wrapping_add(2), size.most.wrapping_mul(2).wrapping_add(2));
                with_size(size.scaled(TRAVERSAL), quoted)
            }
            ("starts_with_string" | "ends_with_string", _, [argument]) => {
                only(self.size_or_unknown(argument).scaled(TRAVERSAL))
            }
            ("in_list", _, [_, list]) => only(self.size_or_unknown(list).scaled(1.0)),
            ("matches_string", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
                let text = self.size_or_unknown(text).plus(Range::fixed(1)).scaled(TRAVERSAL);
                only(text.times(self.size_or_unknown(pattern).scaled(PATTERN)))
            }
            ("contains_string", Some(text), [part]) => {
                let text = self.size_or_unknown(text).scaled(TRAVERSAL);
                only(text.times(self.size_or_unknown(part).scaled(TRAVERSAL)))
            }
            ("logical_and" | "logical_or", ..) => only(logic(&asked.costs)),
            ("conditional", _, [_, yes, no]) => self.conditional(asked, yes, no),
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                self.sum(asked, overload, left, right)
            }
            ("equals" | "not_equals", _, [left, right]) => self.smaller(left, right),
            (_, _, [left, right]) if is_text_order(overload) => self.smaller(left, right),
            _ => only(Range::fixed(1)),
        }
    }

    fn conditional(&mut self, asked: &Asked<'_>, yes: &Expression, no: &Expression) -> Estimate {
        let size = self.size_or_unknown(yes).union(self.size_or_unknown(no));
        let entries = self.entries_of(yes).zip(self.entries_of(no)).map(|(yes, no)| yes.union(no));
        self.set_entries(asked.whole, entries);
        let cost = match &*asked.costs {
            [condition, yes, no] => condition.plus(yes.union(*no)),
            _ => Range::UNKNOWN,
        };
        with_size(cost, size)
    }

    fn sum(&mut self, asked: &Asked<'_>, overload: &str, left: &Expression, right: &Expression) -> Estimate {
        let size = self.size_or_unknown(left).plus(self.size_or_unknown(right));
        let entries =
            self.entries_of(left).zip(self.entries_of(right)).map(|(left, right)| left.union(right));
        self.set_entries(asked.whole, entries);
        let cost = if overload == "add_list" { Range::fixed(1) } else { size.scaled(TRAVERSAL) };
        with_size(cost, size)
    }

    fn smaller(&mut self, left: &Expression, right: &Expression) -> Estimate {
        let most = self.size_or_unknown(left).most.min(self.size_or_unknown(right).most);
        only(Range::new(u64::from(most > 0), most).scaled(TRAVERSAL))
    }
}

fn size_at(path: Option<&Path>) -> Option<Range> {
    path.and_then(|path| declared_size(path)).map(|size| Range::new(0, size))
}

/// The least is that of the first term, which may decide.
fn logic(costs: &[Range]) -> Range {
    match costs {
        [left, right] => Range::new(left.least, left.plus(*right).most),
        _ => Range::UNKNOWN,
    }
}

fn is_text_order(overload: &str) -> bool {
    let orders = ["less", "greater", "less_equals", "greater_equals"];
    orders
        .iter()
        .any(|order| overload.strip_prefix(order).is_some_and(|rest| matches!(rest, "_string" | "_bytes")))
}

/// Comparing texts costs their traversal.
fn sorting(overload: &str) -> f64 {
    if overload.starts_with("list_string_") || overload.starts_with("list_bytes_") {
        2.0 + TRAVERSAL
    } else {
        2.0
    }
}

fn int(expression: &Expression) -> Option<i64> {
    match expression.kind {
        Kind::Literal(Literal::Int(value)) => Some(value),
        _ => None,
    }
}

/// A literal integer as a size; below zero it is zero.
fn constant(expression: &Expression, otherwise: u64) -> u64 {
    int(expression).map_or(otherwise, |value| u64::try_from(value).unwrap_or(0))
}
