//! A dashboard with its data as an SVG picture, laid out as Grafana does: no library, and no more than lines and numbers.

use std::fmt::Write as _;

use super::dashboard::Panel;
use crate::charts::escaped;

/// A series: its name, and seconds with values.
type Line = (String, Vec<(f64, f64)>);

const COLUMN: f64 = 50.0;
const ROW: f64 = 26.0;
const HEAD: f64 = 46.0;
/// Colours that differ without red and green too (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6a00", "#555555"];

/// Draws what there was between two seconds.
pub(super) fn draw(title: &str, panels: &[(&Panel, Vec<Line>)], start: u64, end: u64) -> String {
    let bottom = panels.iter().map(|(panel, _)| panel.place[1] + panel.place[3]).fold(0.0, f64::max);
    let (width, height) = (24.0 * COLUMN + 20.0, bottom * ROW + HEAD + 10.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#f4f5f5\"/>\n\
         <text x=\"16\" y=\"29\" font-size=\"18\">{}</text>\n<text x=\"{}\" y=\"29\" text-anchor=\"end\" fill=\"#555\">a simulated \
         node, {} minutes</text>\n",
        escaped(title),
        width - 16.0,
        (end - start) / 60,
    );
    for (panel, lines) in panels {
        let [x, y, w, h] = panel.place;
        let _ = writeln!(svg, "<g transform=\"translate({} {})\">", x * COLUMN + 10.0, y * ROW + HEAD);
        let (w, h) = (w * COLUMN - 8.0, h * ROW - 8.0);
        let _ =
            writeln!(svg, "<rect width=\"{w}\" height=\"{h}\" rx=\"3\" fill=\"#fff\" stroke=\"#d8d9da\"/>");
        let _ =
            writeln!(svg, "<text x=\"10\" y=\"18\" font-weight=\"bold\">{}</text>", escaped(&panel.title));
        if panel.is_number {
            number(&mut svg, panel, lines, w, h);
        } else {
            let plot = Plot { w, h, start: seconds(start), end: seconds(end) };
            chart(&mut svg, panel, lines, plot);
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
const fn seconds(time: u64) -> f64 {
    time as f64
}

fn number(svg: &mut String, panel: &Panel, lines: &[Line], w: f64, h: f64) {
    let last = lines.first().and_then(|(_, points)| points.last());
    let shown = |value: f64| {
        let text = amount(value, &panel.unit);
        panel.words.iter().find(|(of, _)| *of == text).map_or(text, |(_, word)| word.clone())
    };
    let text = last.map_or_else(|| panel.nothing.clone(), |(_, value)| shown(*value));
    let colour = last.map_or("text", |(_, value)| panel.colour(*value));
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" font-size=\"34\" text-anchor=\"middle\" fill=\"{}\">{text}</text>",
        w / 2.0,
        h / 2.0 + 20.0,
        threshold_colour(colour)
    );
}

/// The colour of a threshold as Grafana names it, dark enough on white.
fn threshold_colour(name: &str) -> &'static str {
    match name {
        "green" => "#1a7f37",
        "orange" => "#b35900",
        "red" => "#c4162a",
        _ => "#222222",
    }
}

/// Where curves are drawn, and of which time, in seconds since 1970.
#[derive(Clone, Copy)]
struct Plot {
    w: f64,
    h: f64,
    start: f64,
    end: f64,
}

fn chart(svg: &mut String, panel: &Panel, lines: &[Line], plot: Plot) {
    let Plot { w, h, start, end } = plot;
    let (left, right, top) = (62.0, 12.0, 30.0);
    // Two names fit beside each other.
    let rows = lines.len().div_ceil(2);
    let bottom = 24.0 + 14.0 * f64::from(u32::try_from(rows).unwrap_or(0));
    let mut sums = std::collections::BTreeMap::<u64, f64>::new();
    let stacked: Vec<Vec<(f64, f64)>> = lines
        .iter()
        .map(|(_, points)| {
            let raise = |(time, value): &(f64, f64)| {
                if !panel.is_stacked {
                    return (*time, *value);
                }
                let sum = sums.entry(time.to_bits()).or_default();
                *sum += value;
                (*time, *sum)
            };
            points.iter().map(raise).collect()
        })
        .collect();
    let most = stacked.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max);
    let ceiling = round_up(most, if panel.unit == "bytes" { Powers::OfTwo } else { Powers::OfTen });
    let x = |time: f64| left + (time - start) / (end - start) * (w - left - right);
    let y = |value: f64| top + (1.0 - value / ceiling) * (h - top - bottom);
    for part in 0..=4 {
        let value = ceiling * f64::from(part) / 4.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {0:.1}H{1:.1}\" stroke=\"#e4e5e6\"/><text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\" \
             fill=\"#555\">{4}</text>",
            y(value),
            w - right,
            left - 6.0,
            y(value) + 4.0,
            amount(value, &panel.unit)
        );
    }
    for minutes in [0, 10, 20, 30] {
        let at = x(start + f64::from(minutes) * 60.0);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{}\" fill=\"#555\">{minutes} min</text>",
            h - bottom + 15.0,
            if minutes == 30 { "end" } else { "middle" }
        );
    }
    for (from, colour) in panel.steps.iter().filter(|(from, _)| *from > 0.0 && *from <= ceiling) {
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {0:.1}H{1:.1}\" stroke=\"{2}\" stroke-dasharray=\"6 3\"/>",
            y(*from),
            w - right,
            threshold_colour(colour)
        );
    }
    if lines.is_empty() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            f64::midpoint(left, w),
            f64::midpoint(h - bottom, top),
            escaped(&panel.nothing)
        );
    }
    // The lowest of a stack comes last, in front.
    for (at, points) in stacked.iter().enumerate().rev() {
        let colour = COLOURS[at % COLOURS.len()];
        let mut path = String::new();
        let mut before = f64::NEG_INFINITY;
        for (time, value) in points {
            // Where samples are missing there is no line.
            let step = if time - before > 60.0 { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.1} {:.1}", x(*time), y(*value));
            before = *time;
        }
        let fill = match (panel.is_stacked, points.first(), points.last()) {
            (true, Some((first, _)), Some((last, _))) => {
                let area = format!("{path}L{:.1} {:.1}L{:.1} {:.1}Z", x(*last), y(0.0), x(*first), y(0.0));
                format!("<path d=\"{area}\" fill=\"{colour}\" stroke=\"none\"/>")
            }
            _ => String::new(),
        };
        let _ = writeln!(
            svg,
            "{fill}<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
        );
    }
    for (at, (name, _)) in lines.iter().enumerate() {
        let column = if at % 2 == 0 { left } else { f64::midpoint(left, w) };
        let row = h - bottom + 30.0 + 14.0 * f64::from(u32::try_from(at / 2).unwrap_or(0));
        let colour = COLOURS[at % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<rect x=\"{column:.1}\" y=\"{:.1}\" width=\"10\" height=\"3\" fill=\"{colour}\"/><text x=\"{:.1}\" \
             y=\"{row:.1}\">{}</text>",
            row - 5.0,
            column + 15.0,
            escaped(name)
        );
    }
}

/// In which numbers read well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Powers {
    OfTen,
    /// Bytes.
    OfTwo,
}

/// The next number that a fourth of reads well: 1, 2, 4 or 8 of a power of ten, or a power of two.
fn round_up(most: f64, powers: Powers) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    if powers == Powers::OfTwo {
        return most.log2().ceil().exp2();
    }
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|number| *number >= most)
        .unwrap_or(most)
}

/// An amount in its unit, in few letters.
fn amount(value: f64, unit: &str) -> String {
    let trimmed = |value: f64| {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match unit {
        "bytes" => format!("{} GiB", trimmed(value / f64::from(1 << 30))),
        "percentunit" => format!("{} %", trimmed(value * 100.0)),
        "s" if value == 0.0 => "0".to_owned(),
        "s" if value < 0.001 => format!("{} µs", trimmed(value * 1e6)),
        "s" if value < 1.0 => format!("{} ms", trimmed(value * 1e3)),
        "s" => format!("{} s", trimmed(value)),
        _ => trimmed(value),
    }
}

#[cfg(test)]
mod tests {
    use super::{Powers, amount, round_up};

    #[test]
    fn axes_end_where_a_fourth_reads_well() {
        for (most, powers, expected) in [
            (0.0, Powers::OfTen, 1.0),
            (3.0, Powers::OfTen, 4.0),
            (46.0, Powers::OfTen, 80.0),
            (81.0, Powers::OfTen, 100.0),
            (5.0, Powers::OfTwo, 8.0),
        ] {
            assert!((round_up(most, powers) - expected).abs() < 1e-9, "{most}");
        }
    }

    #[test]
    fn amounts_have_their_unit() {
        for (value, unit, expected) in [
            (0.25, "percentunit", "25 %"),
            (2.5e-5, "s", "25 µs"),
            (0.0, "s", "0"),
            (1.5, "s", "1.5 s"),
            (f64::from(3_u32 << 30), "bytes", "3 GiB"),
            (46.0, "short", "46"),
        ] {
            assert_eq!(amount(value, unit), expected);
        }
    }
}
