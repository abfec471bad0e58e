//! Executables made here, as Go's linker writes them.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::made_elf::{Part, build_info, elf, linked};

const TRIMMED: &str =
    "path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes\t(devel)\t\nbuild\t-trimpath=true\n";

fn read(bytes: Vec<u8>) -> Option<String> {
    let length = bytes.len() as u64;
    release_in(&mut Cursor::new(bytes), length)
}

#[track_caller]
fn check(parts: impl IntoIterator<Item = Part>, expected: Option<&str>) {
    let parts: Vec<Part> = parts.into_iter().collect();
    assert_eq!(read(elf(&parts)).as_deref(), expected);
}

#[test]
fn flags_go_before_variables_and_these_before_modules() {
    let flags = "mod\tk8s.io/kubernetes\tv1.36.1\t\nbuild\t-ldflags=\"-s -X k8s.io/component-base/version.gitVersion=v1.36.3+k3s1\"\n";
    check([build_info(flags)].into_iter().chain(linked(&["v1.36.2"], 0)), Some("1.36.3+k3s1"));
    let module = "mod\tk8s.io/kubernetes\tv1.36.1\t\n";
    check([build_info(module)].into_iter().chain(linked(&["v1.36.2"], 0)), Some("1.36.2"));
    check([build_info(module)], Some("1.36.1"));
    check([build_info(TRIMMED)], None);
}

#[test]
fn a_variable_is_found_anywhere() {
    // A piece that is read at once ends at 1 MiB; a version may lie across that.
    for behind in [0, 1, 7, 8, 1000, (1 << 20) - 4, 1 << 20, (1 << 20) + 127, (1 << 20) + 128, 3 << 20] {
        check([build_info(TRIMMED)].into_iter().chain(linked(&["v1.36.3"], behind)), Some("1.36.3"));
    }
    check(
        [build_info(TRIMMED)].into_iter().chain(linked(&["v1.36.3-rc.0+a", "v2.1.1", "clean"], 0)),
        Some("1.36.3-rc.0+a"),
    );
    // gitVersion of client-go has the same text.
    check([build_info(TRIMMED)].into_iter().chain(linked(&["v1.36.3", "v1.36.3"], 0)), Some("1.36.3"));
}

#[test]
fn what_may_be_another_version_is_not_taken() {
    check([build_info(TRIMMED)].into_iter().chain(linked(&["v1.36.3", "v1.35.0-k3s2"], 0)), None);
    // A library's.
    check([build_info(TRIMMED)].into_iter().chain(linked(&["v1.8.3"], 0)), None);
    // A text that no variable has, and one that is longer.
    let [texts, _] = linked(&["v1.36.3"], 0);
    check([build_info(TRIMMED), texts.clone(), (".data", 0x80_0000, vec![0; 64])], None);
    check([build_info(TRIMMED), texts.clone()], None);
    let [_, (name, address, mut variables)] = linked(&["v1.36.3"], 0);
    variables[8] += 1;
    check([build_info(TRIMMED), texts, (name, address, variables)], None);
    // A text without a NUL, as those of Go's code are.
    let [(name, address, mut texts), variables] = linked(&["v1.36.3"], 0);
    *texts.last_mut().unwrap() = b'x';
    check([build_info(TRIMMED), (name, address, texts), variables], None);
}

#[test]
fn other_programs_have_no_release() {
    check(linked(&["v1.36.3"], 0), None);
    check([build_info("path\texample.com/kubelet\n")].into_iter().chain(linked(&["v1.36.3"], 0)), None);
    assert_eq!(read(b"#!/bin/sh\n".to_vec()), None);
    assert_eq!(read(Vec::new()), None);
    let mut bytes = elf(&[build_info("mod\tk8s.io/kubernetes\tv1.36.1\t\n")]);
    assert_eq!(read(bytes.clone()).as_deref(), Some("1.36.1"));
    assert_eq!(release_in(&mut Cursor::new(&bytes), MOST_OF_EXECUTABLE + 1), None);
    bytes[4] = 1;
    assert_eq!(read(bytes), None, "32 bits");
}

#[test]
fn many_versions_are_too_many() {
    let texts: Vec<String> = (0..5000).map(|at| format!("v1.36.{}", at % 1000)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    check([build_info(TRIMMED)].into_iter().chain(linked(&texts, 0)), None);
}

proptest! {
    #[test]
    fn damaged_files_are_read_without_a_panic(
        changes in prop::collection::vec((0_usize..2000, any::<u8>()), 1..8),
        cut in 0_usize..2000,
    ) {
        let module = "mod\tk8s.io/kubernetes\tv1.36.1\t\n";
        let parts: Vec<Part> = [build_info(module)].into_iter().chain(linked(&["v1.36.2"], 100)).collect();
        let mut bytes = elf(&parts);
        for (at, byte) in changes {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        let whole = read(bytes.clone());
        prop_assert!(whole.is_none_or(|version| version.starts_with("1.")));
        bytes.truncate(cut);
        let _ = read(bytes);
    }
}
