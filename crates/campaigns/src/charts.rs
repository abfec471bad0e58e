//! Charts as SVG pictures: what they begin with, and the texts in them.

pub(crate) mod curves;

/// The opening of a picture of so many pixels, with the size of its letters and a style that has the class `page`.
pub(crate) fn opening(wide: f64, high: f64, letters: u32, style: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         font-family=\"DejaVu Sans, sans-serif\" font-size=\"{letters}\">\n<style>{style}</style>\n\
         <rect class=\"page\" width=\"{wide:.0}\" height=\"{high:.0}\"/>\n"
    )
}

/// A text between tags.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
