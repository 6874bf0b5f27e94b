//! The processors' clocks.

use super::{MACHINE, is_guest};
use crate::{Facts, Finding, Frequency};

pub(super) fn governor(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.frequency;
    let seen = match read.told() {
        Ok(seen) => seen,
        Err(why) => {
            let why = match is_guest(facts) {
                true => format!("{why}, as in a guest"),
                false => why,
            };
            return vec![Finding::cannot_tell(MACHINE, why).with_advice(
                is_guest(facts).then_some("look at /sys/devices/system/cpu/cpufreq on the host"),
            )];
        }
    };
    let words: Vec<String> = seen.iter().map(Frequency::words).collect();
    let words = format!("{}: {}", read.source, words.join("; "));
    vec![if seen.iter().all(Frequency::is_fast) {
        Finding::ok(MACHINE, words)
    } else {
        Finding::warn(
            MACHINE,
            words,
            "cpupower frequency-set -g performance as root",
        )
    }]
}

impl Frequency {
    /// Drivers that choose by a preference have only two governors, and the slower one is no power saving by itself.
    fn is_fast(&self) -> bool {
        self.governor == "performance" || self.preference.as_deref() == Some("performance")
    }

    fn words(&self) -> String {
        let driver = self.driver.as_deref().unwrap_or("a driver without name");
        let preference = self.preference.as_deref();
        let preference = preference.map_or_else(String::new, |word| format!(", prefers {word}"));
        format!(
            "{} of {driver}{preference} ({} policies)",
            self.governor, self.policies
        )
    }
}

pub(super) fn boost(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.boost;
    vec![match read.told() {
        Err(why) => Finding::cannot_tell(MACHINE, why),
        Ok(true) => Finding::ok(MACHINE, format!("{}: allowed", read.source)),
        Ok(false) => {
            let value = if read.source.ends_with("no_turbo") {
                0
            } else {
                1
            };
            Finding::warn(
                MACHINE,
                format!("{}: not allowed", read.source),
                format!("echo {value} > {} as root", read.source),
            )
        }
    }]
}
