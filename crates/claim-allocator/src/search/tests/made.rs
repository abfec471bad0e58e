//! Made-up problems: up to seven devices and three claims, with everything that the search knows.

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use crate::search::{
    Access, Alternative, Answer, Claim, Constraint, Device, Draw, Facts, Form, Groups, Held, Order, Pool,
    Problem, Request, Sharing, Value, Want,
};

type Error = &'static str;

/// A problem with its facts as tables.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) problem: Problem,
    answers: Vec<Vec<Answer<Error>>>,
    values: Vec<Vec<Vec<Value<Error>>>>,
    shares: Vec<Vec<Vec<i128>>>,
}

impl Facts for Made {
    type Error = Error;

    fn answer(&self, alternative: usize, device: usize) -> Answer<Error> {
        self.answers[alternative][device].clone()
    }

    fn value(&self, constraint: usize, alternative: usize, device: usize) -> Value<Error> {
        self.values[alternative][constraint][device].clone()
    }

    fn unsatisfied(&self, _: usize, _: usize) -> Error {
        "unsatisfied"
    }

    fn share(&self, alternative: usize, device: usize) -> Vec<i128> {
        self.shares[alternative][device].clone()
    }
}

impl Made {
    /// Whether it has counters that are drawn on, consumable capacity and alternatives.
    pub(crate) fn has_everything(&self) -> bool {
        let has_room =
            |device: &Device| matches!(&device.sharing, Sharing::Shared { room, .. } if !room.is_empty());
        self.problem.devices.iter().any(has_room)
            && self.problem.devices.iter().any(|device| !device.draws.is_empty())
            && self.problem.requests.iter().any(|request| request.form == Form::FirstAvailable)
    }

    /// Requests of one claim for so many devices, each with the devices that may serve it.
    pub(crate) fn plain(requests: &[(i64, &[usize])], devices: usize) -> Self {
        let device = |_| Device {
            pool: 0,
            held: Held::Free,
            sharing: Sharing::Alone,
            draws: Vec::new(),
            groups: Vec::new(),
        };
        let mut problem = Problem { pools: vec![Pool::default()], ..Problem::default() };
        problem.devices = (0..devices).map(device).collect();
        for (request, (count, _)) in requests.iter().enumerate() {
            let (want, access) = (Want::Count(*count), Access::Ordinary);
            problem.alternatives.push(Alternative {
                claim: 0,
                request,
                want,
                access,
                constraints: Vec::new(),
            });
            problem.requests.push(Request { alternatives: request..request + 1, form: Form::Exactly });
        }
        problem.claims.push(Claim { requests: 0..requests.len(), constraints: Vec::new() });
        let answer = |may: bool| if may { Answer::Yes } else { Answer::No };
        let answers =
            requests.iter().map(|(_, may)| (0..devices).map(|at| answer(may.contains(&at))).collect());
        let shares = requests.iter().map(|_| vec![Vec::new(); devices]).collect();
        Self { problem, answers: answers.collect(), values: vec![Vec::new(); requests.len()], shares }
    }
}

/// Numbers drawn from one list, so that a failing problem shrinks as a whole.
struct Drawn<'a> {
    numbers: &'a [u8],
    next: usize,
}

impl Drawn<'_> {
    fn number(&mut self) -> u8 {
        self.next += 1;
        self.numbers.get(self.next - 1).copied().unwrap_or(0)
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.number() % limit
    }

    fn place(&mut self, limit: u8) -> usize {
        self.below(limit).into()
    }

    /// True in so many of 256 cases; false once the numbers have run out.
    fn chance(&mut self, of_256: u8) -> bool {
        self.number() > 255 - of_256
    }
}

pub(crate) fn made() -> impl Strategy<Value = Made> {
    proptest::collection::vec(any::<u8>(), 20..500)
        .prop_map(|numbers| build(&mut Drawn { numbers: &numbers, next: 0 }))
}

fn build(drawn: &mut Drawn<'_>) -> Made {
    let wealth = match drawn.below(8) {
        0 => Wealth::Plain,
        1 | 2 => Wealth::Counters,
        _ => Wealth::Everything,
    };
    let errors = drawn.chance(64);
    let mut devices: Vec<Device> = (0..=drawn.below(7)).map(|_| device(drawn, wealth)).collect();
    if wealth == Wealth::Everything {
        add_share_and_draw(&mut devices, drawn);
    }
    let mut problem = Problem {
        pools: (0..2).map(|_| pool(drawn)).collect(),
        group_states: vec![
            Groups::Nobody,
            if drawn.chance(40) { Groups::Common(vec![0, 1]) } else { Groups::Nobody },
        ],
        devices,
        ..Problem::default()
    };
    // The implementation with permutations shares no devices.
    if !problem.devices.iter().any(Device::is_shared) && drawn.chance(90) {
        problem.order = Order::Permutations;
    }
    for claim in 0..=drawn.place(2) {
        add_claim(&mut problem, drawn, claim, wealth);
    }
    let mut made = Made { problem, answers: Vec::new(), values: Vec::new(), shares: Vec::new() };
    let kinds = 1 + drawn.below(3);
    let kind_of: Vec<usize> = made.problem.devices.iter().map(|_| drawn.place(kinds)).collect();
    for alternative in 0..made.problem.alternatives.len() {
        add_facts(&mut made, drawn, alternative, &kind_of, errors);
    }
    made
}

/// What a problem has besides plain devices. Five in eight have everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wealth {
    Plain,
    /// Counters and compatibility groups.
    Counters,
    /// A shared device with capacity, one that draws on counters and a request with alternatives at least.
    Everything,
}

fn add_share_and_draw(devices: &mut [Device], drawn: &mut Drawn<'_>) {
    if !devices.iter().any(has_room) {
        let place = drawn.place(7) % devices.len();
        let room = vec![drawn.below(5).into()];
        devices[place].sharing = Sharing::Shared { in_use: drawn.chance(60), room };
    }
    if devices.iter().all(|device| device.draws.is_empty()) {
        let place = drawn.place(7) % devices.len();
        devices[place].draws = vec![Draw { counter: drawn.place(2), amount: 1 + i128::from(drawn.below(3)) }];
    }
}

fn has_room(device: &Device) -> bool {
    matches!(&device.sharing, Sharing::Shared { room, .. } if !room.is_empty())
}

fn shared(drawn: &mut Drawn<'_>) -> Sharing {
    let room = (0..drawn.below(3)).map(|_| drawn.below(5).into()).collect();
    Sharing::Shared { in_use: drawn.chance(60), room }
}

fn device(drawn: &mut Drawn<'_>, wealth: Wealth) -> Device {
    let rich = wealth != Wealth::Plain;
    let pool = drawn.place(2);
    let sharing =
        if wealth == Wealth::Everything && drawn.chance(90) { shared(drawn) } else { Sharing::Alone };
    let amount = |drawn: &mut Drawn<'_>| if drawn.chance(12) { -1 } else { i128::from(drawn.below(3)) };
    let draws = if rich && drawn.chance(120) {
        (0..=drawn.place(2)).map(|counter| Draw { counter, amount: amount(drawn) }).collect()
    } else {
        Vec::new()
    };
    let groups = if rich && drawn.chance(60) {
        vec![(pool, (0..drawn.below(3)).map(|_| drawn.below(3).into()).collect())]
    } else {
        Vec::new()
    };
    Device { pool, held: if drawn.chance(40) { Held::Allocated } else { Held::Free }, sharing, draws, groups }
}

fn pool(drawn: &mut Drawn<'_>) -> Pool {
    Pool { available: (0..2).map(|_| i128::from(drawn.below(7)) - i128::from(drawn.chance(20))).collect() }
}

fn add_claim(problem: &mut Problem, drawn: &mut Drawn<'_>, claim: usize, wealth: Wealth) {
    let start = problem.requests.len();
    let constraints: Vec<Constraint> = (0..drawn.below(3))
        .map(|_| {
            // Nor does it know distinct values.
            let is_distinct = drawn.chance(80) && problem.order == Order::Combinations;
            if is_distinct { Constraint::Distinct } else { Constraint::Match }
        })
        .collect();
    for _ in 0..=drawn.below(3) {
        let first = problem.alternatives.len();
        let is_list = drawn.chance(90) || (wealth == Wealth::Everything && problem.requests.is_empty());
        let form = if is_list { Form::FirstAvailable } else { Form::Exactly };
        let count = if form == Form::FirstAvailable { 1 + drawn.place(3) } else { 1 };
        let request = problem.requests.len();
        for _ in 0..count {
            let alternative = alternative(problem, drawn, claim, request, constraints.len());
            problem.alternatives.push(alternative);
        }
        problem.requests.push(Request { alternatives: first..first + count, form });
    }
    problem.claims.push(Claim { requests: start..problem.requests.len(), constraints });
}

fn alternative(
    problem: &Problem,
    drawn: &mut Drawn<'_>,
    claim: usize,
    request: usize,
    constraints: usize,
) -> Alternative {
    let want = if drawn.chance(40) {
        Want::All((0..problem.devices.len()).filter(|_| drawn.chance(128)).collect())
    } else if drawn.chance(10) {
        Want::Count(20)
    } else {
        Want::Count(1 + i64::from(drawn.below(3)))
    };
    let access = if drawn.chance(30) { Access::Admin } else { Access::Ordinary };
    let constraints = (0..constraints).filter(|_| drawn.chance(180)).collect();
    Alternative { claim, request, want, access, constraints }
}

/// Facts by the kind of a device, so that some devices are interchangeable.
fn add_facts(made: &mut Made, drawn: &mut Drawn<'_>, alternative: usize, kind_of: &[usize], errors: bool) {
    let claim = made.problem.alternatives[alternative].claim;
    let is_all = matches!(made.problem.alternatives[alternative].want, Want::All(_));
    let by_kind: Vec<Answer<Error>> = (0..3).map(|_| answer(drawn, errors, is_all)).collect();
    made.answers.push(kind_of.iter().map(|&kind| by_kind[kind].clone()).collect());
    let mut values = Vec::new();
    for _ in &made.problem.claims[claim].constraints {
        let by_kind: Vec<Value<Error>> = (0..3).map(|_| value(drawn, errors)).collect();
        let own = drawn.chance(100);
        values.push(
            kind_of
                .iter()
                .map(|&kind| if own { value(drawn, errors) } else { by_kind[kind].clone() })
                .collect(),
        );
    }
    made.values.push(values);
    let share = |device: &Device, drawn: &mut Drawn<'_>| match &device.sharing {
        Sharing::Shared { room, .. } => room.iter().map(|_| drawn.below(3).into()).collect(),
        Sharing::Alone => Vec::new(),
    };
    made.shares.push(made.problem.devices.iter().map(|device| share(device, drawn)).collect());
}

fn answer(drawn: &mut Drawn<'_>, errors: bool, is_all: bool) -> Answer<Error> {
    match drawn.below(16) {
        0 | 1 => Answer::No,
        2 if is_all => Answer::NoRoom,
        3 if errors && !is_all => Answer::Error("selector"),
        _ => Answer::Yes,
    }
}

fn value(drawn: &mut Drawn<'_>, errors: bool) -> Value<Error> {
    match drawn.below(16) {
        0 => Value::Absent,
        1 => Value::Incomparable,
        2 if errors => Value::Error("attribute"),
        3 | 4 => Value::Known([0, 1].into()),
        other => Value::Known([u32::from(other) % 3].into()),
    }
}
