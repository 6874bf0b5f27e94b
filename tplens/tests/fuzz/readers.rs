//! A test for each reader: a command with its arguments, `{}` being the file and `{root}` the root of the repository; the file's name,
//! whose ending some readers go by; samples that it takes.

/// Shows one file.
const SHOW: &[&str] = &["serve", "show", "{}"];
const SHOW_LINKS: &[&str] = &["p2p", "show", "{}"];

/// Compares a file with itself: the shortest way through a reader of another tool's file.
const COMPARE_LINKS: &[&str] = &["p2p", "compare", "{}", "{}"];
const COMPARE_CALLS: &[&str] = &["allreduce", "compare", "{}", "{}"];

/// A sound file to explain another beside.
const OTHER: &str = "{root}/crates/import/tests/fixtures/serve/rtxpro6000-mig-tp1.json";

/// Explains a file beside a sound one.
const EXPLAIN: &[&str] = &[
    "explain",
    "--model",
    "qwen2.5-72b-fp8",
    "--tp2",
    "{}",
    "--tp1",
    OTHER,
];

macro_rules! readers {
    ($($name:ident: $arguments:expr, $file:literal, $samples:expr;)*) => {
        $(
            #[test]
            fn $name() {
                super::fuzz(stringify!($name), $arguments, $file, $samples);
            }
        )*
    };
}

#[rustfmt::skip]
readers! {
    p2p_record: SHOW_LINKS, "record.json", &[
        "crates/import/tests/fixtures/records/links.json",
        "crates/import/tests/fixtures/records/numa.json",
    ];
    p2p_journal: SHOW_LINKS, "journal.jsonl", &["tplens/tests/fuzz/samples/links.jsonl"];
    nvbandwidth_json: COMPARE_LINKS, "links.json", &["crates/import/tests/fixtures/links/nvbandwidth-0.8.json"];
    nvbandwidth_text: COMPARE_LINKS, "links.txt", &[
        "crates/import/tests/fixtures/links/nvbandwidth-0.8.txt",
        "crates/import/tests/fixtures/links/nvbandwidth-0.8-verbose.txt",
    ];
    capture: &["topo", "--from", "{}"], "capture.txt", &[
        "crates/topology/tests/captured/texts/nvidia-smi-topo-m.l40x4-2nic.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-topo-p2p-rw.2gpu.txt",
        "crates/topology/tests/captured/texts/nvidia-smi-L.mig.txt",
        "crates/topology/tests/captured/texts/numactl-H.a.txt",
        "crates/topology/tests/captured/texts/rocm-smi-showtopo.pcie4.txt",
        "crates/topology/tests/captured/texts/amd-smi-topology.2xrdna-pcie-p2p-disabled.txt",
        "crates/topology/tests/captured/texts/mx-smi-topo-m.c500x8-node.txt",
    ];
    machine: &["predict", "--model", "llama-3.1-8b", "--batch", "4", "--box", "{}"], "machine.toml", &["boxes/l40x4.toml", "boxes/h200x8.toml"];
    allreduce_record: &["allreduce", "show", "{}"], "record.json", &["crates/import/tests/fixtures/records/collectives.json"];
    nccl_tests_text: COMPARE_CALLS, "calls.txt", &[
        "crates/import/tests/fixtures/collectives/nccl-tests-2.19.6.txt",
        "crates/import/tests/fixtures/collectives/rccl-tests-2024.txt",
        "crates/import/tests/fixtures/collectives/all-gather-mpirun.txt",
        "crates/import/tests/fixtures/collectives/curve.csv",
    ];
    nccl_tests_json: COMPARE_CALLS, "calls.json", &["crates/import/tests/fixtures/collectives/nccl-tests-2.19.6.json"];
    serve_record: &["serve", "show", "{}", "--html", "/dev/null"], "record.json", &["crates/import/tests/fixtures/records/serve.json"];
    serve_journal: &["serve", "show", "{}", "--html", "/dev/null"], "journal.jsonl", &["tplens/tests/fuzz/samples/serve.jsonl"];
    serve_compare: &["serve", "compare", "{}", "{}"], "record.json", &[
        "crates/import/tests/fixtures/records/serve.json",
        "crates/import/tests/fixtures/serve/vllm-0.32-detailed.json",
    ];
    serve_explain: EXPLAIN, "record.json", &["crates/import/tests/fixtures/records/serve.json"];
    vllm_json: SHOW, "result.json", &[
        "crates/import/tests/fixtures/serve/vllm-0.32-detailed.json",
        "crates/import/tests/fixtures/serve/h200-mooncake-vllm-0.13.jsonl",
        "crates/import/tests/fixtures/serve/sglang-0.5.jsonl",
    ];
    vllm_block: SHOW, "result.txt", &[
        "crates/import/tests/fixtures/serve/vllm-0.32-block.txt",
        "crates/import/tests/fixtures/serve/vllm-rs-0.33-two-blocks.txt",
    ];
    evalscope: SHOW, "result.json", &[
        "crates/import/tests/fixtures/serve/mxc500-c100-evalscope.json",
        "crates/import/tests/fixtures/serve/mxc500-node0-evalscope-0.5.txt",
        "crates/import/tests/fixtures/serve/r9700-c-8b-tp1-np1.json",
    ];
    engine_log: &["serve", "engine-log", "{}"], "server.log", &["tplens/tests/fuzz/samples/vllm-0.13.log"];
    model_config: &["predict", "--model", "{}", "--batch", "4", "--box", "l40x4"], "config.json", &[
        "crates/tp-plan/models/llama-3.1-8b.json",
        "crates/tp-plan/models/gpt-oss-20b.json",
        "crates/tp-plan/models/gemma-3-27b.json",
    ];
    sweep_plan: &["serve", "sweep", "--list", "{}"], "plan.toml", &["serve-bench/examples/r9700.toml"];
    accept_profile: &["accept", "profile", "check", "-v", "{}"], "profile.toml", &["accept/profiles/base.toml", "accept/profiles/l40x4.toml"];
}
