//! Tests of reading configurations.

use super::*;

/// A small Llama: hidden 8, two layers, four heads of two, two key-value heads, width 16, vocabulary 10.
const SMALL: &str = r#"{"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 16, "vocab_size": 10, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16"}"#;

/// The small Llama with keys changed; null removes nothing but counts as absent.
fn changed(keys: &[(&str, &str)]) -> String {
    let mut value: serde_json::Value = serde_json::from_str(SMALL).unwrap();
    for (key, text) in keys {
        value[*key] = serde_json::from_str(text).unwrap();
    }
    value.to_string()
}

fn read(keys: &[(&str, &str)]) -> ModelFacts {
    ModelFacts::from_config_json(&changed(keys), "small").unwrap()
}

fn refused(keys: &[(&str, &str)]) -> String {
    ModelFacts::from_config_json(&changed(keys), "small")
        .unwrap_err()
        .to_string()
}

#[test]
fn every_shipped_model_reads_and_has_its_own_name() {
    assert_eq!(builtin_names().len(), 12);
    for name in builtin_names() {
        let model = ModelFacts::builtin(name).expect("reads");
        assert_eq!(model.name, name);
        assert!(model.weight_bytes > 0);
    }
}

#[test]
fn hugging_face_ids_and_any_case_name_a_shipped_model() {
    for (given, name) in [
        ("Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b"),
        ("GPT-OSS-120B", "gpt-oss-120b"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
    ] {
        assert_eq!(ModelFacts::resolve(given).unwrap().name, name);
    }
    let error = ModelFacts::resolve("no-such-model")
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("no-such-model is neither"), "{error}");
    assert!(error.contains("qwen2.5-72b"), "{error}");
}

/// Published counts of models beyond the golden table.
#[test]
fn parameters_are_those_that_their_pages_count() {
    for (name, parameters) in [
        ("gpt-oss-20b", 20_914_757_184_u64),
        ("llama-3.3-70b", 70_553_706_496),
    ] {
        assert_eq!(
            ModelFacts::builtin(name).unwrap().parameters,
            parameters,
            "{name}"
        );
    }
}

#[test]
fn a_dense_model_is_counted_by_matrices() {
    let model = read(&[]);
    // Attention 8*8 + 2*(8*4) + 8*8 = 192, feed-forward 3*8*16 = 384, norms 16: 592 a layer.
    // Two layers 1184, embedding and head 2*80 = 160, last norm 8: 1352 parameters of two bytes.
    assert_eq!(model.parameters, 1352);
    assert_eq!(model.weight_bytes, 2704);
    assert_eq!(model.head_dim, 2);
    assert_eq!(model.experts, None);
    assert!(model.assumed.is_empty(), "{:?}", model.assumed);
    // One token looks up one of ten rows: 9 * 8 * 2 = 144 bytes are not read.
    assert!((model.weight_bytes_read(1) - 2560.0).abs() < 1e-9);
    // Tied: 80 parameters fewer, and all are read.
    let tied = read(&[("tie_word_embeddings", "true")]);
    assert_eq!(tied.parameters, 1272);
    assert!((tied.weight_bytes_read(1) - 2544.0).abs() < 1e-9);
}

#[test]
fn biases_and_head_norms_belong_to_families() {
    // Queries 8, keys and values 4 each: 16 a layer, 32 in two.
    assert_eq!(read(&[("model_type", "\"qwen2\"")]).parameters, 1352 + 32);
    // attention_bias adds the output's 8 too: 24 a layer.
    assert_eq!(read(&[("attention_bias", "true")]).parameters, 1352 + 48);
    // Two norms of head_dim 2: 4 a layer.
    assert_eq!(read(&[("model_type", "\"qwen3\"")]).parameters, 1352 + 8);
    // Gate and up 16 each, down 8: 40 a layer.
    assert_eq!(read(&[("mlp_bias", "true")]).parameters, 1352 + 80);
}

#[test]
fn head_dim_is_explicit_or_divides() {
    assert_eq!(read(&[("head_dim", "16")]).head_dim, 16);
    let error = refused(&[("hidden_size", "10")]);
    assert_eq!(
        error,
        "small: head_dim is missing, and hidden_size 10 is not a multiple of num_attention_heads 4"
    );
}

#[test]
fn experts_are_read_under_every_name() {
    for (count, each) in [
        ("num_experts", "num_experts_per_tok"),
        ("num_local_experts", "experts_per_token"),
        ("n_routed_experts", "num_experts_per_tok"),
    ] {
        let model = read(&[(count, "4"), (each, "1"), ("moe_intermediate_size", "5")]);
        let experts = model.experts.unwrap();
        assert_eq!(
            (experts.count, experts.per_token, experts.layers),
            (4, 1, 2)
        );
        // 3 * 8 * 5 = 120 weights of two bytes.
        assert_eq!(experts.expert_bytes, 240);
        // Four experts 480 and a router 32 in place of 384: 128 more a layer.
        assert_eq!(model.parameters, 1352 + 256);
        assert_eq!(model.intermediate, 0);
        // One token hits one of four: 2 layers * 3 * 240 = 1440 and nine rows of 16 bytes are not read, of 3216.
        assert!((model.weight_bytes_read(1) - 1632.0).abs() < 1e-9);
        // Two tokens hit 4 * (1 - 0.75^2) = 1.75: 2 * 2.25 * 240 = 1080 and eight rows are not read.
        assert!((model.weight_bytes_read(2) - 2008.0).abs() < 1e-9);
    }
    // Mixtral's experts are as wide as intermediate_size.
    let wide = read(&[("num_local_experts", "4"), ("num_experts_per_tok", "2")]);
    assert_eq!(wide.experts.unwrap().intermediate, 16);
}

#[test]
fn some_layers_may_be_dense_and_experts_shared() {
    let experts = [
        ("n_routed_experts", "4"),
        ("num_experts_per_tok", "1"),
        ("moe_intermediate_size", "5"),
        ("num_hidden_layers", "6"),
    ];
    let layers = |key: &str, value: &str| {
        let mut keys = experts.to_vec();
        keys.push((key, value));
        let model = read(&keys);
        (model.experts.unwrap().layers, model.intermediate)
    };
    assert_eq!(layers("first_k_dense_replace", "2"), (4, 16));
    // Layers 1, 3 and 5 of 0..6.
    assert_eq!(layers("decoder_sparse_step", "2"), (3, 16));
    assert_eq!(layers("mlp_only_layers", "[0, 5]"), (4, 16));
    assert_eq!(layers("moe_layer_freq", "[0, 1, 1, 1, 1, 1]"), (5, 16));
    // Two shared experts of 5 are one of 10.
    assert_eq!(layers("n_shared_experts", "2"), (6, 10));
    assert_eq!(layers("shared_expert_intermediate_size", "7"), (6, 7));
}

#[test]
fn latent_attention_is_counted() {
    // DeepSeek-V3 without its layer for further tokens, in billions of parameters by its authors: 671.
    let text = r#"{"model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432,
        "kv_lora_rank": 512, "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
        "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "topk_method": "noaux_tc", "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 129280}"#;
    let model = ModelFacts::from_config_json(text, "v3").unwrap();
    assert_eq!(model.parameters, 671_026_419_200);
    assert_eq!(model.experts.unwrap().layers, 58);
    // 61 layers of 512 + 64 elements of two bytes, the same on every rank.
    assert_eq!(model.kv_bytes_per_token(), 70_272);
    assert_eq!(model.kv_bytes_per_token_on_rank(8), 70_272);
}

#[test]
fn key_value_heads_are_repeated_where_ranks_outnumber_them() {
    // qwen3-30b-a3b has 4: 2 * 48 * 4 * 128 * 2 = 98304 bytes, a quarter on each of four ranks and no less on each of eight.
    let model = ModelFacts::builtin("qwen3-30b-a3b").unwrap();
    assert_eq!(model.kv_bytes_per_token(), 98_304);
    assert_eq!(model.kv_bytes_per_token_on_rank(4), 24_576);
    assert_eq!(model.kv_bytes_per_token_on_rank(8), 24_576);
}

#[test]
fn the_language_part_of_a_multimodal_model_is_read() {
    let text = format!(
        r#"{{"model_type": "mistral3", "text_config": {SMALL}, "vision_config": {{"hidden_size": 1024}}}}"#
    );
    let model = ModelFacts::from_config_json(&text, "vl").unwrap();
    assert_eq!((model.hidden, model.family.as_str()), (8, "mistral3"));
    assert!(
        model.assumed[0].contains("vision part"),
        "{:?}",
        model.assumed
    );
}

#[test]
fn gemma_leaves_sizes_to_its_family_and_ties_embeddings() {
    // google/gemma-3-4b-it says no more than this of its language part.
    let text = r#"{"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {"model_type": "gemma3_text",
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}}"#;
    let model = ModelFacts::from_config_json(text, "gemma").unwrap();
    assert_eq!((model.heads, model.kv_heads, model.head_dim), (8, 4, 256));
    assert_eq!(model.vocab, 262_208);
    assert!(model.tied_embeddings);
    for key in [
        "num_attention_heads",
        "num_key_value_heads",
        "vocab_size",
        "tie_word_embeddings",
    ] {
        assert!(
            model.assumed.iter().any(|line| line.starts_with(key)),
            "{key}"
        );
    }
}

#[test]
fn quantised_weights_are_smaller() {
    // 1152 weights in linear layers; 200 others of two bytes are 400 bytes.
    for (config, format, linear) in [
        (r#"{"quant_method": "fp8"}"#, WeightFormat::Fp8, 1152),
        (
            r#"{"quant_method": "modelopt", "quant_algo": "NVFP4"}"#,
            WeightFormat::Nvfp4,
            648,
        ),
        // A group of 8: half a byte and 2.5 / 8 bytes a weight, 0.8125 * 1152 = 936.
        (
            r#"{"quant_method": "awq", "bits": 4, "group_size": 8}"#,
            WeightFormat::Int4,
            936,
        ),
        (
            r#"{"quant_method": "gptq", "bits": 8, "group_size": 8}"#,
            WeightFormat::Int8,
            1152,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 8}}}}"#,
            WeightFormat::Int4,
            936,
        ),
        // Attention, 384 of the 1152, stays at two bytes: 768 + 768.
        (
            r#"{"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"], "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}"#,
            WeightFormat::Fp8,
            1536,
        ),
    ] {
        let model = read(&[("quantization_config", config)]);
        assert_eq!(model.weights, format, "{config}");
        // Two layers of rounded-up bytes are these bytes, for they are whole.
        assert_eq!(model.weight_bytes, linear + 400, "{config}");
        assert_eq!(model.parameters, 1352, "{config}");
        assert_eq!(model.kv_cache_bytes, 2);
    }
    let cache = r#"{"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}"#;
    assert_eq!(read(&[("quantization_config", cache)]).kv_cache_bytes, 1);
}

#[test]
fn errors_name_the_key() {
    for (keys, error) in [
        (vec![("hidden_size", "null")], "hidden_size is missing"),
        (vec![("hidden_size", "0")], "hidden_size is 0"),
        (
            vec![("hidden_size", "\"8\"")],
            "hidden_size is \"8\", not a whole number up to 16777216",
        ),
        (
            vec![("vocab_size", "-1")],
            "vocab_size is -1, not a whole number up to 16777216",
        ),
        (
            vec![("num_key_value_heads", "3")],
            "num_attention_heads is 4, not a multiple of num_key_value_heads 3",
        ),
        (
            vec![("num_experts", "4")],
            "num_experts_per_tok is missing though there are experts",
        ),
        (
            vec![("num_experts", "4"), ("num_experts_per_tok", "5")],
            "num_experts_per_tok is 5, more than the 4 experts",
        ),
        (
            vec![("num_experts", "4"), ("num_local_experts", "8")],
            "num_experts is 4 but num_local_experts is 8; they mean the same",
        ),
        (
            vec![("tie_word_embeddings", "1")],
            "tie_word_embeddings is 1, not true or false",
        ),
        (
            vec![("torch_dtype", "\"int8\"")],
            "torch_dtype is int8; bfloat16, float16 and float32 are known",
        ),
        (
            vec![("linear_num_value_heads", "32")],
            "linear_num_value_heads says linear attention, which is not known",
        ),
        (
            vec![("num_hidden_layers", "5000")],
            "num_hidden_layers is 5000, more than 4096",
        ),
        (
            vec![(
                "quantization_config",
                r#"{"quant_method": "gptq", "bits": 3}"#,
            )],
            "quantization_config.bits is 3; 4 and 8 are known",
        ),
        (
            vec![("quantization_config", "{}")],
            "quantization_config.quant_method is missing; without it the size of a weight is not known",
        ),
    ] {
        assert_eq!(refused(&keys), format!("small: {error}"));
    }
    let unknown = refused(&[("quantization_config", r#"{"quant_method": "bitsandbytes"}"#)]);
    assert!(
        unknown.contains("quantization_config.quant_method is bitsandbytes"),
        "{unknown}"
    );
    for text in ["", "[]", "null", "{\"a\":"] {
        assert!(ModelFacts::from_config_json(text, "x").is_err());
    }
}

#[test]
fn a_family_that_is_not_known_is_said() {
    let model = read(&[("model_type", "\"new_model\"")]);
    assert!(
        model.assumed[0].contains("new_model is not known"),
        "{:?}",
        model.assumed
    );
}

#[test]
fn a_folder_with_a_config_names_the_model() {
    let folder = std::env::temp_dir().join(format!("tp-plan-{}", std::process::id()));
    let inner = folder.join("My-Model");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("config.json"), SMALL).unwrap();
    let by_folder = ModelFacts::resolve(inner.to_str().unwrap());
    let by_file = ModelFacts::resolve(inner.join("config.json").to_str().unwrap());
    let empty = ModelFacts::resolve(folder.to_str().unwrap());
    let separate = r#"{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}"#;
    std::fs::write(inner.join("hf_quant_config.json"), separate).unwrap();
    let quantised = ModelFacts::resolve(inner.to_str().unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(by_folder.unwrap().name, "My-Model");
    assert_eq!(by_file.unwrap().name, "My-Model");
    assert!(matches!(empty, Err(ModelError::Unreadable { .. })));
    assert_eq!(quantised.weights, WeightFormat::Fp8);
    assert_eq!(quantised.kv_cache_bytes, 1);
}

#[test]
fn heads_must_be_shared_evenly() {
    let model = ModelFacts::builtin("qwen3-14b").unwrap();
    assert!(model.check_tp(8).is_ok());
    let error = model.check_tp(3).unwrap_err().to_string();
    assert!(
        error.starts_with("qwen3-14b has 40 attention heads"),
        "{error}"
    );
    assert!(model.check_tp(0).is_err());
}
