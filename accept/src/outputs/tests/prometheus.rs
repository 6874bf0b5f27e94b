//! The text file for node_exporter: names, units, escapes, and a small reader of the format.

use std::collections::BTreeSet;

use super::sample;
use crate::outputs::prometheus;

#[test]
fn figures_stand_in_base_units() {
    let text = prometheus(&sample::bad());
    for part in [
        "# TYPE accept_verdict gauge\n",
        "accept_verdict{node=\"canary-node-017.cluster.example\",profile=\"l40x2\",level=\"quick\",verdict=\"rejected\"} 1\n",
        "verdict=\"accepted\"} 0\n",
        // 12.9 GB/s are 12.9e9 bytes a second; 118 us are 118e-6 s.
        "check=\"h2d_pinned\",about=\"GPU1\",figure=\"bandwidth of 16 MiB copies\"} 12900000000\n",
        "accept_check_high_seconds{",
        // 44 - 3.
        "about=\"0000:20:01.1\",figure=\"aer_correctable of 0000:20:01.1\"} 41\n",
        "# TYPE accept_check_counter gauge\n",
        // The counter itself: 44.
        "about=\"0000:20:01.1\",figure=\"aer_correctable of 0000:20:01.1\"} 44\n",
        "accept_check_samples{",
        // 2026-11-22T20:00:00Z: 20779 days after 1970 are 1795305600 s, and 72000.
        "} 1795377600\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.starts_with("# Measured on canary"), "{text}");
}

#[test]
fn figures_of_a_soft_box_have_names_of_their_own() {
    let text = prometheus(&sample::simulated(sample::good()));
    assert!(text.starts_with("# SIMULATED on soft box l40x4"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(
            line.starts_with("accept_simulated_") && line.contains("soft_box=\"l40x4\""),
            "{line}"
        );
    }
}

/// Name and labels of a sample, and whether its value is a number.
fn sample_of(line: &str) -> (String, bool) {
    let (mut in_quotes, mut escaped, mut end) = (false, false, None);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' => in_quotes = !in_quotes,
            '}' if !in_quotes && end.is_none() => end = Some(at),
            _ => {}
        }
    }
    let end = end.unwrap_or_else(|| panic!("no labels in {line}"));
    let value = line[end + 1..].trim();
    (
        line[..=end].to_owned(),
        value.parse::<f64>().is_ok_and(f64::is_finite),
    )
}

#[test]
fn every_sample_is_one_line_with_labels_of_its_own() {
    let mut report = sample::hostile();
    // The same figure twice in a check.
    let twice = report.checks[3].evidence[0].clone();
    report.checks[3].evidence.push(twice);
    let text = prometheus(&report);
    let mut known = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (labels, is_number) = sample_of(line);
        assert!(is_number, "{line}");
        let name: String = labels.chars().take_while(|c| *c != '{').collect();
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            "{line}"
        );
        assert!(text.contains(&format!("# HELP {name} ")), "{line}");
        assert!(known.insert(labels), "twice: {line}");
    }
    assert!(text.contains(",part=\"2\"}"));
    assert!(text.contains("\\\"]]>&"), "quotes are escaped: {text}");
}
