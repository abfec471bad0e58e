//! Pages of other origins, and documents that try to be more than text.

use anyhow::ensure;
use serde_json::{Value, json};

use super::browser::{self, Browser};
use super::looked::pod;
use super::running::Running;

/// A page of another origin can neither read nor change anything.
pub(super) fn page_changes_nothing(browser: &Browser, port: u16) -> anyhow::Result<()> {
    let (_, before) = browser::request(port, "GET", "/v1/pods", &[], "")?;
    browser.open("data:text/html,<title>elsewhere</title>")?;
    let tries = json!([format!("http://127.0.0.1:{port}"), pod("planted", 2)]);
    let script = "
        const [node, pod] = arguments;
        window.found = [];
        const ways = [
            ['GET', '/v1/pods', {}], ['GET', '/v1/pods', {mode: 'no-cors'}],
            ['POST', '/v1/pods', {mode: 'no-cors', body: pod}], ['POST', '/v1/pods', {body: pod}],
            ['POST', '/v1/explain', {body: pod}], ['DELETE', '/v1/pods/shop/web-1', {}],
        ];
        Promise.all(ways.map(async ([method, path, options]) => {
            try {
                const answer = await fetch(node + path, {method, ...options});
                window.found.push(answer.type === 'opaque' ? '' : await answer.text());
            } catch { window.found.push(''); }
        })).then(() => { window.tried = true; });";
    browser.run(script, &tries)?;
    browser.until("all was tried", "return window.tried === true")?;
    let found = browser.run("return window.found", &json!([]))?;
    let is_nothing = |found: &Value| found == "";
    ensure!(
        found.as_array().is_some_and(|found| found.len() == 6 && found.iter().all(is_nothing)),
        "read: {found}"
    );
    let (_, after) = browser::request(port, "GET", "/v1/pods", &[], "")?;
    ensure!(before == after, "a page of another origin has changed the node:\n{before}\n{after}");
    // A client that reaches the port without a browser needs the token to change something.
    for (method, path) in [("POST", "/v1/pods"), ("DELETE", "/v1/pods/shop/web-1")] {
        let (status, body) = browser::request(port, method, path, &[], &pod("planted", 2))?;
        ensure!(status == 403, "{method} {path} without a token: {status} {body}");
        let origin = &[("Origin", "http://elsewhere.example")];
        let (status, body) = browser::request(port, method, path, origin, &pod("planted", 2))?;
        ensure!(status == 403 && body.contains("Origin"), "{method} {path} from elsewhere: {status} {body}");
    }
    Ok(())
}

/// Elements, by id or by selector, come to have the markup as text.
fn is_text(browser: &Browser, of: &[&str]) -> anyhow::Result<()> {
    let script = format!(
        "return {}.every((one) => (document.getElementById(one) ?? document.querySelector(one))?.textContent.includes('<img src=x'))",
        json!(of)
    );
    browser.until(&format!("markup is text in {of:?}"), &script).map(drop)
}

/// What a server may tell at the worst: markup in every text, and a picture with scripts.
const MARKUP: &str = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=2</script>";
const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:h=\"http://www.w3.org/1999/xhtml\" width=\"9\" height=\"9\" \
    onload=\"window.hacked=3\"><style>.p0{fill:red}</style><script>window.hacked=4</script><foreignObject>\
    <h:img src=\"x\" onerror=\"window.hacked=5\"/></foreignObject><a href=\"javascript:window.hacked=6\"><rect class=\"p0\"/></a>\
    <rect class=\"p0\" x=\"0\" y=\"0\" width=\"9\" height=\"9\" onclick=\"window.hacked=7\"><title>&lt;b&gt;</title></rect></svg>";

/// The page, with a server that answers the worst.
pub(super) fn documents_stay_text(browser: &Browser) -> anyhow::Result<()> {
    let ui = Running::ui(&["--machine", "xeon-cxl-4node"])?;
    let fits =
        json!([{"pod": MARKUP, "alternatives": [{"change": MARKUP, "detail": MARKUP, "result": MARKUP}]}]);
    let view = json!({"node": MARKUP, "outcome": "some-refused", "text": MARKUP, "picture": {"pod": MARKUP, "svg": SVG},
        "wouldFit": fits});
    let node = json!({
        "/v1/picture": {"which": MARKUP, "svg": SVG,
            "pods": [{"name": MARKUP, "class": "p0", "letters": "A", "holds": [MARKUP]}]},
        "/v1/status": {"problems": [MARKUP], "notes": [MARKUP],
            "room": [{"resource": MARKUP, "nodes": [{"node": 0, "free": 1, "allocatable": 2, "heldBy": [MARKUP]}]}]},
        "/v1/decisions/lines": {"newest": 1, "decisions": [{"uid": MARKUP, "time": MARKUP, "pod": MARKUP,
            "admitted": false, "reason": MARKUP, "message": MARKUP}]},
        "/v1/decisions/view": view, "/v1/try": view,
        "/v1/choices": {"machines": [MARKUP], "policies": [MARKUP], "scopes": [MARKUP], "placements": [MARKUP],
            "cpuOptions": [MARKUP], "topologyOptions": [MARKUP], "nodeFiles": true, "scenarios": [MARKUP], "kubelets": [MARKUP], "arguments": [MARKUP],
            "examples": [{"name": MARKUP, "manifest": MARKUP}],
            "configured": {"policy": MARKUP, "scope": MARKUP, "placement": MARKUP, "cpuOptions": [MARKUP],
                "topologyOptions": [MARKUP]}},
        "/v1/questions/config-check": {"outcome": MARKUP, "text": MARKUP},
        "/v1/simulations": {"number": 1, "state": "done", "done": 1, "all": 1, "text": MARKUP, "charts": SVG},
    });
    // The modules ask by `fetch`; what they get is made up before they run.
    let replaced = format!(
        "const documents = {node}, markup = {markup}, real = window.fetch;\
         window.fetch = async (path, options) => {{\
           const name = String(path).split('?')[0];\
           if (name === '/v1/events') return real(path, options);\
           const text = String(path).includes('output=table') ? markup : JSON.stringify(documents[name]);\
           return new Response(text, {{headers: {{'topolet-outcome': 'done'}}}});\
         }};",
        markup = json!(MARKUP)
    );
    let script = browser.before_pages(&replaced)?;
    browser.open(&ui.address)?;
    browser.until(
        "hostile documents are shown",
        "return document.getElementById('live').textContent === 'live'",
    )?;
    browser.run(
        "document.querySelector('#pods button').click(); \
         document.getElementById('picture').shadowRoot.querySelector('rect').dispatchEvent(new MouseEvent('click'))",
        &json!([]),
    )?;
    browser.run("document.querySelector('#free button').focus()", &json!([]))?;
    is_text(browser, &["which", "problems", "notes", "free", "pointed", "pods", "status-text"])?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    is_text(browser, &["list"])?;
    browser.run("document.querySelector('#list summary').click()", &json!([]))?;
    is_text(browser, &["#list pre", "#list .fits"])?;
    browser.run("document.querySelector('#list .fits button').click(); location.hash = 'try'", &json!([]))?;
    browser.run(
        "const text = document.getElementById('manifest'); text.value = arguments[0]; \
         text.dispatchEvent(new Event('input'))",
        &json!([MARKUP]),
    )?;
    is_text(browser, &["sides", ".side pre", ".side fieldset", "example", "#source .command pre"])?;
    browser.run("location.hash = 'configuration'", &json!([]))?;
    is_text(browser, &["#configuration pre", "#configuration .verdict"])?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    is_text(browser, &["tried"])?;
    browser.run("location.hash = 'simulate'", &json!([]))?;
    is_text(browser, &["scenarios"])?;
    browser.run("document.getElementById('run').click()", &json!([]))?;
    is_text(browser, &["results", "#results pre"])?;
    let planted = browser.run(
        "const inside = document.getElementById('picture').shadowRoot;
         const planted = 'img, script:not([src]), foreignObject, a[href^=javascript], [onload], [onclick], [onerror]';
         const all = [...document.querySelectorAll('[role=img]')].map((one) => one.shadowRoot);
         return [window.hacked ?? null, document.querySelectorAll(planted).length, all.length,
            all.reduce((sum, one) => sum + one.querySelectorAll(planted).length, 0), inside.querySelectorAll('rect').length]",
        &json!([]),
    )?;
    ensure!(planted == json!([null, 0, 4, 0, 1]), "markup has become elements or has run: {planted}");
    browser.not_before_pages(&script)?;
    // The browser reports what its policy forbids in a picture, even where it has no effect.
    browser.leave()
}
