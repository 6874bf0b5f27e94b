//! Backends by name on the command line: those that are registered, and the first of them that answers.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use device::Built;

/// A driver by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendArg {
    /// The first that answers.
    Auto,
    /// This one.
    Named(Built),
}

impl ValueEnum for BackendArg {
    fn value_variants<'a>() -> &'a [Self] {
        static VALUES: LazyLock<Vec<BackendArg>> = LazyLock::new(|| {
            let named = Built::ALL.iter().copied().map(BackendArg::Named);
            [BackendArg::Auto].into_iter().chain(named).collect()
        });
        &VALUES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Auto => ("auto", "The first that answers".to_owned()),
            Self::Named(built) => {
                let help = match built.pci_vendor() {
                    Some(vendor) => format!("GPUs of {}", vendor.name),
                    None => "This machine's memory, one worker a device".to_owned(),
                };
                (built.name(), help)
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_backend_can_be_named() {
        let named = |name: &str| BackendArg::from_str(name, false);
        assert_eq!(named("auto"), Ok(BackendArg::Auto));
        for built in Built::ALL {
            assert_eq!(named(built.name()), Ok(BackendArg::Named(*built)));
        }
        assert!(named("metal").is_err());
    }
}
