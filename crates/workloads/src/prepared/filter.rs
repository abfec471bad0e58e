//! A scheduler asks which of many nodes admit a pod of a shape that it has not asked about.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::ensure;
use pod_spec::Pod;
use scheduler_extender::{NodeFacts, NodeState, OneThread, StateVersion, View};

use super::set_up::SetUp;
use crate::work::NodeWork;

/// So many nodes, no two of which are alike: the first has all residents, and each further one of them fewer.
const NODES: usize = 20;

pub(super) fn prepare(work: &NodeWork) -> anyhow::Result<Box<dyn Fn()>> {
    let SetUp { node, mut ledger, pod } = SetUp::new(work)?;
    let node = Arc::new(node);
    let mut view = View::new();
    let residents: Vec<Pod> = ledger.pods().cloned().collect();
    let names: Vec<String> = (0..NODES).map(|at| format!("node-{at}")).collect();
    for (name, resident) in names.iter().zip(&residents) {
        let facts = NodeFacts::Exact { node: Arc::clone(&node), ledger: ledger.clone() };
        view.update(name, NodeState { version: StateVersion::default(), facts, told: BTreeSet::new() });
        ledger = ledger.release(&resident.uid);
    }
    let (view, shapes) = (RefCell::new(view), Cell::new(0_u32));
    let fits = move || {
        let mut pod = pod.clone();
        shapes.set(shapes.get() + 1);
        // Another container is another shape.
        for container in &mut pod.containers {
            container.name = format!("{}-{}", container.name.as_str(), shapes.get()).as_str().into();
        }
        let judged = view.borrow_mut().filter(black_box(&pod), &names, &OneThread);
        judged.iter().filter(|judgement| judgement.verdict.fits()).count()
    };
    let first = fits();
    ensure!((1..NODES).contains(&first), "the pod fits {first} of {NODES} nodes: expected some");
    Ok(Box::new(move || assert_eq!(fits(), first, "it worked before")))
}
