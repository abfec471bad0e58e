//! Which of the forms that a path can answer in a request accepts, by its `Accept` fields (RFC 9110, section 12.5.1).

use axum::http::{HeaderMap, header};

/// One form of an answer and the media types that name it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<T> {
    /// What is chosen.
    pub form: T,
    /// Its names, as `type/subtype`.
    pub names: &'static [&'static str],
    /// Values of the parameter `version` that it satisfies; empty: the parameter is not looked at.
    pub versions: &'static [&'static str],
}

/// A media range of the header and its weight.
struct Range<'h> {
    name: &'h str,
    version: Option<&'h str>,
    /// From 0, not acceptable, to 1000.
    weight: u16,
}

/// The offer with the highest weight; of equals the first. `None`: no offer is acceptable. Without the header every
/// form is.
#[must_use]
pub fn chosen<T: Copy>(headers: &HeaderMap, offers: &[Offer<T>]) -> Option<T> {
    let fields = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<Range<'_>> = fields.flat_map(|field| field.split(',')).filter_map(Range::parse).collect();
    if ranges.is_empty() {
        return offers.first().map(|offer| offer.form);
    }
    let mut best: Option<(u16, T)> = None;
    for offer in offers {
        let weight = weight(&ranges, offer);
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, offer.form));
        }
    }
    best.map(|(_, form)| form)
}

/// The weight of the most specific range that an offer matches.
fn weight<T>(ranges: &[Range<'_>], offer: &Offer<T>) -> u16 {
    let each = ranges.iter().filter_map(|range| Some((range.specificity(offer)?, range.weight)));
    each.max().map_or(0, |(_, weight)| weight)
}

impl<'h> Range<'h> {
    fn parse(text: &'h str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().filter(|name| !name.is_empty())?;
        let mut range = Range { name, version: None, weight: 1000 };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key.trim() {
                "q" | "Q" => range.weight = weight_of(value.trim())?,
                "version" => range.version = Some(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        Some(range)
    }

    /// How closely the range names an offer; `None`: it does not.
    fn specificity<T>(&self, offer: &Offer<T>) -> Option<u8> {
        let is_named = |name: &&str| name.eq_ignore_ascii_case(self.name);
        if offer.names.iter().any(is_named) {
            let is_version = self
                .version
                .is_none_or(|version| offer.versions.is_empty() || offer.versions.contains(&version));
            return is_version.then_some(if self.version.is_some() { 3 } else { 2 });
        }
        let (kind, _) = self.name.split_once('/').filter(|(_, subtype)| *subtype == "*")?;
        if kind == "*" {
            return Some(0);
        }
        let is_kind = |name: &&str| name.split('/').next().is_some_and(|of| of.eq_ignore_ascii_case(kind));
        offer.names.iter().any(is_kind).then_some(1)
    }
}

/// `0`, `0.25` or `1.000` in thousandths; `None`: it is no weight, and the range is passed over.
fn weight_of(text: &str) -> Option<u16> {
    let weight: f64 = text.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
    Some((weight * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::{Offer, chosen};

    const OFFERS: [Offer<&str>; 3] = [
        Offer { form: "json", names: &["application/json"], versions: &[] },
        Offer { form: "yaml", names: &["application/yaml", "text/yaml"], versions: &[] },
        Offer { form: "text", names: &["text/plain"], versions: &["0.0.4"] },
    ];

    #[test]
    fn the_highest_weight_wins_and_the_first_of_equals() {
        for (accept, expected) in [
            (None, Some("json")),
            (Some(""), Some("json")),
            (Some("*/*"), Some("json")),
            (Some("text/*"), Some("yaml")),
            (Some("application/yaml"), Some("yaml")),
            (Some("Application/YAML"), Some("yaml")),
            (Some("text/html, application/xml;q=0.9, */*;q=0.8"), Some("json")),
            (Some("application/json;q=0.2, text/plain"), Some("text")),
            (Some("text/plain;version=0.0.4;q=0.5, application/yaml;q=0.75"), Some("yaml")),
            (Some("text/plain; version=1.0"), None),
            (Some("application/json;q=0, */*;q=0.1"), Some("yaml")),
            (Some("text/html"), None),
            (Some("application/json;q=2, text/plain;q=0.1"), Some("text")),
            (Some(";;,,=,q=1"), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                let value = accept.parse().unwrap_or_else(|_| panic!("{accept} is no header"));
                headers.insert(header::ACCEPT, value);
            }
            assert_eq!(chosen(&headers, &OFFERS), expected, "{accept:?}");
        }
    }
}
