//! Slices, classes and claims that were checked: as a document, and for a person.

use serde::Serialize;
use topology_manifest::{ManifestError, Refusal, Warning};

use crate::quotes::manifest_style;

/// What was found in the objects of files.
#[derive(Clone, Debug, Default)]
pub struct CheckedClaims {
    objects: usize,
    refused: Vec<Refusal>,
    warnings: Vec<Warning>,
}

impl CheckedClaims {
    /// With those of one more text.
    pub fn add(&mut self, objects: usize, refused: Vec<Refusal>, warnings: Vec<Warning>) {
        self.objects += objects;
        self.refused.extend(refused);
        self.warnings.extend(warnings);
    }

    /// How many objects there are.
    #[must_use]
    pub const fn objects(&self) -> usize {
        self.objects
    }

    /// Whether an API server refuses some of them.
    #[must_use]
    pub const fn is_wrong(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Each finding with its lines, errors first, and a line that counts them.
    #[must_use]
    pub fn text(&self) -> String {
        let style = manifest_style();
        let refused = self.refused.iter().map(|refusal| refusal.render(style));
        let warnings = self.warnings.iter().map(|warning| warning.render(style));
        let found = refused.chain(warnings).map(|text| text + "\n\n").collect::<String>();
        let (refused, warnings) = (self.refused.len(), self.warnings.len());
        let objects = count(self.objects, "object");
        found
            + &match (refused, warnings) {
                (0, 0) => format!("{objects}, nothing wrong\n"),
                (0, _) => format!("{objects}, none refused, {}\n", count(warnings, "warning")),
                (_, 0) => format!("{objects}, {refused} refused\n"),
                _ => format!("{objects}, {refused} refused, {}\n", count(warnings, "warning")),
            }
    }

    /// The same for programs.
    #[must_use]
    pub fn document(&self) -> ClaimCheck {
        let errors = self.refused.iter().flat_map(|refusal| {
            let object = format!("{} {}", refusal.kind, refusal.name);
            refusal.causes.iter().map(move |cause| {
                let object = Some(object.clone());
                ClaimFinding { object, ..ClaimFinding::of("error", cause) }
            })
        });
        let warnings = self.warnings.iter().map(|warning| ClaimFinding::of("warning", warning.as_error()));
        ClaimCheck { objects: self.objects, findings: errors.chain(warnings).collect() }
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Slices, classes and claims that were checked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimCheck {
    /// How many objects there are.
    objects: usize,
    /// What is wrong with them: errors, then warnings, in the order of the files.
    findings: Vec<ClaimFinding>,
}

/// What is wrong with an object.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct ClaimFinding {
    /// `error`: an API server refuses the object; `warning`: it accepts it.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::claim_severity"))]
    severity: &'static str,
    /// Kind and name of a refused object.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// The file.
    file: String,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    /// Path of the field in version `v1`; empty where no field is at fault.
    field: String,
    /// A sentence; of errors an API server's.
    message: String,
}

impl ClaimFinding {
    fn of(severity: &'static str, found: &ManifestError) -> Self {
        Self {
            severity,
            object: None,
            file: found.file().to_owned(),
            line: found.line(),
            column: found.column(),
            field: found.field().to_owned(),
            message: found.problem().to_string(),
        }
    }
}
