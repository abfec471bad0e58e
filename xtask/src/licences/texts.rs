//! The texts of licences, each once, with the crates that are under it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use fs_err as fs;

use super::part::Part;

/// This one has the same text for all: it names no holder.
const WITHOUT_NAMES: &str = "Apache-2.0";

/// Words that are in the text of a licence and in no other's.
const WORDS: [(&str, &str); 8] = [
    ("MIT", "Permission is hereby granted, free of charge, to any"),
    ("BSD-2-Clause", "Redistribution and use in source and binary forms"),
    ("BSD-3-Clause", "Redistribution and use in source and binary forms"),
    ("bzip2-1.0.6", "Redistribution and use in source and binary forms"),
    ("CC0-1.0", "CC0 1.0 Universal"),
    ("ISC", "Permission to use, copy, modify, and"),
    ("Unicode-3.0", "UNICODE LICENSE V3"),
    ("Zlib", "This software is provided 'as-is', without any express or implied warranty"),
];

/// Licence, and the text; which crates.
#[derive(Debug, Default)]
pub(super) struct Texts {
    of_licence: BTreeMap<String, Vec<(String, Vec<String>)>>,
    notices: BTreeMap<String, String>,
}

impl Texts {
    /// Adds a crate under one of its licences. `all` are the crates in which a text is looked for that its own package lacks.
    pub(super) fn add(&mut self, part: &Part, licence: &str, all: &[Part]) -> anyhow::Result<()> {
        let name = format!("{} {}", part.name, part.version);
        let text = if licence == WITHOUT_NAMES {
            let notices = files(&part.folder, &["NOTICE"])?;
            self.notices.extend(notices.into_iter().map(|(_, notice)| (name.clone(), notice)));
            String::new()
        } else {
            match text_of(&part.folder, licence)? {
                Some(text) => text,
                // Several crates of one repository, of which one has the file.
                None => all
                    .iter()
                    .filter(|other| !part.repository.is_empty() && other.repository == part.repository)
                    .find_map(|other| text_of(&other.folder, licence).ok().flatten())
                    .with_context(|| format!("its package has no text of {licence}"))?,
            }
        };
        let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
        let texts = self.of_licence.entry(licence.to_owned()).or_default();
        match texts.iter_mut().find(|(other, _)| same(other, &text)) {
            Some((_, names)) => names.push(name),
            None => texts.push((text, vec![name])),
        }
        Ok(())
    }

    /// Writes all texts, in the order of licences; `own` is the project's own.
    pub(super) fn write(&self, out: &mut String, own: &str, order: &[String]) {
        for licence in order {
            for (text, names) in self.of_licence.get(licence).into_iter().flatten() {
                // Writing to a String cannot fail.
                let _ = writeln!(out, "\n{}\n{licence}\n", "=".repeat(100));
                out.push_str(&lines(names));
                let text = if licence == WITHOUT_NAMES { own } else { text };
                let trimmed = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
                let _ = writeln!(out, "\n{}", trimmed.trim_matches('\n'));
            }
        }
        for (name, notice) in &self.notices {
            let _ = writeln!(out, "\n{}\nNotice of {name}\n\n{}", "=".repeat(100), notice.trim());
        }
    }
}

/// Names in lines of a hundred letters.
fn lines(names: &[String]) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { ", " } else { "" };
        if line.len() + name.len() > 98 {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clear();
        }
        line.push_str(name);
        line.push_str(comma);
    }
    out + &line + "\n"
}

/// The file of a package that has the text of a licence.
fn text_of(folder: &Path, licence: &str) -> anyhow::Result<Option<String>> {
    let (_, words) = WORDS.iter().find(|(known, _)| *known == licence).with_context(|| {
        format!("the table WORDS has no entry for {licence}; add the first words of its text")
    })?;
    let has = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.to_lowercase().contains(&words.to_lowercase())
    };
    let found = files(folder, &["LICENSE", "LICENCE", "COPYING", "UNLICENSE"])?;
    Ok(found.into_iter().find(|(_, text)| has(text)).map(|(_, text)| text))
}

/// Files whose names begin with a word, by name.
fn files(folder: &Path, words: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && words.iter().any(|word| name.to_uppercase().starts_with(word)) {
            let bytes = fs::read(&path)?;
            found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIT: &str = "Copyright NAME\n\nPermission is hereby granted,\nfree of charge, to any person";

    fn part(folder: &Path, name: &str, files: &[(&str, String)]) -> Part {
        let folder = folder.join(name);
        fs::create_dir(&folder).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let (name, repository) = (name.to_owned(), "https://x.example".to_owned());
        Part { name, version: "1.0.0".to_owned(), licence: String::new(), repository, folder }
    }

    #[test]
    fn a_text_is_there_once_for_all_crates_that_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let text = |name: &str| MIT.replace("NAME", name);
        let parts = [
            part(
                folder.path(),
                "a",
                &[("LICENSE-MIT", text("ann")), ("LICENSE-APACHE", "Apache".to_owned())],
            ),
            part(folder.path(), "b", &[("LICENSE", text("ann").replace('\n', "\r\n"))]),
            part(folder.path(), "c", &[("license.md", text("bob"))]),
            part(folder.path(), "d", &[]),
            part(folder.path(), "e", &[("NOTICE", "made by eve".to_owned())]),
        ];
        let mut texts = Texts::default();
        for part in &parts[..4] {
            texts.add(part, "MIT", &parts).unwrap();
        }
        texts.add(&parts[4], "Apache-2.0", &parts).unwrap();
        let mut out = String::new();
        texts.write(&mut out, "the Apache License", &["MIT".to_owned(), "Apache-2.0".to_owned()]);
        // `d` has that of the first crate of its repository.
        assert!(out.contains("MIT\n\na 1.0.0, b 1.0.0, d 1.0.0\n\nCopyright ann\n"), "{out}");
        assert!(out.contains("MIT\n\nc 1.0.0\n\nCopyright bob\n"), "{out}");
        assert!(out.contains("Apache-2.0\n\ne 1.0.0\n\nthe Apache License\n"), "{out}");
        assert!(out.ends_with("Notice of e 1.0.0\n\nmade by eve\n"), "{out}");
        assert!(texts.add(&parts[0], "Zlib", &parts[..1]).is_err());
        assert!(texts.add(&parts[0], "GPL-3.0", &parts).is_err());
    }
}
