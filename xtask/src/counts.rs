//! How many checks and tests passed, failed and were skipped.

use std::fmt;

/// How many checks and tests there were, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// The closing line of `cargo xtask test` is one.
impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, failed, skipped] = [self.passed, self.failed, self.skipped];
        write!(out, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl Counts {
    pub(crate) fn one(passed: bool) -> Counts {
        Counts::of(u64::from(passed), u64::from(!passed))
    }

    pub(crate) fn of(passed: u64, failed: u64) -> Counts {
        let skipped = 0;
        Counts {
            passed,
            failed,
            skipped,
        }
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Adds what a `test result:` line of a test program says; other lines change nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(numbers) = line.strip_prefix("test result: ") else {
            return;
        };
        for part in numbers.split([';', '.']) {
            let Some((number, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Moves tests that reported a skip from the passed, where the test harness counts them, to the skipped.
    pub(crate) fn skip(&mut self, number: u64) {
        self.passed = self.passed.saturating_sub(number);
        self.skipped += number;
    }
}
