//! Curves of growth as a picture: one small chart for each, both axes logarithmic, both sides in it.

use super::{escaped, opening};

/// Sizes in pixels.
const WIDE: f64 = 300.0;
const HIGH: f64 = 230.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 50.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 40.0;
const IN_A_ROW: usize = 3;

/// Between labels on the axis of time.
const LINE: f64 = 12.0;

/// Colours that are those of the reader.
const STYLE: &str = "\
.ours{stroke:#0072b2;fill:none;stroke-width:2} .kubelet{stroke:#d55e00;fill:none;stroke-width:2;\
stroke-dasharray:7 3} .up{stroke-dasharray:2 3} .mark{stroke:#d55e00;fill:none;stroke-width:2} \
.dot{fill:#0072b2} .square{fill:#d55e00} .grid{stroke:#dddddd} .frame{stroke:#888888;fill:none} \
.page{fill:#ffffff} text{fill:#333333} .factor{font-weight:bold}
@media (prefers-color-scheme:dark){
.page{fill:#16181c} text{fill:#dddddd} .grid{stroke:#3a3d42} \
.ours{stroke:#4aa8e8} .dot{fill:#4aa8e8} .kubelet,.mark{stroke:#ff8a3d} .square{fill:#ff8a3d}
}
";

/// One chart: what is on its axes, and the two curves.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) title: &'a str,
    pub(crate) axis: &'a str,
    /// How many, and how many nanoseconds.
    pub(crate) ours: Vec<(f64, f64)>,
    /// The last one may be a point that it did not reach in time.
    pub(crate) kubelet: Vec<(f64, f64)>,
    /// Where it was given up: the size, and the time until then.
    pub(crate) given_up: Option<(f64, f64)>,
}

/// What the classes of curves stand for, below the charts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Legend {
    /// topolet and the kubelet.
    Both,
    /// topolet and kube-scheduler's allocator of claims.
    Allocator,
    /// topolet alone.
    Ours,
}

/// Charts side by side.
pub(crate) fn picture(curves: &[Curve<'_>], legend: Legend) -> String {
    let rows = curves.len().div_ceil(IN_A_ROW);
    let (wide, high) = (WIDE * count(IN_A_ROW.min(curves.len())), HIGH * count(rows) + 30.0);
    let mut svg = opening(wide, high, 10, STYLE);
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) = (WIDE * count(at % IN_A_ROW), HIGH * count(at / IN_A_ROW));
        svg += &curve.draw(x, y);
    }
    svg + &legend.draw(high - 12.0) + "</svg>\n"
}

impl Legend {
    fn draw(self, y: f64) -> String {
        let ours = format!(
            "<g font-size=\"11\"><path class=\"ours\" d=\"M{LEFT} {y}h28\"/><circle class=\"dot\" cx=\"{}\" cy=\"{y}\" \
             r=\"3\"/><text x=\"{}\" y=\"{}\">topolet",
            LEFT + 14.0,
            LEFT + 36.0,
            y + 4.0
        );
        match self {
            Self::Ours => ours + ". Both axes are logarithmic.</text></g>\n",
            Self::Both => ours + &Self::other("kubelet v1.36.3", "the kubelet", y),
            Self::Allocator => ours + &Self::other("kube-scheduler v1.37.2", "it", y),
        }
    }

    /// What the other side's marks are.
    fn other(name: &str, short: &str, y: f64) -> String {
        format!(
            "</text><path class=\"kubelet\" d=\"M{} {y}h28\"/><path class=\"square\" d=\"M{} {}h6v6h-6z\"/>\
             <text x=\"{}\" y=\"{}\">{name}; a cross: given up after that time. Both axes are logarithmic. \
             ×N: {short} takes N times as long.</text></g>\n",
            LEFT + 110.0,
            LEFT + 121.0,
            y - 3.0,
            LEFT + 146.0,
            y + 4.0
        )
    }
}

impl Curve<'_> {
    /// How many times as long the kubelet takes, for as many as both did last: `×1,600 at 32 NUMA nodes`.
    fn factor(&self) -> Option<String> {
        let ours = |at: f64| self.ours.iter().find(|(own, _)| (own - at).abs() < 0.5).map(|(_, time)| *time);
        let (at, factor, over) = match (self.given_up, self.kubelet.last()) {
            (Some((at, time)), _) => (at, time / ours(at)?, "more than "),
            (None, Some((at, time))) => (*at, time / ours(*at)?, ""),
            (None, None) => return None,
        };
        Some(format!("{over}×{} at {at:.0} {}", rounded(factor), self.axis))
    }

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
            y0 - 28.0,
            escaped(self.title)
        );
        if let Some(factor) = self.factor() {
            svg += &format!(
                "<text class=\"factor\" x=\"{x0:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>\n",
                y0 - 10.0,
                escaped(&factor)
            );
        }
        let mut power = low;
        while power <= high {
            let (_, y) = place((least, 10_f64.powf(power)));
            svg += &format!("<path class=\"grid\" d=\"M{x0:.1} {y:.1}h{wide:.1}\"/>\n");
            // Every power where there is room, else every second or third.
            let apart = (LINE * (high - low) / tall).ceil().max(1.0);
            if ((power - low) % apart).abs() < 0.5 {
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
        let sizes: Vec<(f64, String)> =
            self.ours.iter().map(|(at, time)| (place((*at, *time)).0, format!("{at:.0}"))).collect();
        for (x, shown) in apart(&sizes) {
            svg += &format!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{shown}</text>\n",
                y0 + tall + 13.0
            );
        }
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            x0 + wide / 2.0,
            y0 + tall + 27.0,
            escaped(&format!("{} (logarithmic)", self.axis))
        );
        for (class, points) in [("ours", &self.ours), ("kubelet", &self.kubelet)] {
            let path: Vec<String> =
                points.iter().map(|point| place(*point)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                svg += &format!("<path class=\"{class}\" d=\"M{}\"/>\n", path.join("L"));
            }
            svg.extend(points.iter().map(|point| place(*point)).map(|(x, y)| match class {
                "ours" => format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>\n"),
                _ => format!("<path class=\"square\" d=\"M{:.1} {:.1}h5v5h-5z\"/>\n", x - 2.5, y - 2.5),
            }));
        }
        if let Some(point) = self.given_up {
            let (x, y) = place(point);
            if let Some((x1, y1)) = self.kubelet.last().map(|point| place(*point)) {
                svg += &format!("<path class=\"kubelet up\" d=\"M{x1:.1} {y1:.1}L{x:.1} {y:.1}\"/>\n");
            }
            svg += &format!("<path class=\"mark\" d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\"/>\n", x - 4.0, y - 4.0);
        }
        svg
    }
}

/// The labels of an axis, from left to right, that do not touch each other. The first and the last one say how far the curve
/// was measured, so that others make room for them.
fn apart(labels: &[(f64, String)]) -> Vec<&(f64, String)> {
    // A digit is six pixels wide.
    let room = |label: &(f64, String)| (6.0 * count(label.1.len())).max(20.0);
    let mut shown: Vec<&(f64, String)> = Vec::new();
    for label in labels {
        if shown.last().is_none_or(|before| label.0 - before.0 > room(label)) {
            shown.push(label);
        }
    }
    if let Some(last) = labels.last() {
        while shown.len() > 1
            && shown.last().is_some_and(|before| before.0 < last.0 && last.0 - before.0 <= room(last))
        {
            shown.pop();
        }
        if shown.last().is_none_or(|before| before.0 < last.0) {
            shown.push(last);
        }
    }
    shown
}

/// A time with three digits and its unit.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// Two digits that count: `1.3`, `42`, `1,600`.
fn rounded(factor: f64) -> String {
    let unit = 10_f64.powf(factor.log10().floor() - 1.0);
    let shown = (factor / unit).round() * unit;
    if shown < 10.0 {
        return format!("{shown:.1}");
    }
    let digits = format!("{shown:.0}");
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let parts = (!head.is_empty()).then(|| head.to_owned()).into_iter().chain(groups);
    parts.collect::<Vec<_>>().join(",")
}

#[expect(clippy::cast_precision_loss, reason = "a handful of charts")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanoseconds, shown) in
            [(45.28, "45.3 ns"), (1_292.0, "1.29 µs"), (15_152_872.0, "15.2 ms"), (258e9, "258 s")]
        {
            assert_eq!(time(nanoseconds), shown);
        }
    }

    #[test]
    fn the_ends_of_an_axis_have_labels() {
        for (labels, shown) in [
            (&[(0.0, "1"), (10.0, "2"), (30.0, "4")][..], &["1", "4"][..]),
            (&[(0.0, "10"), (70.0, "100"), (198.0, "5000"), (220.0, "10000")], &["10", "100", "10000"]),
            (&[(0.0, "8")], &["8"]),
            (&[], &[]),
        ] {
            let labels: Vec<_> = labels.iter().map(|(x, text)| (*x, (*text).to_owned())).collect();
            let found: Vec<&str> = apart(&labels).into_iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(found, shown);
        }
    }

    #[test]
    fn factors_have_two_digits_and_say_where() {
        for (factor, shown) in [
            (0.834, "0.8"),
            (1.26, "1.3"),
            (42.4, "42"),
            (1649.0, "1,600"),
            (4_225_000.0, "4,200,000"),
            (99.9, "100"),
        ] {
            assert_eq!(rounded(factor), shown);
        }
        let curve = |given_up| Curve {
            title: "admit",
            axis: "NUMA nodes",
            ours: vec![(4.0, 10.0), (8.0, 20.0)],
            kubelet: vec![(4.0, 1000.0)],
            given_up,
        };
        assert_eq!(curve(None).factor().as_deref(), Some("×100 at 4 NUMA nodes"));
        let over = curve(Some((8.0, 6000.0)));
        assert_eq!(over.factor().as_deref(), Some("more than ×300 at 8 NUMA nodes"));
        let picture = over.draw(0.0, 0.0);
        assert!(picture.contains(">NUMA nodes (logarithmic)<") && !picture.contains(" us<"), "{picture}");
    }
}
