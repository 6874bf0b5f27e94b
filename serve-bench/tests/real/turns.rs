//! Conversations whose earlier turns the engine has in its cache.

use record::Arrivals;
use serde_json::json;

use crate::real::llama::Llama;

/// The text that llama.cpp keeps of a turn is its prompt, with which the next turn's begins. Its answer of random tokens is not the
/// file's, so no more than that prompt can come from the cache.
#[test]
fn each_turn_takes_the_turn_before_it_from_the_servers_cache() {
    let Some(llama) = Llama::start() else {
        return;
    };
    let turn = |who: &str, text: String| json!({"from": who, "value": text});
    let talk = |name: &str| {
        let turns = (1..=3).flat_map(|at| {
            let question = format!("{name} {at}: {}", "please tell more of it ".repeat(at + 2));
            let answer = format!("@{name} {at}: {}", "so it was then ".repeat(at + 3));
            [turn("human", question), turn("gpt", answer)]
        });
        json!({"id": name, "conversations": turns.collect::<Vec<_>>()})
    };
    let talks = llama.folder.join("talks.json");
    let text = json!([talk("alpha"), talk("bravo"), talk("charlie")]).to_string();
    std::fs::write(&talks, text).unwrap();

    let figures = || {
        ["prompt_tokens_total", "prompt_tokens_cached_total"]
            .map(|name| llama.metric(&format!("llamacpp:{name}")))
    };
    let [computed_before, cached_before] = figures();
    let dataset = ["--dataset-name", "sharegpt", "--dataset-path"];
    let load = ["--multi-turn", "--endpoint", "chat", "--num-prompts", "9"];
    let lengths = ["--max-concurrency", "1", "--sharegpt-output-len", "8"];
    let path = talks.to_str().unwrap();
    let more = [&dataset[..], &[path], &load, &lengths].concat();
    let serve = llama.run(&llama.url(), &more);
    let [computed, cached] = figures();

    let is_closed = matches!(serve.load.unwrap().arrivals, Arrivals::ClosedLoop);
    assert!(is_closed && serve.requests.len() == 9);
    let (mut before, mut of_cache, mut of_prompts) = (0, 0, 0);
    for request in &serve.requests {
        if request.id % 3 == 0 {
            before = 0;
        }
        // A random token may be the answer's first by chance.
        let hit = request.cached_tokens.unwrap();
        assert!(
            (before..=before + 8).contains(&hit),
            "{before}: {request:?}"
        );
        before = request.input_tokens.unwrap();
        of_cache += hit;
        of_prompts += before;
    }
    assert!(of_cache > 0);
    let server = [cached - cached_before, computed - computed_before];
    assert_eq!(server, [of_cache, of_prompts - of_cache].map(f64::from));
}
