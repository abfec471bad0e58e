//! The guide: every command in it runs, and prints what is written there.
//!
//! Files that a chapter shows are in it word for word, so that it can be read anywhere: behind `<!-- text of PATH -->`.
//! `TRYCMD=overwrite cargo test -p topolet --test guide` writes both as they are now. With `TOPOLET_PROGRAM=PATH` another
//! program than that of the test's own build has to print it: a build without features.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").canonicalize().unwrap()
}

/// The chapters, by name.
fn chapters() -> Vec<(String, String)> {
    let listed = fs::read_dir(guide().join("src")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = listed
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Commands run in the folder of the guide's files, which this process enters: it is the only test that reads relative
/// paths.
#[test]
fn commands_print_what_the_guide_says() {
    std::env::set_current_dir(guide().join("files")).unwrap();
    // The locale decides which marks are used.
    let cases = trycmd::TestCases::new();
    cases.env("LC_ALL", "C.UTF-8").case(guide().join("src/*.md"));
    if let Some(program) = std::env::var_os("TOPOLET_PROGRAM") {
        cases.register_bin("topolet", Path::new(&program));
        // What reads bundles, and what runs on a node, is not in that build.
        for chapter in ["diagnose.md", "guard.md"] {
            cases.skip(guide().join("src").join(chapter));
        }
    }
}

/// A chapter in which each block behind `<!-- text of PATH -->` is the file, with the number of these.
fn with_files(name: &str, text: &str) -> (String, usize) {
    let (mut made, mut rest, mut files) = (String::new(), text, 0);
    while let Some((before, behind)) = rest.split_once("<!-- text of ") {
        let (path, behind) = behind.split_once(" -->\n```").unwrap();
        let (language, behind) = behind.split_once('\n').unwrap();
        // A file may be empty.
        let end = if behind.starts_with("```\n") { 0 } else { behind.find("\n```\n").unwrap() + 1 };
        let file = fs::read_to_string(guide().join("src").join(path));
        let file = file.unwrap_or_else(|error| panic!("{name}: {path}: {error}"));
        made += &format!("{before}<!-- text of {path} -->\n```{language}\n{file}");
        (rest, files) = (&behind[end..], files + 1);
    }
    (made + rest, files)
}

#[test]
fn chapters_show_files_as_they_are() {
    let mut shown = 0;
    for (name, text) in chapters() {
        assert!(!text.contains("{{#"), "{name}: only mdBook reads this, and a chapter is read elsewhere too");
        let (made, files) = with_files(&name, &text);
        shown += files;
        if made != text {
            let is_written = std::env::var("TRYCMD").is_ok_and(|what| what == "overwrite");
            assert!(is_written, "{name}: a file that it shows has changed: TRYCMD=overwrite writes it");
            fs::write(guide().join("src").join(&name), made).unwrap();
        }
    }
    assert!(shown > 5, "{shown} files");
}

#[test]
fn no_command_escapes_the_test() {
    let mut commands = 0;
    for (name, text) in chapters() {
        let mut block = None;
        for line in text.lines() {
            if let Some(language) = line.strip_prefix("```") {
                block = block.is_none().then_some(language);
                assert!(!matches!(block, Some("sh" | "bash" | "shell" | "text" | "")), "{name}: {line}");
            } else if line.starts_with("$ ") {
                assert_eq!(block, Some("console"), "{name}: {line}");
                commands += 1;
            }
        }
    }
    assert!(commands > 10, "{commands} commands");
}

#[test]
fn every_chapter_is_in_the_summary() {
    let chapters = chapters();
    let summary = &chapters.iter().find(|(name, _)| name == "SUMMARY.md").unwrap().1;
    for (name, _) in chapters.iter().filter(|(name, _)| name != "SUMMARY.md") {
        assert!(summary.contains(&format!("({name})")), "SUMMARY.md lacks {name}");
    }
}

/// The sources of the crates that decide and explain.
fn sources(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn messages_that_are_looked_up_are_those_that_topolet_knows() {
    let text = fs::read_to_string(guide().join("src/symptoms.md")).unwrap();
    let messages: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(message, _)| message))
        .collect();
    assert!(messages.len() > 10, "{messages:?}");
    let mut code = String::new();
    for folder in fs::read_dir(guide().join("../../crates")).unwrap() {
        let source = folder.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut code);
        }
    }
    for message in messages {
        for part in message.split('…').map(str::trim).filter(|part| part.len() > 6) {
            assert!(code.contains(part), "nothing here says {part:?} of {message:?}");
        }
    }
}
