//! What makes devices different: every answer about each.

use alloc::vec;
use alloc::vec::Vec;

use super::kinds::{Purpose, Use};
use crate::search::facts::{Answer, Facts, Value};
use crate::search::problem::{Constraint, Device, Held, Problem, Sharing, Want};

/// All answers, and what makes devices different.
pub(crate) struct Table {
    purpose: Purpose,
    /// For each alternative and device.
    pub(crate) uses: Vec<Vec<Use>>,
    pub(crate) signatures: Vec<Vec<i128>>,
    /// Whether anything that is looked at can be an error.
    pub(crate) may_err: bool,
}

impl Table {
    pub(crate) fn of<F: Facts>(problem: &Problem, facts: &F, purpose: Purpose) -> Self {
        let signatures = problem.devices.iter().map(signature).collect();
        let mut table = Self { purpose, uses: Vec::new(), signatures, may_err: false };
        let mut alone = vec![false; problem.devices.len()];
        for pool in 0..problem.pools.len() {
            let drawing = |device: &Device| device.pool == pool && !device.draws.is_empty();
            let of_pool = problem.devices.iter().filter(|device| drawing(device));
            if of_pool.clone().any(draws_negative) {
                let all = problem.devices.iter().zip(&mut alone).filter(|(device, _)| drawing(device));
                all.for_each(|(_, alone)| *alone = true);
            }
        }
        for alternative in 0..problem.alternatives.len() {
            table.add(problem, facts, alternative, &mut alone);
        }
        for (device, _) in alone.iter().enumerate().filter(|(_, alone)| **alone) {
            table.signatures[device].push(i128::try_from(device).unwrap_or(-1));
        }
        table
    }

    /// What one alternative tells of the devices.
    fn add<F: Facts>(&mut self, problem: &Problem, facts: &F, alternative: usize, alone: &mut [bool]) {
        let shape = &problem.alternatives[alternative];
        let uses = uses(problem, facts, alternative);
        self.may_err |= uses.contains(&Use::Error);
        let has_all = matches!(shape.want, Want::All(_)) && !shape.constraints.is_empty();
        self.may_err |= has_all && uses.contains(&Use::Member);
        for (device, kind) in uses.iter().enumerate() {
            self.signatures[device].push(*kind as i128);
            if !matches!(kind, Use::Candidate | Use::Member) {
                continue;
            }
            alone[device] |= has_all || (*kind == Use::Member && self.purpose == Purpose::CountSteps);
            if *kind == Use::Member {
                let code = match facts.answer(alternative, device) {
                    Answer::Yes => 0,
                    Answer::NoRoom => 1,
                    Answer::No | Answer::Error(_) => 2,
                };
                self.signatures[device].push(code);
            }
            if problem.devices[device].is_shared() {
                self.signatures[device].extend(facts.share(alternative, device));
            }
        }
        for &place in &shape.constraints {
            self.add_values(problem, facts, (alternative, place), &uses, alone);
        }
        self.uses.push(uses);
    }

    fn add_values<F: Facts>(
        &mut self,
        problem: &Problem,
        facts: &F,
        (alternative, place): (usize, usize),
        uses: &[Use],
        alone: &mut [bool],
    ) {
        let kind = problem.claims[problem.alternatives[alternative].claim].constraints[place];
        let mut has_incomparable = false;
        let mut present = Vec::new();
        let used = uses.iter().enumerate().filter(|(_, kind)| matches!(kind, Use::Candidate | Use::Member));
        for (device, _) in used {
            let value = facts.value(place, alternative, device);
            has_incomparable |= matches!(value, Value::Incomparable);
            self.may_err |= matches!(value, Value::Error(_));
            if !matches!(value, Value::Absent) {
                present.push(device);
            }
            write_value(&value, &mut self.signatures[device]);
        }
        if has_incomparable && kind == Constraint::Distinct {
            for device in present {
                alone[device] = true;
            }
        }
    }
}

fn uses<F: Facts>(problem: &Problem, facts: &F, alternative: usize) -> Vec<Use> {
    let mut uses = vec![Use::Nothing; problem.devices.len()];
    if let Want::All(devices) = &problem.alternatives[alternative].want {
        for &device in devices {
            uses[device] = Use::Member;
        }
        return uses;
    }
    for (device, kind) in uses.iter_mut().enumerate() {
        *kind = match facts.answer(alternative, device) {
            Answer::Yes => Use::Candidate,
            Answer::No | Answer::NoRoom => Use::Nothing,
            Answer::Error(_) => Use::Error,
        };
    }
    uses
}

/// What a device has that does not depend on alternatives.
fn signature(device: &Device) -> Vec<i128> {
    let mut signature = vec![i128::from(device.held == Held::Allocated)];
    match &device.sharing {
        Sharing::Alone => signature.push(-1),
        Sharing::Shared { in_use, room } => {
            signature.extend([i128::from(*in_use), length(room)]);
            signature.extend(room);
        }
    }
    if !device.draws.is_empty() || !device.groups.is_empty() {
        signature.push(i128::try_from(device.pool).unwrap_or(-1));
    }
    signature.push(length(&device.draws));
    for draw in &device.draws {
        signature.extend([i128::try_from(draw.counter).unwrap_or(-1), draw.amount]);
    }
    signature.push(length(&device.groups));
    for (place, groups) in &device.groups {
        signature.extend([i128::try_from(*place).unwrap_or(-1), length(groups)]);
        signature.extend(groups.iter().map(|&group| i128::from(group)));
    }
    signature
}

fn write_value<E>(value: &Value<E>, signature: &mut Vec<i128>) {
    match value {
        Value::Absent => signature.push(-1),
        Value::Incomparable => signature.push(-2),
        Value::Error(_) => signature.push(-3),
        Value::Known(values) => {
            signature.push(length(values));
            signature.extend(values.iter().map(|&value| i128::from(value)));
        }
    }
}

fn length<T>(list: &[T]) -> i128 {
    i128::try_from(list.len()).unwrap_or(i128::MAX)
}

pub(crate) fn draws_negative(device: &Device) -> bool {
    device.draws.iter().any(|draw| draw.amount < 0)
}
