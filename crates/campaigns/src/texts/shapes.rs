//! Texts that people may have written, and what typing errors, editors and generators make of them.

use fastrand::Rng;

/// Who reads a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// kubectl, to apply what is in it.
    Manifest,
    /// The kubelet, as its configuration.
    Configuration,
}

impl Form {
    /// As the Go program has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Configuration => "configuration",
        }
    }
}

/// A text of a form, changed up to three times. The same draws give the same text.
pub(crate) fn shape(form: Form, rng: &mut Rng) -> String {
    let seeds = match form {
        Form::Manifest => MANIFESTS,
        Form::Configuration => CONFIGURATIONS,
    };
    let mut text = pick(rng, seeds).to_owned();
    if form == Form::Manifest && rng.u8(..8) == 0 {
        text = format!("{text}---\n{}", pick(rng, seeds));
    }
    for _ in 0..rng.usize(1..=3) {
        change(&mut text, form, rng);
    }
    text
}

fn pick(rng: &mut Rng, from: &[&'static str]) -> &'static str {
    from.get(rng.usize(..from.len().max(1))).copied().unwrap_or_default()
}

fn change(text: &mut String, form: Form, rng: &mut Rng) {
    match rng.u8(..16) {
        0 => insert(text, pick(rng, MARKS), rng),
        1 => remove(text, rng),
        2 | 3 => replace_value(text, rng),
        4 => replace_key(text, rng),
        5 => lines(text, rng, |lines, at, _| lines.insert(at, lines.get(at).cloned().unwrap_or_default())),
        6 => lines(text, rng, |lines, at, _| drop(lines.remove(at))),
        7 => lines(text, rng, |lines, at, rng| {
            let other = rng.usize(..lines.len());
            lines.swap(at, other);
        }),
        8 => lines(text, rng, |lines, at, rng| {
            let blanks = pick(rng, &[" ", "  ", "    ", "\t", " \t"]);
            if let Some(line) = lines.get_mut(at) {
                line.insert_str(0, blanks);
            }
        }),
        9 => lines(text, rng, |lines, at, rng| {
            if let Some(line) = lines.get_mut(at) {
                let blanks = line.len() - line.trim_start_matches(' ').len();
                line.drain(..rng.usize(..=blanks.min(4)));
            }
        }),
        10 | 11 => lines(text, rng, |lines, at, rng| {
            let line = pick(rng, if form == Form::Manifest { LINES } else { CONFIGURATION_LINES });
            let blanks = lines.get(at).map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
            let line = line.split('\n').map(|line| format!("{}{line}", " ".repeat(blanks)));
            let line = line.collect::<Vec<_>>().join("\n");
            lines.insert(at, line);
        }),
        12 => before_value(
            text,
            pick(rng, &["&a ", "*a ", "!!str ", "!!int ", "! ", "!x ", "!!float ", "&b "]),
            rng,
        ),
        13 => match rng.u8(..5) {
            0 => *text = text.replace('\n', "\r\n"),
            1 => *text = text.trim_end().to_owned(),
            2 => text.truncate(text.floor_char_boundary(rng.usize(..=text.len()))),
            3 => text.insert(0, '\u{feff}'),
            _ => *text = text.replacen(": ", ":", 1),
        },
        14 => quote_value(text, rng),
        _ => insert(text, pick(rng, &["\n", " ", "\n\n", "  ", "\t", "# c\n", " # c"]), rng),
    }
}

fn insert(text: &mut String, what: &str, rng: &mut Rng) {
    let at = text.floor_char_boundary(rng.usize(..=text.len()));
    text.insert_str(at, what);
}

fn remove(text: &mut String, rng: &mut Rng) {
    let start = text.floor_char_boundary(rng.usize(..=text.len()));
    let end = text.ceil_char_boundary((start + rng.usize(1..=3)).min(text.len()));
    text.drain(start..end);
}

fn lines(text: &mut String, rng: &mut Rng, change: impl FnOnce(&mut Vec<String>, usize, &mut Rng)) {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let at = rng.usize(..lines.len());
    change(&mut lines, at, rng);
    *text = lines.join("\n");
}

/// Changes one of the values behind `: ` or `- `.
fn at_value(text: &mut String, rng: &mut Rng, change: impl FnOnce(&str) -> String) {
    let starts: Vec<usize> = [": ", "- "]
        .iter()
        .flat_map(|mark| text.match_indices(mark))
        .map(|(at, mark)| at + mark.len())
        .collect();
    let Some(start) = rng.choice(starts) else { return };
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find('\n').unwrap_or(rest.len());
    let value = change(text.get(start..end).unwrap_or_default());
    text.replace_range(start..end, &value);
}

fn replace_value(text: &mut String, rng: &mut Rng) {
    let value = pick(rng, VALUES);
    at_value(text, rng, |_| value.to_owned());
}

fn before_value(text: &mut String, what: &str, rng: &mut Rng) {
    at_value(text, rng, |value| format!("{what}{value}"));
}

fn quote_value(text: &mut String, rng: &mut Rng) {
    let form = rng.u8(..6);
    at_value(text, rng, |value| match form {
        0 => format!("'{value}'"),
        1 => format!("\"{value}\""),
        2 => format!("[{value}]"),
        3 => format!("{{{value}}}"),
        4 => format!("|\n      {value}"),
        _ => format!(">-\n      {value}\n      more"),
    });
}

fn replace_key(text: &mut String, rng: &mut Rng) {
    let ends: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
    let Some(end) = rng.choice(ends) else { return };
    let before = text.get(..end).unwrap_or_default();
    let start = before.rfind([' ', '\n', '{', ',']).map_or(0, |at| at + 1);
    text.replace_range(start..end, pick(rng, KEYS));
}

const MARKS: &[&str] = &[
    ":", ": ", "-", "- ", "?", "? ", ",", ", ", "[", "]", "{", "}", "#", " #", "&", "&a ", "*", "*a", "!",
    "|", ">", "'", "\"", "%", "@", "`", "\\", "\t", "\r", "\n", "\u{85}", "\u{2028}", "é", "😀", "=", "~",
    "<<", ".", "...", "---", "\n---\n", "\n...\n", "0", "_", "e", "\u{7f}", "\\n", "\\x41", "\\u00e9", "''",
    "\"\"", "{}", "[]", "/",
];

const VALUES: &[&str] = &[
    "",
    "~",
    "null",
    "Null",
    "y",
    "n",
    "Y",
    "N",
    "yes",
    "No",
    "ON",
    "off",
    "true",
    "False",
    "TRUE",
    "tRue",
    "0",
    "1",
    "-1",
    "+1",
    "010",
    "0644",
    "08",
    "0o17",
    "0x1F",
    "0X1f",
    "0b101",
    "-0b11",
    "0b-1",
    "1_000",
    "_1",
    "1_",
    "0_7",
    "1e3",
    "1E3",
    "1e+3",
    "1.",
    ".5",
    "-.5",
    "+.5",
    "1.50",
    "1e-7",
    "1e21",
    "1e20",
    "1e999",
    "123456789012345678",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.1",
    "100m",
    "1Gi",
    "1.5Gi",
    "12:30:45",
    "1:20",
    "2001-12-14",
    "2001-12-14T21:59:43Z",
    ".inf",
    "-.INF",
    ".nan",
    ".1_0",
    "._1",
    "1__0",
    "--1",
    "-",
    "--",
    "=",
    "<<",
    "'",
    "'a'",
    "\"a\"",
    "\"a\\tb\"",
    "\"\\u00e9\\x41\\/\"",
    "\"\\ud83d\\ude00\"",
    "'it''s'",
    "[1, 2, a: b]",
    "{a: 1, b}",
    "{a:1}",
    "{\"a\":1}",
    "[a, [b, {c: d}]]",
    "{? a : b}",
    "[? a]",
    "[,]",
    "{,}",
    "[a,]",
    "{a: b,}",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "#a",
    "|",
    "|-",
    ">+",
    "|2",
    "|1-",
    "> # c",
    "|\n    a\n     b\n\n    c",
    ">\n    a\n     b\n\n    c\n    d",
    "\"a\n  b\"",
    "'a\nb'",
    "\"a\\\n   b\"",
    "a\n  b",
    "a\n\n   b",
    "*a",
    "&a x",
    "&a [x]",
    "&a {x: y}",
    "!!str 1",
    "!!int \"3\"",
    "!!int x",
    "!!float 3",
    "!!bool yes",
    "!!null x",
    "!!timestamp 2001-01-01",
    "!!binary aGk=",
    "!foo 1",
    "! 1",
    "!<tag:yaml.org,2002:str> 1",
    "!!map {a: b}",
    "!e!x 1",
    "@a",
    "`a",
    "%a",
    "?a",
    ":a",
    "? a",
    "-a",
    "- a",
    "{{ .Values.x }}",
    "${VAR}",
    "<no value>",
    "a, b",
    "a]b",
    "a}b",
    "a{b",
    "a\tb",
    "\ta",
];

const KEYS: &[&str] = &[
    "",
    "a",
    "y",
    "on",
    "No",
    "1",
    "1.0",
    "1e3",
    "010",
    "null",
    "~",
    "<<",
    "true",
    "'a b'",
    "\"a\"",
    "a b",
    "[a]",
    "{a: b}",
    "? a",
    "*a ",
    "&a b",
    "!!str 1",
    "18446744073709551615",
    "2001-12-14",
    ".5",
    "-",
    "0x10",
    "\"<<\"",
];

const LINES: &[&str] = &[
    "---",
    "--- # c",
    "---a",
    "...",
    "--- a",
    "%YAML 1.1",
    "%YAML 1.2\n---",
    "%TAG !e! tag:e,2000:\n---",
    "# comment",
    "",
    "cpu: 1\ncpu: 2",
    "<<: *a",
    "<<: [*a, *b]",
    "<<: {cpu: 3}",
    "<<: [{cpu: 3}, {cpu: 4}]",
    "<<: 1",
    "? k\n: v",
    "? [k]\n: v",
    ": v",
    "- a\n- b",
    "-\n  - a",
    "- - a\n  - b",
    "k: &a {cpu: 1}",
    "k: &b [1]",
    "k: *a",
    "k: *b",
    "\"k\":\n  'a",
    "k: 'a\nb'",
    "k: |\n  a\n b",
    "k: >\n\n  a\n",
    "k: |\n\ta",
    "\tk: v",
    "k:\tv",
    "k: v\t# c",
    "k:v",
    "'k' : v",
    "k :v",
    "k: - a",
    "k: a: b",
    "k: [a\n  b]",
    "k: {a: b,\n  c: d}",
    "k: {a:\n  b}",
    "? |\n  a\n: b",
    "&a k: v",
    "!!str k: v",
    "*a : v",
    "k: \"a\n\n b\\\n  c\"",
    "k: \"a",
    "{a: b}: c",
    "[a]: b",
    "k: &a",
    "k: !!str",
    "- k: v\n  l: w",
    "...\nk: v",
    "k: v\n...\n",
    "k: |+\n  a\n\n\nl: w",
    "k: |2\n   a\n  b",
    "1: a\n\"1\": b",
    "k: #c\n  v",
    "k: v\n\n\n  w",
];

const CONFIGURATION_LINES: &[&str] = &[
    "---",
    "...",
    "# c",
    "",
    "maxPods: 010",
    "maxPods: 110",
    "maxPods: \"110\"",
    "maxPods: 1e2",
    "maxPods: 12.0",
    "cpuManagerPolicy: static",
    "cpuManagerPolicy: yes",
    "cpuManagerPolicy: 1",
    "cpuManagerPolicy:",
    "cpumanagerPolicy: none",
    "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}",
    "cpuManagerPolicyOptions: {full-pcpus-only: true}",
    "cpuManagerPolicyOptions:\n  full-pcpus-only: 'true'",
    "reservedSystemCPUs: 0-1",
    "reservedSystemCPUs: 0,1",
    "reservedSystemCPUs: 0",
    "reservedSystemCPUs: \"0\"",
    "reservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}",
    "reservedMemory: [{numaNode: 1, limits: {memory: 010}}]",
    "kubeReserved: {cpu: 500m, memory: 1Gi}",
    "kubeReserved: {cpu: 1}",
    "kubeReserved: null",
    "featureGates: {CPUManagerPolicyAlphaOptions: true}",
    "featureGates: {CPUManagerPolicyAlphaOptions: yes}",
    "featureGates: {CPUManagerPolicyAlphaOptions: \"true\"}",
    "cpuManagerReconcilePeriod: 10s",
    "cpuManagerReconcilePeriod: 10",
    "cpuManagerReconcilePeriod: 1m30s",
    "unknown: 1",
    "evictionHard: {memory.available: 5%}",
    "enforceNodeAllocatable: [pods]",
    "enforceNodeAllocatable: pods",
    "enforceNodeAllocatable:\n- pods\n- kube-reserved",
    "memoryThrottlingFactor: 0.9",
    "memoryThrottlingFactor: 1",
    "cgroupsPerQOS: no",
    "cgroupsPerQOS: \"no\"",
    "registerWithTaints:\n- key: a\n  effect: NoSchedule",
    "registerWithTaints: [{key: a}]",
    "maxPods: 3\nmaxPods: 4",
    "<<: {maxPods: 7}",
    "k: &a {cpu: \"1\"}\nkubeReserved: *a",
    "kubeReserved:\n  <<: *a",
    "nodeLeaseDurationSeconds: 40",
    "topologyManagerPolicy: single-numa-node",
    "topologyManagerScope: Pod",
    "systemReservedCgroup: /x",
    "kind: KubeletConfiguration",
];

const MANIFESTS: &[&str] = &[
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: dpdk\n  labels: {app: dpdk, tier: \"1\"}\nspec:\n  containers:\n  - name: app\n    image: \"x:1\"\n    resources:\n      limits:\n        cpu: 8\n        memory: 4Gi\n        hugepages-1Gi: 4Gi\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations:\n    note: |\n      line one\n       line two\n\n      line three\n    folded: >-\n      some words\n      more words\n\n      end\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers: [{name: app, resources: {requests: {cpu: 4}, limits: {cpu: 4}}}]\n",
    "x-a: &a\n  cpu: \"1\"\n  memory: 1Gi\nx-b: &b {pods: 3}\nspec:\n  one:\n    <<: *a\n    cpu: 2\n  two:\n    cpu: 2\n    <<: [*a, *b]\n  three: *a\n",
    "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\\u0041\\n\"}, \"spec\": {\"n\": [1, 2.5, -3e2, true, null, \"\"]}}\n",
    "{\n\t\"kind\": \"List\",\n\t\"items\": [\n\t\t{\"a\": 1},\n\t\t{\"b\": {\"c\": []}}\n\t]\n}\n{\"kind\": \"Pod\"}\n",
    "# comment\n---\n# more\nkind: Service\nmetadata: {name: s}\n---\n\n---\nkind: Pod\nmetadata:\n  name: \"p\"   # trailing\n...\n",
    "kind: Pod\nmetadata:\n  annotations:\n    k8s.v1.cni.cncf.io/networks: '[\n{\"name\": \"a\"},\n{\"name\": \"b\"}\n]'\n    other: \"a\n      b\n\n      c\\\n      d\\te\"\n",
    "kind: ConfigMap\ndata:\n  mode: 0644\n  on: yes\n  date: 2001-12-14\n  float: 1e3\n  hex: 0x1F\n  null: ~\n  list:\n  - a\n  -  - b\n     - c\n  - d: e\n    f: g\n  - ? h\n    : i\n",
    "a: [b, c, {d: e, f: [g, h]}, 'i', \"j\"]\nk: {l: m, \"n\": o, p: [q, r], s}\n? t\n: u\nv: !!str 1\nw: !x y\n",
    "kind: ConfigMap\ndata:\n  script.sh: |-\n    #!/bin/sh\n    if [ \"$A\" = b ]; then\n      echo 'c'\n    fi\n  empty: \"\"\n  keep: |+\n    x\n\n  indent: |2\n      y\n    z\n",
];

const CONFIGURATIONS: &[&str] = &[
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\ncpuManagerPolicyOptions:\n  full-pcpus-only: \"true\"\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: single-numa-node\ntopologyManagerScope: pod\nreservedSystemCPUs: \"0,48\"\nreservedMemory:\n- numaNode: 0\n  limits:\n    memory: 1100Mi\nkubeReserved:\n  cpu: 500m\n  memory: 1Gi\nevictionHard:\n  memory.available: 100Mi\nfeatureGates:\n  CPUManagerPolicyAlphaOptions: true\nmaxPods: 110\n",
    "{\"apiVersion\": \"kubelet.config.k8s.io/v1beta1\", \"kind\": \"KubeletConfiguration\", \"maxPods\": 110, \"kubeReserved\": {\"cpu\": \"1\"}, \"cpuManagerReconcilePeriod\": \"10s\", \"reservedMemory\": [{\"numaNode\": 0, \"limits\": {\"memory\": \"1Gi\"}}]}\n",
    "---\nkind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n# comment\nauthentication:\n  anonymous: {enabled: false}\ncgroupDriver: systemd\nclusterDNS: [10.96.0.10]\nnodeStatusUpdateFrequency: 10s\nnodeLeaseDurationSeconds: 40\nmemoryThrottlingFactor: 0.9\nenforceNodeAllocatable:\n- pods\nregisterWithTaints:\n- key: a\n  value: b\n  effect: NoSchedule\nsystemReserved: {cpu: \"1\", memory: 500Mi}\n",
];
