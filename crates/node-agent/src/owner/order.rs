//! The order in which running containers are written to other CPUs, so that meanwhile no two of them run on a CPU that only
//! one of them has.
//!
//! A container goes on when the CPUs that it gains are free of those who keep apart from it. Where containers
//! wait for each other in a circle one of them goes on to those of its CPUs that are free. If none are, it goes
//! to the shared pool, or gives up a part of its CPUs, and gets its whole target later.

use std::collections::BTreeMap;

use cpu_manager::ContainerId;
use cpuset::CpuSet;

use crate::enforcement::{Enforcement, Pinning};

/// The places to be written one after the other: those of `wanted` and places in between. `before` are the places that were
/// written last; `pool` are the CPUs that containers share.
#[must_use]
pub fn in_order(
    before: &BTreeMap<ContainerId, Pinning>,
    pool: &CpuSet,
    wanted: Vec<Enforcement>,
) -> Vec<Enforcement> {
    let moves = Moves::new(before, pool, &wanted);
    if moves.wait_for_each_other() { moves.ordered(&wanted) } else { wanted }
}

/// So many places in between are written for each container at most; fewer are needed.
const BETWEEN: usize = 16;

/// Containers with the CPUs that they have and those that they get.
struct Moves<'p> {
    pool: &'p CpuSet,
    all: Vec<Move>,
}

struct Move {
    now: CpuSet,
    target: CpuSet,
    /// Whether it gets CPUs that are shared.
    is_shared: bool,
    /// What was written last.
    before: Option<Pinning>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// It has CPUs that are shared until its own are free.
    Aside,
    Done,
}

/// Where a container is written next.
struct Next {
    at: usize,
    cpus: CpuSet,
    stage: Stage,
}

impl<'p> Moves<'p> {
    fn new(before: &BTreeMap<ContainerId, Pinning>, pool: &'p CpuSet, wanted: &[Enforcement]) -> Self {
        let all = wanted.iter().map(|one| {
            let before = before.get(&one.id).cloned();
            let target = one.pinning.cpus.clone().unwrap_or_default();
            Move {
                now: before.as_ref().and_then(|place| place.cpus.clone()).unwrap_or_default(),
                is_shared: !target.is_disjoint(pool),
                target,
                before,
                stage: Stage::Open,
            }
        });
        Self { pool, all: all.collect() }
    }

    /// Whether a container gains CPUs that another still has. A container that is not written keeps its CPUs,
    /// and none gains them.
    fn wait_for_each_other(&self) -> bool {
        let gained = self.all.iter().fold(CpuSet::new(), |sum, one| &sum | &(&one.target - &one.now));
        self.all.iter().any(|one| !one.now.is_disjoint(&gained))
    }

    /// The CPUs that a container cannot have now, since others have them who keep apart from it.
    fn taken_from(&self, at: usize) -> CpuSet {
        let own = &self.all[at];
        let is_apart = |one: &Move| {
            let is_guest = own.is_shared && one.stage == Stage::Aside;
            one.target.is_disjoint(&own.target) && !is_guest
        };
        self.taken_by(|other, one| other != at && is_apart(one))
    }

    fn taken_by(&self, counts: impl Fn(usize, &Move) -> bool) -> CpuSet {
        let counted = self.all.iter().enumerate().filter(|(at, one)| counts(*at, one));
        counted.fold(CpuSet::new(), |sum, (_, one)| &sum | &one.now)
    }

    fn ordered(mut self, wanted: &[Enforcement]) -> Vec<Enforcement> {
        let mut written = Vec::new();
        // After so many steps no more room is made.
        let next = |order: &Self, steps: usize| {
            if steps > BETWEEN * wanted.len() { order.next_in_haste() } else { order.next() }
        };
        while let Some(Next { at, cpus, stage }) = next(&self, written.len()) {
            let (one, state) = (&wanted[at], &mut self.all[at]);
            let pinning = if stage == Stage::Done {
                one.pinning.clone()
            } else {
                let before = state.before.clone().unwrap_or_default();
                Pinning { cpus: Some(cpus.clone()), ..before }
            };
            (state.now, state.stage) = (cpus, stage);
            written.push(Enforcement { pinning, ..one.clone() });
        }
        written
    }

    /// Containers that are not on their target yet.
    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.all.len()).filter(|at| self.all[*at].stage != Stage::Done)
    }

    /// A container goes to all CPUs of its target.
    fn done(&self, at: usize) -> Next {
        Next { at, cpus: self.all[at].target.clone(), stage: Stage::Done }
    }

    /// Who is written next where no more room is made.
    fn next_in_haste(&self) -> Option<Next> {
        self.open().next().map(|first| self.done(first))
    }

    /// Who is written next; `None`: all are where they belong.
    fn next(&self) -> Option<Next> {
        let open: Vec<usize> = self.open().collect();
        let first = *open.first()?;
        let is_free = |at: &&usize| {
            let one = &self.all[**at];
            (&one.target - &one.now).is_disjoint(&self.taken_from(**at))
        };
        if let Some(at) = open.iter().find(is_free) {
            return Some(self.done(*at));
        }
        let next =
            self.to_a_part(&open).or_else(|| self.to_the_pool(&open)).or_else(|| self.to_a_half(&open));
        // There is no room at all.
        Some(next.unwrap_or_else(|| self.done(first)))
    }

    /// A container goes to those CPUs of its target that are free, and leaves all others.
    fn to_a_part(&self, open: &[usize]) -> Option<Next> {
        open.iter().find_map(|at| {
            let one = &self.all[*at];
            let cpus = &one.target - &self.taken_from(*at);
            (!cpus.is_empty() && cpus != one.now).then_some(Next { at: *at, cpus, stage: Stage::Open })
        })
    }

    /// A container with CPUs that another one gains goes to the shared pool.
    fn to_the_pool(&self, open: &[usize]) -> Option<Next> {
        let mut exclusive = open.iter().filter(|at| !self.all[**at].is_shared);
        exclusive.find_map(|at| {
            let cpus = self.pool
                - &self.taken_by(|other, one| other != *at && !one.is_shared && one.stage != Stage::Aside);
            let own = &self.all[*at];
            let is_in_the_way = open.iter().map(|other| &self.all[*other]).any(|one| {
                one.target.is_disjoint(&own.target) && !(&one.target - &one.now).is_disjoint(&own.now)
            });
            let goes =
                !cpus.is_empty() && own.stage == Stage::Open && is_in_the_way && cpus.is_disjoint(&own.now);
            goes.then_some(Next { at: *at, cpus, stage: Stage::Aside })
        })
    }

    /// A container gives up half of its CPUs.
    fn to_a_half(&self, open: &[usize]) -> Option<Next> {
        open.iter().find_map(|at| {
            let one = &self.all[*at];
            let cpus: CpuSet = one.now.iter().take(one.now.len() / 2).collect();
            let goes = !cpus.is_empty() && one.now.is_disjoint(&one.target);
            goes.then_some(Next { at: *at, cpus, stage: Stage::Open })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cpuset::CpuId;
    use pod_spec::{ContainerKey, ContainerName, PodUid};
    use proptest::prelude::*;

    use super::*;

    fn cpus(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn place(text: &str) -> Pinning {
        Pinning { cpus: Some(cpus(text)), ..Pinning::default() }
    }

    fn enforcement(id: &str, target: &str) -> Enforcement {
        Enforcement {
            container: ContainerKey { pod: PodUid::new(id), container: ContainerName::new("app") },
            id: id.into(),
            cgroup: Some(PathBuf::from(id)),
            pinning: place(target),
        }
    }

    fn order(moves: &[(&str, &str, &str)], pool: &str) -> String {
        let before = moves.iter().map(|(id, now, _)| ((*id).into(), place(now))).collect();
        let wanted = moves.iter().map(|(id, _, target)| enforcement(id, target)).collect();
        let written = in_order(&before, &cpus(pool), wanted);
        let each = written.iter().map(|one| {
            let cpus = one.pinning.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{}:{cpus}", one.id)
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn who_makes_room_is_first() {
        for (moves, pool, expected) in [
            // No container waits: in the given order.
            (&[("a", "1", "2"), ("b", "3", "4")][..], "0", "a:2 b:4"),
            (&[("a", "0-3", "0-1"), ("b", "0-3", "0-1")], "0-1", "a:0-1 b:0-1"),
            // One after the other.
            (&[("a", "1", "2"), ("b", "2", "3"), ("c", "3", "4")], "0", "c:4 b:3 a:2"),
            // The pool shrinks first.
            (&[("a", "1", "1-2"), ("s", "0,2", "0")], "0", "s:0 a:1-2"),
            // Two in a circle.
            (&[("a", "1", "2"), ("b", "2", "1")], "0", "a:0 b:1 a:2"),
            (&[("a", "1-2", "3-4"), ("b", "3-4", "1-2")], "", "a:1 b:2 a:3-4 b:1-2"),
            (&[("a", "1-2", "2-3"), ("b", "3-4", "1,4")], "0", "a:2 b:1,4 a:2-3"),
            // One that starts beside two in a circle.
            (&[("a", "", "1,5"), ("b", "1-2", "3"), ("d", "3", "2")], "0", "a:5 b:0 a:1,5 d:2 b:3"),
            // Nowhere to go.
            (&[("a", "1", "2"), ("b", "2", "1")], "", "a:2 b:1"),
        ] {
            assert_eq!(order(moves, pool), expected, "{moves:?}");
        }
    }

    /// Owners of CPUs, shuffled anew; owner 0 is the shared pool.
    fn owners() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let mixed = proptest::collection::vec(0..6_u8, 2..24);
        mixed.prop_flat_map(|owners| {
            let mut first = owners;
            first[0] = 0;
            let shuffled = Just(first[1..].to_vec()).prop_shuffle();
            (Just(first), shuffled).prop_map(|(first, mut rest)| {
                rest.insert(0, 0);
                (first, rest)
            })
        })
    }

    fn of(owner: u8, owners: &[u8]) -> CpuSet {
        (0..).zip(owners).filter(|(_, of)| **of == owner).map(|(cpu, _)| CpuId::new(cpu).unwrap()).collect()
    }

    proptest! {
        /// With a shared pool that keeps a CPU no two exclusive containers ever have the same one, and all end where they
        /// belong; some have just started.
        #[test]
        fn exclusive_cpus_have_one_owner_at_all_times((first, last) in owners(), new in 1..6_u8) {
            let exclusive: Vec<u8> = (1..6).filter(|owner| !of(*owner, &first).is_empty()).collect();
            let all: Vec<u8> = [vec![0], exclusive.clone()].concat();
            let mut now: BTreeMap<ContainerId, Pinning> = BTreeMap::new();
            let mut wanted = Vec::new();
            for owner in &all {
                let id = format!("c{owner}");
                let (before, target) = (of(*owner, &first).to_string(), of(*owner, &last).to_string());
                if *owner != new {
                    now.insert(id.as_str().into(), place(&before));
                }
                wanted.push(enforcement(&id, &target));
            }
            for one in in_order(&now.clone(), &of(0, &last), wanted.clone()) {
                now.insert(one.id.clone(), one.pinning.clone());
                for (id, own) in now.iter().filter(|(id, _)| id.as_str() != "c0") {
                    let others = now.iter().filter(|(other, _)| *other != id && other.as_str() != "c0");
                    for (other, has) in others {
                        let (own, has) = (own.cpus.as_ref().unwrap(), has.cpus.as_ref().unwrap());
                        prop_assert!(own.is_disjoint(has), "{id} and {other}: {own} and {has}");
                    }
                }
            }
            for one in wanted {
                prop_assert_eq!(&now[&one.id], &one.pinning);
            }
        }
    }
}
