//! Claims that are decided again and again.

use std::cell::RefCell;
use std::hint::black_box;

use anyhow::ensure;
use claim_allocator::{Allocator, Decision, Expressions, Question, WorkLimit};
use dra_model::{Features, Node};
use serde_json::{Value, json};
use topology_manifest::{ResourceObjects, Source, read_resource_objects};

use crate::claims::ClaimsWork;

/// Reads the objects; what is repeated is everything that kube-scheduler does for a pod on a node: pools, claims, search.
pub(super) fn prepare(work: &ClaimsWork) -> anyhow::Result<Box<dyn Fn()>> {
    let objects = objects(work)?;
    let node = node(work);
    // A scheduler has the expressions of earlier pods compiled.
    let expressions = RefCell::new(Expressions::new());
    let decide = move || {
        let question = question(&node, &objects);
        let allocator = Allocator::with_expressions(black_box(&question), &mut expressions.borrow_mut());
        allocator.map_or_else(Decision::Error, |allocator| allocator.decide(WorkLimit::default()))
    };
    let fits = work.fits;
    let is_right = move |decision: &Decision| match decision {
        Decision::Fits(_) => fits,
        Decision::DoesNotFit => !fits,
        Decision::Error(_) | Decision::Cut => false,
    };
    let first = decide();
    ensure!(is_right(&first), "the claims are decided otherwise: {first:?}");
    Ok(Box::new(move || assert!(is_right(&black_box(decide())), "it worked before")))
}

/// The steps of kube-scheduler's allocator for the same, by formula; `None` where that is not found within the default budget.
///
/// # Errors
/// Objects that cannot be read, and claims that are an error before anything is searched.
pub fn allocator_steps(work: &ClaimsWork) -> anyhow::Result<Option<u128>> {
    let (objects, node) = (objects(work)?, node(work));
    let cost = Allocator::new(&question(&node, &objects))?.cost(WorkLimit::default());
    Ok(cost.map(claim_allocator::Cost::steps))
}

fn node(work: &ClaimsWork) -> Node {
    Node { name: work.node.to_owned(), ..Node::default() }
}

fn question<'a>(node: &'a Node, objects: &'a ResourceObjects) -> Question<'a> {
    Question {
        node,
        declared_features: &[],
        features: Features::DEFAULT,
        implementation: None,
        classes: &objects.classes,
        slices: &objects.slices,
        allocated: &[],
        claims: &objects.claims,
    }
}

fn objects(work: &ClaimsWork) -> anyhow::Result<ResourceObjects> {
    let typed = |kind: &str, object: &Value| {
        let mut object = object.clone();
        (object["apiVersion"], object["kind"]) = (json!("resource.k8s.io/v1"), json!(kind));
        object
    };
    let lists =
        [("DeviceClass", &work.classes), ("ResourceSlice", &work.slices), ("ResourceClaim", &work.claims)];
    let all = lists.iter().flat_map(|(kind, list)| list.iter().map(|object| typed(kind, object)));
    let items = all.collect::<Vec<_>>();
    let text = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let objects = read_resource_objects(&Source { name: "claims", text: &text })?;
    ensure!(objects.refused.is_empty(), "an object is refused: {}", objects.refused[0]);
    Ok(objects)
}
