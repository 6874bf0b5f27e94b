//! Tests of defaults, padding and paths.

use record::CollectivePath;

use super::*;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn pcie() -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_89".to_owned()),
        peer_access: Some(true),
        no_peer_reason: String::new(),
        full_nvlink: false,
        memory_bytes: Some(48 * GIB),
    }
}

fn h200() -> Surroundings {
    Surroundings {
        architecture: Some("sm_90".to_owned()),
        full_nvlink: true,
        memory_bytes: Some(140 * GIB),
        ..pcie()
    }
}

fn amd(architecture: &str, linked: bool) -> Surroundings {
    Surroundings {
        vendor: Vendor::Amd,
        architecture: Some(architecture.to_owned()),
        full_nvlink: linked,
        ..pcie()
    }
}

fn sizes(engine: &EngineFacts) -> Vec<u32> {
    match &engine.execution {
        Execution::Graph { capture_sizes } => capture_sizes.clone(),
        Execution::Eager => Vec::new(),
    }
}

#[test]
fn vllm_captures_1_2_4_then_by_8_then_by_16() {
    let sizes = sizes(&EngineFacts::vllm(2, &pcie()));
    assert_eq!(sizes[..7], [1, 2, 4, 8, 16, 24, 32]);
    // 3 + (8..248 by 8: 31) + (256..512 by 16: 17) = 51.
    assert_eq!(sizes.len(), 51);
    assert_eq!(sizes[33..36], [248, 256, 272]);
    assert_eq!(sizes.last(), Some(&512));
}

#[test]
fn fewer_sequences_or_tokens_mean_fewer_sizes() {
    let engine = EngineFacts::vllm(2, &pcie());
    // Twice 32 sequences.
    assert_eq!(
        sizes(&engine.clone().with_max_num_seqs(32)).last(),
        Some(&64)
    );
    // Twice 3 is 6, and 4 is the last size below it.
    assert_eq!(sizes(&engine.clone().with_max_num_seqs(3)), [1, 2, 4]);
    assert_eq!(
        sizes(&engine.clone().with_max_batched_tokens(128)).last(),
        Some(&128)
    );
    assert!(sizes(&engine.with_eager().with_max_num_seqs(8)).is_empty());
}

#[test]
fn sglang_captures_by_memory_and_ranks() {
    // 48 GiB and two ranks: up to 32.
    let engine = EngineFacts::sglang(2, &pcie());
    assert_eq!(sizes(&engine), [1, 2, 4, 8, 12, 16, 24, 32]);
    assert_eq!(engine.max_batched_tokens, 4096);
    assert_eq!(
        sizes(&engine.with_max_num_seqs(20)),
        [1, 2, 4, 8, 12, 16, 20]
    );
    // 140 GiB and eight ranks: up to 512.
    let engine = EngineFacts::sglang(8, &h200());
    assert_eq!(sizes(&engine).last(), Some(&512));
    assert_eq!(engine.max_batched_tokens, 8192);
}

#[test]
fn batches_are_padded_to_a_captured_size() {
    let engine = EngineFacts::vllm(2, &pcie());
    for (batch, padded) in [(1, 1), (3, 4), (17, 24), (255, 256), (300, 304), (600, 600)] {
        assert_eq!(engine.padded(batch), padded);
        assert_eq!(engine.clone().with_eager().padded(batch), batch);
    }
}

#[test]
fn the_token_budget_follows_memory() {
    let budget = |architecture: &str, memory: Option<u64>| {
        let around = Surroundings {
            architecture: Some(architecture.to_owned()),
            memory_bytes: memory,
            ..pcie()
        };
        let engine = EngineFacts::vllm(2, &around);
        (engine.max_batched_tokens, engine.max_num_seqs)
    };
    assert_eq!(budget("sm_89", Some(48 * GIB)), (2048, Some(256)));
    assert_eq!(budget("sm_120", Some(70 * GIB)), (8192, Some(1024)));
    assert_eq!(budget("sm_120", Some(70 * GIB - 1)), (2048, Some(256)));
    assert_eq!(budget("sm_80", Some(80 * GIB)), (2048, Some(256)));
    assert_eq!(budget("sm_90", None), (2048, Some(256)));
}

#[test]
fn one_rank_reduces_nothing() {
    let engine = EngineFacts::vllm(1, &pcie());
    assert!(matches!(
        engine.custom_all_reduce,
        CustomAllReduce::Off { .. }
    ));
}

/// Every rule of the chain once: engine, its state, bytes, path and a part of the rule's text.
#[test]
fn each_rule_decides_a_path() {
    let mig = Surroundings {
        architecture: Some("sm_120".to_owned()),
        peer_access: Some(false),
        no_peer_reason: "MIG".to_owned(),
        ..pcie()
    };
    let metax = Surroundings {
        vendor: Vendor::Metax,
        ..h200()
    };
    let host = Surroundings {
        vendor: Vendor::Host,
        ..pcie()
    };
    let other = Surroundings {
        vendor: Vendor::Other,
        ..h200()
    };
    use CollectivePath::{Custom, Library};
    let cases = [
        (
            EngineFacts::vllm(2, &other),
            1 << 10,
            Library,
            "not known to be for this vendor's GPUs",
        ),
        (
            EngineFacts::vllm(2, &pcie()),
            8 * MIB - 16,
            Custom,
            "limit of 8 MiB",
        ),
        (EngineFacts::vllm(2, &pcie()), 8 * MIB, Library, "not below"),
        (
            EngineFacts::vllm(2, &pcie()),
            8 * MIB - 8,
            Library,
            "multiple of 16 B",
        ),
        (
            EngineFacts::vllm(4, &pcie()),
            16_384,
            Library,
            "4 GPUs without a direct NVLink",
        ),
        (EngineFacts::vllm(3, &h200()), 16_384, Library, "3 ranks"),
        (
            EngineFacts::vllm(2, &mig),
            16_384,
            Library,
            "no peer access (MIG)",
        ),
        (
            EngineFacts::vllm(2, &amd("gfx1201", false)),
            8192,
            Library,
            "this is gfx1201",
        ),
        (
            EngineFacts::vllm(8, &amd("gfx942", true)),
            8192,
            Custom,
            "8 MiB",
        ),
        (
            EngineFacts::vllm(4, &amd("gfx942", false)),
            8192,
            Library,
            "without a direct",
        ),
        (EngineFacts::vllm(4, &metax), 16_384, Library, "MCCL"),
        (EngineFacts::vllm(2, &host), 16_384, Library, "no GPU"),
        // Eight Hopper ranks on NVLink: the custom kernel below 256 KiB, symmetric memory below 64 MiB, then NCCL.
        (
            EngineFacts::vllm(8, &h200()),
            MIB / 4 - 16,
            Custom,
            "limit of 256 KiB",
        ),
        (
            EngineFacts::vllm(8, &h200()),
            MIB / 4,
            Custom,
            "symmetric memory takes it, below 64 MiB",
        ),
        (
            EngineFacts::vllm(8, &h200()),
            64 * MIB,
            Library,
            "not below",
        ),
        // Two: the custom kernel's own 8 MiB is less than the table's 64 MiB.
        (
            EngineFacts::vllm(2, &h200()),
            8 * MIB - 16,
            Custom,
            "limit of 8 MiB",
        ),
        (
            EngineFacts::sglang(8, &h200()),
            MIB,
            Custom,
            "limit of 8 MiB",
        ),
        (
            EngineFacts::sglang(8, &h200()),
            8 * MIB,
            Library,
            "not below",
        ),
        (
            EngineFacts::sglang(8, &amd("gfx942", true)),
            8 * MIB,
            Custom,
            "limit of 16 MiB",
        ),
        (
            EngineFacts::sglang(2, &amd("gfx1201", false)),
            8192,
            Library,
            "xGMI",
        ),
    ];
    for (engine, bytes, path, words) in cases {
        let (decided, rule) = engine.all_reduce_path(bytes);
        assert_eq!(decided, path, "{bytes}: {rule}");
        assert!(rule.contains(words), "{rule} lacks {words}");
    }
}

#[test]
fn what_was_not_known_is_said() {
    let around = Surroundings {
        peer_access: None,
        memory_bytes: None,
        ..pcie()
    };
    let engine = EngineFacts::vllm(2, &around).with_version("0.10.2");
    assert_eq!(engine.custom_all_reduce, CustomAllReduce::Active);
    for words in ["peer access", "memory", "0.10.2"] {
        assert!(
            engine.assumed.iter().any(|line| line.contains(words)),
            "{words} is not in {:?}",
            engine.assumed
        );
    }
    assert!(
        EngineFacts::vllm(2, &pcie())
            .with_version("0.13.1")
            .assumed
            .is_empty()
    );
}

#[test]
fn an_engine_describes_itself() {
    let engine = EngineFacts::vllm(2, &pcie());
    assert_eq!(
        engine.describe(),
        "vLLM (rules of 0.13.0), graphs up to 512"
    );
    let eager = engine.with_eager().with_version("0.10.2");
    assert_eq!(eager.describe(), "vLLM 0.10.2, eager");
}

#[test]
fn a_vendor_is_known_by_its_drivers_name_and_by_its_boxes_word() {
    for (driver, word, vendor) in [
        ("cuda", "nvidia", Vendor::Nvidia),
        ("hip", "amd", Vendor::Amd),
        ("maca", "metax", Vendor::Metax),
        ("host", "host", Vendor::Host),
        ("new", "newer", Vendor::Other),
    ] {
        assert_eq!((Vendor::of(driver), Vendor::of(word)), (vendor, vendor));
    }
}

#[test]
fn what_is_taken_for_granted_of_an_unknown_vendor_is_said() {
    let other = Surroundings {
        vendor: Vendor::Other,
        ..pcie()
    };
    let facts = EngineFacts::vllm(2, &other);
    assert!(facts.assumed[0].starts_with("no engine's rules for this vendor's GPUs are known"));
}

#[test]
fn library_only_leaves_no_size_to_the_engine() {
    // Two H200 with NVLink: the engine's own kernel below 8 MiB, symmetric memory up to 64 MiB.
    let engine = EngineFacts::vllm(2, &h200());
    let library = engine.clone().with_library_only("a flag");
    for bytes in [16 << 10, 16 << 20] {
        assert_eq!(engine.all_reduce_path(bytes).0, CollectivePath::Custom);
        assert_eq!(library.all_reduce_path(bytes).0, CollectivePath::Library);
    }
}
