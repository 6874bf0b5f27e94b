//! The page: what stands on it, and what never does.

use super::sample;
use crate::outputs::html;

#[test]
fn the_verdict_stands_first_and_the_pictures_have_their_limits() {
    let html = html(&sample::bad());
    let place = |part: &str| {
        html.find(part)
            .unwrap_or_else(|| panic!("{part} in {html}"))
    };
    let order = [
        "<h1>REJECTED",
        "What rejects it",
        "What to do",
        "At a glance",
        "Links to the host",
        "Over time",
    ];
    for pair in order.windows(2) {
        assert!(place(pair[0]) < place(pair[1]), "{pair:?}");
    }
    // Bars of h2d_pinned (two), p2p (one) and allreduce (one), each with its line, and one in the legend of each picture.
    assert_eq!(html.matches("class=\"limit\"").count(), 4 + 3);
    // The pair that hung has no number in the matrix.
    assert!(
        html.contains(">FAILED<") && html.contains(">12.70<"),
        "{html}"
    );
    assert!(html.contains("Gen1 x16") && html.contains("temperature over time"));
}

#[test]
fn a_soft_box_is_marked_at_the_top_and_in_every_picture() {
    let html = html(&sample::simulated(sample::bad()));
    assert!(html.contains("<title>SIMULATED: REJECTED"));
    assert!(html.contains("<p class=\"banner\">SIMULATED on soft box l40x4"));
    let figures = html.matches("<figure>").count();
    assert_eq!(figures, html.matches(">SIMULATED</text>").count());
    assert!(figures >= 6, "{figures}");
}

#[test]
fn nothing_of_others_becomes_markup_and_nothing_is_loaded() {
    let html = html(&sample::hostile());
    assert!(html.contains("default-src 'none'; style-src 'unsafe-inline'"));
    for never in [
        "<script",
        "http://",
        "https://",
        "url(",
        "@import",
        "onerror",
        "<img",
        "<iframe",
        "javascript:",
    ] {
        assert!(!html.contains(never), "{never}");
    }
    assert!(html.contains("&lt;script&gt;"));
    assert!(!html.contains(|c: char| measure::control::is_unseen(c) && c != '\n'));
    assert!(html.len() < 200_000, "{}", html.len());
}
