//! The allocator, asked again and again within limits.

use claim_allocator::{Allocator, Decision, Expressions, Question, Timeout};

use crate::limits::Limits;
use crate::objects::Objects;

/// An answer of the allocator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// All claims get devices.
    Fits,
    /// They do not: no solution, or an error.
    Refused,
    /// The steps or the questions ran out.
    Unknown,
}

/// Whether the time of kube-scheduler's search matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// Claims whose search certainly exceeds kube-scheduler's limit do not fit.
    Limited,
    /// A search may take any time.
    Ignored,
}

/// Asks the allocator about changed objects.
pub(crate) struct Asker<'q> {
    question: &'q Question<'q>,
    expressions: Expressions,
    limits: Limits,
    /// Questions so far.
    pub(crate) questions: u32,
    /// Whether a question was not decided within its steps, or not asked any more.
    pub(crate) is_cut: bool,
}

impl<'q> Asker<'q> {
    pub(crate) fn new(question: &'q Question<'q>, limits: Limits) -> Self {
        Self { question, expressions: Expressions::new(), limits, questions: 0, is_cut: false }
    }

    /// The question with these objects.
    pub(crate) fn question<'o>(&self, objects: &'o Objects<'_>) -> Question<'o>
    where
        'q: 'o,
    {
        Question {
            classes: &objects.classes,
            slices: &objects.slices,
            allocated: &objects.allocated,
            claims: &objects.claims,
            ..self.question.clone()
        }
    }

    /// Whether so many more questions may be asked.
    pub(crate) const fn may_ask(&self, questions: u32) -> bool {
        self.questions.saturating_add(questions) <= self.limits.questions
    }

    /// How many questions there are in all.
    pub(crate) const fn most(&self) -> u32 {
        self.limits.questions
    }

    pub(crate) const fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) const fn expressions(&mut self) -> &mut Expressions {
        &mut self.expressions
    }

    pub(crate) fn ask(&mut self, objects: &Objects<'_>, time: Time) -> Answer {
        if !self.may_ask(1) {
            self.is_cut = true;
            return Answer::Unknown;
        }
        self.questions += 1;
        let question = self.question(objects);
        let Ok(allocator) = Allocator::with_expressions(&question, &mut self.expressions) else {
            return Answer::Refused;
        };
        match allocator.decide(self.limits.steps) {
            Decision::Fits(_) if time == Time::Ignored => Answer::Fits,
            Decision::Fits(_) => match allocator.cost(self.limits.steps) {
                Some(cost) if cost.timeout() == Timeout::Will => Answer::Refused,
                Some(_) => Answer::Fits,
                None => {
                    self.is_cut = true;
                    Answer::Unknown
                }
            },
            Decision::DoesNotFit | Decision::Error(_) => Answer::Refused,
            Decision::Cut => {
                self.is_cut = true;
                Answer::Unknown
            }
        }
    }
}
