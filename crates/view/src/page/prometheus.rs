//! A text file for Prometheus's node_exporter. There are no time stamps, which node_exporter refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use record::control::replaced;

/// Gauges by name, so that each has its samples together, as the format wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prometheus(BTreeMap<String, BTreeMap<String, String>>);

impl Prometheus {
    /// Adds a sample; what is not finite is left out, of two with the same labels the last one stands.
    pub fn add(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        if value.is_finite() {
            let pairs = labels.iter().map(|(key, value)| {
                let value = replaced(value).replace('\\', "\\\\").replace('"', "\\\"");
                format!("{key}=\"{value}\"")
            });
            let labels = pairs.collect::<Vec<_>>().join(",");
            let samples = self.0.entry(name.to_owned()).or_default();
            samples.insert(labels, value.to_string());
        }
    }

    /// The whole file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, samples) in &self.0 {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# TYPE {name} gauge");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_name_stand_together_under_escaped_labels() {
        let mut all = Prometheus::default();
        all.add("rate", &[("node", "a\"b"), ("about", "GPU0")], 25.5);
        all.add("gone", &[], f64::NAN);
        let expected = "# TYPE rate gauge\nrate{node=\"a\\\"b\",about=\"GPU0\"} 25.5\n";
        assert_eq!(all.text(), expected);
    }
}
