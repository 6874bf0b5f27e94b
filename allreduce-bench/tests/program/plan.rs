//! `--plan`: which collectives a step has, and nothing is measured.

use super::common::{Scratch, is_absent};

/// Lines of a plan that name a collective, with single spaces.
fn rows(stdout: &str) -> Vec<String> {
    let lines = stdout.lines();
    let calls = lines.filter(|line| line.contains(" all_reduce ") || line.contains(" all_gather "));
    calls
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn the_plan_of_qwen_72b_is_that_of_its_shape() {
    let scratch = Scratch::new();
    let arguments = ["--backend", "host", "--model", "qwen2.5-72b", "--tp", "2"];
    let ran = scratch.run(&[&arguments[..], &["--batches", "1,16", "--eager", "--plan"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout.lines().next().unwrap(),
        "planned for this machine's CPUs (no graphs, no kernel of the engine's own); --sim NAME plans for a described machine"
    );
    let rows = rows(&ran.stdout);
    // Hidden size 8192, 80 layers, 2 B an element: an all-reduce of B tokens has B * 8192 * 2 B, one for the embedding and one for
    // each layer's attention and MLP. The vocabulary of 152064 in halves is 76032 * 2 B = 152064 B a sequence.
    let expected = [
        (1, "all_reduce embedding 1 16384"),
        (1, "all_reduce attention output 80 16384"),
        (1, "all_reduce mlp output 80 16384"),
        (1, "all_gather logits 1 152064"),
        (16, "all_reduce embedding 1 262144"),
        (16, "all_reduce attention output 80 262144"),
        (16, "all_reduce mlp output 80 262144"),
        (16, "all_gather logits 1 2433024"),
    ];
    assert_eq!(rows.len(), expected.len(), "{}", ran.stdout);
    for (row, (batch, call)) in rows.iter().zip(expected) {
        assert!(
            row.starts_with(&format!("{batch} ")) && row.contains(call),
            "{row}"
        );
        assert!(row.contains(" library "), "{row}");
    }
    assert!(is_absent(&scratch.join("tplens-results")));
}

#[test]
fn where_gpus_reach_each_other_small_all_reduces_are_the_engines_own() {
    let scratch = Scratch::new();
    let model = ["--model", "qwen2.5-72b", "--batches", "16", "--plan"];
    let ran = scratch.run(&[&["--sim", "rtxpro6000-bare", "--tp", "2"], &model[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let rows = rows(&ran.stdout);
    let of = |kind: &str| rows.iter().find(|row| row.contains(kind)).unwrap().clone();
    assert!(
        of("attention output").contains(" custom "),
        "{}",
        ran.stdout
    );
    assert!(of("logits").contains(" library "), "{}", ran.stdout);
}
