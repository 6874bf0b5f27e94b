//! Half models of every shipped model by arithmetic, and the keys that engines are given.

use serde_json::{Value, json};

use super::{HalfError, HalfModel, half};
use crate::{Engine, ModelFacts, builtin_names};

fn model(name: &str) -> ModelFacts {
    ModelFacts::builtin(name).expect("is shipped")
}

/// A dense model's sizes, retyped from its `config.json`.
struct Dense {
    name: &'static str,
    hidden: u64,
    layers: u64,
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    width: u64,
    /// Padded to a multiple of 64.
    vocab: u64,
    /// Weights of norms and biases of a layer's share of one of `p` ranks.
    other: fn(u64) -> u64,
    /// 1 where embedding and head are the same weights.
    tables: u64,
    /// Bytes of a weight of a linear layer.
    bytes: u64,
}

/// Biases of queries, keys and values are cut with them: (64 + 8 + 8) * 128 / p.
const QWEN2_72B: Dense = Dense {
    name: "qwen2.5-72b",
    hidden: 8192,
    layers: 80,
    heads: 64,
    kv_heads: 8,
    head_dim: 128,
    width: 29_568,
    vocab: 152_064,
    other: |p| 2 * 8192 + 80 * 128 / p,
    tables: 2,
    bytes: 2,
};

const DENSE: [Dense; 9] = [
    Dense {
        name: "llama-3.1-8b",
        hidden: 4096,
        layers: 32,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        width: 14_336,
        vocab: 128_256,
        other: |_| 2 * 4096,
        tables: 2,
        bytes: 2,
    },
    Dense {
        name: "llama-3.3-70b",
        hidden: 8192,
        layers: 80,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        width: 28_672,
        vocab: 128_256,
        other: |_| 2 * 8192,
        tables: 2,
        bytes: 2,
    },
    QWEN2_72B,
    Dense {
        name: "qwen2.5-72b-fp8",
        bytes: 1,
        ..QWEN2_72B
    },
    Dense {
        name: "qwen2.5-vl-72b",
        ..QWEN2_72B
    },
    Dense {
        name: "qwen2.5-vl-72b-fp8",
        bytes: 1,
        ..QWEN2_72B
    },
    // (40 + 8 + 8) * 128 / p of biases.
    Dense {
        name: "r1-distill-qwen-32b",
        hidden: 5120,
        layers: 64,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        width: 27_648,
        vocab: 152_064,
        other: |p| 2 * 5120 + 56 * 128 / p,
        tables: 2,
        bytes: 2,
    },
    // Norms of queries and keys have the size of a head and are whole on every rank. 151936 = 64 * 2374.
    Dense {
        name: "qwen3-14b",
        hidden: 5120,
        layers: 40,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        width: 17_408,
        vocab: 151_936,
        other: |_| 2 * 5120 + 2 * 128,
        tables: 2,
        bytes: 2,
    },
    Dense {
        name: "gemma-3-27b",
        hidden: 5376,
        layers: 62,
        heads: 32,
        kv_heads: 16,
        head_dim: 128,
        width: 21_504,
        vocab: 262_208,
        other: |_| 4 * 5376 + 2 * 128,
        tables: 1,
        bytes: 2,
    },
];

#[test]
fn a_rank_reads_its_heads_its_width_and_its_part_of_the_vocabulary() {
    for row in &DENSE {
        for p in [2, 4] {
            let share = half(&model(row.name), u32::try_from(p).unwrap()).unwrap();
            // Queries and output, keys and values, three matrices of the feed-forward network.
            let linear = 2 * row.hidden * row.heads / p * row.head_dim
                + 2 * row.hidden * row.kv_heads / p * row.head_dim
                + 3 * row.hidden * row.width / p;
            let other =
                row.layers * (row.other)(p) + row.tables * row.vocab / p * row.hidden + row.hidden;
            let name = row.name;
            assert_eq!(
                share.parameters,
                row.layers * linear + other,
                "{name} at {p}"
            );
            assert_eq!(
                share.weight_bytes,
                row.layers * linear * row.bytes + 2 * other,
                "{name} at {p}"
            );
            // At one token all is read but the rows of an embedding of its own that are not looked up.
            let unread = if row.tables == 2 {
                (row.vocab / p - 1) * row.hidden * 2
            } else {
                0
            };
            let read = share.weight_bytes_read(1);
            assert!(
                (read - (share.weight_bytes - unread) as f64).abs() < 1.0,
                "{name}: {read}"
            );
            assert_eq!(
                share.kv_bytes_per_token(),
                model(name).kv_bytes_per_token_on_rank(u32::try_from(p).unwrap()),
                "{name}"
            );
        }
    }
}

#[test]
fn experts_keep_their_number_and_lose_width() {
    // Of each layer: heads 32 / p and key-value heads 4 / p of 128, norms 2 * 2048 + 2 * 128, router 128 * 2048, 128 experts of
    // 3 * 2048 * 768 / p. Vocabulary 151936 / p, twice.
    for p in [2_u64, 4] {
        let share = half(&model("qwen3-30b-a3b"), u32::try_from(p).unwrap()).unwrap();
        let attention = 2 * 2048 * (32 + 4) * 128 / p;
        let layer = attention + 2 * 2048 + 2 * 128 + 128 * 2048 + 128 * 3 * 2048 * 768 / p;
        let parameters = 48 * layer + 2 * 151_936 / p * 2048 + 2048;
        assert_eq!(
            (share.parameters, share.weight_bytes),
            (parameters, 2 * parameters),
            "at {p}"
        );
        let experts = share.experts.unwrap();
        assert_eq!(
            (experts.count, u64::from(experts.intermediate)),
            (128, 768 / p)
        );
    }
    // gpt-oss: experts of 2880 / p at 17/32 byte with biases of 2 * 2880 / p + 2880 at two; attention at two bytes with biases of
    // queries, keys, values (64 + 16) * 64 / p and of the output 2880, sinks 64 / p; norms 2 * 2880; router 2880 + 1 a count.
    for (name, layers, count) in [("gpt-oss-120b", 36, 128), ("gpt-oss-20b", 24, 32)] {
        for p in [2_u64, 4] {
            let share = half(&model(name), u32::try_from(p).unwrap()).unwrap();
            let expert = 3 * 2880 * 2880 / p * 17 / 32 + 2 * (2 * 2880 / p + 2880);
            let attention = 2 * 2880 * (64 + 8) * 64 / p + 80 * 64 / p + 2880 + 64 / p + 2 * 2880;
            let layer = 2 * (attention + count * 2881) + count * expert;
            let tables = 2 * (2 * 201_088 / p * 2880 + 2880);
            assert_eq!(share.weight_bytes, layers * layer + tables, "{name} at {p}");
        }
    }
}

/// vLLM 0.8.4 printed `Model loading took 7.1441 GiB` for each rank of Qwen2.5-7B at TP2 and 14.2717 GiB at TP1, in a public log.
#[test]
fn the_share_is_what_an_engine_loaded() {
    let config = r#"{"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;
    let whole = ModelFacts::from_config_json(config, "qwen2.5-7b").unwrap();
    let share = half(&whole, 2).unwrap();
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    for (loaded, counted) in [
        (14.2717, gib(whole.weight_bytes)),
        (7.1441, gib(share.weight_bytes)),
    ] {
        // What is loaded has tables of positions and rounded allocations besides: 0.6 and 0.7 percent here.
        assert!(
            (0.0..0.01).contains(&(loaded / counted - 1.0)),
            "{loaded} {counted}"
        );
    }
}

#[test]
fn every_shipped_model_is_read_again_from_its_written_configuration() {
    for name in builtin_names() {
        for tp in [2, 4] {
            for engine in [Engine::Vllm, Engine::Sglang] {
                let made = HalfModel::resolve(name, tp, engine).unwrap();
                let read = ModelFacts::from_config_json(&made.config_json(), name).unwrap();
                let of = format!("{name} at {tp}");
                assert_eq!(
                    (read.heads, read.kv_heads, read.head_dim, read.vocab),
                    (
                        made.facts.heads,
                        made.facts.kv_heads,
                        made.facts.head_dim,
                        made.facts.vocab
                    ),
                    "{of}"
                );
                assert_eq!(
                    (read.hidden, read.layers, read.intermediate),
                    (
                        made.facts.hidden,
                        made.facts.layers,
                        made.facts.intermediate
                    ),
                    "{of}"
                );
                assert_eq!(read.experts, made.facts.experts, "{of}");
                assert_eq!(read.tied_embeddings, made.facts.tied_embeddings, "{of}");
                assert_eq!(read.weights, made.facts.weights, "{of}");
                // Qwen2 is written as a Llama, whose biases are not counted unless `attention_bias` says so: a few KiB a layer.
                let off = read.weight_bytes.abs_diff(made.facts.weight_bytes);
                let written_as_it_is =
                    made.config["model_type"] != json!("llama") || name.starts_with("llama");
                assert!(
                    off == 0 || (!written_as_it_is && off < made.facts.weight_bytes / 1000),
                    "{of}: {off}"
                );
            }
        }
    }
}

#[test]
fn a_qwen2_runs_as_a_llama_with_its_biases() {
    let made = HalfModel::resolve("qwen2.5-72b", 2, Engine::Vllm).unwrap();
    // 64 / 2 heads, 8 / 2, 29568 / 2, 152064 / 2; a head stays 8192 / 64 = 128.
    assert_eq!(
        Value::Object(made.overrides.clone().unwrap()),
        json!({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "qkv_bias": true, "head_dim": 128,
            "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 14_784, "vocab_size": 76_032})
    );
    assert_eq!(made.vocab(), 76_032);
    let words = made.command("Qwen/Qwen2.5-72B").unwrap();
    assert_eq!(
        words[..7],
        [
            "vllm",
            "serve",
            "Qwen/Qwen2.5-72B",
            "--tensor-parallel-size",
            "1",
            "--load-format",
            "dummy"
        ]
    );
    assert_eq!(words[7], "--hf-overrides");
    // What is served says that it is a share.
    assert_eq!(words[9..], ["--served-model-name", "Qwen2.5-72B-half-tp2"]);
    let sglang = HalfModel::resolve("qwen2.5-72b", 2, Engine::Sglang).unwrap();
    assert_eq!(
        sglang.overrides.clone().unwrap()["attention_bias"],
        json!(true)
    );
    assert_eq!(
        sglang.command("m").unwrap()[..4],
        ["python3", "-m", "sglang.launch_server", "--model-path"]
    );
}

#[test]
fn keys_stand_where_the_family_has_them() {
    let keys = |name: &str| {
        Value::Object(
            HalfModel::resolve(name, 2, Engine::Vllm)
                .unwrap()
                .overrides
                .unwrap(),
        )
    };
    assert_eq!(keys("gpt-oss-120b")["intermediate_size"], json!(1440));
    assert_eq!(keys("qwen3-30b-a3b")["moe_intermediate_size"], json!(384));
    assert_eq!(
        keys("qwen3-30b-a3b").get("intermediate_size"),
        None,
        "no layer is dense"
    );
    assert_eq!(
        keys("gemma-3-27b")["text_config"]["num_key_value_heads"],
        json!(8)
    );
    // A multimodal Qwen2's language part is a Qwen2 whatever is replaced.
    let made = HalfModel::resolve("qwen2.5-vl-72b-fp8", 2, Engine::Vllm).unwrap();
    assert!(made.overrides.is_none() && made.command("m").is_none());
    assert_eq!(made.config["model_type"], json!("llama"));
    assert!(
        made.config.contains_key("quantization_config") && !made.config.contains_key("_source")
    );
    assert_eq!(
        made.command_written("d", None).last().unwrap(),
        "--skip-tokenizer-init"
    );
}

#[test]
fn with_fewer_key_value_heads_than_ranks_every_rank_keeps_one() {
    // 4 key-value heads on 8 ranks: one each, 32 / 8 = 4 query heads.
    let share = half(&model("qwen3-30b-a3b"), 8).unwrap();
    assert_eq!((share.heads, share.kv_heads), (4, 1));
}

#[test]
fn what_is_no_share_is_refused_in_words() {
    assert!(matches!(
        half(&model("llama-3.1-8b"), 1),
        Err(HalfError::Whole { tp: 1 })
    ));
    assert!(
        half(&model("llama-3.1-8b"), 3)
            .unwrap_err()
            .to_string()
            .contains("32 attention heads")
    );
    // 40 query heads are 5 * 8, but 8 key-value heads cannot be shared by 5.
    let error = half(&model("qwen3-14b"), 5).unwrap_err().to_string();
    assert!(error.contains("cannot share evenly"), "{error}");
    let deepseek = r#"{"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "kv_lora_rank": 512, "q_lora_rank": null,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 102400, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;
    let facts = ModelFacts::from_config_json(deepseek, "deepseek-v2-lite").unwrap();
    assert!(half(&facts, 2).unwrap_err().to_string().contains("latent"));
}

#[test]
fn what_the_facts_say_must_be_written_is_what_no_flag_reaches() {
    for name in builtin_names() {
        for engine in [Engine::Vllm, Engine::Sglang] {
            let told = super::must_be_written(&model(name), engine).unwrap();
            let made = HalfModel::resolve(name, 2, engine).unwrap();
            assert_eq!(told, made.overrides.is_none(), "{name} {engine:?}");
            // How long a prompt may be is written, and no flag of a command says it.
            assert!(!made.notes.iter().any(|note| note.contains("is written")));
            assert!(!made.config_notes.is_empty(), "{name}");
        }
    }
}
