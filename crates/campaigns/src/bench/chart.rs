//! The curves of growth of what was measured.

use super::kubelet::Answer;
use super::result::Result;
use crate::charts::curves::{Curve, Legend, picture};

/// The picture; empty where no curve was measured.
pub(super) fn draw(results: &[Result]) -> String {
    picture(&curves(results), Legend::Both)
}

fn curves(results: &[Result]) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for result in results {
        let (Some(title), Some(axis), Some(at)) = (&result.ours.curve, &result.ours.axis, result.ours.at)
        else {
            continue;
        };
        if curves.last().is_none_or(|curve| curve.title != title) {
            curves.push(Curve { title, axis, ours: Vec::new(), kubelet: Vec::new(), given_up: None });
        }
        let Some(curve) = curves.last_mut() else { continue };
        curve.ours.push((at, result.ours.nanoseconds));
        match result.kubelet {
            Some(Answer::Took { nanoseconds, .. }) => curve.kubelet.push((at, nanoseconds)),
            Some(Answer::Over { nanoseconds }) if curve.given_up.is_none() => {
                curve.given_up = Some((at, nanoseconds));
            }
            _ => {}
        }
    }
    curves
}
