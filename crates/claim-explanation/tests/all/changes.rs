//! Claims on cards that are divided into partitions: what has to be given back, and what one more card gives.

use std::fmt::Write as _;

use claim_allocator::{Decision, Question, WorkLimit, decide};
use claim_explanation::{Asked, Change, Explanation, Limits, explain};
use dra_model::{Features, Node, ResourceClaim};
use topology_manifest::{ResourceObjects, Source, read_resource_objects};

/// Two cards of four parts, one on each NUMA node. Partitions of one part and of three draw on the counters of their card.
fn cards() -> String {
    let head = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n";
    let spec =
        "driver: mig.example.com, nodeName: node, pool: {name: node, generation: 1, resourceSliceCount: 2}";
    let counters = |parts: std::ops::Range<u8>| {
        let counters: Vec<String> = parts.map(|at| format!("part{at}: {{value: '1'}}")).collect();
        counters.join(", ")
    };
    let mut sets = String::new();
    let mut devices = String::new();
    for card in 0..2_u8 {
        write!(sets, "{{name: card-{card}, counters: {{{}}}}}, ", counters(0..4)).unwrap();
        let ones = (0..4_u8).map(|at| (format!("one-{at}"), at..at + 1));
        for (name, parts) in ones.chain([("three".to_owned(), 0..3)]) {
            let profile = if parts.len() == 1 { "one" } else { "three" };
            let attributes = format!(
                "card: {{string: c{card}}}, profile: {{string: {profile}}}, resource.kubernetes.io/numaNode: {{int: {card}}}"
            );
            let draws = format!("{{counterSet: card-{card}, counters: {{{}}}}}", counters(parts));
            let device =
                format!("name: {name}-{card}, attributes: {{{attributes}}}, consumesCounters: [{draws}]");
            write!(devices, "{{{device}}}, ").unwrap();
        }
    }
    format!(
        "{head}metadata: {{name: sets}}\nspec: {{{spec}, sharedCounters: [{sets}]}}\n---\n\
         {head}metadata: {{name: devices}}\nspec: {{{spec}, devices: [{devices}]}}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: any}}\nspec: {{}}\n"
    )
}

/// A claim that holds devices of the cards.
fn holder(name: &str, devices: &[&str]) -> String {
    let result =
        |device: &&str| format!("{{driver: mig.example.com, pool: node, device: {device}, request: r}}");
    let results: Vec<String> = devices.iter().map(result).collect();
    format!(
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {name}, namespace: default}}\n\
         spec: {{devices: {{requests: []}}}}\nstatus: {{allocation: {{devices: {{results: [{}]}}}}}}\n",
        results.join(", ")
    )
}

/// The cards with claims that hold devices, and a claim that asks for some.
struct Asking {
    read: ResourceObjects,
    asks: Vec<ResourceClaim>,
}

impl Asking {
    fn of(holders: &[String], devices: &str) -> Self {
        let claim = format!(
            "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: asks, namespace: default}}\n\
             spec: {{devices: {devices}}}\n"
        );
        let text = format!("{}{}{claim}", cards(), holders.concat());
        let mut read = read_resource_objects(&Source { name: "cards", text: &text }).unwrap();
        let asks = read.claims.pop().into_iter().collect();
        Self { read, asks }
    }

    /// The answer to the question where these claims hold devices.
    fn answer<T>(&self, allocated: &[ResourceClaim], answer: impl Fn(&Question<'_>) -> T) -> T {
        answer(&Question {
            node: &Node { name: "node".into(), ..Node::default() },
            declared_features: &[],
            features: Features::DEFAULT,
            implementation: None,
            classes: &self.read.classes,
            slices: &self.read.slices,
            allocated,
            claims: &self.asks,
        })
    }

    fn explanation(&self, allocated: &[ResourceClaim]) -> Explanation {
        self.answer(allocated, |question| explain(&Asked { question, names: &[] }, Limits::default()))
    }

    fn fits(&self, allocated: &[ResourceClaim]) -> bool {
        self.answer(allocated, |question| matches!(decide(question, WorkLimit::default()), Decision::Fits(_)))
    }
}

/// Why a claim with these devices gets none beside the holders.
fn refused(holders: &[String], devices: &str) -> Explanation {
    let asking = Asking::of(holders, devices);
    asking.explanation(&asking.read.claims)
}

/// The changes of a kind, in order.
fn of_kind(explanation: &Explanation, kind: &str) -> Vec<String> {
    let own = explanation.would_fit.iter().filter(|remedy| remedy.kind == kind);
    own.map(|remedy| remedy.text.clone()).collect()
}

/// A request for partitions of three parts.
fn threes(count: u8, more: &str) -> String {
    let selector = format!(r#"'device.attributes["mig.example.com"].profile == "three"{more}'"#);
    format!(
        "{{name: r, exactly: {{deviceClassName: any, count: {count}, selectors: [{{cel: {{expression: {selector}}}}}]}}}}"
    )
}

const ON_0: &str = r#" && device.attributes["resource.kubernetes.io"].numaNode == 0"#;

/// Each partition of one part, held by a claim.
fn holders(cards: &[u8], parts: std::ops::Range<u8>) -> Vec<String> {
    let names = cards.iter().flat_map(|card| parts.clone().map(move |part| format!("one-{part}-{card}")));
    names.map(|name| holder(&format!("of-{name}"), &[&name])).collect()
}

#[test]
fn claims_that_have_to_go_together_are_named_together() {
    // A partition of three needs the parts 0, 1 and 2 of its card.
    let one = refused(&holders(&[0], 2..4), &format!("{{requests: [{}]}}", threes(1, ON_0)));
    assert_eq!(of_kind(&one, "release"), ["claim default/of-one-2-0 gives back one-2-0"]);
    let two = refused(&holders(&[0], 1..4), &format!("{{requests: [{}]}}", threes(1, ON_0)));
    assert_eq!(
        of_kind(&two, "release"),
        ["claim default/of-one-1-0 gives back one-1-0, and default/of-one-2-0 gives back one-2-0"]
    );
    let three = refused(&holders(&[0], 0..4), &format!("{{requests: [{}]}}", threes(1, ON_0)));
    assert_eq!(
        of_kind(&three, "release"),
        ["claim default/of-one-0-0 gives back one-0-0, and default/of-one-1-0 gives back one-1-0, and \
          default/of-one-2-0 gives back one-2-0"]
    );
    // What no claim gives back is not proposed.
    let never = refused(&holders(&[0], 0..4), &format!("{{requests: [{}]}}", threes(2, ON_0)));
    assert_eq!(of_kind(&never, "release"), [""; 0]);
}

#[test]
fn one_more_card_is_one_more_counter_set_with_its_devices() {
    let more = |held: &[String], devices: &str| of_kind(&refused(held, devices), "more");
    let on_0 = format!("{{requests: [{}]}}", threes(2, ON_0));
    assert_eq!(
        more(&[], &on_0),
        ["one more counter set like card-0 of mig.example.com, with devices like its own"]
    );
    // Two more would be needed.
    assert_eq!(more(&[], &format!("{{requests: [{}]}}", threes(3, ON_0))), [""; 0]);
    // A partition more of a card that is full gives nothing.
    let all = holders(&[0, 1], 0..4);
    let any = "{requests: [{name: r, exactly: {deviceClassName: any, count: 1}}]}";
    assert_eq!(more(&all, any).len(), 1);
    let aligned = |attribute: &str| {
        format!("{{requests: [{}], constraints: [{{matchAttribute: {attribute}}}]}}", threes(2, ""))
    };
    assert_eq!(
        more(&[], &aligned("resource.kubernetes.io/numaNode")),
        ["one more counter set like card-0 of mig.example.com, with devices like its own \
          (resource.kubernetes.io/numaNode 0)"]
    );
    // Another card would not be the same card.
    assert_eq!(more(&[], &aligned("mig.example.com/card")), [""; 0]);
}

/// Whatever is held: what has to go is as few claims as there are, or of three and more such as can all not stay.
#[test]
fn the_claims_that_have_to_go_are_as_few_as_possible() {
    let asking = Asking::of(&holders(&[0, 1], 0..4), &format!("{{requests: [{}]}}", threes(1, "")));
    let those = |all: &[ResourceClaim], set: u8| -> Vec<ResourceClaim> {
        all.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, claim)| claim.clone()).collect()
    };
    let mut sizes = [0; 5];
    for held in 0..=u8::MAX {
        let held = those(&asking.read.claims, held);
        if asking.fits(&held) {
            continue;
        }
        let left = (0..=u8::MAX >> (8 - held.len())).filter(|left| asking.fits(&those(&held, *left)));
        let fewest = left.map(|left| held.len() - left.count_ones() as usize).min().unwrap();
        let remedies = asking.explanation(&held).would_fit;
        let released = remedies.iter().filter_map(|remedy| match &remedy.change {
            Change::Released(claims) => Some(claims.len()),
            _ => None,
        });
        let released: Vec<usize> = released.collect();
        assert!(
            !released.is_empty() && released.iter().all(|count| *count == fewest),
            "{released:?} {held:?}"
        );
        sizes[fewest] += 1;
    }
    assert!(sizes[1..4].iter().all(|count| *count > 0), "{sizes:?}");
}
