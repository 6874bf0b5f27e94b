//! What the variables ask for.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Beyond this many microseconds it is a mistake of units.
const MOST_US: f64 = 1e6;

/// Microseconds that each all-reduce adds, as the variable of this process said when it was first asked for.
pub(crate) fn delay_us() -> Result<f64, &'static str> {
    static DELAY: OnceLock<Result<f64, String>> = OnceLock::new();
    let read = || {
        parsed(
            &env::var_os("TPLENS_DELAY_US")
                .unwrap_or_default()
                .to_string_lossy(),
        )
    };
    let delay = DELAY.get_or_init(read).as_ref();
    delay.copied().map_err(String::as_str)
}

fn parsed(text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(0.0);
    }
    let delay_us = text.trim().parse().ok();
    let delay_us = delay_us.filter(|us| (0.0..=MOST_US).contains(us));
    delay_us.ok_or_else(|| {
        format!("TPLENS_DELAY_US is {text:?}; give microseconds from 0 to {MOST_US}")
    })
}

/// A variable that names a file.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_delay_is_refused() {
        assert_eq!(parsed(" 12.5"), Ok(12.5));
        for delay in ["-1", "nan", "inf", "20us", "1000001"] {
            assert!(parsed(delay).is_err(), "{delay}");
        }
    }
}
