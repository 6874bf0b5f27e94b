//! Which readers are fuzzed: a program, its arguments, and files that it takes.

/// A reader.
pub(super) struct Reader {
    /// What `--only` takes.
    pub(super) name: &'static str,
    /// The package, which is also the program.
    pub(super) package: &'static str,
    /// Its arguments; `{}` is the file, `{root}` the root of the repository.
    pub(super) arguments: &'static [&'static str],
    /// The file's name, whose ending some readers go by.
    pub(super) file: &'static str,
    /// Files that it takes, from the root of the repository.
    pub(super) samples: &'static [&'static str],
}

const fn reader(
    name: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
    file: &'static str,
    samples: &'static [&'static str],
) -> Reader {
    Reader {
        name,
        package,
        arguments,
        file,
        samples,
    }
}

/// Shows one file.
const SHOW: &[&str] = &["show", "{}"];

/// Compares a file with itself: the shortest way through a reader of another tool's file.
const COMPARE: &[&str] = &["compare", "{}", "{}"];

/// A sound file to explain another beside.
const OTHER: &str = "{root}/crates/measure/tests/fixtures/serve/rtxpro6000-mig-tp2.json";

/// Explains a file beside a sound one.
const EXPLAIN: &[&str] = &[
    "explain",
    "--model",
    "qwen2.5-72b-fp8",
    "--tp",
    "2",
    "--a",
    "{}",
    "--b",
    OTHER,
    "--link-a",
    "gen4x16",
    "--link-b",
    "gen4x8",
];

/// All readers, one row each.
#[rustfmt::skip]
pub(super) const READERS: [Reader; 21] = [
    reader("p2p-record", "p2p-bw", SHOW, "record.json", &[
        "crates/measure/tests/fixtures/records/links.json",
        "crates/measure/tests/fixtures/records/numa.json",
    ]),
    reader("p2p-journal", "p2p-bw", SHOW, "journal.jsonl", &["xtask/samples/links.jsonl"]),
    reader("nvbandwidth-json", "p2p-bw", COMPARE, "links.json", &["crates/measure/tests/fixtures/links/nvbandwidth-0.8.json"]),
    reader("nvbandwidth-text", "p2p-bw", COMPARE, "links.txt", &[
        "crates/measure/tests/fixtures/links/nvbandwidth-0.8.txt",
        "crates/measure/tests/fixtures/links/nvbandwidth-0.8-verbose.txt",
    ]),
    reader("capture", "p2p-bw", &["topo", "--from", "{}"], "capture.txt", &[
        "crates/topology/tests/captured/texts/nvidia-smi-topo-m.l40x4-2nic.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-topo-p2p-rw.2gpu.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-L.mig.txt",
        "crates/topology/tests/captured/texts/numactl-H.a.txt",
        "crates/topology/tests/captured/texts/rocm-smi-showtopo.pcie4.txt",
        "crates/topology/tests/captured/texts/amd-smi-topology.2xrdna-pcie-p2p-disabled.txt",
        "crates/topology/tests/captured/texts/mx-smi-topo-m.c500x8-node.txt",
    ]),
    reader("machine", "serve-bench", &["predict", "--model", "llama-3.1-8b", "--batch", "4", "--box", "{}"], "machine.toml", &["boxes/l40x4.toml", "boxes/h200x8.toml"]),
    reader("allreduce-record", "allreduce-bench", SHOW, "record.json", &["crates/measure/tests/fixtures/records/collectives.json"]),
    reader("allreduce-export", "allreduce-bench", &["show", "--format", "nccl-tests", "{}"], "record.json", &[
        "crates/measure/tests/fixtures/records/collectives.json",
    ]),
    reader("nccl-tests-text", "allreduce-bench", COMPARE, "calls.txt", &[
        "crates/measure/tests/fixtures/collectives/nccl-tests-2.19.6.txt",
        "crates/measure/tests/fixtures/collectives/rccl-tests-2024.txt",
        "crates/measure/tests/fixtures/collectives/all-gather-mpirun.txt",
        "crates/measure/tests/fixtures/collectives/curve.csv",
    ]),
    reader("nccl-tests-json", "allreduce-bench", COMPARE, "calls.json", &["crates/measure/tests/fixtures/collectives/nccl-tests-2.19.6.json"]),
    reader("serve-record", "serve-bench", &["show", "{}", "--html", "/dev/null"], "record.json", &["crates/measure/tests/fixtures/records/serve.json"]),
    reader("serve-journal", "serve-bench", &["show", "{}", "--html", "/dev/null"], "journal.jsonl", &["xtask/samples/serve.jsonl"]),
    reader("serve-compare", "serve-bench", &["compare", "--force", "{}", "{}"], "record.json", &[
        "crates/measure/tests/fixtures/records/serve.json",
        "crates/measure/tests/fixtures/serve/vllm-0.32-detailed.json",
    ]),
    reader("serve-explain", "serve-bench", EXPLAIN, "record.json", &["crates/measure/tests/fixtures/records/serve.json"]),
    reader("vllm-json", "serve-bench", SHOW, "result.json", &[
        "crates/measure/tests/fixtures/serve/vllm-0.32-detailed.json",
        "crates/measure/tests/fixtures/serve/h200-mooncake-vllm-0.13.jsonl",
        "crates/measure/tests/fixtures/serve/sglang-0.5.jsonl",
    ]),
    reader("vllm-block", "serve-bench", SHOW, "result.txt", &[
        "crates/measure/tests/fixtures/serve/vllm-0.32-block.txt",
        "crates/measure/tests/fixtures/serve/vllm-rs-0.33-two-blocks.txt",
    ]),
    reader("evalscope", "serve-bench", SHOW, "result.json", &[
        "crates/measure/tests/fixtures/serve/mxc500-c100-evalscope.json",
        "crates/measure/tests/fixtures/serve/mxc500-node0-evalscope-0.5.txt",
        "crates/measure/tests/fixtures/serve/r9700-c-8b-tp1-np1.json",
    ]),
    reader("engine-log", "serve-bench", &["engine-log", "{}"], "server.log", &["xtask/samples/vllm-0.13.log"]),
    reader("model-config", "serve-bench", &["predict", "--model", "{}", "--batch", "4", "--box", "l40x4"], "config.json", &[
        "crates/tp-plan/models/llama-3.1-8b.json",
        "crates/tp-plan/models/gpt-oss-20b.json",
        "crates/tp-plan/models/gemma-3-27b.json",
    ]),
    reader("sweep-plan", "serve-bench", &["sweep", "--list", "{}"], "plan.toml", &["serve-bench/examples/r9700.toml"]),
    reader("accept-profile", "accept", &["profile", "check", "--whole", "{}"], "profile.toml", &["accept/profiles/base.toml", "accept/profiles/l40x4.toml"]),
];
