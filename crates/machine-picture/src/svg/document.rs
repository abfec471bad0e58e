//! A figure as an SVG document.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::figure::{Anchor, Figure, Ink, Shape};
use super::look::Look;
use super::pods;
use super::text::GAP;
use crate::shares::{Owner, PodIndex, Shares};

/// The whole file, with a margin.
pub(super) fn written(figure: Figure, title: &str, shares: &Shares) -> String {
    let mut page = Figure::boxed(figure.width + 4 * GAP, figure.height + 4 * GAP, Look::Page);
    page.put(2 * GAP, 2 * GAP, figure);
    let (width, height) = (page.width, page.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif\">\n<title>{}</title>\n<style>\n",
        escaped(title)
    );
    for look in Look::ALL {
        text.push_str(&format!(".{}{{{}}}\n", look.class(), look.style()));
    }
    for pod in (0..shares.pods.len()).map(PodIndex) {
        text.push_str(&format!(".{}{{{}}}\n", pods::class(pod), pods::style(pod)));
    }
    text.push_str(".m{text-anchor:middle}\n.h{font-weight:bold}\n.k{fill:#000000}\n.x{fill:#a8201a}\n");
    text.push_str(
        "@media (prefers-color-scheme:dark){\ntext{fill:#e4e6e9}\n.k{fill:#000000}\n.x{fill:#ff8f87}\n",
    );
    for look in Look::ALL {
        text.push_str(&format!(".{}{{{}}}\n", look.class(), look.dark_style()));
    }
    // After the looks, whose colours they replace.
    for pod in (0..shares.pods.len()).map(PodIndex) {
        text.push_str(&format!(".{}{{{}}}\n", pods::class(pod), pods::style(pod)));
    }
    text.push_str("}\n</style>\n");
    for (x, y, shape) in &page.shapes {
        match shape {
            Shape::Box { width, height, look, owner, title } => {
                let mut class = look.class().to_owned();
                // The pointer shows what the box is and which pod holds it.
                let mut tips: Vec<&str> = title.iter().map(String::as_str).collect();
                match owner {
                    Owner::Nobody => {}
                    Owner::Several => class.push_str(" several"),
                    Owner::Pod(pod) => {
                        class = format!("{class} {}", pods::class(*pod));
                        tips.extend(shares.pod(*pod).map(|pod| pod.name.as_str()));
                    }
                }
                let end = match tips.as_slice() {
                    [] => "/>".to_owned(),
                    tips => format!("><title>{}</title></rect>", escaped(&tips.join(", of "))),
                };
                text.push_str(&format!(
                    "<rect class=\"{class}\" x=\"{x}.5\" y=\"{y}.5\" width=\"{width}\" height=\"{height}\" rx=\"2\"{end}\n"
                ));
            }
            Shape::Text { text: own, size, anchor, ink } => {
                let class = match (anchor, ink) {
                    (Anchor::Start, Ink::Page) => "",
                    (Anchor::Start, Ink::Pod) => " class=\"k\"",
                    (Anchor::Start, Ink::Lack) => " class=\"x\"",
                    (Anchor::Middle, Ink::Page) => " class=\"m\"",
                    (Anchor::Middle, Ink::Pod) => " class=\"m k\"",
                    (Anchor::Middle, Ink::Lack) => " class=\"m x\"",
                    (Anchor::Heading, _) => " class=\"h\"",
                };
                let own = escaped(own);
                text.push_str(&format!(
                    "<text{class} x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{own}</text>\n"
                ));
            }
        }
    }
    text.push_str("</svg>\n");
    text
}

/// A text as the content of an XML element.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::text::FONT;
    use super::*;

    #[test]
    fn text_cannot_end_what_it_is_in() {
        let mut figure = Figure::boxed(10, 10, Look::Cpu);
        figure.text(0, 0, "</text><script>&", FONT, Anchor::Start);
        let text = written(figure, "</title>", &Shares::default());
        assert!(
            text.contains("&lt;/text&gt;&lt;script&gt;&amp;") && text.contains("<title>&lt;/title&gt;"),
            "{text}"
        );
    }
}
