//! Objects that an API server refuses.

use core::fmt;
use std::collections::BTreeSet;

use cpuset::go_quote;

use crate::workload::Kind;
use crate::{Complaint, ManifestError, Problem, Style};

/// An object that is refused. Displays as kubectl shows it, over several lines if there is more than one cause. Names of
/// fields start at the object, also in lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its kind.
    pub kind: String,
    /// Its name; may be empty.
    pub name: String,
    /// All that is wrong with it, each with its place; one to a hundred. What an API server would complain of are
    /// [`Problem::Refused`]; an object with unknown fields has only those ([`Problem::UnknownObjectField`]); anything
    /// else stands alone.
    pub causes: Vec<ManifestError>,
}

impl Refusal {
    /// Every cause with the lines it is about, without a newline at the end. The same mistake in several places is shown in
    /// the first, and the others are listed.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        let mut shown: Vec<Vec<&ManifestError>> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for mut same in self.mistakes() {
            let places = |same: &[&ManifestError]| -> Vec<(usize, usize)> {
                same.iter().map(|cause| (cause.line(), cause.column())).collect()
            };
            // What a limit says is its request too, unless that is set.
            let mut seen = BTreeSet::new();
            same.retain(|cause| seen.insert((cause.line(), cause.column())));
            // Two complaints about the same places need one picture.
            if shown.iter().any(|other| places(other) == places(&same)) {
                let places = if same.len() > 1 { "places" } else { "place" };
                texts.extend(
                    same.first().map(|cause| format!("and in the same {places}: {}", cause.problem())),
                );
                continue;
            }
            let mut rest = same.iter();
            texts.extend(rest.next().map(|first| first.render(style)));
            let also = |cause: &&ManifestError| {
                format!("also line {}, column {}: {}", cause.line(), cause.column(), cause.field())
            };
            texts.extend(rest.by_ref().take(MOST_PLACES).map(also));
            let left = rest.count();
            texts.extend((left > 0).then(|| format!("and in {left} more places")));
            shown.push(same);
        }
        texts.join("\n")
    }

    /// The causes, those that say the same of different places together.
    fn mistakes(&self) -> Vec<Vec<&ManifestError>> {
        let mut mistakes: Vec<(String, Vec<&ManifestError>)> = Vec::new();
        for cause in &self.causes {
            let text = match cause.problem() {
                // Its words name the field.
                Problem::UnknownObjectField { .. } => cause.title(),
                problem => problem.to_string(),
            };
            match mistakes.iter_mut().find(|(other, _)| *other == text) {
                Some((_, same)) => same.push(cause),
                None => mistakes.push((text, vec![cause])),
            }
        }
        mistakes.into_iter().map(|(_, same)| same).collect()
    }
}

impl Refusal {
    /// How the object, or another one in its place, is read all the same, as a line.
    #[must_use]
    pub fn way_out(&self) -> Option<&'static str> {
        let is_unknown =
            |cause: &ManifestError| matches!(cause.problem(), Problem::UnknownObjectField { .. });
        let is_part = |cause: &ManifestError| {
            matches!(cause.problem(), Problem::Refused(Complaint::Required(_)))
                && cause.field().ends_with("containers")
        };
        let is_mismatch = |cause: &ManifestError| match cause.problem() {
            Problem::Refused(Complaint::Invalid { must, .. }) => must == Complaint::SELECTED,
            _ => false,
        };
        if self.causes.iter().any(is_unknown) {
            Some("--lenient ignores unknown fields")
        } else if self.kind != "Pod" && self.causes.iter().any(is_part) {
            Some(
                "if it is a patch, give what it makes of an object: `kubectl kustomize FOLDER > OBJECTS`, and OBJECTS",
            )
        } else if self.causes.iter().any(is_mismatch) {
            Some(
                "if kustomize adds its labels, give what that makes: `kubectl kustomize FOLDER > OBJECTS`, and OBJECTS",
            )
        } else {
            None
        }
    }

    /// Whether it says what to do instead, for the whole object or for one of its causes.
    #[must_use]
    pub fn has_next_step(&self) -> bool {
        self.way_out().is_some() || self.causes.iter().any(|cause| cause.problem().next_step().is_some())
    }
}

/// So many further places of one mistake are listed.
const MOST_PLACES: usize = 8;

impl Refusal {
    /// The API server's words for strict decoding, with what may have been meant.
    fn write_unknown_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, .. } = self;
        let version = Kind::version_of(kind);
        write!(f, "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: ")?;
        for (at, cause) in self.causes.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, cause.title())?;
            if let Problem::UnknownObjectField { meant: Some(meant), .. } = cause.problem() {
                write!(f, " (did you mean {meant:?}?)")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [first, ..] = self.causes.as_slice()
            && matches!(first.problem(), Problem::UnknownObjectField { .. })
        {
            return self.write_unknown_fields(f);
        }
        match self.causes.as_slice() {
            // A problem that an API server does not report has another wording.
            [only] if !matches!(only.problem(), Problem::Refused(_)) => return write!(f, "{only}"),
            _ => write!(f, "The {} {} is invalid: ", self.kind, go_quote(&self.name))?,
        }
        match self.causes.as_slice() {
            [only] => f.write_str(&only.title()),
            causes => causes.iter().try_for_each(|cause| write!(f, "\n* {}", cause.title())),
        }
    }
}
