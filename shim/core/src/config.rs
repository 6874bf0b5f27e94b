//! What the variables ask for.

use crate::table::Operation;
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Beyond this many microseconds it is a mistake of units.
const MOST_US: f64 = 1e6;

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    /// What each delayed call adds.
    pub(crate) delay_us: f64,
    /// What is delayed.
    pub(crate) operations: Vec<Operation>,
}

impl Config {
    /// What the variables of this process said when they were first asked for.
    pub(crate) fn get() -> Result<&'static Self, &'static str> {
        static CONFIG: OnceLock<Result<Config, String>> = OnceLock::new();
        let read = || {
            let delay = text("TPLENS_DELAY_US")?.unwrap_or_else(|| "0".to_owned());
            let operations = text("TPLENS_DELAY_OPS")?.unwrap_or_else(|| "all_reduce".to_owned());
            Self::of(&delay, &operations)
        };
        CONFIG.get_or_init(read).as_ref().map_err(String::as_str)
    }

    fn of(delay: &str, operations: &str) -> Result<Self, String> {
        let delay_us = delay.trim().parse::<f64>().ok();
        let delay_us = delay_us
            .filter(|us| (0.0..=MOST_US).contains(us))
            .ok_or_else(|| {
                format!("TPLENS_DELAY_US is {delay:?}; give microseconds from 0 to {MOST_US}")
            })?;
        let operations = operations.split(',').map(|word| {
            let mut rows = Operation::WORDS.iter();
            let row = rows.find(|(known, _)| *known == word.trim());
            row.map(|row| row.1).ok_or_else(|| {
                let known = Operation::WORDS.map(|row| row.0).join(", ");
                format!("TPLENS_DELAY_OPS names {word:?}; give some of {known}, with commas")
            })
        });
        Ok(Self {
            delay_us,
            operations: operations.collect::<Result<_, _>>()?,
        })
    }
}

/// A variable that is set and not empty.
fn text(name: &str) -> Result<Option<String>, String> {
    match env::var_os(name).filter(|value| !value.is_empty()) {
        Some(value) => value
            .into_string()
            .map(Some)
            .map_err(|_| format!("{name} is no text")),
        None => Ok(None),
    }
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
    fn a_delay_and_its_operations_are_read() {
        let config = Config::of(" 12.5", "all_gather, all_reduce").expect("reads");
        assert_eq!(config.delay_us, 12.5);
        let asked = [Operation::AllGather, Operation::AllReduce];
        assert_eq!(config.operations, asked);
    }

    #[test]
    fn what_is_no_delay_and_no_operation_is_refused() {
        for delay in ["", "-1", "nan", "inf", "20us", "1000001"] {
            let refused = Config::of(delay, "all_reduce").expect_err("refuses");
            assert!(refused.contains("TPLENS_DELAY_US"), "{refused}");
        }
        for operations in ["", "allreduce", "all_reduce,,all_gather"] {
            let refused = Config::of("1", operations).expect_err("refuses");
            assert!(refused.contains("TPLENS_DELAY_OPS"), "{refused}");
        }
    }
}
