//! JUnit XML: suites of cases, each passed, failed, in error or skipped, as continuous integration reads it.
//!
//! No text of a case becomes markup, and characters that XML 1.0 does not have are replaced. Which case failed is the caller's.

use crate::page::markup::escape;

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
        let suites = self.suites.iter().map(|suite| suite.xml(&self.started));
        let cases: Vec<&JunitCase> = self.suites.iter().flat_map(|suite| &suite.cases).collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"{}\" {} time=\"{:.3}\">\n{}</testsuites>\n",
            safe(&self.name),
            counts(&cases),
            self.seconds,
            suites.collect::<String>()
        )
    }
}

impl JunitSuite {
    fn xml(&self, started: &str) -> String {
        let property = |(name, value): &(String, String)| {
            let (name, value) = (safe(name), safe(value));
            format!("      <property name=\"{name}\" value=\"{value}\"/>\n")
        };
        let properties: String = self.properties.iter().map(property).collect();
        format!(
            "  <testsuite name=\"{}\" {} timestamp=\"{}\">\n    <properties>\n{properties}    </properties>\n{}  </testsuite>\n",
            safe(&self.name),
            counts(&self.cases.iter().collect::<Vec<_>>()),
            safe(started),
            self.cases.iter().map(JunitCase::xml).collect::<String>()
        )
    }
}

impl JunitCase {
    fn xml(&self) -> String {
        let (class, name) = (safe(&self.class), safe(&self.name));
        let of_outcome = |element: &str, kind: &str, message: &str| {
            let (kind, message) = (safe(kind), safe(message));
            format!(
                "      <{element} type=\"{kind}\" message=\"{message}\">{message}</{element}>\n"
            )
        };
        let outcome = match &self.outcome {
            JunitOutcome::Passed => String::new(),
            JunitOutcome::Failed { kind, message } => of_outcome("failure", kind, message),
            JunitOutcome::Error { kind, message } => of_outcome("error", kind, message),
            JunitOutcome::Skipped { message } => {
                format!("      <skipped message=\"{}\"/>\n", safe(message))
            }
        };
        let lines: Vec<String> = self.output.iter().map(|line| safe(line)).collect();
        format!(
            "    <testcase classname=\"{class}\" name=\"{name}\">\n{outcome}      <system-out>{}</system-out>\n    </testcase>\n",
            lines.join("\n")
        )
    }
}

/// The attributes that count cases.
fn counts(cases: &[&JunitCase]) -> String {
    let of = |is_it: fn(&JunitOutcome) -> bool| {
        let those = cases.iter().filter(|case| is_it(&case.outcome));
        those.count()
    };
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        of(|outcome| matches!(outcome, JunitOutcome::Failed { .. })),
        of(|outcome| matches!(outcome, JunitOutcome::Error { .. })),
        of(|outcome| matches!(outcome, JunitOutcome::Skipped { .. }))
    )
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
