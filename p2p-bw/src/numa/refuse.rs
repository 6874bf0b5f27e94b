//! `--refuse CALLS`: this program as in a container that refuses calls, for its tests and for emulated machines.

use ::numa::refuse_calls;
use clap::Args;
use program::Stop;

/// The calls; not among the options that help shows.
#[derive(Debug, Clone, Args)]
pub(super) struct Refuse {
    /// System calls that the kernel is to refuse with EPERM, separated by commas, such as `mbind,set_mempolicy`.
    #[arg(long, value_name = "CALLS", value_delimiter = ',', hide = true)]
    refuse: Vec<String>,
}

impl Refuse {
    /// Installs the filter, where there is one to install.
    pub(super) fn apply(&self) -> Result<(), Stop> {
        if self.refuse.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.refuse.iter().map(String::as_str).collect();
        refuse_calls(&names).map_err(|error| Stop::Usage(format!("--refuse: {error}")))
    }
}
