//! A browser without a screen, driven over `WebDriver` (<https://www.w3.org/TR/webdriver2/>) by chromedriver.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use workspace_tools::client::{Request, over_tcp};

/// How long anything on the page may take to be there. A machine that is busy is no fault of the page.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);
/// What the page has to fit.
const SIZE: (u32, u32) = (1280, 1000);
/// The same of a phone.
const PHONE: (u32, u32) = (390, 844);

/// The colours that the browser asks pages for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

/// The screen on which a page is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Device {
    Desk,
    Phone,
}

impl Device {
    /// Its width in pixels.
    pub(crate) const fn width(self) -> u32 {
        match self {
            Self::Desk => SIZE.0,
            Self::Phone => PHONE.0,
        }
    }
}

impl Scheme {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// A session; it ends with its browser when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts both programs.
    ///
    /// # Errors
    /// They are not installed, or do not answer.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start chromedriver: apt-get install --no-install-recommends chromium chromium-driver")?;
        let port = driver.stdout.take().and_then(|printed| {
            let mut lines = BufReader::new(printed).lines().map_while(Result::ok);
            let line = lines.find(|line| line.contains("started successfully on port"))?;
            line.trim_end_matches('.').rsplit(' ').next()?.parse().ok()
        });
        let mut browser =
            Self { driver, port: port.context("chromedriver names no port")?, session: String::new() };
        let size = format!("--window-size={},{}", SIZE.0, SIZE.1);
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &size];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let made = browser.ask("POST", "/session", &wanted)?;
        made["sessionId"].as_str().context("there is no session")?.clone_into(&mut browser.session);
        browser.on(Device::Desk)?;
        browser.tools("Performance.enable", &json!({}))?;
        Ok(browser)
    }

    /// Shows the page on a screen of that size.
    pub(crate) fn on(&self, device: Device) -> anyhow::Result<()> {
        let (width, height) = if device == Device::Desk { SIZE } else { PHONE };
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": device == Device::Phone});
        self.tools("Emulation.setDeviceMetricsOverride", &metrics)
    }

    /// For how many seconds the page's thread has worked since it was opened, layout and styles left out: scripts, the answers that
    /// they read, and painting.
    pub(crate) fn script_seconds(&self) -> anyhow::Result<f64> {
        let wanted = json!({"cmd": "Performance.getMetrics", "params": {}});
        let answer = self.of_session("POST", "/goog/cdp/execute", &wanted)?;
        let of = |name: &str| {
            let all = answer["metrics"].as_array().into_iter().flatten();
            let found = all.clone().find(|metric| metric["name"] == name)?;
            found["value"].as_f64()
        };
        let others = ["LayoutDuration", "RecalcStyleDuration", "DevToolsCommandDuration"];
        let others: f64 = others.iter().filter_map(|name| of(name)).sum();
        let worked = of("TaskDuration").context("the browser does not measure how long the page works")?;
        Ok(worked - others)
    }

    pub(crate) fn open(&self, address: &str) -> anyhow::Result<()> {
        // A change of the fragment alone does not load a page again.
        self.of_session("POST", "/url", &json!({"url": "about:blank"}))?;
        self.of_session("POST", "/url", &json!({"url": address})).map(drop)
    }

    /// Leaves the page before what serves it ends, and forgets the complaints about it.
    pub(crate) fn leave(&self) -> anyhow::Result<()> {
        self.of_session("POST", "/url", &json!({"url": "about:blank"}))?;
        self.complaints().map(drop)
    }

    /// Runs a function body in the page: its `arguments` are those, and its value is what it returns.
    pub(crate) fn run(&self, script: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.of_session("POST", "/execute/sync", &json!({"script": script, "args": arguments}))
    }

    /// Runs a script that calls its last argument with what it comes to.
    pub(crate) fn run_long(&self, script: &str) -> anyhow::Result<Value> {
        self.of_session("POST", "/execute/async", &json!({"script": script, "args": []}))
    }

    /// Presses a key and lets it go.
    pub(crate) fn press(&self, key: &str) -> anyhow::Result<()> {
        let code = if key == "Tab" { 9 } else { 0 };
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.tools("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// The same, until what it returns is neither `false` nor empty.
    pub(crate) fn until(&self, what: &str, script: &str) -> anyhow::Result<Value> {
        let since = Instant::now();
        loop {
            let found = self.run(script, &json!([]))?;
            if !matches!(&found, Value::Null | Value::Bool(false)) && found != "" && found != 0 {
                return Ok(found);
            }
            if since.elapsed() > PATIENCE {
                let seen = self.run("return document.body.innerText", &json!([]))?;
                bail!(
                    "{what}: not within {} s; the page says:\n{}",
                    PATIENCE.as_secs(),
                    seen.as_str().unwrap_or("")
                );
            }
            std::thread::sleep(PAUSE);
        }
    }

    pub(crate) fn prefer(&self, scheme: Scheme) -> anyhow::Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme.name()}]});
        self.tools("Emulation.setEmulatedMedia", &features)
    }

    /// What is to be seen, down to the end of the page, as a PNG file in base64.
    pub(crate) fn picture(&self) -> anyhow::Result<String> {
        let wanted = json!({"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": true, "format": "png"}});
        let taken = self.of_session("POST", "/goog/cdp/execute", &wanted)?;
        Ok(taken["data"].as_str().context("there is no picture")?.to_owned())
    }

    /// What the browser has complained about since it was asked last: errors of scripts, what a policy has forbidden.
    pub(crate) fn complaints(&self) -> anyhow::Result<Vec<String>> {
        let log = self.of_session("POST", "/se/log", &json!({"type": "browser"}))?;
        let lines = log.as_array().into_iter().flatten().filter(|line| line["level"] == "SEVERE");
        Ok(lines.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// Runs a script in every page before its own; the answer takes it back.
    pub(crate) fn before_pages(&self, script: &str) -> anyhow::Result<String> {
        let wanted = json!({"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": script}});
        let added = self.of_session("POST", "/goog/cdp/execute", &wanted)?;
        Ok(added["identifier"].as_str().context("the script has no name")?.to_owned())
    }

    /// No longer.
    pub(crate) fn not_before_pages(&self, script: &str) -> anyhow::Result<()> {
        self.tools("Page.removeScriptToEvaluateOnNewDocument", &json!({"identifier": script}))
    }

    fn tools(&self, command: &str, parameters: &Value) -> anyhow::Result<()> {
        let wanted = json!({"cmd": command, "params": parameters});
        self.of_session("POST", "/goog/cdp/execute", &wanted).map(drop)
    }

    fn of_session(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(method, &format!("/session/{}{path}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let (status, answer) = request(self.port, method, path, &[], &body.to_string())?;
        let mut answer: Value = serde_json::from_str(&answer).with_context(|| format!("{path}: {answer}"))?;
        let value = answer["value"].take();
        ensure!(status == 200, "{method} {path}: {}", value["message"].as_str().unwrap_or("no message"));
        Ok(value)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session, and the driver is ours.
        let _ = self.of_session("DELETE", "", &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// A request to a port of this host; the status and the body of the answer.
pub(crate) fn request(
    port: u16,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> anyhow::Result<(u16, String)> {
    let host = format!("127.0.0.1:{port}");
    let fields = [&[("Content-Type", "application/json")], fields].concat();
    let request =
        Request { host: &host, fields: &fields, ..Request::new(method, path).with_body(body.as_bytes()) };
    let reply = over_tcp(&request, &host, Duration::from_mins(2))?;
    Ok((reply.status, reply.body))
}
