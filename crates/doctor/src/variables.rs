//! Variables that switch something off or mislead: which there are, when they count, and what they do.
//!
//! Only these are ever read, so that no secret gets into a finding.

use topology::vendor::{AMD, NVIDIA};

use crate::Verdict;

/// A variable that counts with some values: a row of `variables.csv`.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The code whose page says what it does.
    pub code: &'static str,
    /// The names it has, one for each library, with blanks between them.
    names: &'static str,
    /// How the values below are meant.
    when: &'static str,
    values: &'static str,
    /// How much.
    pub verdict: Verdict,
    /// The PCI vendor of the only GPUs that it matters for; `None` where it is of no one vendor.
    pub vendor: Option<u16>,
}

/// Every variable that is looked at.
pub fn all() -> impl Iterator<Item = Known> {
    include_str!("variables.csv").lines().filter_map(|row| {
        let fields: Vec<&'static str> = row.split(';').collect();
        let [code, names, when, values, verdict, vendor] = fields[..] else {
            return None;
        };
        Some(Known {
            code,
            names,
            when,
            values,
            verdict: verdict.parse().ok()?,
            vendor: match vendor {
                "amd" => Some(AMD),
                "nvidia" => Some(NVIDIA),
                _ => None,
            },
        })
    })
}

impl Known {
    /// Its names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }

    /// Whether a value counts.
    #[must_use]
    pub fn holds(self, value: &str) -> bool {
        let mut values = self.values.split(' ');
        let limit = || self.values.parse::<u64>().ok();
        let given = || value.parse::<u64>().ok();
        match self.when {
            "set" => !value.is_empty(),
            "is" => values.any(|known| {
                known.eq_ignore_ascii_case(value)
                    || number(known).is_some_and(|of| number(value) == Some(of))
            }),
            "exactly" => values.any(|known| known == value),
            // A number stands for a word wherever any does.
            "isnot" => {
                !value.is_empty() && number(value).is_none() && values.all(|known| known != value)
            }
            "below" => given()
                .zip(limit())
                .is_some_and(|(given, limit)| given < limit),
            _ => given()
                .zip(limit())
                .is_some_and(|(given, limit)| given >= limit),
        }
    }
}

/// The number that a value begins with as C's `strtol` with base 0 reads it, which NCCL uses: `0x2` and `02` are 2, and so is `2x`.
/// `None` where it begins with no digit.
pub(crate) fn number(value: &str) -> Option<u64> {
    let (digits, base) = match value.strip_prefix("0x").or(value.strip_prefix("0X")) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_hexdigit()) => (rest, 16),
        _ if value.starts_with('0') => (value, 8),
        _ => (value, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(base));
    let digits = &digits[..end.unwrap_or(digits.len())];
    (!digits.is_empty()).then(|| u64::from_str_radix(digits, base).unwrap_or(u64::MAX))
}

/// Names that rules look at by themselves.
const OTHERS: &[&str] = &[
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "UCX_IB_GID_INDEX",
    "MC_GID_INDEX",
    "UCX_NET_DEVICES",
    "UCX_TLS",
    "MOONCAKE_DEVICE",
    "MC_MS_FILTERS",
    "MCCL_P2P_LEVEL",
    "NCCL_P2P_LEVEL",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "HSA_NO_SCRATCH_RECLAIM",
    "NCCL_LAUNCH_ORDER_IMPLICIT",
];

/// Whether a variable is looked at; no other one may be given to the rules.
#[must_use]
pub fn is_known(name: &str) -> bool {
    OTHERS.contains(&name) || all().any(|known| known.names().any(|known| known == name))
}

/// The variables that a configuration file of NCCL sets, which are looked at: lines of `NAME=VALUE`.
#[must_use]
pub fn in_file(text: &str, source: &str) -> Vec<crate::Variable> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| is_known(name))
        .map(|(name, value)| crate::Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_as_the_table_says() {
        let holds = |name: &str, value: &str| {
            let mut rows = all().filter(|row| row.names().any(|known| known == name));
            rows.find(|row| row.holds(value)).map(|row| row.code)
        };
        assert_eq!(all().count(), include_str!("variables.csv").lines().count());
        let off = Some("env-nccl-p2p-disable");
        // As strtol reads them.
        for value in ["1", "01", "0x1"] {
            assert_eq!(holds("NCCL_P2P_DISABLE", value), off, "{value}");
        }
        assert_eq!(holds("NCCL_P2P_DISABLE", "0"), None);
        assert_eq!(holds("NCCL_P2P_DISABLE", "10"), None);
        assert_eq!(holds("NCCL_DEBUG", "trace"), Some("env-nccl-debug"));
        assert_eq!(holds("NCCL_ALGO", "Ring"), Some("env-nccl-algo"));
        assert_eq!(holds("NCCL_ALGO", ""), None);
        for (value, code) in [
            ("LOC", Some("env-nccl-p2p-level-off")),
            ("PIX", Some("env-nccl-p2p-level-narrow")),
            ("FOO", Some("env-nccl-p2p-level-unknown")),
            ("x2", Some("env-nccl-p2p-level-unknown")),
            ("SYS", None),
            ("0x4", None),
        ] {
            assert_eq!(holds("NCCL_P2P_LEVEL", value), code, "{value}");
        }
        for (value, is_few) in [("3", true), ("4", false), ("many", false)] {
            assert_eq!(holds("NCCL_MAX_CTAS", value).is_some(), is_few, "{value}");
        }
        // More than 32 bits hold.
        for (value, is_large) in [("1048576", true), ("1048575", false), ("8589934592", true)] {
            let found = holds("NCCL_CHUNK_SIZE", value);
            assert_eq!(found.is_some(), is_large, "{value}");
        }
        let numbers = ["2", "0x2", "02", "2x", "08", "0x", "x", ""].map(number);
        let [two, none] = [Some(2), None];
        assert_eq!(numbers, [two, two, two, two, Some(0), Some(0), none, none]);
    }

    #[test]
    fn nothing_but_what_is_known_is_taken_from_a_file() {
        let text = "# NCCL_ALGO=Tree\nNCCL_P2P_DISABLE = 1\nHF_TOKEN=canary\nNCCL_SECRET=canary\n";
        let found = in_file(text, "/etc/nccl.conf");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].value.as_str()),
            ("NCCL_P2P_DISABLE", "1")
        );
        assert_eq!(found[0].source, "/etc/nccl.conf");
    }

    #[test]
    fn no_name_of_the_table_may_hold_a_secret() {
        for name in all().flat_map(Known::names).chain(OTHERS.iter().copied()) {
            assert!(!record::is_secret(name), "{name}");
        }
    }
}
