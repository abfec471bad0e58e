//! In which format a scraper gets metrics.

use axum::http::HeaderMap;
use bounded_http::{Offer, chosen};
use node_view::Exposition;

/// Text comes first: it is served to clients without a preference.
const OFFERS: [Offer<Exposition>; 2] = [
    Offer { form: Exposition::Text, names: &["text/plain"], versions: &["0.0.4"] },
    Offer {
        form: Exposition::OpenMetrics,
        names: &["application/openmetrics-text"],
        versions: &["1.0.0", "0.0.1"],
    },
];

/// The format that a scraper prefers; text if it accepts neither, as Prometheus' own exporters do.
pub(super) fn preferred(headers: &HeaderMap) -> Exposition {
    chosen(headers, &OFFERS).unwrap_or(Exposition::Text)
}

/// The value of `Content-Type`.
pub(super) const fn content_type(exposition: Exposition) -> &'static str {
    match exposition {
        Exposition::Text => "text/plain; version=0.0.4; charset=utf-8",
        Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};
    use node_view::Exposition;

    use super::preferred;

    #[test]
    fn scrapers_get_the_format_that_they_prefer() {
        // As Prometheus 2.42 and 3.0 and curl send it.
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let newer = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                     application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
                     text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, expected) in [
            (None, Exposition::Text),
            (Some("*/*"), Exposition::Text),
            (Some("text/plain"), Exposition::Text),
            (Some("application/openmetrics-text"), Exposition::OpenMetrics),
            (Some("application/openmetrics-text;version=2.0.0"), Exposition::Text),
            (Some("application/openmetrics-text;q=0.5, text/plain;q=0.7"), Exposition::Text),
            (Some("application/openmetrics-text;q=0"), Exposition::Text),
            (Some("application/json"), Exposition::Text),
            (Some(prometheus), Exposition::OpenMetrics),
            (Some(newer), Exposition::OpenMetrics),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                let value = accept.parse().unwrap_or_else(|_| panic!("{accept} is no header"));
                headers.insert(header::ACCEPT, value);
            }
            assert_eq!(preferred(&headers), expected, "{accept:?}");
        }
    }
}
