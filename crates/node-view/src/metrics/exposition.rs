//! How metrics are written: Prometheus' text format 0.0.4, as the kubelet does, or OpenMetrics 1.0.
//!
//! `prometheus-client` writes OpenMetrics only. The text format is made from that, family by family:
//!
//! | | OpenMetrics | text |
//! |---|---|---|
//! | family of a counter | without `_total` | with it |
//! | counter whose name lacks `_total`, as several of the kubelet's | type `unknown`, since OpenMetrics has no such counter | type `counter` |
//! | numbers | as Rust writes them: `1.0` | as Go writes them: `1`, `1e+06` |
//! | end | `# EOF` | none |
//!
//! `prometheus-client` appends a full stop to every help text. Both formats remove it, so that a help text is exactly the
//! registered one.

use node_config::go_float;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// A format of metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposition {
    /// Prometheus' text format 0.0.4.
    Text,
    /// `OpenMetrics` 1.0.
    OpenMetrics,
}

/// A metric family as `prometheus-client` writes it.
struct Family<'t> {
    name: &'t str,
    help: &'t str,
    kind: &'t str,
    samples: Vec<&'t str>,
}

impl Exposition {
    /// All metrics of a registry.
    pub(super) fn write(self, registry: &Registry) -> String {
        let mut encoded = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut encoded, registry);
        let mut written: String = families(&encoded).iter().map(|family| self.family(family)).collect();
        if self == Self::OpenMetrics {
            written.push_str("# EOF\n");
        }
        written
    }

    fn family(self, family: &Family<'_>) -> String {
        let Family { name, help, kind, samples } = family;
        let (end, kind) = match (self, *kind) {
            (Self::Text, "counter") => ("_total", "counter"),
            (Self::Text, "unknown") => ("", "counter"),
            (_, kind) => ("", kind),
        };
        let mut written = format!("# HELP {name}{end} {help}\n# TYPE {name}{end} {kind}\n");
        for sample in samples {
            match self {
                Self::Text => written.push_str(&text_sample(sample)),
                Self::OpenMetrics => written.push_str(sample),
            }
            written.push('\n');
        }
        written
    }
}

fn families(encoded: &str) -> Vec<Family<'_>> {
    let mut families = Vec::<Family<'_>>::new();
    for line in encoded.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let help = help.strip_suffix('.').unwrap_or(help);
            families.push(Family { name, help, kind: "", samples: Vec::new() });
        } else if let Some(family) = families.last_mut() {
            match line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                Some((_, kind)) => family.kind = kind,
                None if line.starts_with('#') => {}
                None => family.samples.push(line),
            }
        }
    }
    families
}

/// A sample with Go's numbers: the value, and the bound `le` of a bucket.
fn text_sample(sample: &str) -> String {
    let (series, value) = sample.rsplit_once(' ').unwrap_or((sample, ""));
    let series = match series.split_once('{') {
        Some((name, labels)) => format!("{name}{{{}", with_go_bounds(labels)),
        None => series.to_owned(),
    };
    format!("{series} {}", go_number(value))
}

/// The rest of a series after `{`, in which a value may hold anything but an unescaped quote.
fn with_go_bounds(labels: &str) -> String {
    let mut written = String::with_capacity(labels.len());
    let mut rest = labels;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some(end) = end_of_value(after) else { break };
        let (value, after) = after.split_at(end);
        written.push_str(name);
        written.push_str("=\"");
        written.push_str(&if name.trim_start_matches(',') == "le" {
            go_number(value)
        } else {
            value.to_owned()
        });
        written.push('"');
        rest = &after[1..];
    }
    written.push_str(rest);
    written
}

/// Where the quote is that ends a label's value.
fn end_of_value(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// A number as Go writes it. Whole numbers and `+Inf` stay as they are.
fn go_number(text: &str) -> String {
    let is_fraction = text.contains(['.', 'e']);
    match text.parse::<f64>() {
        Ok(value) if is_fraction => go_float(value),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::Exposition;
    use crate::metrics::kinds::Plain;

    fn registry() -> Registry {
        let mut registry = Registry::default();
        let counted = Family::<Vec<(&str, &str)>, Counter>::default();
        counted.get_or_create(&vec![("reason", "a \"b\", le=\"1.0\" \\ {}")]).inc();
        registry.register("one", "Ends with a stop.", counted);
        let plain = Plain::default();
        plain.add(6_442_450_944);
        registry.register("two_count", "Ends without", plain);
        let times = Histogram::new([0.05, 1.0, 1_000_000.0]);
        times.observe(0.25);
        registry.register("three_seconds", "Times.", times);
        registry
    }

    #[test]
    fn text_has_the_names_types_and_numbers_of_the_go_client() {
        let expected = r#"# HELP one_total Ends with a stop.
# TYPE one_total counter
one_total{reason="a \"b\", le=\"1.0\" \\ {}"} 1
# HELP two_count Ends without
# TYPE two_count counter
two_count 6442450944
# HELP three_seconds Times.
# TYPE three_seconds histogram
three_seconds_sum 0.25
three_seconds_count 1
three_seconds_bucket{le="0.05"} 0
three_seconds_bucket{le="1"} 1
three_seconds_bucket{le="1e+06"} 1
three_seconds_bucket{le="+Inf"} 1
"#;
        assert_eq!(Exposition::Text.write(&registry()), expected);
    }

    #[test]
    fn open_metrics_has_its_own_names_and_types() {
        let expected = r#"# HELP one Ends with a stop.
# TYPE one counter
one_total{reason="a \"b\", le=\"1.0\" \\ {}"} 1
# HELP two_count Ends without
# TYPE two_count unknown
two_count 6442450944
# HELP three_seconds Times.
# TYPE three_seconds histogram
three_seconds_sum 0.25
three_seconds_count 1
three_seconds_bucket{le="0.05"} 0
three_seconds_bucket{le="1.0"} 1
three_seconds_bucket{le="1000000.0"} 1
three_seconds_bucket{le="+Inf"} 1
# EOF
"#;
        assert_eq!(Exposition::OpenMetrics.write(&registry()), expected);
    }
}
