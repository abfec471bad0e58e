//! The mix: which kinds of pods come to the cluster, and how often each. It is given, or learnt from the pods that come.
//!
//! A learnt kind weighs as many pods as came of it lately: after every 64 pods all weights shrink by a sixteenth, so that a pod
//! counts half after about 700 others. [`TRACKED`] kinds are tracked; one more takes the place of the lightest. Room is kept for
//! the [`KINDS`] heaviest. Which these are is looked at after 1, 2, 4, ... 256 pods, and then after every 256, since every
//! node's places are counted anew when they change; how much each weighs follows every pod.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::{Pod, PodRules, QosClass};

use crate::shape::Shape;

/// So many kinds of pods have room kept for them.
const KINDS: usize = 16;
/// So many are tracked.
const TRACKED: usize = 64;
/// What one pod weighs when it comes.
const ONE: f64 = 1.0;
/// After so many pods weights shrink.
const STEP: u64 = 64;
/// And after so many the heaviest kinds are chosen again, at the latest.
const LONGEST: u64 = 256;

/// Kinds of pods for which room is kept on nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mix {
    source: Source,
    /// The heaviest, the heaviest first.
    kinds: Arc<[Shape]>,
    /// By kind.
    weights: Vec<f64>,
    /// Increases whenever `kinds` change.
    epoch: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Learnt {
        tracked: Vec<(Shape, f64)>,
        pods: u64,
        /// When the heaviest are chosen again, in pods.
        next: u64,
    },
    Given,
}

impl Default for Source {
    fn default() -> Self {
        Self::Learnt { tracked: Vec::new(), pods: 0, next: 1 }
    }
}

impl Mix {
    /// A mix that does not change: of more kinds than room is kept for those that come most often.
    pub(crate) fn pinned(&self, kinds: impl IntoIterator<Item = (Pod, u32)>) -> Self {
        let mut heaviest: Vec<(Shape, f64)> = Vec::new();
        let mut lightest = f64::INFINITY;
        for (pod, count) in kinds {
            let weight = f64::from(count);
            if heaviest.len() >= TRACKED && weight <= lightest {
                continue;
            }
            add(&mut heaviest, Shape::of(&pod), weight);
            lightest = heaviest.iter().map(|(_, weight)| *weight).fold(f64::INFINITY, f64::min);
        }
        // Of what came before nothing is left, so that its places are counted anew in any case.
        let mut mix = Self { source: Source::Given, epoch: self.epoch + 1, ..Self::default() };
        mix.choose(&heaviest);
        mix
    }

    /// One more pod has come. One that takes nothing with a place on any node counts nothing.
    pub(crate) fn learn(&mut self, pod: &Pod) {
        let Source::Learnt { tracked, pods, next } = &mut self.source else { return };
        if !could_have_a_place(pod) {
            return;
        }
        *pods += 1;
        add(tracked, Shape::of(pod), ONE);
        if pods.is_multiple_of(STEP) {
            for (_, weight) in tracked.iter_mut() {
                *weight -= *weight / 16.0;
            }
        }
        if *pods >= *next {
            *next = pods.saturating_add((*pods).min(LONGEST));
            let tracked = tracked.clone();
            self.choose(&tracked);
        } else {
            let weight = |kind: &Shape| tracked.iter().find(|(own, _)| own == kind).map_or(0.0, |own| own.1);
            self.weights = self.kinds.iter().map(weight).collect();
        }
    }

    /// Takes the heaviest of these.
    fn choose(&mut self, of: &[(Shape, f64)]) {
        let mut heaviest: Vec<&(Shape, f64)> = of.iter().collect();
        heaviest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        heaviest.truncate(KINDS);
        let is_same =
            heaviest.len() == self.kinds.len() && heaviest.iter().all(|(kind, _)| self.kinds.contains(kind));
        if !is_same {
            self.kinds = heaviest.iter().map(|(kind, _)| kind.clone()).collect();
            self.epoch += 1;
        }
        let weight = |kind: &Shape| of.iter().find(|(own, _)| own == kind).map_or(0.0, |own| own.1);
        self.weights = self.kinds.iter().map(weight).collect();
    }

    /// Which kinds they are, in numbers: the same as long as these are the same.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The kinds for which room is kept.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.kinds.iter().map(Shape::pod)
    }

    /// What each of them weighs, against the others.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// Whether a node could give the pod exclusive CPUs, memory of a NUMA node or devices.
fn could_have_a_place(pod: &Pod) -> bool {
    let mut limits = pod.containers.iter().flat_map(|container| container.limits.keys());
    pod.qos_class(PodRules::default()) == QosClass::Guaranteed
        || !pod.constraints.exclusive.is_empty()
        || limits.any(|resource| resource.as_str().contains('/') || resource.is_hugepages())
}

/// So much more of a kind; one too many takes the place of the lightest.
fn add(tracked: &mut Vec<(Shape, f64)>, kind: Shape, weight: f64) {
    if let Some((_, own)) = tracked.iter_mut().find(|(own, _)| *own == kind) {
        *own += weight;
        return;
    }
    if tracked.len() >= TRACKED {
        let lightest = tracked
            .iter()
            .enumerate()
            .min_by(|(_, (_, one)), (_, (_, other))| one.total_cmp(other))
            .map(|(at, _)| at);
        if let Some(at) = lightest {
            tracked.remove(at);
        }
    }
    tracked.push((kind, weight));
}
