//! Conversations turn by turn and traces, against an engine with a prefix cache: what it takes from the cache is what they share.

use crate::engine::common::{Ran, Scratch};
use crate::engine::served::Served;

/// Runs a load with these flags alone.
fn ran(scratch: &Scratch, url: &str, flags: &[&str]) -> Ran {
    let fixed = ["run", "--base-url", url, "--out", "out", "--warmups", "0"];
    let output = scratch.program(&[&fixed, flags].concat()).output().unwrap();
    Ran::of(output, &scratch.join("out"))
}

#[test]
fn each_turn_finds_the_turns_before_it_in_the_cache() {
    let engine = Served::start(100, &["--enable-prefix-caching"]);
    let scratch = Scratch::new();
    let says = |talk: u32, turn: u32| {
        let words = (0..80).map(|word| format!("w{talk}x{turn}x{word}"));
        let value = words.collect::<Vec<String>>().join(" ");
        serde_json::json!({"from": "human", "value": value})
    };
    // Two conversations of three turns with their answers, 80 words each.
    let talk = |talk| {
        let said: Vec<_> = (0..6).map(|turn| says(talk, turn)).collect();
        serde_json::json!({"conversations": said})
    };
    let file = scratch.join("talks.json");
    std::fs::write(&file, serde_json::json!([talk(1), talk(2)]).to_string()).unwrap();
    let flags = "--dataset-name sharegpt --multi-turn --endpoint chat --concurrency 2 --requests 6 --sharegpt-output-len 4";
    let mut flags: Vec<&str> = flags.split(' ').collect();
    flags.extend([
        "--think-time",
        "0.05",
        "--dataset-path",
        file.to_str().unwrap(),
    ]);
    let ran = ran(&scratch, &engine.url, &flags);
    ran.expect(0);
    let mut requests = ran.serve().requests.clone();
    requests.sort_by_key(|one| one.id);
    for talk in requests.chunks(3) {
        // Prompts of 80, 240 and 400 words, in whole blocks of 16: each finds the prompt before it.
        let of = |turn: usize| (talk[turn].input_tokens, talk[turn].cached_tokens);
        assert_eq!(
            [of(0), of(1), of(2)],
            [(80, 0), (240, 80), (400, 240)].map(|(input, cached)| (Some(input), Some(cached)))
        );
        for turns in talk.windows(2) {
            let (before, turn) = (&turns[0], &turns[1]);
            assert!(turn.sent_ms >= before.ended_ms + 50.0);
        }
    }
    // By the server's counters: two talks of 80 + 240 of 80 + 240 + 400.
    let hits = engine.metric("vllm:prefix_cache_hits_total");
    let prompts = engine.metric("vllm:prompt_tokens_total");
    assert_eq!((hits, prompts), (640.0, 1440.0));
    // Meant, and no client was late because it waited.
    assert!(!ran.caveats().contains("client-late"), "{}", ran.caveats());
}

#[test]
fn a_trace_is_played_at_its_instants_and_its_blocks_are_shared() {
    let engine = Served::start(100, &["--enable-prefix-caching"]);
    let scratch = Scratch::new();
    let file = scratch.join("trace.jsonl");
    let lines = [
        (1000, 600, "[5, 6]"),
        (1400, 1024, "[5, 7]"),
        (1800, 100, "[9]"),
    ];
    let lines = lines.map(|(at, input, blocks)| {
        format!("{{\"timestamp\": {at}, \"input_length\": {input}, \"output_length\": 3, \"hash_ids\": {blocks}}}")
    });
    std::fs::write(&file, lines.join("\n")).unwrap();
    let path = file.to_str().unwrap();
    let flags = ["--dataset-name", "mooncake", "--dataset-path", path];
    let ran = ran(
        &scratch,
        &engine.url,
        &[&flags[..], &["--trace-speed", "2"]].concat(),
    );
    // 3 where a busy machine made the client late.
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
    let mut requests = ran.serve().requests.clone();
    requests.sort_by_key(|one| one.id);
    let near = |id: usize, ms: f64| (requests[id].intended_ms.unwrap() - ms).abs() < 0.01;
    assert!(
        near(0, 0.0) && near(1, 200.0) && near(2, 400.0),
        "{requests:?}"
    );
    let inputs: Vec<_> = requests.iter().map(|one| one.input_tokens).collect();
    assert_eq!(inputs, [Some(600), Some(1024), Some(100)]);
    // One block of 512 in the first two.
    let cached: Vec<_> = requests.iter().map(|one| one.cached_tokens).collect();
    assert_eq!(cached, [Some(0), Some(512), Some(0)]);
}
