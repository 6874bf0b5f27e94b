//! What is to be read beside a load.

use clap::Args;

/// What is to be read beside a load.
#[derive(Debug, Clone, Args)]
pub(crate) struct BesideArgs {
    /// Where the server's own counters are, in Prometheus text. Default: /metrics of the server, which is read before, once a
    /// second during and after the measured part; one that has none is said and is no failure. Headers and keys are sent there
    /// only where it is the server's own address.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "URL",
        conflicts_with = "no_metrics"
    )]
    pub(crate) metrics_url: Option<String>,

    /// Do not read the server's counters. A busy server takes some milliseconds for each reading.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_metrics: bool,

    /// Run `tplens monitor` beside the load.
    ///
    /// It reads power, clocks, throttle reasons and PCIe bytes of this machine's GPUs twice a
    /// second, and CPU use of the server's processes by NUMA node. What is missing for it is said and is no failure.
    #[arg(long)]
    pub(crate) monitor: bool,

    /// With --monitor: the server's processes, ids separated by commas; those below them are found. Default: who listens on the
    /// server's port, where it runs on this machine and may be seen.
    #[arg(long, hide_short_help = true, value_name = "PIDS", value_delimiter = ',', requires = "monitor", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_pid: Vec<u32>,
}
