//! Predictions and what the kubelet did, in numbers.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// What was predicted before the kubelet was asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// It starts, admits the pod with this, restarts and keeps every pod.
    Promise(What),
    /// It refuses to start, or refuses the pod, or some pod when it restarts, with this reason.
    Refusal(What),
    /// It crashes, never answers, answers late, or gives CPUs twice.
    Fate(&'static str),
    /// Our own search was cut, so that another answer is possible.
    NotDecided,
}

/// What is asked of a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// That it starts.
    Start,
    /// That it admits a pod.
    Pod,
    /// That it restarts.
    Restart,
    /// That it does what has no verdict: ends a pod, restarts a container, hears of devices.
    Other,
}

/// A case in which the kubelet did something else than was predicted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    /// How it differs.
    pub how: String,
    /// The machine.
    pub machine: String,
    /// Number of the configuration on the machine, from 0.
    pub configuration: u64,
    /// Number of the filling with the configuration, from 0.
    pub filling: u64,
    /// Number of the step, from 0; 0 is the start.
    pub step: usize,
    /// The prediction.
    pub said: Value,
    /// What the kubelet did.
    pub did: Value,
    /// The whole case, as `admission run` takes it.
    pub case: Value,
}

/// All predictions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often each prediction was made.
    pub said: BTreeMap<Said, u64>,
    /// Machines, configurations and fillings that were played.
    pub machines: u64,
    /// Configurations.
    pub configurations: u64,
    /// Fillings.
    pub fillings: u64,
    /// What went otherwise.
    pub exceptions: Vec<Exception>,
    /// Of the late answers that came, the time that each took as a part of what was foretold.
    pub late: Vec<f64>,
}

/// The figures of a tally.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Promises.
    pub promises: u64,
    /// Refusals.
    pub refusals: u64,
    /// Fates.
    pub fates: u64,
    /// Not decided.
    pub not_decided: u64,
}

impl Tally {
    /// One more of these.
    pub(super) fn count(&mut self, said: Said) {
        *self.said.entry(said).or_default() += 1;
    }

    /// What was played elsewhere too, on the same machines.
    pub(super) fn add(&mut self, other: Self) {
        for (said, count) in other.said {
            *self.said.entry(said).or_default() += count;
        }
        self.configurations += other.configurations;
        self.fillings += other.fillings;
        self.exceptions.extend(other.exceptions);
        self.late.extend(other.late);
    }

    /// The sums.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        for (said, count) in &self.said {
            *match said {
                Said::Promise(_) => &mut figures.promises,
                Said::Refusal(_) => &mut figures.refusals,
                Said::Fate(_) => &mut figures.fates,
                Said::NotDecided => &mut figures.not_decided,
            } += count;
        }
        figures
    }

    /// Whether all predictions came true, and few enough steps were left undecided.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let Figures { promises, refusals, fates, not_decided } = self.figures();
        let all = promises + refusals + fates + not_decided;
        self.exceptions.is_empty() && not_decided * MOST_NOT_DECIDED <= all
    }
}

/// One in so many may be not decided.
const MOST_NOT_DECIDED: u64 = 50;

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machines, configurations, fillings, exceptions, .. } = self;
        writeln!(f, "{machines} machines, {configurations} configurations, {fillings} fillings")?;
        writeln!(f)?;
        writeln!(f, "| said | of | times |\n|---|---|---|")?;
        for (said, count) in &self.said {
            let (said, of) = match said {
                Said::Promise(what) => ("✔", what.words()),
                Said::Refusal(what) => ("✘", what.words()),
                Said::Fate(fate) => ("fate", *fate),
                Said::NotDecided => ("not decided", ""),
            };
            writeln!(f, "| {said} | {of} | {count} |")?;
        }
        writeln!(f)?;
        let (least, most) =
            self.late.iter().fold((f64::MAX, 0.0), |(least, most), part| (part.min(least), part.max(most)));
        if !self.late.is_empty() {
            writeln!(
                f,
                "{} of the late answers came in the time given, after {least:.1} to {most:.1} times the seconds foretold.",
                self.late.len()
            )?;
            writeln!(f)?;
        }
        let Figures { promises, refusals, fates, not_decided } = self.figures();
        write!(
            f,
            "{promises} ✔, {refusals} ✘, {fates} fates, {not_decided} not decided; {} exceptions",
            exceptions.len()
        )
    }
}

impl What {
    const fn words(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Pod => "pod",
            Self::Restart => "restart",
            Self::Other => "end of a pod, restart of a container, change of devices",
        }
    }
}
