//! A text file for Prometheus's node_exporter. There are no time stamps, which node_exporter refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use record::control::replaced;

/// Metrics by name, so that each has its samples together, as the format wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prometheus {
    /// What every name begins with, such as `accept`.
    pub prefix: String,
    /// Labels of every sample.
    pub labels: Vec<(&'static str, String)>,
    by_name: BTreeMap<String, Metric>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Metric {
    help: String,
    /// The samples by their labels: two of one set are an error to every reader, so the last one stands.
    samples: BTreeMap<String, String>,
}

impl Prometheus {
    /// Nothing yet; every name begins with the prefix, every sample has the labels.
    #[must_use]
    pub fn new(prefix: &str, labels: Vec<(&'static str, String)>) -> Self {
        Self {
            prefix: prefix.to_owned(),
            labels,
            by_name: BTreeMap::new(),
        }
    }

    /// Adds a sample in the unit that its name ends with; what is not finite is left out.
    pub fn add(&mut self, name: &str, help: &str, labels: &[(&'static str, &str)], value: f64) {
        if !value.is_finite() {
            return;
        }
        let common = self
            .labels
            .iter()
            .map(|(key, value)| (*key, value.as_str()));
        let pairs: Vec<String> = common
            .chain(labels.iter().copied())
            .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
            .collect();
        let metric = self.by_name.entry(format!("{}_{name}", self.prefix));
        let metric = metric.or_insert_with(|| Metric {
            help: help.to_owned(),
            samples: BTreeMap::new(),
        });
        metric.samples.insert(pairs.join(","), value.to_string());
    }

    /// Adds a figure in base units: GB/s as bytes a second, times as seconds, everything else as it is.
    pub fn add_in(
        &mut self,
        name: &str,
        help: &str,
        labels: &[(&'static str, &str)],
        (value, unit): (f64, &str),
    ) {
        let (end, factor) = match unit {
            "GB/s" => ("bytes_per_second", 1e9),
            "ms" => ("seconds", 1e-3),
            "us" => ("seconds", 1e-6),
            "s" => ("seconds", 1.0),
            "degC" => ("celsius", 1.0),
            "%" => ("ratio", 1e-2),
            _ => ("ratio", 1.0),
        };
        self.add(&format!("{name}_{end}"), help, labels, value * factor);
    }

    /// The whole file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, metric) in &self.by_name {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} gauge", metric.help);
            for (labels, value) in &metric.samples {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
        text
    }
}

fn escaped(text: &str) -> String {
    let text = replaced(text).replace('\\', "\\\\");
    text.replace('\n', "\\n").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_base_units_under_escaped_labels() {
        let mut all = Prometheus::new("accept", vec![("node", "a\"b".to_owned())]);
        all.add_in("figure", "A figure.", &[("about", "GPU0")], (25.5, "GB/s"));
        all.add("gone", "Nothing.", &[], f64::NAN);
        let expected = "# HELP accept_figure_bytes_per_second A figure.\n\
            # TYPE accept_figure_bytes_per_second gauge\n\
            accept_figure_bytes_per_second{node=\"a\\\"b\",about=\"GPU0\"} 25500000000\n";
        assert_eq!(all.text(), expected);
    }
}
