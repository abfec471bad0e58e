//! How much the page works in a frame.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::browser::Browser;

/// How long frames are counted, in seconds.
pub(super) const SECONDS: u64 = 10;

/// A frame has work in it from so many milliseconds on.
const BUSY: f64 = 1.0;

/// The script in a frame, in milliseconds: the median and the most of the frames in which there is any, over ten seconds. It is
/// measured from outside, every few frames, so that those between two looks have equal parts.
pub(super) fn script_of_frames(browser: &Browser) -> anyhow::Result<(f64, f64)> {
    browser.run(
        "window.counted = 0;
         const count = () => { window.counted += 1; requestAnimationFrame(count); };
         requestAnimationFrame(count)",
        &json!([]),
    )?;
    let counted = || -> anyhow::Result<f64> {
        let frames = browser.run("return window.counted", &json!([]))?;
        frames.as_f64().context("no frames are counted")
    };
    let (mut spent, mut frames) = (browser.script_seconds()?, counted()?);
    let (mut all, began) = (Vec::new(), Instant::now());
    while began.elapsed() < Duration::from_secs(SECONDS) {
        thread::sleep(Duration::from_millis(10));
        let (now_spent, now) = (browser.script_seconds()?, counted()?);
        if now > frames {
            all.push((now_spent - spent) * 1000.0 / (now - frames));
            (spent, frames) = (now_spent, now);
        }
    }
    ensure!(all.len() > 20, "only {} frames were looked at", all.len());
    all.retain(|each| *each >= BUSY);
    if all.is_empty() { Ok((0.0, 0.0)) } else { median_and_worst(all) }
}

/// The one in the middle, and the largest.
pub(super) fn median_and_worst(mut all: Vec<f64>) -> anyhow::Result<(f64, f64)> {
    all.sort_by(f64::total_cmp);
    let middle = all.get(all.len() / 2).copied();
    middle.zip(all.last().copied()).context("nothing was measured")
}
