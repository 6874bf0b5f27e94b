//! The command line of `tplens kv`.

use std::path::PathBuf;
use std::process::Command;

use clap::ValueEnum;

/// Time the way of keys and values between a prefill and a decode engine, in one rank's pieces of a model.
///
/// Each prompt length is read and written several times, and what came is compared with what was sent, outside the timed part. The
/// law `start + bytes / bandwidth` is fitted to the medians. Without --peer the other end is a process that this one starts.
///
/// A tool of others is started at both ends, with --listen and then with --peer and the same model, and times pieces of one block, of 16
/// and of 256; transfer_engine_bench times prompts in both directions. Words behind `--` are the tool's own, such as `-d mlx5_0`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// What carries them: tcp, nixl with its UCX backend in host memory, a file in /dev/shm that both ends read and write, or a tool that is
    /// installed.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Backend::Tcp)]
    pub(super) backend: Backend,
    /// Model: a shipped name, a config.json or a folder that holds one.
    #[arg(long, value_name = "NAME|FILE", default_value = "qwen3-30b-a3b")]
    pub(super) model: String,
    /// Tensor parallel size; one rank's share is sent.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) tp: u32,
    /// Tokens of a block of the engine.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) block_size: u32,
    /// Prompt lengths, tokens.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [128, 1024, 4096, 16384], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) tokens: Vec<u32>,
    /// Transfers of each length and direction.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) iters: u32,
    /// Show what ib_write_bw and its like, ucx_perftest or transfer_engine_bench printed into this file, and measure nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["peer", "listen"])]
    pub(super) from: Option<PathBuf>,
    /// Be the other end at this address, until a signal; ib_write_bw and ucx_perftest end with their runs.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["peer", "json"])]
    pub(super) listen: Option<String>,
    /// The other end, which runs `tplens kv --listen`.
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) peer: Option<String>,
    /// Folder for what a tool prints. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "from"])]
    pub(super) out: Option<PathBuf>,
    /// NIXL's libnixl_capi.so [default: the loader's, then those of pip's packages that `python3` sees].
    #[arg(long, value_name = "FILE")]
    pub(super) nixl: Option<PathBuf>,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Words for the tool.
    #[arg(last = true, value_name = "WORDS", allow_hyphen_values = true)]
    pub(super) words: Vec<String>,
}

impl Args {
    /// Where NIXL's library may be. Its wheel keeps it in a folder such as `.nixl_cu12.mesonpy.libs` beside the package.
    pub(super) fn libraries(&self) -> Vec<PathBuf> {
        const FILE: &str = "libnixl_capi.so";
        if let Some(file) = &self.nixl {
            return vec![file.clone()];
        }
        let python = Command::new("python3")
            .args(["-c", "import sys; print(*sys.path, sep='\\n')"])
            .output();
        let folders = python.map(|python| String::from_utf8_lossy(&python.stdout).into_owned());
        let folders = folders.unwrap_or_default();
        let entries = folders.lines().flat_map(std::fs::read_dir).flatten();
        let files = entries.flatten().map(|entry| entry.path().join(FILE));
        let found = files.filter(|file| file.is_file());
        [PathBuf::from(FILE)].into_iter().chain(found).collect()
    }
}

/// What carries keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Backend {
    /// TCP.
    Tcp,
    /// NIXL's C library.
    Nixl,
    /// A file in /dev/shm.
    Shm,
    /// perftest's tool.
    #[value(name = "ib_write_bw")]
    IbWriteBw,
    /// UCX's tool.
    #[value(name = "ucx_perftest")]
    UcxPerftest,
    /// Mooncake's tool.
    #[value(name = "transfer_engine_bench")]
    TransferEngineBench,
}
