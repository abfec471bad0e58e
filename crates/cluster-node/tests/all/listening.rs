//! Listening to objects, step by step in one thread.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use cluster_node::{ClusterError, Listener, Listening, ObjectEvent, Watched};
use parking_lot::Mutex;

use crate::world::{Answer, World, refused};

type Lines = Arc<Mutex<Vec<String>>>;

struct Noting(Lines);

impl Listener for Noting {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        self.0.lock().push(match event {
            ObjectEvent::Listing => "listing".to_owned(),
            ObjectEvent::Is(object) => format!("{} is", object.name()),
            ObjectEvent::Gone { id, last } => format!("{id} has gone, {}", last.is_some()),
            ObjectEvent::Complete { known } => format!("{known} are there"),
        });
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        self.0.lock().push(error.to_string());
    }
}

fn object(name: &str, version: u64) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"K","metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn list(names: &[&str], more: &str) -> Answer {
    let items: Vec<String> = names.iter().map(|name| object(name, 1)).collect();
    let metadata = format!(r#"{{"resourceVersion":"7","continue":"{more}"}}"#);
    let items = items.join(",");
    Answer(200, format!(r#"{{"apiVersion":"v1","kind":"List","metadata":{metadata},"items":[{items}]}}"#))
}

fn event(kind: &str, object: &str) -> Answer {
    Answer(200, format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
}

/// What is heard while the API server has answers left; and what it is asked when, in milliseconds.
fn played(watched: Watched, answers: Vec<Answer>) -> (Vec<String>, Vec<String>) {
    let (heard, asked) = (Lines::default(), Lines::default());
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    let passed = Arc::new(Mutex::new(Duration::ZERO));
    let world = World::new({
        let (asked, answers, passed) = (asked.clone(), answers.clone(), passed.clone());
        move |request| {
            let parameter = |name: &str| {
                let value =
                    request.split(['&', '?']).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
                value.map(|value| format!(" {name}={value}")).unwrap_or_default()
            };
            let what = if request.contains("watch=true") { "watch" } else { "list" };
            let shown = ["limit", "continue", "resourceVersion"].map(parameter).concat();
            asked.lock().push(format!("{} {what}{shown}", passed.lock().as_millis()));
            answers.lock().pop_front().unwrap()
        }
    });
    let again = Duration::from_secs(5);
    let mut listening = Listening::new(world.connector(), watched, again, Noting(heard.clone()));
    while !answers.lock().is_empty() {
        *passed.lock() = world.clock.passed();
        assert!(listening.step(Duration::from_mins(1)).is_continue());
    }
    let lines = |lines: &Lines| lines.lock().clone();
    (lines(&heard), lines(&asked))
}

#[test]
fn after_a_break_objects_that_have_gone_are_heard_of() {
    let gone = r#"{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}"#;
    let (heard, asked) = played(
        Watched::NodeStates,
        vec![
            list(&["a", "b"], ""),
            event("ADDED", &object("c", 8)),
            event("ERROR", gone),
            list(&["b", "c"], ""),
            event("DELETED", &object("b", 21)),
            refused(500),
            refused(500),
            list(&["c"], "more"),
            list(&["d"], ""),
            Answer(200, String::new()),
        ],
    );
    let failed = "the API server answers 500: no";
    assert_eq!(
        heard,
        [
            "listing",
            "a is",
            "b is",
            "2 are there",
            "c is",
            "listing",
            "b is",
            "c is",
            "a has gone, false",
            "2 are there",
            "b has gone, true",
            failed,
            failed,
            "listing",
            "c is",
            "d is",
            "2 are there"
        ]
    );
    assert_eq!(
        asked,
        [
            "0 list limit=200",
            "0 watch resourceVersion=7",
            "100 watch resourceVersion=8",
            "600 list limit=200",
            "600 watch resourceVersion=7",
            "700 watch resourceVersion=21",
            "1200 list limit=200",
            "2200 list limit=200",
            "2200 list limit=200 continue=more",
            "2200 watch resourceVersion=7"
        ]
    );
}

#[test]
fn changes_alone_are_heard_without_a_list() {
    let (heard, asked) = played(
        Watched::PodEnds,
        vec![
            list(&["a"], "more"),
            event("MODIFIED", &object("a", 8)),
            event("DELETED", &object("b", 9)),
            Answer(200, String::new()),
        ],
    );
    assert_eq!(heard, ["listing", "0 are there", "a is", "b has gone, true"]);
    let expected = [
        "0 list limit=1",
        "0 watch resourceVersion=7",
        "100 watch resourceVersion=8",
        "200 watch resourceVersion=9",
    ];
    assert_eq!(asked, expected);
}
