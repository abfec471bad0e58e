//! Invariants of the page's files.

use node_page::{ASSETS, Asset, HEADERS, NODES_ASSETS, asset};

/// The files of both pages.
fn all() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter().chain(&NODES_ASSETS)
}

/// The most bytes of all files together.
const LARGEST: usize = 150 << 10;

#[test]
fn all_files_are_small_together() {
    let bytes: usize = all().map(|asset| asset.text.len()).sum();
    assert!(bytes < LARGEST, "{bytes} bytes");
}

/// What makes markup or script of text.
const INTERPRETERS: [&str; 9] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "createContextualFragment",
    "setHTMLUnsafe",
    "eval(",
    "new Function",
    "srcdoc",
];

#[test]
fn no_file_makes_markup_or_script_of_text() {
    for asset in all() {
        for interpreter in INTERPRETERS {
            assert!(!asset.text.contains(interpreter), "{} uses {interpreter}", asset.path);
        }
    }
}

#[test]
fn the_page_has_nothing_inline_that_its_policy_forbids() {
    let own = asset("/").unwrap_or_else(|| panic!("there is no page"));
    for page in [own.text, NODES_ASSETS[0].text] {
        has_nothing_inline(page);
    }
    let policy = HEADERS.iter().find(|(name, _)| *name == "content-security-policy");
    let policy = policy.unwrap_or_else(|| panic!("there is no policy")).1;
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
}

fn has_nothing_inline(page: &str) {
    for inline in [" style=", " onclick=", " onload=", "<style", "javascript:"] {
        assert!(!page.contains(inline), "the page has {inline}");
    }
    for tag in page.split("<script").skip(1) {
        let (attributes, rest) = tag.split_once('>').unwrap_or_else(|| panic!("a script tag does not end"));
        assert!(attributes.contains("src=\"/page/"), "a script is inline: {attributes}");
        assert!(rest.starts_with("</script>"), "a script has content: {attributes}");
    }
}

#[test]
fn every_file_that_is_named_is_there_and_none_is_from_elsewhere() {
    for (asset, known) in ASSETS
        .iter()
        .map(|one| (one, &ASSETS[..]))
        .chain(NODES_ASSETS.iter().map(|one| (one, &NODES_ASSETS[..])))
    {
        for (start, quote) in [("from \"", '"'), ("src=\"", '"'), ("href=\"", '"')] {
            for named in asset.text.split(start).skip(1) {
                let named = named.split(quote).next().unwrap_or_default();
                let path =
                    named.strip_prefix("./").map_or_else(|| named.to_owned(), |file| format!("/page/{file}"));
                let is_anchor = named.starts_with('#');
                assert!(
                    is_anchor || known.iter().any(|one| one.path == path),
                    "{} names {named}",
                    asset.path
                );
            }
        }
        let hosts = asset.text.matches("//").count() - asset.text.matches("// ").count();
        // The name of a kind of elements, which no browser asks for.
        let namespaces = asset.text.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(hosts, namespaces, "{} names a host", asset.path);
    }
}
