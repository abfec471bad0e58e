//! Which pods of a workflow of Argo run at once.

use crate::objects::{check, object, read, refused};

/// A workflow whose entrypoint is `main`; each of `steps` is a template with a container of that name.
fn workflow(more: &str, steps: &str) -> String {
    let steps = steps.split_whitespace();
    let step =
        |name| format!(", {{name: {name}, container: {{image: i, resources: {{limits: {{cpu: 2}}}}}}}}");
    let steps: String = steps.map(step).collect();
    object("argoproj.io/v1alpha1", "Workflow", &format!("spec: {{entrypoint: main, {more}{steps}]}}"))
}

/// The names of the pods that run alone.
fn apart(text: &str) -> Vec<String> {
    let read = read(text);
    let apart = read.pods.iter().filter(|pod| read.apart.contains(&pod.uid));
    apart.map(|pod| pod.name.clone()).collect()
}

fn steps(steps: &str) -> String {
    format!("templates: [{{name: main, steps: [{steps}]}}")
}

fn dag(tasks: &str) -> String {
    format!("templates: [{{name: main, dag: {{tasks: [{tasks}]}}}}")
}

const IN_TURN: &str = "its templates run as steps or alternatives, not at once: b, c";

#[test]
fn steps_of_different_lists_do_not_run_beside_each_other() {
    let text = workflow(&steps("[{name: s, template: b}], [{name: t, template: c}]"), "b c");
    check(&text, &["x-b-0", "x-c-0"], IN_TURN);
    assert_eq!(apart(&text), ["x-b-0", "x-c-0"]);
    let names: Vec<_> = read(&text).pods[0].containers.iter().map(|own| own.name.to_string()).collect();
    assert_eq!(names, ["init", "main", "wait"]);
    let one = workflow(&steps("[{name: s, template: b}], [{name: t, template: b}]"), "b");
    check(&one, &["x-b-0"], "");
    assert!(apart(&one).is_empty());
}

#[test]
fn steps_of_one_list_run_at_once() {
    let text = workflow(&steps("[{name: s, template: b}, {name: t, template: c}]"), "b c");
    check(&text, &["x-b-0", "x-c-0"], "");
    assert!(apart(&text).is_empty());
    let items = workflow(
        &steps(
            "[{name: s, template: a}], [{name: t, template: b, withItems: [1, 2, 3]}, {name: u, template: c}]",
        ),
        "a b c",
    );
    let remark = "at most these of its pods run at once: b 3 times, c; others run before or after them and count alone: a";
    check(&items, &["x-a-0", "x-b-0", "x-b-1", "x-b-2", "x-c-0"], remark);
    assert_eq!(apart(&items), ["x-a-0"]);
    for (sequence, count) in [("{count: 2}", 2), ("{start: '1', end: '4'}", 4), ("{end: 0}", 1)] {
        let step = format!("[{{name: s, template: b, withSequence: {sequence}}}]");
        assert_eq!(read(&workflow(&steps(&step), "b")).pods.len(), count, "{sequence}");
    }
}

#[test]
fn tasks_without_an_order_between_them_run_at_once() {
    for (tasks, alone) in [
        ("{name: s, template: b}, {name: t, template: c}", &[][..]),
        ("{name: s, template: b}, {name: t, template: c, dependencies: [s]}", &["x-b-0", "x-c-0"]),
        ("{name: s, template: b}, {name: t, template: c, depends: s.Succeeded}", &["x-b-0", "x-c-0"]),
        (
            "{name: s, template: b}, {name: m, template: b, depends: s}, {name: t, template: c, depends: m}",
            &["x-b-0", "x-c-0"],
        ),
    ] {
        let text = workflow(&dag(tasks), "b c");
        check(&text, &["x-b-0", "x-c-0"], if alone.is_empty() { "" } else { IN_TURN });
        assert_eq!(apart(&text), alone, "{tasks}");
    }
    // A diamond: its middle is the widest.
    let diamond = "{name: s, template: a}, {name: l, template: b, depends: s}, {name: r, template: c, depends: s}, \
                   {name: t, template: d, depends: l && r}";
    let text = workflow(&dag(diamond), "a b c d");
    check(&text, &["x-a-0", "x-d-0", "x-b-0", "x-c-0"], "at most these of its pods run at once: b, c");
    assert_eq!(apart(&text), ["x-a-0", "x-d-0"]);
}

#[test]
fn templates_of_steps_are_followed_and_others_make_no_pods() {
    let inner = "templates: [{name: main, steps: [[{name: s, template: two}, {name: t, template: c}]]}, \
                 {name: two, dag: {tasks: [{name: l, template: b, withItems: [x, y]}]}}";
    check(&workflow(inner, "b c"), &["x-b-0", "x-b-1", "x-c-0"], "");
    let unused = workflow(&steps("[{name: s, template: b}]"), "b c");
    check(&unused, &["x-b-0"], "its entrypoint does not lead to these templates, which make no pods: c");
    let exit = workflow(&format!("onExit: c, {}", steps("[{name: s, template: b}]")), "b c");
    check(&exit, &["x-b-0", "x-c-0"], IN_TURN);
}

#[test]
fn a_limit_of_pods_at_once() {
    let of = |most: u32| {
        let both = steps("[{name: s, template: b}, {name: t, template: c}]");
        workflow(&format!("parallelism: {most}, {both}"), "b c")
    };
    check(&of(2), &["x-b-0", "x-c-0"], "");
    check(&of(1), &["x-b-0", "x-c-0"], IN_TURN);
    let three = steps("[{name: s, template: b, withItems: [1, 2]}, {name: t, template: c}]");
    let three = workflow(&format!("parallelism: 2, {three}"), "b c d");
    check(
        &three,
        &["x-b-0", "x-c-0"],
        "which of its templates run at once is not known, since its parallelism",
    );
    check(&three, &["x-b-0", "x-c-0"], "does not lead to these templates, which make no pods: d");
}

#[test]
fn what_cannot_be_followed_is_not_known() {
    let rows = [
        (steps("[{name: s, template: b, withParam: '{{x}}'}]"), "each item of a parameter"),
        (steps("[{name: s, template: b, when: 'a == b'}]"), "a condition"),
        (steps("[{name: s, template: '{{x}}'}]"), "the name of a template is known while it runs"),
        (steps("[{name: s, template: main}]"), "leads to itself"),
        (steps("[{name: s, templateRef: {name: a, template: b}}]"), "a template of another object"),
        (steps("[{name: s, template: elsewhere}]"), "a template is not in the object"),
        (dag("{name: s, template: b}, {name: t, template: c, depends: s.Failed}"), "how another one ends"),
        (dag("{name: s, template: b, depends: t}, {name: t, template: c, depends: s}"), "in a circle"),
    ];
    for (graph, why) in rows {
        let two = workflow(&graph, "b c");
        check(&two, &["x-b-0", "x-c-0"], "which of its templates run at once is not known");
        check(&two, &["x-b-0", "x-c-0"], why);
        assert_eq!(apart(&two), ["x-b-0", "x-c-0"]);
    }
    let one = workflow(&steps("[{name: s, template: b, withParam: '[]'}]"), "b");
    check(&one, &["x-b-0"], "how many of its pods run at once is not known");
    let library = workflow(&steps("[{name: s, template: b}]"), "b c").replace("entrypoint: main, ", "");
    check(
        &library,
        &["x-b-0", "x-c-0"],
        "which of its templates run at once is not known, since it has no entrypoint",
    );
    assert!(refused(&workflow(&steps(""), "")).contains("no template of a pod"));
}

#[test]
fn large_graphs_end() {
    let chains: Vec<String> = (0..60)
        .map(|at| {
            let after = if at < 20 { String::new() } else { format!(", depends: t{}", at - 20) };
            format!("{{name: t{at}, template: s{at}{after}}}")
        })
        .collect();
    let names: Vec<String> = (0..60).map(|at| format!("s{at}")).collect();
    check_many(&workflow(&dag(&chains.join(", ")), &names.join(" ")), 60, "too many of its pods");
    let wide: Vec<String> = (0..60).map(|at| format!("{{name: t{at}, template: s{at}}}")).collect();
    check_many(&workflow(&dag(&wide.join(", ")), &names.join(" ")), 60, "");
    let doubled: String = (0..40)
        .map(|at| {
            format!(
                "{{name: n{at}, steps: [[{{name: a, template: n{0}}}], [{{name: b, template: n{0}}}]]}}, ",
                at + 1
            )
        })
        .collect();
    let deep = format!(
        "templates: [{doubled}{{name: main, steps: [[{{name: s, template: n0}}]]}}, {{name: n40, steps: \
                        [[{{name: s, template: b}}]]}}"
    );
    check_many(&workflow(&deep, "b"), 1, "");
}

fn check_many(text: &str, count: usize, remark: &str) {
    let read = read(text);
    assert_eq!(read.pods.len(), count, "{:?}", read.refused);
    let remarks: Vec<_> = read.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(remarks.is_empty(), remark.is_empty(), "{remarks:?}");
    assert!(remarks.join("\n").contains(remark), "{remarks:?}");
}
