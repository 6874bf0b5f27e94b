//! The report as Prometheus text: the exit code with the verdict, and each check with its code and what was measured.

use view::page::Prometheus;

use super::junit::profile_label;
use crate::report::{Evidence, Report};

/// The text; of a simulated machine under other names.
pub(super) fn prometheus(report: &Report) -> String {
    let prefix = match report.simulated {
        Some(_) => "accept_simulated",
        None => "accept",
    };
    let name = |name: &str| format!("{prefix}_{name}");
    let profile = profile_label(report);
    let common = [
        ("node", report.node.called()),
        ("profile", profile.as_str()),
    ];
    let mut all = Prometheus::default();
    let verdict = report.verdict.to_string();
    let verdict = ("verdict", verdict.as_str());
    let exit_code = f64::from(report.exit_code);
    all.add(
        &name("exit_code"),
        &[&common[..], &[verdict]].concat(),
        exit_code,
    );
    for check in &report.checks {
        let about = check.about.join(" ");
        let own = [("check", check.kind.as_str()), ("about", about.as_str())];
        let labels = [common, own].concat();
        let verdict = check.verdict.to_string();
        let found = [
            ("verdict", verdict.as_str()),
            ("code", check.reason.code.code()),
        ];
        all.add(&name("check_verdict"), &[&labels[..], &found].concat(), 1.0);
        for evidence in &check.evidence {
            if let Evidence::Measured {
                what, value, unit, ..
            } = evidence
            {
                let figure = [("figure", what.as_str()), ("unit", unit.as_str())];
                all.add(
                    &name("check_value"),
                    &[&labels[..], &figure].concat(),
                    *value,
                );
            }
        }
    }
    all.text()
}
