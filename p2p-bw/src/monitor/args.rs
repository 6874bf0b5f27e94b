//! The command line of the monitor.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;

use crate::device_args::DeviceArgs;

/// What to watch and how often.
#[derive(Debug, Clone, Args)]
pub(crate) struct MonitorArgs {
    #[command(flatten)]
    pub(crate) on: DeviceArgs,

    /// Readings a second, 0.01 to 100. NVIDIA's two PCIe counters take 20 ms each, so above about 20 some come late and
    /// are told as late.
    #[arg(long, value_name = "HZ", default_value = "10", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) hz: f64,

    /// Seconds after which to end. Default: until Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<Duration>,

    /// Processes whose CPU use is reported by NUMA node, with their threads: ids separated by commas.
    #[arg(long, value_name = "PIDS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) pids: Vec<u32>,
}

/// Parses readings a second, for clap.
fn rate(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of readings a second"))?;
    if (0.01..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(format!(
            "`{text}` is not between 0.01 and 100 readings a second"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_lies_between_one_in_100_s_and_100_in_1_s() {
        for text in ["0.01", "10", "100"] {
            assert_eq!(rate(text), Ok(text.parse().unwrap()));
        }
        for text in ["0", "-1", "0.009", "100.1", "NaN", "inf", "ten", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
