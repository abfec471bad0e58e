//! All choices of devices, one after the other.

use dra_model::AllocationMode;

use super::drawn::Small;
use super::rule::{Choice, holds, requested};

/// Beyond so many choices the question is too large.
const MOST: usize = 20_000;

/// Whether some choice keeps the rule; `None` for questions that are too large, and where the order of choices matters:
/// requests for all devices, which errors can end, and admin access, which an earlier claim's devices do not stop.
pub(crate) fn fits(small: &Small) -> Option<bool> {
    let devices: Vec<(usize, usize)> = small.devices().collect();
    // For each request the choices of each of its ways to be served.
    let mut ways: Vec<Vec<Vec<Choice>>> = Vec::new();
    for (claim, own) in small.claims.iter().enumerate() {
        for (request, form) in own.spec.requests.iter().enumerate() {
            let mut of_request = Vec::new();
            for alternative in 0..form.first_available.len().max(1) {
                let choice = Choice { claim, request, alternative, device: (0, 0) };
                let wanted = requested(small, &choice);
                let AllocationMode::ExactCount(count) = wanted.mode else { return None };
                if wanted.admin_access == Some(true) {
                    return None;
                }
                let sets = subsets(&devices, usize::try_from(count).ok()?);
                of_request.extend(sets.into_iter().map(|set| {
                    set.into_iter().map(|device| Choice { device, ..choice }).collect::<Vec<_>>()
                }));
            }
            ways.push(of_request);
        }
    }
    let count = ways.iter().try_fold(1_usize, |count, ways| count.checked_mul(ways.len()));
    count.filter(|count| *count <= MOST)?;
    Some(any(small, &ways, &mut Vec::new()))
}

fn any(small: &Small, ways: &[Vec<Vec<Choice>>], chosen: &mut Vec<Choice>) -> bool {
    let Some((first, rest)) = ways.split_first() else { return holds(small, chosen).is_ok() };
    first.iter().any(|way| {
        let before = chosen.len();
        chosen.extend(way);
        let found = any(small, rest, chosen);
        chosen.truncate(before);
        found
    })
}

/// All sets of so many of some devices.
fn subsets(devices: &[(usize, usize)], count: usize) -> Vec<Vec<(usize, usize)>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let Some((first, rest)) = devices.split_first() else { return Vec::new() };
    let with = subsets(rest, count - 1).into_iter().map(|mut set| {
        set.insert(0, *first);
        set
    });
    with.chain(subsets(rest, count)).collect()
}
