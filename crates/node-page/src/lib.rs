#![doc = include_str!("../README.md")]
#![no_std]

/// A file of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asset {
    /// Where it is asked for.
    pub path: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// Its content.
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All files of the page of a node. The first is the page itself.
pub const ASSETS: [Asset; 19] = [
    Asset { path: "/", content_type: HTML, text: include_str!("../page/index.html") },
    Asset { path: "/page/style.css", content_type: CSS, text: include_str!("../page/style.css") },
    Asset { path: "/page/icon.svg", content_type: "image/svg+xml", text: include_str!("../page/icon.svg") },
    Asset { path: "/page/main.js", content_type: SCRIPT, text: include_str!("../page/main.js") },
    Asset { path: "/page/server.js", content_type: SCRIPT, text: include_str!("../page/server.js") },
    Asset { path: "/page/picture.js", content_type: SCRIPT, text: include_str!("../page/picture.js") },
    Asset { path: "/page/node.js", content_type: SCRIPT, text: include_str!("../page/node.js") },
    Asset { path: "/page/decisions.js", content_type: SCRIPT, text: include_str!("../page/decisions.js") },
    Asset { path: "/page/shown.js", content_type: SCRIPT, text: include_str!("../page/shown.js") },
    Asset { path: "/page/try.js", content_type: SCRIPT, text: include_str!("../page/try.js") },
    Asset { path: "/page/side.js", content_type: SCRIPT, text: include_str!("../page/side.js") },
    Asset { path: "/page/link.js", content_type: SCRIPT, text: include_str!("../page/link.js") },
    Asset { path: "/page/simulate.js", content_type: SCRIPT, text: include_str!("../page/simulate.js") },
    Asset { path: "/page/free.js", content_type: SCRIPT, text: include_str!("../page/free.js") },
    Asset { path: "/page/tried.js", content_type: SCRIPT, text: include_str!("../page/tried.js") },
    Asset { path: "/page/command.js", content_type: SCRIPT, text: include_str!("../page/command.js") },
    Asset { path: "/page/examples.js", content_type: SCRIPT, text: include_str!("../page/examples.js") },
    Asset { path: "/page/questions.js", content_type: SCRIPT, text: include_str!("../page/questions.js") },
    Asset { path: "/page/bar.js", content_type: SCRIPT, text: include_str!("../page/bar.js") },
];

/// The page of all nodes of a cluster, whose first file it is; the others are those of a node too.
pub const NODES_ASSETS: [Asset; 6] = [
    Asset { path: "/", content_type: HTML, text: include_str!("../page/nodes.html") },
    Asset { path: "/page/nodes.js", content_type: SCRIPT, text: include_str!("../page/nodes.js") },
    Asset { path: "/page/style.css", content_type: CSS, text: include_str!("../page/style.css") },
    Asset { path: "/page/icon.svg", content_type: "image/svg+xml", text: include_str!("../page/icon.svg") },
    Asset { path: "/page/server.js", content_type: SCRIPT, text: include_str!("../page/server.js") },
    Asset { path: "/page/bar.js", content_type: SCRIPT, text: include_str!("../page/bar.js") },
];

/// Headers of every file: no other script or style, no other host, no frame of another page around it, and no type that a
/// browser guesses.
pub const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types topolet-picture",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
];

/// The file at a path; `None`: there is none.
#[must_use]
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
