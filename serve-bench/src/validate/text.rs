//! The report for the terminal.

use super::report::Report;
use super::tally::{Section, Share};

/// How the report is read.
const READ: &str = "Each case plants a truth and is explained from what a client would see of it. A share is of the cases whose 90% interval holds \
the truth, with its own 95% interval (Wilson) and the number of cases; below and above: cases whose truth lies there; truth and \
width: medians, ms a step, width between 5% and 95%.\n\n";

/// The report as text.
pub(super) fn text(report: &Report) -> String {
    let mut text = format!(
        "SIMULATED: {}, {} cases of each kind from seed {}; no figure here is of real hardware\n",
        report.simulated, report.asked, report.seed
    );
    text.push_str(READ);
    section(&mut text, "all assumptions kept", &report.kept);
    text.push_str(&format!(
        "communication claimed where there is none: {}\n\n",
        share(&report.false_claims)
    ));
    for broken in &report.broken {
        let words = broken.broken.map_or("", |of| of.words());
        section(&mut text, &format!("broken: {words}"), broken);
    }
    text.push_str("slope tests, 5 arms of 5 launches, step CV 1%, collective CV 5%\n");
    for row in &report.slopes {
        text.push_str(&format!(
            "  {:<32} slope/planned {:.3}; 90% interval holds it in {}; named in {} of those that can tell 15%; follows {}, undecided {}; median 95% half-width {:.1}%\n",
            row.planted.words(),
            row.ratio,
            share(&row.held),
            share(&row.named),
            row.follows,
            row.undecided,
            row.half_width * 100.0
        ));
    }
    text.push_str("\nbounds (open: missed, but so few cases do not tell: more --cases)\n");
    for bound in &report.bounds {
        text.push_str(&format!(
            "  {:<4} {}: {}, wanted {:.0} to {:.0}%\n",
            bound.word(),
            bound.of,
            share(&bound.found),
            bound.low * 100.0,
            bound.high * 100.0
        ));
    }
    text
}

fn section(text: &mut String, title: &str, of: &Section) {
    text.push_str(&format!(
        "{title}: {} cases, {} refused, {} without a claim of communication (in {} of them the curve is said not to fit)\n",
        of.cases, of.refused, of.without_claim, of.misfits
    ));
    text.push_str(&format!(
        "  {:<14} {:>26}  {:>6} {:>6}  {:>10} {:>10} {:>10}\n",
        "bar", "interval holds the truth", "below", "above", "truth ms", "width ms", "% of step"
    ));
    for row in &of.rows {
        text.push_str(&format!(
            "  {:<14} {:>26}  {:>6} {:>6}  {:>10.2} {:>10.2} {:>10.1}\n",
            row.bar,
            share(&row.held),
            row.below,
            row.above,
            row.truth_ms,
            row.width_ms,
            row.width_of_step * 100.0
        ));
    }
    for (reason, count) in of.reasons.iter().take(3) {
        text.push_str(&format!("  refused {count}: {reason}\n"));
    }
    text.push('\n');
}

fn share(of: &Share) -> String {
    format!(
        "{:.1}% [{:.1}, {:.1}] of {}",
        of.share * 100.0,
        of.low * 100.0,
        of.high * 100.0,
        of.n
    )
}
