//! The report as Prometheus text: verdict, exit code, duration, and each check with its figures.

use view::page::Prometheus;

use super::junit::profile_label;
use crate::report::{BoxVerdict, Evidence, Report};

/// The text.
pub(super) fn prometheus(report: &Report) -> String {
    let prefix = match report.simulated {
        Some(_) => "accept_simulated",
        None => "accept",
    };
    let labels = [
        ("node", report.node.called().to_owned()),
        ("profile", profile_label(report)),
        ("level", report.level.clone()),
    ];
    let soft = report.simulated.iter();
    let soft = soft.map(|soft| ("machine", soft.box_name.clone()));
    let mut all = Prometheus::new(prefix, labels.into_iter().chain(soft).collect());
    for verdict in [
        BoxVerdict::Accepted,
        BoxVerdict::AcceptedWithWarnings,
        BoxVerdict::Rejected,
        BoxVerdict::Inconclusive,
    ] {
        let is_so = f64::from(u8::from(report.verdict == verdict));
        let help = "1 for the verdict, 0 for the others.";
        all.add("verdict", help, &[("verdict", verdict.key())], is_so);
    }
    let exit_code = f64::from(report.exit_code);
    all.add("exit_code", "Exit code of the run.", &[], exit_code);
    all.add(
        "duration_seconds",
        "Time that the run took.",
        &[],
        report.took_s,
    );
    for check in &report.checks {
        let about = check.about.join(" ");
        let labels = [("check", check.kind.as_str()), ("about", about.as_str())];
        let [kind, of] = labels;
        let verdict = ("verdict", check.verdict.word());
        let code = ("code", check.reason.code.code());
        let help = "1, with the verdict of the check and its code.";
        all.add("check_verdict", help, &[kind, of, verdict, code], 1.0);
        for evidence in &check.evidence {
            let Evidence::Measured {
                what, value, unit, ..
            } = evidence
            else {
                continue;
            };
            let labels = [kind, of, ("figure", what.as_str())];
            all.add_in(
                "check",
                "A check's figure, the median.",
                &labels,
                (*value, unit),
            );
        }
    }
    all.text()
}
