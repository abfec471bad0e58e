//! Claims on the devices of published drivers: files with slices, classes and claims, and an answer for each claim alone.

use std::slice;

use anyhow::{Context as _, Result};
use claim_allocator::Question;
use dra_model::{Features, Node};
use serde_json::{Value, json};
use topology_manifest::{Source, read_resource_objects};

use super::allocate::{answer, decide_question};
use crate::case::{Case, Outcome, text};
use crate::claim_of_file::DRIVERS;
use crate::corpus::{Corpus, read};

pub(super) fn drivers(corpus: &Corpus, case: &Case) -> Outcome {
    match decided(corpus, &case.input) {
        Ok(answer) => case.compare(answer),
        Err(error) => Outcome::unreadable(format!("{error:#}")),
    }
}

/// The answer on one claim of a file, as the only claim of a pod on the node `worker-1` in rack `a`.
fn decided(corpus: &Corpus, input: &Value) -> Result<Value> {
    let (name, wanted) = (text(&input["file"]), text(&input["claim"]));
    let objects = read(&corpus.data(&format!("{DRIVERS}/{name}")))?;
    let objects = read_resource_objects(&Source { name, text: &objects })?;
    let claim = objects.claims.iter().find(|claim| claim.metadata.name == wanted);
    let claim = claim.with_context(|| format!("{name} has no claim {wanted}"))?;
    let labels = [("rack".to_owned(), "a".to_owned())].into();
    let (implementation, decision, cost) = decide_question(&Question {
        node: &Node { name: "worker-1".to_owned(), labels },
        declared_features: &[],
        features: Features::DEFAULT,
        implementation: None,
        classes: &objects.classes,
        slices: &objects.slices,
        allocated: &[],
        claims: slice::from_ref(claim),
    });
    let mut answer = answer(&decision);
    answer["implementation"] = json!(implementation.as_str());
    answer["steps"] = json!(cost.and_then(|cost| u64::try_from(cost.steps()).ok()));
    Ok(answer)
}
