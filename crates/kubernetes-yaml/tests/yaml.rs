//! Texts as kubectl reads them. The expected values are those of `sigs.k8s.io/yaml` 1.6.0; `cargo xtask texts` compares more.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use kubernetes_yaml::{MAX_BYTES, Node, Pieces, Position, TextProblem, read_stream};

fn read(text: &str) -> Result<Vec<String>, String> {
    let read = read_stream(text).map_err(|error| error.to_string())?;
    Ok(read.nodes.iter().map(Node::to_json).collect())
}

/// The lines of what kubectl takes in silence.
fn unnoticed(text: &str) -> Vec<usize> {
    let line = |span: core::ops::Range<usize>| Position::of(text, span.start).line;
    let read = read_stream(text).expect(text);
    read.unnoticed.into_iter().map(|error| line(error.span)).collect()
}

#[test]
fn values_are_those_of_the_go_library() {
    for (text, expected) in [
        ("a: [y, N, yes, Off, tRue, ~, Null]", r#"{"a":[true,false,true,false,"tRue",null,null]}"#),
        (
            "a: [010, 08, 0o17, 0x1F, 0b101, -0b11, 0b-1, 1_000, _1, +1]",
            r#"{"a":[8,8,15,31,5,-3,-1,1000,"_1",1]}"#,
        ),
        (
            "a: [1e3, 1., .5, 1.50, 1e-7, 1e21, 1e999, .1_0]",
            r#"{"a":[1000,1,0.5,1.5,1e-7,1e+21,"1e999",0.1]}"#,
        ),
        (
            "a: [18446744073709551615, 18446744073709551616]",
            r#"{"a":[18446744073709551615,18446744073709552000]}"#,
        ),
        ("a: [2001-12-14, 12:30:45, 1:20]", r#"{"a":["2001-12-14","12:30:45","1:20"]}"#),
        ("a: [!!str 1, !!int \"3\", !!float 3, ! 1, !x 1]", r#"{"a":["1",3,3,"1","1"]}"#),
        ("on: 1\n1: 2\n1.0: 3\n0x10: 4\n1e7: 5", r#"{"true":1,"1":3,"16":4,"1e+07":5}"#),
        ("a: 1\na: 2", r#"{"a":2}"#),
        ("a: '[\n{\"x\": 1},\n]'", r#"{"a":"[ {\"x\": 1}, ]"}"#),
        (
            "x: &a {p: 1, q: 2}\nv:\n  <<: *a\n  p: 3\nz:\n  p: 3\n  <<: *a",
            r#"{"x":{"p":1,"q":2},"v":{"p":3,"q":2},"z":{"p":1,"q":2}}"#,
        ),
        ("x: &a {p: 1}\nv: &b {p: 2}\nz: {<<: [*a, *b]}", r#"{"x":{"p":1},"v":{"p":2},"z":{"p":1}}"#),
        ("a: |\n  x\n   y\n\nb: >-\n  x\n  y\n\n  z", r#"{"a":"x\n y\n","b":"x y\nz"}"#),
        ("{a:1, \"b\":2, c}", r#"{"a:1":null,"b":2,"c":null}"#),
        ("{\"a\": \"\\ud83d\\ude00\\/\", \"b\": -3e2}", r#"{"a":"😀/","b":-3e2}"#),
        ("\u{feff}a: 1", r#"{"a":1}"#),
    ] {
        assert_eq!(read(text), Ok(vec![expected.to_owned()]), "{text}");
    }
}

#[test]
fn documents_are_cut_as_kubectl_cuts_them() {
    for (text, expected) in [
        ("---\na: 1\n---\n# nothing\n--- # more\nb: 2\n", vec![r#"{"a":1}"#, r#"{"b":2}"#]),
        ("{\"a\": 1} {\"b\": 2}\n{\"c\": 3}", vec![r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#]),
        ("{\"a\": 1}\n---\nb: 2", vec![r#"{"a":1}"#, r#"{"b":2}"#]),
        ("a: 1\n...\nb: 2", vec![r#"{"a":1}"#]),
        ("a: |\r\n  x\r\nb: 1", vec![r#"{"a":"x\n","b":1}"#]),
        ("a: |\n  x", vec![r#"{"a":"x\n"}"#]),
    ] {
        let expected = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(read(text), Ok(expected), "{text}");
    }
    assert_eq!(unnoticed("a: 1\n...\nb: 2"), [3]);
}

#[test]
fn a_key_over_a_merged_one_is_what_merge_keys_are_for() {
    let merged = "x: &a {p: 1, q: 2}\nv:\n  <<: *a\n  p: 3\n";
    assert_eq!(unnoticed(merged), [0; 0]);
    assert_eq!(unnoticed(&format!("{merged}  p: 4\n")), [5]);
    assert_eq!(unnoticed("x: &a {p: 1}\nv:\n  p: 3\n  <<: *a\n  p: 4\n"), [5]);
}

#[test]
fn what_the_go_library_refuses() {
    for (text, line, problem) in [
        ("a: b: c", 1, "mapping values are not allowed in this context"),
        ("a:\n\tb: c", 2, "found a tab where a token begins: indentation is of spaces alone"),
        ("a: [1,\n", 1, "this bracket is not closed"),
        ("x: 1\nv: \"a\\/b\"", 2, "found unknown escape character"),
        ("a: 1\n---b\n", 2, "invalid Yaml document separator: b"),
        ("%YAML 1.2\n---\na: 1", 1, "found incompatible YAML document: only %YAML 1.1 is read"),
        ("a: *b", 1, "unknown anchor 'b' referenced"),
        ("a: &b [*b]", 1, "anchor 'b' value contains itself"),
        ("? [a]\n: b", 1, "invalid map key"),
        ("<<: 1", 1, "map merge requires map or sequence of maps as the value"),
        ("a: .inf", 1, "json: unsupported value"),
        ("a: \u{7}", 1, "control characters are not allowed"),
    ] {
        let error = read_stream(text).expect_err(text);
        let position = Position::of(text, error.span.start);
        assert_eq!((position.line, error.to_string().as_str()), (line, problem), "{text:?}");
    }
}

#[test]
fn lists_are_read_item_by_item() {
    let text = "kind: L\nitems:\n- a: 1\n- b: [\n- c: 3\nmore: 4\n";
    let (mut pieces, outlines) = Pieces::new(text);
    let header = pieces.read_header(&outlines[0].header(text).unwrap()).unwrap();
    assert_eq!(header.nodes[0].to_json(), r#"{"kind":"L","items":null,"more":4}"#);
    let found = outlines[0].items.iter().map(|item| {
        let piece = pieces.next(item.clone());
        let read = pieces.read_item(&piece);
        let read = read.map(|own| own.nodes[0].to_json());
        let line = |offset| Position::of(piece.text, offset).after(piece.start).line;
        (piece.start.line, read.map_err(|error| (line(error.span.start), error.problem.to_string())))
    });
    let refused = (4, "this bracket is not closed".to_owned());
    let expected = [(3, Ok(r#"{"a":1}"#.to_owned())), (4, Err(refused)), (5, Ok(r#"{"c":3}"#.to_owned()))];
    assert_eq!(found.collect::<Vec<_>>(), expected);

    let large = format!("a: {}\n", "x".repeat(MAX_BYTES));
    let (mut pieces, _) = Pieces::new(&large);
    let piece = pieces.next(0..large.len());
    let bytes = MAX_BYTES + 4;
    assert_eq!(pieces.read(&piece).unwrap_err().problem, TextProblem::ObjectTooLarge { bytes });
}

/// A mebibyte of anything is read or refused within seconds, in little memory and stack.
#[test]
fn hostile_texts_end() {
    let bomb = (1..20).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, at| {
        let before = format!("*a{}", at - 1);
        format!("{text}a{at}: &a{at} [{}]\n", [before.as_str(); 10].join(", "))
    });
    let many = 1 << 19;
    let texts = [
        ("bomb", bomb, true),
        ("self", "a: &a\n  <<: *a\n".to_owned(), true),
        ("deep flow", "[".repeat(many), true),
        ("deep block", "- ".repeat(many), true),
        ("deep maps", "{a: ".repeat(many / 4), true),
        ("deep keys", "? ".repeat(many), true),
        ("deep JSON", "{\"a\":".repeat(many / 5), true),
        ("many keys", (0..80_000).map(|at| format!("k{at}: 1\n")).collect(), false),
        ("one key", "k: 1\n".repeat(200_000), false),
        ("many items", "- a\n".repeat(250_000), false),
        ("one line", "a ".repeat(many - 10), false),
        ("quotes", "\"".repeat(many), false),
        ("anchors", "- &a x\n- *a\n".repeat(50_000), false),
        ("indents", (0..1000).map(|at| format!("{}a:\n", " ".repeat(at))).collect(), true),
    ];
    for (name, text, is_refused) in texts {
        let start = Instant::now();
        let read = read_stream(&text);
        assert_eq!(read.is_err(), is_refused, "{name}: {:?}", read.err());
        assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
    }
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&deep(200)).is_ok());
    assert_eq!(read_stream(&deep(201)).unwrap_err().problem, TextProblem::TooDeep);
}
