//! How many checks and tests passed, failed and were skipped.

/// How many checks and tests there were, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    pub(crate) fn one(passed: bool) -> Counts {
        Counts::of(u64::from(passed), u64::from(!passed))
    }

    pub(crate) fn of(passed: u64, failed: u64) -> Counts {
        Counts {
            passed,
            failed,
            skipped: 0,
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
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (
                words.next().and_then(|word| word.parse::<u64>().ok()),
                words.next(),
            ) else {
                continue;
            };
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
