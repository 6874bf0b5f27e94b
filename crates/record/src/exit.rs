//! Exit codes, the same in every program, and which one wins where several hold.
//!
//! The programs return these from `main`; nothing here ends a process.

/// The work was done, or the box was accepted.
pub const DONE: u8 = 0;
/// A box was rejected, a regression found, or a check failed.
pub const REJECTED: u8 = 1;
/// The command line or an input file is wrong; nothing was measured.
pub const USAGE: u8 = 2;
/// Inconclusive: a path hangs, a part could not be measured, or nothing could be (no driver).
///
/// Not this code: a case that does not apply here, and locked memory that the host backend was refused (`ulimit -l`).
pub const INCONCLUSIVE: u8 = 3;
/// A result could not be made durable, or the program itself failed.
pub const INTERNAL: u8 = 4;
/// A measurement delivered wrong data.
pub const WRONG_DATA: u8 = 5;
/// Ended by SIGHUP, as when a terminal closes; what was measured is written.
pub const HUNG_UP: u8 = 129;
/// Interrupted by SIGINT; what was measured is written.
pub const INTERRUPTED: u8 = 130;
/// Ended by SIGTERM; what was measured is written.
pub const TERMINATED: u8 = 143;

/// Highest precedence first.
const PRECEDENCE: [u8; 9] = [
    HUNG_UP,
    INTERRUPTED,
    TERMINATED,
    INTERNAL,
    WRONG_DATA,
    REJECTED,
    INCONCLUSIVE,
    USAGE,
    DONE,
];

/// The code to return where several hold; `DONE` for none.
#[must_use]
pub fn fold(codes: impl IntoIterator<Item = u8>) -> u8 {
    let held: Vec<u8> = codes.into_iter().collect();
    PRECEDENCE
        .into_iter()
        .find(|code| held.contains(code))
        .unwrap_or(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_data_outranks_a_hang_and_an_interrupt_outranks_all() {
        assert_eq!(fold([DONE, INCONCLUSIVE, WRONG_DATA]), WRONG_DATA);
        assert_eq!(fold([WRONG_DATA, INTERNAL, INTERRUPTED]), INTERRUPTED);
        assert_eq!(fold([DONE, HUNG_UP]), HUNG_UP);
        assert_eq!(fold([]), DONE);
    }
}
