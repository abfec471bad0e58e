//! The curves of growth as a picture: one small chart for each, both axes logarithmic, both sides in it.

use super::Result;
use super::kubelet::Answer;
use super::table::time;

/// Sizes in pixels.
const WIDE: f64 = 300.0;
const HIGH: f64 = 190.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 40.0;
const IN_A_ROW: usize = 3;

/// One chart: what is on its axes, and the two curves.
struct Curve<'a> {
    title: &'a str,
    axis: &'a str,
    ours: Vec<(f64, f64)>,
    /// The last one may be a point that it did not reach in time.
    kubelet: Vec<(f64, f64)>,
    /// Where it was given up: so many, after so long.
    given_up: Option<(f64, f64)>,
}

/// The picture; empty where no curve was measured.
pub(super) fn draw(results: &[Result]) -> String {
    let curves = curves(results);
    let rows = curves.len().div_ceil(IN_A_ROW);
    let (wide, high) = (WIDE * count(IN_A_ROW), HIGH * count(rows) + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" \
         height=\"{high:.0}\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"10\">\n\
         <style>.ours{{stroke:#1a7f37;fill:none;stroke-width:2}} .kubelet{{stroke:#c0392b;fill:none;stroke-width:2}} \
         .grid{{stroke:#dddddd}} .frame{{stroke:#888888;fill:none}} text{{fill:#333333}}</style>\n\
         <rect width=\"{wide:.0}\" height=\"{high:.0}\" fill=\"#ffffff\"/>\n"
    );
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) = (WIDE * count(at % IN_A_ROW), HIGH * count(at / IN_A_ROW));
        svg += &curve.draw(x, y);
    }
    let legend = high - 12.0;
    svg += &format!(
        "<path class=\"ours\" d=\"M{x0} {y}h24\"/><text x=\"{x1}\" y=\"{t}\">topolet</text>\
         <path class=\"kubelet\" d=\"M{x2} {y}h24\"/><text x=\"{x3}\" y=\"{t}\">kubelet v1.36.3; a cross: given up \
         after that time</text>\n</svg>\n",
        x0 = LEFT,
        x1 = LEFT + 30.0,
        x2 = LEFT + 100.0,
        x3 = LEFT + 130.0,
        y = legend,
        t = legend + 4.0,
    );
    svg
}

fn curves(results: &[Result]) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for result in results {
        let (Some(title), Some(axis), Some(at)) = (&result.ours.curve, &result.ours.axis, result.ours.at)
        else {
            continue;
        };
        if curves.last().is_none_or(|curve| curve.title != title) {
            curves.push(Curve { title, axis, ours: Vec::new(), kubelet: Vec::new(), given_up: None });
        }
        let Some(curve) = curves.last_mut() else { continue };
        curve.ours.push((at, result.ours.nanoseconds));
        match result.kubelet {
            Some(Answer::Took { nanoseconds, .. }) => curve.kubelet.push((at, nanoseconds)),
            Some(Answer::Over { nanoseconds }) if curve.given_up.is_none() => {
                curve.given_up = Some((at, nanoseconds));
            }
            _ => {}
        }
    }
    curves
}

impl Curve<'_> {
    fn draw(&self, left: f64, top: f64) -> String {
        let all = || self.ours.iter().chain(&self.kubelet).chain(&self.given_up);
        let (least, most) =
            all().fold((f64::MAX, 2.0), |(least, most), (at, _)| (at.min(least), at.max(most)));
        let (low, high) =
            all().fold((f64::MAX, 10.0), |(low, high), (_, time)| (low.min(*time), time.max(high)));
        // Whole powers of ten at both ends.
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        let (x0, y0) = (left + LEFT, top + TOP);
        let (wide, tall) = (WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM);
        let place = |(at, time): (f64, f64)| {
            let x = x0 + wide * (at / least).ln() / (most / least).ln();
            let y = y0 + tall * (1.0 - (time.log10() - low) / (high - low));
            (x, y)
        };
        let mut svg = format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\">{}</text>\n",
            x0,
            y0 - 12.0,
            escaped(self.title)
        );
        let mut power = low;
        while power <= high {
            let (_, y) = place((least, 10_f64.powf(power)));
            svg += &format!("<path class=\"grid\" d=\"M{x0:.1} {y:.1}h{wide:.1}\"/>\n");
            if (power % 3.0).abs() < 0.5 || high - low < 4.0 {
                let shown = time(10_f64.powf(power)).replace(".00", "").replace(".0 ", " ");
                svg += &format!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{shown}</text>\n",
                    x0 - 5.0,
                    y + 3.5
                );
            }
            power += 1.0;
        }
        svg += &format!(
            "<rect class=\"frame\" x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\"/>\n"
        );
        let mut last = f64::MIN;
        for (at, time) in &self.ours {
            let (x, _) = place((*at, *time));
            if x - last > 20.0 {
                last = x;
                svg += &format!(
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{at:.0}</text>\n",
                    y0 + tall + 13.0
                );
            }
        }
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            x0 + wide / 2.0,
            y0 + tall + 27.0,
            escaped(self.axis)
        );
        for (class, points) in [("ours", &self.ours), ("kubelet", &self.kubelet)] {
            let path: Vec<String> =
                points.iter().map(|point| place(*point)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                svg += &format!("<path class=\"{class}\" d=\"M{}\"/>\n", path.join("L"));
            }
        }
        if let Some(point) = self.given_up {
            let (x, y) = place(point);
            if let Some((x1, y1)) = self.kubelet.last().map(|point| place(*point)) {
                svg += &format!(
                    "<path class=\"kubelet\" stroke-dasharray=\"3 3\" d=\"M{x1:.1} {y1:.1}L{x:.1} {y:.1}\"/>\n"
                );
            }
            svg += &format!("<path class=\"kubelet\" d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\"/>\n", x - 4.0, y - 4.0);
        }
        svg
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[expect(clippy::cast_precision_loss, reason = "a handful of charts")]
const fn count(number: usize) -> f64 {
    number as f64
}
