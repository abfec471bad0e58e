//! Claims in the form of published drivers that do not fit a free node: the reason, the contradiction and what would fit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use claim_allocator::{Decision, Question, WorkLimit, decide};
use claim_explanation::{Asked, Limits, Objects, PLACES, Searched, Size, explain};
use dra_model::{Features, Node};
use serde_json::Value;
use topology_manifest::{ResourceObjects, Source, read_resource_objects};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The reasons, in the order of the recorded answers.
const EXPECTED: &str = include_str!("../drivers.txt");

#[test]
fn each_refused_claim_of_a_published_driver_has_its_reason_and_what_is_proposed_fits() {
    let folder = root().join("fixtures/dra/drivers");
    let answers = std::fs::read_to_string(folder.join("answers.jsonl")).unwrap();
    let mut found = String::new();
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        if !answer["result"]["allocations"].is_null() {
            continue;
        }
        let (file, claim) = (answer["file"].as_str().unwrap(), answer["claim"].as_str().unwrap());
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let read = read_resource_objects(&Source { name: file, text: &text }).unwrap();
        let ResourceObjects { slices, classes, claims, .. } = read;
        let claims: Vec<_> = claims.into_iter().filter(|own| own.metadata.name == claim).collect();
        let node = Node { name: "worker-1".into(), ..Node::default() };
        let question = Question {
            node: &node,
            declared_features: &[],
            features: Features::DEFAULT,
            implementation: None,
            classes: &classes,
            slices: &slices,
            allocated: &[],
            claims: &claims,
        };
        let explanation = explain(&Asked { question: &question, names: &[] }, Limits::default());
        assert_eq!(explanation.search, Searched::Complete, "{file}");
        assert_eq!(explanation.contradiction.as_ref().unwrap().size, Size::Smallest, "{file}");
        assert_eq!(explanation.on_empty_node, "doesNotFit", "nothing is held: {file}");
        writeln!(found, "{claim}: {}", explanation.reason).unwrap();
        let objects = Objects::on_node(&question);
        for remedy in &explanation.would_fit {
            writeln!(found, "  {}: {}", remedy.kind, remedy.text).unwrap();
            let applied = remedy.change.applied(&objects).unwrap();
            let changed = Question {
                classes: &applied.classes,
                slices: &applied.slices,
                allocated: &applied.allocated,
                claims: &applied.claims,
                ..question.clone()
            };
            let decision = decide(&changed, WorkLimit::default());
            assert!(matches!(decision, Decision::Fits(_)), "{file} {remedy:?}: {decision:?}");
        }
    }
    assert_eq!(found, EXPECTED, "{found}");
}

#[test]
fn the_document_has_each_attribute_of_the_table() {
    let document = std::fs::read_to_string(root().join("docs/claims.md")).unwrap();
    for place in PLACES {
        assert!(document.contains(&format!("`{}`", place.name)), "{}", place.name);
    }
}
