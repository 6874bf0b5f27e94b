//! The prefix cache as a client sees it. How blocks are kept is tested in the engine's crate.

use crate::engine::common::Scratch;
use crate::engine::served::Served;

/// Four requests one after the other, whose prompts of 72 tokens begin with the same 64.
const SHARED: [&str; 6] = [
    "--requests",
    "4",
    "--dataset-name",
    "random-ids",
    "--random-prefix-len",
    "64",
];

#[test]
fn a_shared_beginning_is_computed_once_and_told() {
    for dialect in ["vllm", "sglang"] {
        let arguments = ["--enable-prefix-caching", "--dialect", dialect];
        let engine = Served::start(100, &arguments);
        let ran = Scratch::new().run(&engine.url, &SHARED);
        ran.expect(0);
        let requests = &ran.serve().requests;
        let cached: Vec<Option<u32>> = requests.iter().map(|one| one.cached_tokens).collect();
        // Four blocks of 16 are 64 tokens; the first request finds nothing.
        assert_eq!(
            cached,
            [Some(0), Some(64), Some(64), Some(64)],
            "{dialect}: {requests:?}"
        );
        assert!(requests.iter().all(|one| one.input_tokens == Some(72)));
        // 192 of 288 tokens are more than a tenth.
        assert!(ran.caveats().contains("prefix-cache-hit"));
        let metrics = match dialect {
            "vllm" => ("vllm:prefix_cache_hits_total", "vllm:prompt_tokens_total"),
            "sglang" => ("sglang:cached_tokens_total", "sglang:prompt_tokens_total"),
            _ => continue,
        };
        assert!((engine.metric(metrics.0) - 192.0).abs() < 1e-9);
        // Whole prompts, those from the cache with them: 4 x 72.
        assert!((engine.metric(metrics.1) - 288.0).abs() < 1e-9);
    }
}

#[test]
fn without_the_flag_every_prompt_is_computed() {
    let engine = Served::start(100, &[]);
    let ran = Scratch::new().run(&engine.url, &SHARED);
    ran.expect(0);
    assert!((engine.metric("vllm:prompt_tokens_total") - 288.0).abs() < 1e-9);
    let told = ran.serve().requests.iter().map(|one| one.cached_tokens);
    assert!(told.into_iter().all(|cached| cached.is_none()));
}

#[test]
fn prompts_of_each_run_are_new_unless_a_seed_repeats_them() {
    let engine = Served::start(100, &["--enable-prefix-caching"]);
    let hits = |more: &[&str]| {
        let length = ["--dataset-name", "random-ids", "--input-tokens", "160"];
        let ran = Scratch::new().run(&engine.url, &[&length, more].concat());
        ran.expect(0);
        let cached = ran.serve().requests.iter().map(|one| one.cached_tokens);
        let cached: u32 = cached.flatten().sum();
        (cached, ran.caveats().contains("prefix-cache-hit"))
    };
    assert_eq!(hits(&["--seed", "7"]), (0, false));
    // Nine of ten blocks of 16 each: the last one is computed for the first token.
    let (cached, is_found) = hits(&["--seed", "7"]);
    assert!((288..=320).contains(&cached) && is_found, "{cached}");
    assert_eq!(hits(&[]), (0, false));
    assert_eq!(hits(&[]), (0, false));
}
