//! The pods in a request body. A workload, such as a Deployment, becomes its pods; other objects are skipped with a warning.

use std::collections::BTreeMap;
use std::str;
use std::sync::Arc;

use admission_report::{KubeletRefusal, Report};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use kubelet_release::Release;
use node_input::{AllocatedClaims, LoadedNode, Questions, Wholeness, cluster_objects};
use node_output::http::{FILE, UNKNOWN_FIELD};
use pod_claims::ClusterObjects;
use pod_spec::{Pod, PodUid};
use terminal_text::Glyphs;
use topology_manifest::{
    ManifestError, Manifests, Owner, PodLimit, Problem, Source, Style, UnknownFields, read_manifests_up_to,
};

use super::failure::Failure;
use super::query::{Parameter, Query, Values};
use super::reply::Shape;

/// The name of a body in messages without a header that names it. Longer names are not used.
const NAMELESS: &str = "request";
const LONGEST: usize = 4096;

/// The parameter that says what becomes of unknown fields, with an API server's name and values.
pub(super) const FIELD_VALIDATION: Parameter = Parameter {
    name: "fieldValidation",
    values: Values::OneOf(&["Strict", "Warn"]),
    about: "What becomes of fields that objects do not have: refused, which is the default, or ignored and reported in \
            `warnings`.",
};

/// What becomes of fields that objects do not have: refused, unless the query says otherwise.
fn unknown_fields(query: &Query) -> Result<UnknownFields, Failure> {
    match query.get(FIELD_VALIDATION) {
        None | Some("Strict") => Ok(UnknownFields::Refuse),
        Some("Warn") => Ok(UnknownFields::Report),
        Some(_) => Err(Failure::wrong("fieldValidation is Strict or Warn: nothing was done")),
    }
}

/// How a body is read.
#[derive(Debug)]
pub(super) struct Reading {
    /// The name of the body in messages.
    name: String,
    pub(super) shape: Shape,
    unknown: UnknownFields,
    limit: PodLimit,
}

impl Reading {
    /// The name of the body in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// From the query and the headers, with a limit of pods.
    pub(super) fn of(query: &Query, headers: &HeaderMap, limit: PodLimit) -> Result<Self, Failure> {
        let (shape, unknown) = (Shape::of(query, headers)?, unknown_fields(query)?);
        Ok(Self { name: name(headers.get(FILE)).to_owned(), shape, unknown, limit })
    }
}

/// Pods that are ready to be decided on, at least one.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) origins: Origins,
    pub(super) wholeness: Wholeness,
    /// Objects that were skipped, and fields of pods that are ignored.
    pub(super) warnings: Vec<String>,
    /// What decides on claims.
    pub(super) objects: ClusterObjects,
}

/// Where pods come from.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// The workloads of pods that were made of templates.
    owners: BTreeMap<PodUid, Owner>,
    /// The reason and message of pods that a kubelet has refused, by their status.
    refused: BTreeMap<PodUid, KubeletRefusal>,
    /// The release of that kubelet.
    release: Release,
}

impl Origins {
    /// The report on one of the pods, with its workload and an earlier refusal by a kubelet.
    pub(super) fn added_to(&self, report: Arc<Report>, pod: &PodUid) -> Arc<Report> {
        let owner = self.owners.get(pod).map(ToString::to_string);
        let refusal = self.refused.get(pod).cloned();
        if owner.is_none() && refusal.is_none() {
            return report;
        }
        let report = Report { owner, ..Report::clone(&report) };
        Arc::new(match refusal {
            Some(refusal) => report.refused_by_kubelet(refusal, self.release),
            None => report,
        })
    }
}

impl Sent {
    /// A pod of an earlier decision.
    pub(super) fn of(pod: Arc<Pod>) -> Self {
        let (origins, objects) = (Origins::default(), ClusterObjects::default());
        Self { pods: vec![pod], origins, wholeness: Wholeness::Whole, warnings: Vec::new(), objects }
    }

    /// The same of pods that are to run: those that a kubelet has refused never do.
    ///
    /// # Errors
    /// None is left.
    pub(super) fn into_runnable(mut self) -> Result<Self, Failure> {
        let refused = std::mem::take(&mut self.origins.refused);
        self.warnings.extend(self.pods.iter().filter_map(|pod| {
            let KubeletRefusal { reason, .. } = refused.get(&pod.uid)?;
            Some(format!("pod {}/{} has ended ({reason}) and is left out", pod.namespace, pod.name))
        }));
        self.pods.retain(|pod| !refused.contains_key(&pod.uid));
        if self.pods.is_empty() { Err(Failure::wrong(self.warnings.join("; "))) } else { Ok(self) }
    }

    /// Reads a body for a node. It fails as a whole if an API server would refuse any object of it, or above the limit of pods.
    pub(super) fn read(node: &LoadedNode, sent: &[u8], how: &Reading) -> Result<Self, Failure> {
        let Reading { name, shape, unknown, limit } = how;
        let rules = node.node.pod_rules();
        let read = Source::from_bytes(name, sent)
            .and_then(|source| read_manifests_up_to(*limit, &source, rules, *unknown))
            .map_err(|error| refused(&error, shape.screen))?;
        let Manifests {
            pods,
            mut owners,
            controllers,
            failures,
            refused,
            skipped,
            remarks,
            claim_objects: _,
            resources,
            unknown_fields,
            unnoticed,
            ..
        } = read;
        owners.extend(controllers);
        if !refused.is_empty() {
            let causes = refused.iter().flat_map(|refusal| &refusal.causes);
            let each = causes.map(|cause| message(cause, shape.screen));
            let between = if shape.screen.is_some() { "\n" } else { "; " };
            let text = each.collect::<Vec<_>>().join(between);
            let unknown =
                |cause: &ManifestError| matches!(cause.problem(), Problem::UnknownObjectField { .. });
            let has_unknown = refused.iter().flat_map(|refusal| &refusal.causes).any(unknown);
            return Err(Failure::wrong(text).because(has_unknown.then_some(UNKNOWN_FIELD)));
        }
        // A Service among manifests is no mistake; a misspelt kind is.
        let is_whole = skipped.iter().all(|skipped| skipped.meant().is_none());
        let wholeness = if is_whole { Wholeness::Whole } else { Wholeness::Partial };
        let Questions { pods: active, refused, left_out } = Questions::of(pods, &failures);
        let remarks = remarks.iter().map(ToString::to_string);
        let warnings = skipped.iter().map(ToString::to_string).chain(remarks).chain(left_out);
        let unknown = unknown_fields.iter().chain(&unnoticed).map(|unknown| unknown.as_error().to_string());
        let warnings = warnings.chain(unknown).chain(node.not_looked_at(&active));
        let warnings: Vec<String> = warnings.collect();
        if active.is_empty() {
            let nothing = "there is no pod in it".to_owned();
            let between = if shape.screen.is_some() { "\n" } else { "; " };
            return Err(Failure::wrong(if warnings.is_empty() { nothing } else { warnings.join(between) }));
        }
        let origins = Origins { owners, refused, release: node.node.kubelet_rules().version.release() };
        let objects = cluster_objects(resources);
        let claims = node.node.has_claim_hints().then(|| AllocatedClaims::on(node, &objects, None));
        let pods = active.into_iter().map(|pod| {
            let pod = pod.delivered().with_defaults(rules);
            Arc::new(match &claims {
                Some(claims) => claims.placed(pod),
                None => pod,
            })
        });
        let pods = pods.collect();
        Ok(Self { pods, origins, wholeness, warnings, objects })
    }
}

/// The failure for a body that cannot be parsed.
fn refused(error: &ManifestError, screen: Option<Glyphs>) -> Failure {
    let status = match error.problem() {
        Problem::TooManyPodsAsked { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    };
    Failure::new(status, message(error, screen))
}

/// An error in a manifest: drawn with its lines for a screen, else a sentence with the place.
fn message(error: &ManifestError, screen: Option<Glyphs>) -> String {
    match screen {
        Some(Glyphs::Unicode) => error.render(Style::Unicode),
        Some(Glyphs::Ascii) => error.render(Style::Ascii),
        None => error.to_string(),
    }
}

/// The name of the body in messages.
fn name(header: Option<&HeaderValue>) -> &str {
    let header = header.and_then(|header| str::from_utf8(header.as_bytes()).ok());
    let is_name =
        |header: &&str| (1..=LONGEST).contains(&header.len()) && !header.chars().any(char::is_control);
    header.filter(is_name).unwrap_or(NAMELESS)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::name;

    #[test]
    fn names_of_files_are_kept_as_they_are() {
        for (header, expected) in [
            ("pods.yaml", "pods.yaml"),
            ("müll/pods 2.yaml", "müll/pods 2.yaml"),
            ("", "request"),
            ("a\tb", "request"),
            (&"x".repeat(5000), "request"),
        ] {
            assert_eq!(name(HeaderValue::from_bytes(header.as_bytes()).ok().as_ref()), expected);
        }
        assert_eq!(name(HeaderValue::from_bytes(b"\xff").ok().as_ref()), "request");
        assert_eq!(name(None), "request");
    }
}
