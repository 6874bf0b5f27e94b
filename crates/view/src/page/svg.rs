//! Text and numbers inside SVG and HTML: escaping, rounding, and elements that every picture draws.

use std::fmt::Write as _;

use record::control::is_unseen;

/// Text that is safe between tags and inside quoted attributes; control characters, and those that turn the direction of what
/// stands beside them, become a replacement mark.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push(' '),
            unseen if is_unseen(unseen) => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A text of at most so many characters, its last one `…` where it was longer.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}
/// Pixels of a unit at least: below, words of 12 units cannot be read.
const LEAST: f64 = 0.75;

/// A drawing under construction.
#[derive(Debug)]
pub(super) struct Drawing {
    body: String,
}

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    /// It begins at its point.
    Start,
    /// Its middle stands there.
    Middle,
    /// It ends there.
    End,
}

impl Drawing {
    /// Begins a drawing of this many units, which scales with the page and is read aloud by its title; on a page that is too
    /// narrow for its words it is moved sideways.
    pub(crate) fn begin(width: f64, height: f64, title: &str) -> Self {
        let mut body = String::new();
        let title = escape(title);
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            body,
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"min-width:{:.0}px\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>",
            width * LEAST
        );
        Self { body }
    }

    /// The same for pages of a certain width only, `wide` or `narrow`, or for one that says so where it is too narrow: `sideways`.
    pub(crate) fn begin_for(pages: &str, width: f64, height: f64, title: &str) -> Self {
        let mut drawing = Self::begin(width, height, title);
        let class = format!("<svg class=\"{pages}\" ");
        drawing.body = drawing.body.replacen("<svg ", &class, 1);
        drawing
    }

    /// A filled rectangle.
    pub(super) fn rectangle(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{h:.1}\"/>",
            w.max(0.5)
        );
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// A line through points.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let through: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = write!(
            self.body,
            "<polyline class=\"{class}\" points=\"{}\"/>",
            through.join(" ")
        );
    }

    /// A dot.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        let _ = write!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
        );
    }

    /// A text.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    /// The finished element.
    #[must_use]
    pub(super) fn end(mut self) -> String {
        self.body.push_str("</svg>");
        self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_become_an_element() {
        assert_eq!(
            escape("<script a='b\"&\u{1b}\n>"),
            "&lt;script a=&#39;b&quot;&amp;\u{fffd} &gt;"
        );
        // A right-to-left override would turn the numbers behind a name around.
        assert_eq!(escape("a\u{202e}1.5\u{2066}"), "a\u{fffd}1.5\u{fffd}");
    }
}
