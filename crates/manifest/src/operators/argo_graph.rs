//! Which templates of a workflow of Argo run at once: those that its entrypoint leads to, by steps and by graphs of tasks.
//!
//! The steps of an inner list run at once, the inner lists one after another; of the tasks of a graph those run at once that
//! have no order between them. A template has *moments*: the largest sets of pods that run at once, each at another time. The
//! moments of what runs one after another are those of all parts; of what runs at once they are the sums of one of each part.
//! Daemons, conditions, hooks and whatever is known while the workflow runs are not followed.

use std::collections::{BTreeMap, BTreeSet};

use crate::node::{Node, Value};

/// How many pods each template has, by its name.
pub(super) type Pods = BTreeMap<String, u32>;

/// What runs when.
pub(super) enum Plan {
    /// Pods that run at once, and others that run before or after them, each alone.
    Known { at_once: Pods, apart: Pods },
    /// Nothing says where it begins: its templates are those of other objects.
    NoEntrypoint,
    /// Why it is not known, and the templates that its entrypoint leads to where these are known.
    NotKnown(&'static str, Option<BTreeSet<String>>),
}

type Moments = BTreeSet<Pods>;
/// Why a graph is not followed.
type Followed<T> = Result<T, &'static str>;

/// More moments are not looked at.
const MOST_MOMENTS: usize = 16;
/// As many tasks as a set of them holds.
const MOST_TASKS: usize = 64;
/// Templates within templates.
const MOST_DEEP: usize = 64;

/// The plan of a workflow; `with_pods` are the names of templates that have pods.
pub(super) fn plan(object: &Node, with_pods: &BTreeSet<String>) -> Plan {
    let spec = object.value.get("spec");
    let spec = spec.and_then(|spec| spec.value.get("workflowSpec")).or(spec);
    let Some((spec, entrypoint)) = spec.and_then(|spec| Some((spec, text(spec, "entrypoint")?))) else {
        return Plan::NoEntrypoint;
    };
    let moments = match moments(spec, entrypoint, with_pods) {
        Ok(moments) => moments,
        Err(why) => return Plan::NotKnown(why, None),
    };
    let reached = || moments.iter().flat_map(|pods| pods.keys().cloned());
    let Some(most) = spec.value.get("parallelism") else { return split(&moments) };
    match number(most) {
        Some(1) => split(&reached().map(|name| Pods::from([(name, 1)])).collect()),
        Some(most) if moments.iter().all(|pods| total(pods) <= most) => split(&moments),
        _ => Plan::NotKnown("its parallelism lets fewer pods run than are ready", Some(reached().collect())),
    }
}

/// The widest moment, and what runs at others; where no two pods run at once each is apart.
fn split(moments: &Moments) -> Plan {
    let widest = moments.iter().rev().max_by_key(|pods| total(pods)).cloned().unwrap_or_default();
    let at_once = if moments.len() > 1 && total(&widest) == 1 { Pods::new() } else { widest };
    let mut apart = Pods::new();
    for (name, count) in moments.iter().flatten().filter(|(name, _)| !at_once.contains_key(*name)) {
        let most = apart.entry(name.clone()).or_default();
        *most = (*most).max(*count);
    }
    Plan::Known { at_once, apart }
}

fn moments(spec: &Node, entrypoint: &str, with_pods: &BTreeSet<String>) -> Followed<Moments> {
    if spec.value.get("hooks").is_some() {
        return Err("it has hooks");
    }
    let templates = items(spec, "templates").iter().filter_map(|own| Some((text(own, "name")?, own)));
    let mut graph =
        Graph { templates: templates.collect(), with_pods, open: Vec::new(), known: BTreeMap::new() };
    let moments = graph.template(entrypoint)?;
    match text(spec, "onExit") {
        Some(exit) => in_turn([moments, graph.template(exit)?]),
        None => Ok(moments),
    }
}

struct Graph<'a> {
    templates: BTreeMap<&'a str, &'a Node>,
    with_pods: &'a BTreeSet<String>,
    /// Templates that are being followed.
    open: Vec<&'a str>,
    known: BTreeMap<&'a str, Moments>,
}

impl<'a> Graph<'a> {
    fn template(&mut self, name: &str) -> Followed<Moments> {
        let Some((&name, &template)) = self.templates.get_key_value(name) else {
            return Err(if name.contains("{{") {
                "the name of a template is known while it runs"
            } else {
                "a template is not in the object"
            });
        };
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if self.open.contains(&name) {
            return Err("a template leads to itself");
        }
        if self.open.len() == MOST_DEEP {
            return Err("its templates are nested too deep");
        }
        self.open.push(name);
        let moments = self.body(name, template)?;
        self.open.pop();
        self.known.insert(name, moments.clone());
        Ok(moments)
    }

    fn body(&mut self, name: &str, template: &'a Node) -> Followed<Moments> {
        let value = &template.value;
        if matches!(value.get("daemon").map(|node| &node.value), Some(Value::Bool(true))) {
            return Err("a daemon runs beside later steps");
        }
        let (steps, dag) = (value.get("steps"), value.get("dag"));
        if (steps.is_some() || dag.is_some()) && value.get("parallelism").is_some() {
            return Err("a template has parallelism");
        }
        if steps.is_some() {
            let lists = items(template, "steps").iter().map(|list| match &list.value {
                Value::List(steps) => self.at_once(steps.iter()),
                _ => self.at_once([list]),
            });
            return in_turn(lists.collect::<Followed<Vec<_>>>()?);
        }
        if let Some(dag) = dag {
            return self.dag(dag);
        }
        let pods = self.with_pods.contains(name).then(|| (name.to_owned(), 1));
        Ok(Moments::from([pods.into_iter().collect()]))
    }

    fn at_once(&mut self, tasks: impl IntoIterator<Item = &'a Node>) -> Followed<Moments> {
        let mut moments = Moments::from([Pods::new()]);
        for task in tasks {
            moments = sums(&moments, &self.task(task)?)?;
        }
        Ok(moments)
    }

    fn task(&mut self, task: &'a Node) -> Followed<Moments> {
        for (key, why) in [
            ("when", "a step has a condition"),
            ("templateRef", "a step has a template of another object"),
            ("inline", "a step has an inline template"),
            ("withParam", "a step runs for each item of a parameter"),
            ("hooks", "a step has hooks"),
            ("onExit", "a step has a handler of its end"),
        ] {
            if task.value.get(key).is_some() {
                return Err(why);
            }
        }
        let moments = self.template(text(task, "template").ok_or("a step has no template")?)?;
        let times = times(task)?;
        if moments.len() == 1 {
            let multiplied = |pods: Pods| {
                let pods = pods.into_iter().map(|(name, count)| (name, count.saturating_mul(times)));
                pods.filter(|(_, count)| *count > 0).collect()
            };
            return Ok(moments.into_iter().map(multiplied).collect());
        }
        if usize::try_from(times).unwrap_or(usize::MAX) > MOST_MOMENTS {
            return Err(TOO_MANY);
        }
        let mut sum = Moments::from([Pods::new()]);
        for _ in 0..times {
            let next = sums(&sum, &moments)?;
            sum = next;
        }
        Ok(sum)
    }

    /// The sets of tasks without an order between them to which no other task can be added.
    fn dag(&mut self, dag: &'a Node) -> Followed<Moments> {
        let tasks = items(dag, "tasks");
        if dag.value.get("target").is_some() {
            return Err("a graph has targets");
        }
        if tasks.len() > MOST_TASKS {
            return Err("a graph has more than 64 tasks");
        }
        let before = order(tasks)?;
        let beside = |one: usize| {
            let is_beside =
                |other: &usize| one != *other && !has(before[one], *other) && !has(before[*other], one);
            (0..tasks.len()).filter(is_beside).fold(0, with)
        };
        let beside: Vec<u64> = (0..tasks.len()).map(beside).collect();
        let mut found = Vec::new();
        largest(&beside, 0, (0..tasks.len()).fold(0, with), 0, &mut found)?;
        let mut moments = Vec::new();
        for set in found {
            moments.push(self.at_once(members(set).filter_map(|at| tasks.get(at)))?);
        }
        in_turn(moments)
    }
}

/// Of each task those that end before it starts.
fn order(tasks: &[Node]) -> Followed<Vec<u64>> {
    let names: Vec<&str> = tasks.iter().map(|task| text(task, "name").unwrap_or_default()).collect();
    let mut before = vec![0; tasks.len()];
    for (own, task) in before.iter_mut().zip(tasks) {
        let mut add = |name: &str| {
            let at =
                names.iter().position(|own| *own == name).ok_or("a task depends on one that is not there")?;
            *own = with(*own, at);
            Ok::<_, &'static str>(())
        };
        for name in items(task, "dependencies") {
            add(if let Value::Text(name) = &name.value { name } else { "" })?;
        }
        let depends = text(task, "depends").unwrap_or_default();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        for word in depends.split(|c| !is_of_name(c)).filter(|word| !word.is_empty()) {
            add(word.strip_suffix(".Succeeded").unwrap_or(word))
                .map_err(|_| "a task depends on how another one ends")?;
        }
        if depends.contains('!') {
            return Err("a task depends on how another one ends");
        }
    }
    for middle in 0..tasks.len() {
        for at in 0..tasks.len() {
            if has(before[at], middle) {
                before[at] |= before[middle];
            }
        }
    }
    let is_circle = before.iter().enumerate().any(|(at, own)| has(*own, at));
    if is_circle { Err("its tasks depend on each other in a circle") } else { Ok(before) }
}

/// Bron and Kerbosch's algorithm: sets whose members are all beside each other, to which none can be added.
fn largest(beside: &[u64], chosen: u64, mut open: u64, mut done: u64, found: &mut Vec<u64>) -> Followed<()> {
    let Some(pivot) = members(open | done).max_by_key(|at| (open & beside[*at]).count_ones()) else {
        found.push(chosen);
        return if found.len() > MOST_MOMENTS { Err(TOO_MANY) } else { Ok(()) };
    };
    for at in members(open & !beside[pivot]) {
        largest(beside, with(chosen, at), open & beside[at], done & beside[at], found)?;
        open &= !(1 << at);
        done = with(done, at);
    }
    Ok(())
}

const fn has(set: u64, at: usize) -> bool {
    set >> at & 1 == 1
}

const fn with(set: u64, at: usize) -> u64 {
    set | 1 << at
}

fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..MOST_TASKS).filter(move |at| has(set, *at))
}

const TOO_MANY: &str = "too many of its pods may run at once in other ways";

/// The moments of what runs one after another.
fn in_turn(parts: impl IntoIterator<Item = Moments>) -> Followed<Moments> {
    let all: Moments = parts.into_iter().flatten().collect();
    let is_part = |one: &Pods, other: &Pods| {
        one != other && one.iter().all(|(name, count)| other.get(name).is_some_and(|most| most >= count))
    };
    let largest = all.iter().filter(|one| !all.iter().any(|other| is_part(one, other)));
    let largest: Moments = largest.cloned().collect();
    if largest.len() > MOST_MOMENTS { Err(TOO_MANY) } else { Ok(largest) }
}

/// The moments of what runs at once.
fn sums(one: &Moments, other: &Moments) -> Followed<Moments> {
    let sum = |(left, right): (&Pods, &Pods)| {
        let mut sum = left.clone();
        for (name, count) in right {
            let own = sum.entry(name.clone()).or_default();
            *own = own.saturating_add(*count);
        }
        sum
    };
    let pairs = one.iter().flat_map(|left| other.iter().map(move |right| (left, right)));
    in_turn([pairs.map(sum).collect()])
}

fn total(pods: &Pods) -> u32 {
    pods.values().fold(0, |all, count| all.saturating_add(*count))
}

/// How many times a step runs at once.
fn times(task: &Node) -> Followed<u32> {
    const NOT_KNOWN: &str = "how often a step runs is known while it runs";
    if let Some(list) = task.value.get("withItems") {
        let Value::List(items) = &list.value else { return Err(NOT_KNOWN) };
        return Ok(u32::try_from(items.len()).unwrap_or(u32::MAX));
    }
    let Some(sequence) = task.value.get("withSequence") else { return Ok(1) };
    let at = |key: &str| sequence.value.get(key).map(|node| number(node).ok_or(NOT_KNOWN)).transpose();
    match (at("count")?, at("start")?, at("end")?) {
        (Some(count), _, _) => Ok(count),
        (None, start, Some(end)) => Ok(start.unwrap_or(0).abs_diff(end).saturating_add(1)),
        _ => Err(NOT_KNOWN),
    }
}

fn number(node: &Node) -> Option<u32> {
    match &node.value {
        Value::Number(text) | Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    match &node.value.get(key)?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn items<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    match node.value.get(key).map(|list| &list.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}
