//! Which readers are fuzzed: a command, its arguments, and files that it takes.

/// A reader.
pub(super) struct Reader {
    /// What `--only` takes.
    pub(super) name: &'static str,
    /// Its command and arguments; `{}` is the file, `{root}` the root of the repository.
    pub(super) arguments: &'static [&'static str],
    /// The file's name, whose ending some readers go by.
    pub(super) file: &'static str,
    /// Files that it takes, from the root of the repository.
    pub(super) samples: &'static [&'static str],
}

const fn reader(
    name: &'static str,
    arguments: &'static [&'static str],
    file: &'static str,
    samples: &'static [&'static str],
) -> Reader {
    Reader {
        name,
        arguments,
        file,
        samples,
    }
}

/// Shows one file.
const SHOW: &[&str] = &["serve", "show", "{}"];
const SHOW_LINKS: &[&str] = &["p2p", "show", "{}"];

/// Compares a file with itself: the shortest way through a reader of another tool's file.
const COMPARE_LINKS: &[&str] = &["p2p", "compare", "{}", "{}"];
const COMPARE_CALLS: &[&str] = &["allreduce", "compare", "{}", "{}"];

/// A sound file to explain another beside.
const OTHER: &str = "{root}/crates/import/tests/fixtures/serve/rtxpro6000-mig-tp2.json";

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
    reader("p2p-record", SHOW_LINKS, "record.json", &[
        "crates/import/tests/fixtures/records/links.json",
        "crates/import/tests/fixtures/records/numa.json",
    ]),
    reader("p2p-journal", SHOW_LINKS, "journal.jsonl", &["xtask/samples/links.jsonl"]),
    reader("nvbandwidth-json", COMPARE_LINKS, "links.json", &["crates/import/tests/fixtures/links/nvbandwidth-0.8.json"]),
    reader("nvbandwidth-text", COMPARE_LINKS, "links.txt", &[
        "crates/import/tests/fixtures/links/nvbandwidth-0.8.txt",
        "crates/import/tests/fixtures/links/nvbandwidth-0.8-verbose.txt",
    ]),
    reader("capture", &["topo", "--from", "{}"], "capture.txt", &[
        "crates/topology/tests/captured/texts/nvidia-smi-topo-m.l40x4-2nic.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-topo-p2p-rw.2gpu.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-L.mig.txt",
        "crates/topology/tests/captured/texts/numactl-H.a.txt",
        "crates/topology/tests/captured/texts/rocm-smi-showtopo.pcie4.txt",
        "crates/topology/tests/captured/texts/amd-smi-topology.2xrdna-pcie-p2p-disabled.txt",
        "crates/topology/tests/captured/texts/mx-smi-topo-m.c500x8-node.txt",
    ]),
    reader("machine", &["predict", "--model", "llama-3.1-8b", "--batch", "4", "--box", "{}"], "machine.toml", &["boxes/l40x4.toml", "boxes/h200x8.toml"]),
    reader("allreduce-record", &["allreduce", "show", "{}"], "record.json", &["crates/import/tests/fixtures/records/collectives.json"]),
    reader("allreduce-export", &["allreduce", "show", "--format", "nccl-tests", "{}"], "record.json", &[
        "crates/import/tests/fixtures/records/collectives.json",
    ]),
    reader("nccl-tests-text", COMPARE_CALLS, "calls.txt", &[
        "crates/import/tests/fixtures/collectives/nccl-tests-2.19.6.txt",
        "crates/import/tests/fixtures/collectives/rccl-tests-2024.txt",
        "crates/import/tests/fixtures/collectives/all-gather-mpirun.txt",
        "crates/import/tests/fixtures/collectives/curve.csv",
    ]),
    reader("nccl-tests-json", COMPARE_CALLS, "calls.json", &["crates/import/tests/fixtures/collectives/nccl-tests-2.19.6.json"]),
    reader("serve-record", &["serve", "show", "{}", "--html", "/dev/null"], "record.json", &["crates/import/tests/fixtures/records/serve.json"]),
    reader("serve-journal", &["serve", "show", "{}", "--html", "/dev/null"], "journal.jsonl", &["xtask/samples/serve.jsonl"]),
    reader("serve-compare", &["serve", "compare", "{}", "{}"], "record.json", &[
        "crates/import/tests/fixtures/records/serve.json",
        "crates/import/tests/fixtures/serve/vllm-0.32-detailed.json",
    ]),
    reader("serve-explain", EXPLAIN, "record.json", &["crates/import/tests/fixtures/records/serve.json"]),
    reader("vllm-json", SHOW, "result.json", &[
        "crates/import/tests/fixtures/serve/vllm-0.32-detailed.json",
        "crates/import/tests/fixtures/serve/h200-mooncake-vllm-0.13.jsonl",
        "crates/import/tests/fixtures/serve/sglang-0.5.jsonl",
    ]),
    reader("vllm-block", SHOW, "result.txt", &[
        "crates/import/tests/fixtures/serve/vllm-0.32-block.txt",
        "crates/import/tests/fixtures/serve/vllm-rs-0.33-two-blocks.txt",
    ]),
    reader("evalscope", SHOW, "result.json", &[
        "crates/import/tests/fixtures/serve/mxc500-c100-evalscope.json",
        "crates/import/tests/fixtures/serve/mxc500-node0-evalscope-0.5.txt",
        "crates/import/tests/fixtures/serve/r9700-c-8b-tp1-np1.json",
    ]),
    reader("engine-log", &["serve", "engine-log", "{}"], "server.log", &["xtask/samples/vllm-0.13.log"]),
    reader("model-config", &["predict", "--model", "{}", "--batch", "4", "--box", "l40x4"], "config.json", &[
        "crates/tp-plan/models/llama-3.1-8b.json",
        "crates/tp-plan/models/gpt-oss-20b.json",
        "crates/tp-plan/models/gemma-3-27b.json",
    ]),
    reader("sweep-plan", &["serve", "sweep", "--list", "{}"], "plan.toml", &["serve-bench/examples/r9700.toml"]),
    reader("accept-profile", &["accept", "profile", "check", "--whole", "{}"], "profile.toml", &["accept/profiles/base.toml", "accept/profiles/l40x4.toml"]),
];
