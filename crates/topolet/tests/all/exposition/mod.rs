//! A reader of Prometheus' text format 0.0.4 that takes nothing but what the format allows, and the rules of
//! `promtool check metrics`.

#![allow(unreachable_pub, reason = "it is part of a test")]

use std::collections::BTreeSet;

/// All families of an answer.
#[derive(Debug)]
pub struct Exposition {
    pub families: Vec<Family>,
}

/// A metric family.
#[derive(Debug)]
pub struct Family {
    pub name: String,
    pub kind: String,
    pub help: String,
    pub samples: Vec<Sample>,
}

/// One line: a name, labels in order, a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    pub name: String,
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

impl Exposition {
    /// Reads an answer whole.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.ends_with('\n') {
            return Err("the last line does not end".to_owned());
        }
        let mut families = Vec::<Family>::new();
        for line in text.lines() {
            read_line(line, &mut families).map_err(|why| format!("{why}: {line}"))?;
        }
        let mut series = BTreeSet::new();
        let mut names = BTreeSet::new();
        for family in &families {
            family.check().map_err(|why| format!("{why}: {}", family.name))?;
            if !names.insert(&family.name) {
                return Err(format!("family {} comes twice", family.name));
            }
            for sample in &family.samples {
                if !series.insert((sample.name.clone(), sample.labels.clone())) {
                    return Err(format!("series comes twice: {sample:?}"));
                }
            }
        }
        Ok(Self { families })
    }
}

fn read_line(line: &str, families: &mut Vec<Family>) -> Result<(), String> {
    if let Some(rest) = line.strip_prefix("# HELP ") {
        let (name, help) = rest.split_once(' ').ok_or("help without a text")?;
        let (name, help) = (name.to_owned(), help.to_owned());
        families.push(Family { name, help, kind: String::new(), samples: Vec::new() });
        return Ok(());
    }
    let family = families.last_mut().ok_or("something before the first help")?;
    if let Some(rest) = line.strip_prefix("# TYPE ") {
        let (name, kind) = rest.split_once(' ').ok_or("type without a name")?;
        if name != family.name || !family.kind.is_empty() {
            return Err("type is not that of the help before it".to_owned());
        }
        if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
            return Err(format!("unknown metric type {kind:?}"));
        }
        kind.clone_into(&mut family.kind);
        return Ok(());
    }
    if line.starts_with('#') || line.is_empty() {
        return Err("a line of no kind".to_owned());
    }
    family.samples.push(sample(line)?);
    Ok(())
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("bad name".to_owned());
    }
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            rest = rest.strip_prefix(',').unwrap_or(rest);
            let (label, after) = rest.split_once("=\"").ok_or("bad label")?;
            let (value, after) = value_of_label(after)?;
            labels.push((label.to_owned(), value));
            rest = after;
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').ok_or("no value")?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        value => value.parse().map_err(|_| format!("bad value {value:?}"))?,
    };
    Ok(Sample { name: name.to_owned(), labels, value })
}

/// The value up to its quote, and what comes after that.
fn value_of_label(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                _ => return Err("bad escape".to_owned()),
            },
            character => value.push(character),
        }
    }
    Err("a label does not end".to_owned())
}

impl Family {
    fn check(&self) -> Result<(), String> {
        if self.kind.is_empty() || self.samples.is_empty() {
            return Err("a family without a type or a sample".to_owned());
        }
        if self.kind == "histogram" {
            return self.check_histogram();
        }
        for sample in &self.samples {
            if sample.name != self.name {
                return Err(format!("a sample of another name: {}", sample.name));
            }
            if self.kind == "counter" && (sample.value.is_nan() || sample.value < 0.0) {
                return Err(format!("a counter at {}", sample.value));
            }
        }
        Ok(())
    }

    /// Of each set of labels: bounds that rise to `+Inf`, counts that do not fall, a sum, and the last count.
    fn check_histogram(&self) -> Result<(), String> {
        let plain = |sample: &Sample| -> Vec<(String, String)> {
            sample.labels.iter().filter(|(name, _)| name != "le").cloned().collect()
        };
        let all: BTreeSet<Vec<(String, String)>> = self.samples.iter().map(plain).collect();
        for labels in all {
            let of = |end: &str| {
                let name = format!("{}{end}", self.name);
                let each =
                    self.samples.iter().filter(|sample| sample.name == name && plain(sample) == labels);
                each.cloned().collect::<Vec<Sample>>()
            };
            let (buckets, sums, counts) = (of("_bucket"), of("_sum"), of("_count"));
            let ([_], [count]) = (&sums[..], &counts[..]) else {
                return Err("one sum and one count are needed".to_owned());
            };
            let bound = |sample: &Sample| -> Result<f64, String> {
                let (_, text) = sample.labels.iter().find(|(name, _)| name == "le").ok_or("no le")?;
                if text == "+Inf" {
                    Ok(f64::INFINITY)
                } else {
                    text.parse().map_err(|_| format!("bound {text:?}"))
                }
            };
            let bounds = buckets.iter().map(bound).collect::<Result<Vec<f64>, String>>()?;
            if !bounds.is_sorted_by(|one, next| one < next) || bounds.last() != Some(&f64::INFINITY) {
                return Err(format!("bounds {bounds:?}"));
            }
            if !buckets.is_sorted_by(|one, next| one.value <= next.value) {
                return Err("counts of buckets fall".to_owned());
            }
            if buckets.last().map(|last| last.value) != Some(count.value) {
                return Err("the last bucket is not the count".to_owned());
            }
        }
        Ok(())
    }
}

/// What `promtool check metrics` would say of a family.
pub fn lint(family: &Family) -> Vec<String> {
    let Family { name, kind, help, .. } = family;
    let mut said = Vec::new();
    let mut say = |is_so: bool, what: &str| {
        if is_so {
            said.push(format!("{name} {what}"));
        }
    };
    let parts: Vec<&str> = name.split('_').collect();
    let last = parts.last().copied().unwrap_or_default();
    say(help.is_empty(), "no help text");
    say(kind == "counter" && last != "total", "counter metrics should have \"_total\" suffix");
    say(kind != "counter" && last == "total", "non-counter metrics should not have \"_total\" suffix");
    let is_distribution = matches!(kind.as_str(), "histogram" | "summary");
    for end in ["bucket", "count", "sum"] {
        say(
            !is_distribution && last == end,
            "non-histogram and non-summary metrics should not have such a suffix",
        );
    }
    say(name.contains(':'), "metric names should not contain ':'");
    say(name.chars().any(|c| c.is_ascii_uppercase()), "metric names should be written in 'snake_case'");
    let other_units = [
        "milliseconds",
        "microseconds",
        "nanoseconds",
        "minutes",
        "hours",
        "days",
        "weeks",
        "kilobytes",
        "megabytes",
        "gigabytes",
        "bits",
        "percent",
        "celsius_degrees",
    ];
    say(parts.iter().any(|part| other_units.contains(part)), "use base units");
    let short = ["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"];
    say(parts.iter().any(|part| short.contains(part)), "metric names should not contain abbreviated units");
    say(
        parts.iter().any(|part| ["counter", "gauge", "histogram", "summary"].contains(part)),
        "names should not contain the type",
    );
    let labels = family.samples.iter().flat_map(|sample| &sample.labels);
    let is_camel = |name: &str| name.chars().any(|c| c.is_ascii_uppercase());
    say(labels.clone().any(|(name, _)| is_camel(name)), "label names should be written in 'snake_case'");
    said
}
