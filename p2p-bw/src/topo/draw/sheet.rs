//! [`Sheet`]: boxes, lines and texts with their places, so that a test can see what overlaps, and the SVG of them.

use report::{Anchor, SvgFile};

/// A picture whose parts have places.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) frames: Vec<Rect>,
    pub(super) boxes: Vec<Rect>,
    pub(super) lines: Vec<Line>,
    pub(super) texts: Vec<Text>,
}

/// A rectangle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rect {
    pub(super) class: &'static str,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

/// A line through points.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A text on its base line.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) class: &'static str,
    pub(super) at: (f64, f64),
    pub(super) anchor: Anchor,
    pub(super) text: String,
}

impl Sheet {
    pub(super) fn text(
        &mut self,
        class: &'static str,
        at: (f64, f64),
        anchor: Anchor,
        text: impl Into<String>,
    ) {
        let text = text.into();
        self.texts.push(Text {
            class,
            at,
            anchor,
            text,
        });
    }

    pub(super) fn line(&mut self, class: &'static str, points: &[(f64, f64)]) {
        let points = points.to_vec();
        self.lines.push(Line { class, points });
    }

    /// Right and lower end of what stands on it.
    pub(super) fn size(&self) -> (f64, f64) {
        let texts = self.texts.iter().map(Text::rect);
        let rects = self.frames.iter().chain(&self.boxes).cloned().chain(texts);
        rects.fold((0.0, 0.0), |(right, lower), rect: Rect| {
            (right.max(rect.x + rect.w), lower.max(rect.y + rect.h))
        })
    }

    pub(super) fn svg(&self, title: &str) -> String {
        const MARGIN: f64 = 16.0;
        let (right, lower) = self.size();
        let mut file = SvgFile::file(right + MARGIN, lower + MARGIN, title);
        for rect in &self.frames {
            file.rectangle(rect.class, (rect.x, rect.y), (rect.w, rect.h));
        }
        // Boxes hide the ends of lines.
        for line in &self.lines {
            file.path(line.class, &line.points);
        }
        for rect in &self.boxes {
            file.rectangle(rect.class, (rect.x, rect.y), (rect.w, rect.h));
        }
        for text in &self.texts {
            file.text(text.class, text.at, text.anchor, &text.text);
        }
        file.end()
    }
}

impl Text {
    /// About where it stands; fonts differ, so that this is rather too wide.
    pub(super) fn rect(&self) -> Rect {
        let height = size(self.class);
        let bold = ["head", "warn", "name", "narrow"].contains(&self.class);
        let width = width(&self.text, height) * if bold { BOLD } else { 1.0 };
        let x = match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        };
        Rect {
            class: self.class,
            x,
            y: self.at.1 - 0.8 * height,
            w: width,
            h: height,
        }
    }
}

/// The height of a class's letters, as the style sheet has it.
fn size(class: &str) -> f64 {
    match class {
        "head" => 16.0,
        "tick" | "narrow" => 12.0,
        "legend" => 13.0,
        _ => 14.0,
    }
}

/// How much wider bold letters are.
pub(super) const BOLD: f64 = 1.12;

/// About how wide a text is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    0.58 * size * count(text.chars().count())
}

/// A text that fits into a width; one that does not ends in three dots.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        let longer = format!("{short}{character}");
        if width(&longer, size) + width("...", size) > most {
            break;
        }
        short = longer;
    }
    short.trim_end().to_owned() + "..."
}

#[expect(clippy::cast_precision_loss, reason = "a picture has few parts")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
