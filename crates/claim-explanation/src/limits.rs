//! How much an explanation may cost.

use claim_allocator::WorkLimit;

/// How much an explanation may cost: so many questions to the allocator, of so many steps each.
///
/// Questions of published drivers' shapes take some hundred steps, so that an explanation takes milliseconds. The default is at most
/// 400 questions of 20,000 steps, some seconds where every question runs out of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The steps of each question.
    pub steps: WorkLimit,
    /// The number of questions; half of them for the contradiction.
    pub questions: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: WorkLimit(20_000), questions: 400 }
    }
}
