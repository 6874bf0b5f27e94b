//! The check on the servers of three machines with cards of 32 GB, by arithmetic.

use super::*;
use crate::sweep::expand::expand;

const PLAN: &str = r#"
schema = 1
name = "{config}_{model}_TP{tp}_np{n}"
[server]
manage = true
memory = "32624 MiB"
command = ["vllm", "serve", "{path}", "--tensor-parallel-size", "{tp}", "--max-model-len", "{max_len}", "--port", "{port}"]
slack = 128
[paths]
8B = "meta-llama/Llama-3.1-8B-Instruct"
14B = "Qwen/Qwen3-14B"
27B = "google/gemma-3-27b-it"
[[matrix]]
configs = ["A"]
models = ["8B", "14B", "27B"]
tp = [1, 2]
inputs = [1024]
outputs = [128]
num_prompts = "1,200"
"#;

fn check(text: &str) -> Checked {
    let plan = Plan::parse(text).unwrap();
    let cells = expand(&plan).unwrap();
    checked(&plan, &cells).unwrap().unwrap()
}

fn of<'a>(checked: &'a Checked, name: &str) -> &'a Server {
    checked
        .servers
        .iter()
        .find(|server| server.name == name)
        .unwrap()
}

#[test]
fn weights_and_cache_are_those_of_the_shapes() {
    let checked = check(PLAN);
    let room = |name| of(&checked, name).room.unwrap();
    // 0.9 * 32624 * 2^20 = 30,787,869,081.6.
    assert_eq!(room("A_8B_TP1").usable, 30_787_869_081);
    // 8,030,261,248 parameters of two bytes; 2 * 32 layers * 8 heads * 128 * 2 bytes a token.
    assert_eq!(room("A_8B_TP1").weights, 16_060_522_496);
    assert_eq!(room("A_8B_TP1").token, 131_072);
    // Half of each on two cards.
    assert_eq!(room("A_8B_TP2").weights, 8_030_261_248);
    assert_eq!(room("A_8B_TP2").token, 65_536);
    // 30,787,869,081 - 16,060,522,496 - 2^30 = 13,653,604,761 bytes, of 1152 * 131072 = 150,994,944 each: 90.4.
    assert_eq!(room("A_8B_TP1").at_once(), 90);
    assert_eq!(of(&checked, "A_8B_TP1").verdict, Verdict::Fits);
    assert_eq!(of(&checked, "A_8B_TP2").verdict, Verdict::Fits);
}

#[test]
fn a_card_that_weights_fill_is_close_and_one_that_they_overfill_is_certain() {
    let checked = check(PLAN);
    // 14,768,307,200 * 2 = 29,536,614,400 bytes are 27.51 GiB of 28.67: 1.17 are left, 0.17 less the assumed one. A sequence of
    // 1280 tokens needs 1280 * 163840 bytes = 0.20 GiB, so that the engine may take 0.97.
    let Verdict::Close(close) = &of(&checked, "A_14B_TP1").verdict else {
        panic!("{:?}", of(&checked, "A_14B_TP1").verdict);
    };
    for part in [
        "weights leave 1.17 GiB",
        "1280 tokens needs 0.20 GiB",
        "less than 0.97 GiB beside",
    ] {
        assert!(close.contains(part), "no `{part}` in {close}");
    }
    // 54,018,692,608 bytes are 50.31 GiB on one card and 25.15 on each of two.
    let Verdict::Never(never) = &of(&checked, "A_27B_TP1").verdict else {
        panic!("{:?}", of(&checked, "A_27B_TP1").verdict);
    };
    assert!(
        never.contains("weights of 50.31 GiB on each GPU are more than the 28.67 GiB"),
        "{never}"
    );
    assert_eq!(of(&checked, "A_27B_TP2").verdict, Verdict::Fits);
    let names: Vec<&str> = checked.never.keys().map(String::as_str).collect();
    assert_eq!(names, ["A_27B_TP1_np1", "A_27B_TP1_np200"]);
}

#[test]
fn a_sequence_that_never_fits_is_certain_only_where_every_token_is_kept() {
    // 30,787,869,081 - 29,536,614,400 = 1,251,254,681 bytes hold 7637 tokens of 163840, and 1024 + 128 + 7000 = 8152 are asked for.
    let long = PLAN.replace("slack = 128", "slack = 7000");
    let checked = check(&long);
    let Verdict::Never(never) = &of(&checked, "A_14B_TP1").verdict else {
        panic!("not certain");
    };
    assert!(
        never.contains("one sequence of 8152 tokens needs 1.24 GiB"),
        "{never}"
    );
    // Gemma's sliding layers forget: 3.52 GiB are left on two cards, 1152 + 16000 tokens of 253952 bytes would be 4.06.
    let longer = PLAN.replace("slack = 128", "slack = 16000");
    let checked = check(&longer);
    let Verdict::Close(close) = &of(&checked, "A_27B_TP2").verdict else {
        panic!("certain, or not seen");
    };
    assert!(close.contains("(gemma3)"), "{close}");
}

#[test]
fn a_flag_that_changes_weights_leaves_nothing_certain() {
    let quantized = PLAN.replace("\"--port\"", "\"--quantization\", \"fp8\", \"--port\"");
    let checked = check(&quantized);
    assert!(checked.never.is_empty());
    assert!(
        matches!(&of(&checked, "A_27B_TP1").verdict, Verdict::Close(words) if words.contains("--quantization may change it"))
    );
}

#[test]
fn a_length_below_the_cells_own_refuses_its_requests() {
    let short = PLAN.replace("{max_len}", "1100");
    let checked = check(&short);
    // 1024 + 128 = 1152.
    let why = &checked.never["A_8B_TP1_np1"];
    assert!(
        why.contains("1152 tokens and the server takes 1100"),
        "{why}"
    );
}

#[test]
fn a_model_of_unknown_shape_and_a_plan_without_memory_are_told() {
    let unknown = PLAN.replace("google/gemma-3-27b-it", "org/nobody-knows");
    assert!(
        matches!(&of(&check(&unknown), "A_27B_TP1").verdict, Verdict::Unknown(words) if words.contains("config.json under [paths]"))
    );
    let without = PLAN.replace("memory = \"32624 MiB\"\n", "");
    let plan = Plan::parse(&without).unwrap();
    assert!(checked(&plan, &expand(&plan).unwrap()).unwrap().is_none());
    let boxed = PLAN.replace("memory = \"32624 MiB\"", "box = \"r9700-x8\"");
    let room = of(&check(&boxed), "A_8B_TP1").room.unwrap();
    assert_eq!(room.usable, 30_787_869_081);
    let both = boxed.replace("box =", "memory = \"1 GiB\"\nbox =");
    let plan = Plan::parse(&both).unwrap();
    assert!(checked(&plan, &expand(&plan).unwrap()).is_err());
}
