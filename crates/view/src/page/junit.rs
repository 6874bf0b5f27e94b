//! JUnit XML: suites of cases, each passed, failed, in error or skipped, as continuous integration reads it.
//!
//! No text of a case becomes markup, and characters that XML 1.0 does not have are replaced. Which case failed is the caller's.

use std::fmt::Write as _;

use crate::page::svg::escape;

/// A whole file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Junit {
    /// Its name.
    pub name: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Seconds that all of it took.
    pub seconds: f64,
    /// Its suites.
    pub suites: Vec<JunitSuite>,
}

/// Cases that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JunitSuite {
    /// Its name.
    pub name: String,
    /// Facts about all its cases: name and value.
    pub properties: Vec<(String, String)>,
    /// Its cases.
    pub cases: Vec<JunitCase>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunitCase {
    /// What kind of case it is.
    pub class: String,
    /// Its name.
    pub name: String,
    /// What it came to.
    pub outcome: JunitOutcome,
    /// What it printed: lines that a reader may want to see.
    pub output: Vec<String>,
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JunitOutcome {
    /// It is good.
    Passed,
    /// It is bad.
    Failed {
        /// A word for why.
        kind: String,
        /// A sentence.
        message: String,
    },
    /// It is unknown.
    Error {
        /// A word for why.
        kind: String,
        /// A sentence.
        message: String,
    },
    /// It was not looked at.
    Skipped {
        /// A sentence.
        message: String,
    },
}

impl Junit {
    /// The whole XML document.
    #[must_use]
    pub fn xml(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let all = || self.suites.iter().flat_map(|suite| &suite.cases);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            xml,
            "<testsuites name=\"{}\" {} time=\"{:.3}\">",
            safe(&self.name),
            counts(all()),
            self.seconds
        );
        for suite in &self.suites {
            let _ = writeln!(
                xml,
                "  <testsuite name=\"{}\" {} timestamp=\"{}\">",
                safe(&suite.name),
                counts(suite.cases.iter()),
                safe(&self.started)
            );
            if !suite.properties.is_empty() {
                xml.push_str("    <properties>\n");
                for (name, value) in &suite.properties {
                    let (name, value) = (safe(name), safe(value));
                    let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{value}\"/>");
                }
                xml.push_str("    </properties>\n");
            }
            for case in &suite.cases {
                case.write(&mut xml);
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

impl JunitCase {
    fn write(&self, xml: &mut String) {
        let (class, name) = (safe(&self.class), safe(&self.name));
        let _ = writeln!(xml, "    <testcase classname=\"{class}\" name=\"{name}\">");
        match &self.outcome {
            JunitOutcome::Passed => {}
            JunitOutcome::Failed { kind, message } => outcome(xml, "failure", kind, message),
            JunitOutcome::Error { kind, message } => outcome(xml, "error", kind, message),
            JunitOutcome::Skipped { message } => {
                let _ = writeln!(xml, "      <skipped message=\"{}\"/>", safe(message));
            }
        }
        if !self.output.is_empty() {
            let lines: Vec<String> = self.output.iter().map(|line| safe(line)).collect();
            let _ = writeln!(xml, "      <system-out>{}</system-out>", lines.join("\n"));
        }
        xml.push_str("    </testcase>\n");
    }
}

fn outcome(xml: &mut String, element: &str, kind: &str, message: &str) {
    let (kind, message) = (safe(kind), safe(message));
    let _ = writeln!(
        xml,
        "      <{element} type=\"{kind}\" message=\"{message}\">{message}</{element}>"
    );
}

/// The attributes that count cases.
fn counts<'a>(cases: impl Iterator<Item = &'a JunitCase>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            JunitOutcome::Passed => {}
            JunitOutcome::Failed { .. } => failures += 1,
            JunitOutcome::Error { .. } => errors += 1,
            JunitOutcome::Skipped { .. } => skipped += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

/// Text without markup and without the two characters that are no control characters and not in XML 1.0.
fn safe(text: &str) -> String {
    escape(&text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: JunitOutcome) -> JunitCase {
        JunitCase {
            class: "link".to_owned(),
            name: name.to_owned(),
            outcome,
            output: Vec::new(),
        }
    }

    #[test]
    fn cases_are_counted_by_suite_and_together() {
        let word = || "w".to_owned();
        let junit = Junit {
            name: "all".to_owned(),
            started: "2026-11-22T20:00:00Z".to_owned(),
            seconds: 1.5,
            suites: vec![
                JunitSuite {
                    name: "one".to_owned(),
                    properties: vec![("soft <box>".to_owned(), "a\"b".to_owned())],
                    cases: vec![
                        case("a", JunitOutcome::Passed),
                        case(
                            "b",
                            JunitOutcome::Failed {
                                kind: word(),
                                message: "1 < 2".to_owned(),
                            },
                        ),
                    ],
                },
                JunitSuite {
                    name: "two".to_owned(),
                    properties: Vec::new(),
                    cases: vec![
                        case(
                            "c",
                            JunitOutcome::Error {
                                kind: word(),
                                message: word(),
                            },
                        ),
                        case("d", JunitOutcome::Skipped { message: word() }),
                    ],
                },
            ],
        };
        let xml = junit.xml();
        for part in [
            "<testsuites name=\"all\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.500\">",
            "<testsuite name=\"one\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" timestamp=\"2026-11-22T20:00:00Z\">",
            "<testsuite name=\"two\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\"",
            "<property name=\"soft &lt;box&gt;\" value=\"a&quot;b\"/>",
            "<failure type=\"w\" message=\"1 &lt; 2\">1 &lt; 2</failure>",
            "<skipped message=\"w\"/>",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }

    #[test]
    fn no_text_becomes_markup_or_leaves_xml() {
        let mut hostile = case("]]></system-out><script>", JunitOutcome::Passed);
        hostile.output = vec!["\u{0}\u{1b}[31m\u{ffff}\u{202e} & line".to_owned()];
        let junit = Junit {
            suites: vec![JunitSuite {
                cases: vec![hostile],
                ..JunitSuite::default()
            }],
            ..Junit::default()
        };
        let xml = junit.xml();
        assert!(
            xml.contains("name=\"]]&gt;&lt;/system-out&gt;&lt;script&gt;\""),
            "{xml}"
        );
        let marks = "\u{fffd}";
        assert!(
            xml.contains(&format!(
                "<system-out>{marks}{marks}[31m{marks}{marks} &amp; line</system-out>"
            )),
            "{xml}"
        );
        assert!(!xml.contains(|c: char| c.is_control() && c != '\n'));
    }
}
