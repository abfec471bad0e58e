//! What a reader lets pass although it has no effect.

use core::ops::Range;

use terminal_text::nearest;

use crate::node::{Field, MapEntry};
use crate::{ManifestError, Problem, Source, Style};

/// Something that the kubelet lets pass, but that does not do what its writer meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning(pub(crate) ManifestError);

impl Warning {
    /// A key at `span` of `source` that is none of `known`, in a format that others read; `expected` says of what it
    /// should be a key.
    #[must_use]
    pub fn of_key(
        source: &Source<'_>,
        span: &Range<usize>,
        known: &[&'static str],
        expected: &'static str,
    ) -> Self {
        let found = source.text.get(span.clone()).unwrap_or_default().to_owned();
        let problem = match nearest(&found, known) {
            Some(meant) => Problem::MisspeltField { found, meant },
            None => Problem::UnknownField { found, expected },
        };
        Self(ManifestError::at(source, "", span, problem))
    }

    /// Text at `span` of `source` without effect: `what` says why, and `expected` with what it would have one.
    #[must_use]
    pub fn useless(source: &Source<'_>, span: &Range<usize>, what: String, expected: &'static str) -> Self {
        Self(ManifestError::at(source, "", span, Problem::Useless { what, expected }))
    }

    /// What and where it is, as an error.
    #[must_use]
    pub fn as_error(&self) -> &ManifestError {
        &self.0
    }

    /// The warning in one line, as logs have it: place, what is wrong, and what to give.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        self.0.in_one_line()
    }

    /// The warning with the lines it is about, without a newline at the end.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        self.0.render_warning(style)
    }
}

/// Warns of fields that are none of `known`; `expected` says of what they should be fields.
pub(crate) fn unknown_fields(
    field: &Field<'_>,
    known: &[&'static str],
    expected: &'static str,
    warnings: &mut Vec<Warning>,
) -> Result<(), ManifestError> {
    for MapEntry { key, key_span, .. } in field.entries()? {
        if !known.contains(&key) {
            let found = key.to_owned();
            let problem = if let Some(meant) = nearest(key, known) {
                Problem::MisspeltField { found, meant }
            } else {
                Problem::UnknownField { found, expected }
            };
            warnings.push(Warning(field.fail_at(key_span, problem)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Source, read_kubelet_config};

    #[test]
    fn a_warning_is_one_line_in_a_log() {
        let text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolcy: static\n";
        let read = read_kubelet_config(&Source { name: "c.yaml", text }).unwrap();
        let lines: Vec<_> = read.warnings.iter().map(super::Warning::in_one_line).collect();
        assert_eq!(
            lines,
            ["c.yaml:3:1: there is no field \"cpuManagerPolcy\": did you mean cpuManagerPolicy?"]
        );
    }
}
