//! The query of a request: each parameter is one that the path takes, and is given once.

use super::reply::Failure;

/// Parameters that every document takes.
pub(super) const OUTPUT: &str = "output";
/// See [`OUTPUT`].
pub(super) const GLYPHS: &str = "glyphs";
/// See [`OUTPUT`].
pub(super) const WIDTH: &str = "width";

/// The parameters, decoded.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `query`, the part after `?`; `takes` are the parameters that the path knows.
    ///
    /// # Errors
    /// A parameter that the path does not know, or one that is given twice: it would be ignored, and might have been
    /// meant to prevent something.
    pub(super) fn read(query: Option<&str>, takes: &[&str]) -> Result<Self, Failure> {
        let mut found = Vec::<(String, String)>::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !takes.contains(&name.as_str()) {
                let known = if takes.is_empty() { "none".to_owned() } else { takes.join(", ") };
                return Err(Failure::wrong(format!(
                    "unknown query parameter {name:?}: nothing was done; this method and path take {known}"
                )));
            }
            if found.iter().any(|(other, _)| *other == name) {
                return Err(Failure::wrong(format!("query parameter {name:?} is given twice")));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A name or value without its `%41` and `+`.
fn decoded(text: &str) -> Result<String, Failure> {
    let wrong = || Failure::wrong(format!("query: {text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || Some(char::from(rest.next()?).to_digit(16)?.to_le_bytes()[0]);
                let (high, low) = digit().zip(digit()).ok_or_else(wrong)?;
                bytes.push(high << 4 | low);
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn parameters_are_known_and_given_once() {
        let takes = ["output", "namespace"];
        for (query, expected) in [
            (None, Ok(None)),
            (Some(""), Ok(None)),
            (Some("output=json&&"), Ok(None)),
            (Some("namespace=ran&output=json"), Ok(Some("ran"))),
            (Some("name%73pace=r%61n"), Ok(Some("ran"))),
            (Some("namespace="), Ok(Some(""))),
            (Some("namespace"), Ok(Some(""))),
            (
                Some("dryRun=All"),
                Err(
                    "unknown query parameter \"dryRun\": nothing was done; this method and path take output, namespace",
                ),
            ),
            (Some("namespace=a&namespace=b"), Err("query parameter \"namespace\" is given twice")),
            (Some("namespace=%ff"), Err("query: \"%ff\" is not percent-encoded UTF-8")),
            (Some("namespace=%4"), Err("query: \"%4\" is not percent-encoded UTF-8")),
            (Some("namespace=%zz"), Err("query: \"%zz\" is not percent-encoded UTF-8")),
        ] {
            let read = Query::read(query, &takes);
            let found = read.as_ref().map(|read| read.get("namespace"));
            assert_eq!(found.map_err(|failure| failure.text.as_str()), expected, "{query:?}");
        }
    }
}
