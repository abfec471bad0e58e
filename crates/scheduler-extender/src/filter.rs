//! Which nodes a pod fits, and how good they are for it.
//!
//! Each node is asked one question, and more where pods are in flight. An answer is kept with the situation that a node
//! is in, so that a question is decided once for nodes in the same state, and again only where something has changed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use admission_report::BriefReason;
use pod_spec::{ClaimPlaces, Pod};

use crate::basis::{Basis, Outcome};
use crate::judgement::{ClaimRule, Judgement, Reason, Verdict};
use crate::question::{Question, QuestionId};
use crate::score::{Alignment, Fit, Score, Spans};
use crate::shape::Shape;
use crate::situation::{Situation, SituationId};
use crate::threads::Threads;
use crate::view::View;

/// What one node is asked.
struct Row {
    situation: SituationId,
    /// Those that the node may be in as well.
    others: Vec<SituationId>,
    /// The first is the one without other pods beside it.
    questions: Arc<[QuestionId]>,
}

/// What makes questions about one pod differ: where the devices of its claims would be, and which pods are in flight.
type Beside = (Option<Arc<ClaimPlaces>>, Vec<usize>);

impl View {
    /// Whether `pod` fits each of these nodes, in their order.
    ///
    /// A pod that is being offered to nodes again does not stand in its own way.
    pub fn filter<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = N>,
        threads: &impl Threads,
    ) -> Vec<Judgement> {
        self.filter_placed(pod, nodes.into_iter().map(|node| (node, None)), ClaimRule::Prefer, threads)
    }

    /// The same where the pod's claims will have devices at these places on each node; `None`: that is not known, and changes nothing.
    pub fn filter_placed<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = (N, Option<Arc<ClaimPlaces>>)>,
        rule: ClaimRule,
        threads: &impl Threads,
    ) -> Vec<Judgement> {
        let rows = self.rows(pod, nodes);
        self.decide(rows.iter().flatten().filter_map(|row| row.each().next()).collect(), threads);
        self.decide_beside_others(&rows, threads);
        self.decide_on_empty_nodes(&rows, threads);
        let judged = |row: &Row| self.judgement(row, rule);
        rows.iter().map(|row| row.as_ref().map_or(Judgement::UNKNOWN, judged)).collect()
    }

    /// How good each of these nodes is for `pod`, in their order: [`Score`] has the formula. A node that the pod does not
    /// fit, or of which nothing is known, has 0. Pods in flight are not looked at.
    pub fn score<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = N>,
        threads: &impl Threads,
    ) -> Vec<Score> {
        self.score_placed(pod, nodes.into_iter().map(|node| (node, None)), threads)
    }

    /// The same where the pod's claims will have devices at these places on each node: elsewhere than CPUs and memory they count as
    /// devices of plugins do. `None`: that is not known, and changes nothing.
    pub fn score_placed<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = (N, Option<Arc<ClaimPlaces>>)>,
        threads: &impl Threads,
    ) -> Vec<Score> {
        let rows = self.rows(pod, nodes);
        self.decide(rows.iter().flatten().filter_map(|row| row.each().next()).collect(), threads);
        let fits: Vec<Option<(&Fit, Option<f64>)>> =
            rows.iter().map(|row| row.as_ref().and_then(|row| self.fit(row))).collect();
        let spans = Spans::of(fits.iter().flatten());
        let score = |fit: &Option<(&Fit, Option<f64>)>| match fit {
            Some((fit, cost)) => fit.score(cost.and_then(|cost| spans.spared(fit, cost))),
            None => Score::UNKNOWN,
        };
        fits.iter().map(score).collect()
    }

    /// How the pod lies on a node that it fits, and what the room is worth that it takes away.
    fn fit(&self, row: &Row) -> Option<(&Fit, Option<f64>)> {
        let Outcome::Fits(fit) = self.outcome(row.situation, *row.questions.first()?)? else { return None };
        let cost = fit.lost.as_deref().map(|lost| self.rooms.cost(&self.mix, lost));
        Some((fit, cost))
    }

    fn rows<N: AsRef<str>>(
        &mut self,
        pod: &Pod,
        nodes: impl IntoIterator<Item = (N, Option<Arc<ClaimPlaces>>)>,
    ) -> Vec<Option<Row>> {
        self.follow_mix();
        let forgotten = self.questions.trim();
        self.situations.forget(&forgotten);
        let shape = Shape::of(pod);
        let mut asked: BTreeMap<Beside, Arc<[QuestionId]>> = BTreeMap::new();
        nodes
            .into_iter()
            .map(|(node, places)| {
                let place = self.by_name.get(node.as_ref()).copied()?;
                let member = self.members.get(place.0)?;
                let (situation, others) = (member.situation?, member.other_situations.clone());
                let offers: Vec<usize> = self.in_flight.at(place, &pod.uid).collect();
                let questions = asked.entry((places, offers)).or_insert_with_key(|(places, offers)| {
                    let placed = places.as_ref().map(|places| shape.placed(places));
                    let shape = placed.as_ref().unwrap_or(&shape);
                    let all = self.in_flight.questions(offers, shape).into_iter();
                    all.map(|question| self.questions.id(question)).collect()
                });
                let questions = Arc::clone(questions);
                Some(Row { situation, others, questions })
            })
            .collect()
    }

    /// Decides what is not known yet, each once.
    fn decide(&mut self, mut asked: Vec<(SituationId, QuestionId)>, threads: &impl Threads) {
        asked.retain(|(situation, question)| self.outcome(*situation, *question).is_none());
        asked.sort_unstable();
        asked.dedup();
        if asked.is_empty() {
            return;
        }
        let ids: BTreeSet<QuestionId> = asked.iter().map(|(_, question)| *question).collect();
        let questions: BTreeMap<QuestionId, &Question> =
            ids.into_iter().filter_map(|id| Some((id, self.questions.get(id)?))).collect();
        let situations = &self.situations;
        let outcomes = threads.map(asked, |(situation, id)| {
            Some((situation, id, answer(situations.get(situation)?, questions.get(&id)?)))
        });
        for (situation, question, outcome) in outcomes.into_iter().flatten() {
            self.situations.keep(situation, question, outcome);
        }
    }

    /// Whether the pod fits beside those in flight, too, where it fits without them.
    fn decide_beside_others(&mut self, rows: &[Option<Row>], threads: &impl Threads) {
        let fits =
            |(situation, question)| matches!(self.outcome(situation, question), Some(Outcome::Fits(_)));
        let fitting = rows.iter().flatten().filter(|row| row.each().next().is_some_and(fits));
        self.decide(fitting.flat_map(|row| row.each().skip(1)).collect(), threads);
    }

    /// Whether a pod that was refused would fit if nothing ran.
    fn decide_on_empty_nodes(&mut self, rows: &[Option<Row>], threads: &impl Threads) {
        let mut refused: Vec<(SituationId, QuestionId)> = rows
            .iter()
            .flatten()
            .filter_map(|row| Some((row.situation, *row.questions.first()?)))
            .filter(|(situation, question)| {
                matches!(self.outcome(*situation, *question), Some(Outcome::Refused(_)))
            })
            .collect();
        refused.sort_unstable();
        refused.dedup();
        let empty =
            refused.into_iter().filter_map(|(situation, id)| Some((self.situations.empty(situation)?, id)));
        let empty = empty.collect();
        self.decide(empty, threads);
    }

    fn outcome(&self, situation: SituationId, question: QuestionId) -> Option<&Outcome> {
        self.situations.get(situation)?.outcome(question)
    }

    fn judgement(&self, row: &Row, rule: ClaimRule) -> Judgement {
        let Some(situation) = self.situations.get(row.situation) else { return Judgement::UNKNOWN };
        let mut outcomes = row.each().filter_map(|(situation, question)| self.outcome(situation, question));
        let verdict = match outcomes.next() {
            Some(Outcome::Fits(Fit { elsewhere: Some(elsewhere), .. })) if rule == ClaimRule::Require => {
                Verdict::DoesNotFit(Reason::ClaimElsewhere(elsewhere.clone()))
            }
            Some(Outcome::Refused(reason)) => {
                let reason = Reason::Node(reason.clone());
                if self.never_fits(row, &reason) {
                    Verdict::NeverFits(reason)
                } else {
                    Verdict::DoesNotFit(reason)
                }
            }
            None | Some(Outcome::Fits(_) | Outcome::RefusedBeside) => {
                if outcomes.any(|other| !matches!(other, Outcome::Fits(_))) {
                    Verdict::DoesNotFit(Reason::ComeAndGo)
                } else {
                    Verdict::Fits
                }
            }
        };
        Judgement { verdict, basis: situation.basis.knowledge() }
    }

    /// Whether what was refused for this reason is refused by the empty node, too.
    fn never_fits(&self, row: &Row, reason: &Reason) -> bool {
        // The empty node lacks the devices of such plugins too, and a plugin may come back.
        if matches!(reason, Reason::Node(BriefReason::PluginGone(_) | BriefReason::NoPlugin(_))) {
            return false;
        }
        let empty = self.situations.get(row.situation).and_then(Situation::known_empty);
        let outcome = empty.zip(row.questions.first()).and_then(|(empty, id)| self.outcome(empty, *id));
        matches!(outcome, Some(Outcome::Refused(_)))
    }
}

impl Row {
    /// The first is the one that counts if nothing is under way.
    fn each(&self) -> impl Iterator<Item = (SituationId, QuestionId)> {
        let situations = core::iter::once(&self.situation).chain(&self.others);
        situations.flat_map(|situation| self.questions.iter().map(|question| (*situation, *question)))
    }
}

/// The outcome for the pod after those beside it have come. A pod that is refused only then gets no
/// reason.
fn answer(situation: &Situation, question: &Question) -> Outcome {
    let basis = &*situation.basis;
    if question.beside.is_empty() {
        return basis.outcome(question.shape.pod(), situation.room.as_ref());
    }
    let fits = fits(basis, question);
    if fits { Outcome::Fits(Fit::by_zones(Alignment::NoZone)) } else { Outcome::RefusedBeside }
}

/// Whether the pod fits at every position in the order of those beside it, and keeps none of them out that
/// would fit without it: they have passed the filter, and bindings may overtake each other.
pub(crate) fn fits(basis: &Basis, question: &Question) -> bool {
    (0..=question.beside.len()).all(|before| fits_after(basis, question, before))
}

/// The same after so many of those beside it.
fn fits_after(basis: &Basis, question: &Question, before: usize) -> bool {
    let (earlier, later) = question.beside.split_at(before);
    let mut without = basis.clone();
    for (number, shape) in earlier.iter().enumerate() {
        // One that does not fit will not be there.
        if let Some(next) = without.with(&shape.numbered(number)) {
            without = next;
        }
    }
    if later.is_empty() {
        return without.fits(question.shape.pod());
    }
    let Some(mut with) = without.with(question.shape.pod()) else { return false };
    for (number, shape) in later.iter().enumerate() {
        let other = shape.numbered(before + number);
        let Some(next) = without.with(&other) else { continue };
        let Some(next_with) = with.with(&other) else { return false };
        (without, with) = (next, next_with);
    }
    true
}
