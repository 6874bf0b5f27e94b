//! What the server says of its own times, `timings` in each reply, beside what the client measured.

use serde_json::Value;

use crate::real::llama::Llama;
use crate::real::relay::Relay;

/// Every `timings` in what a server said. Each stands whole within one HTTP chunk.
fn timings(heard: &[String]) -> Vec<Value> {
    const NAME: &str = "\"timings\":";
    let objects = heard.iter().flat_map(|text| text.split(NAME).skip(1));
    objects
        .map(|rest| {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter();
            values.next().unwrap().unwrap()
        })
        .collect()
}

#[test]
fn the_servers_timings_count_what_the_client_counts() {
    let Some(llama) = Llama::start() else {
        return;
    };
    for endpoint in ["completions", "chat"] {
        for form in [&[][..], &["--no-stream"]] {
            let relay = Relay::to(llama.address());
            let fixed = [
                "--num-prompts",
                "12",
                "--max-concurrency",
                "2",
                "--random-output-len",
                "32",
                "--endpoint",
                endpoint,
            ];
            let serve = llama.run(&relay.url, &[&fixed[..], form].concat());
            let timings = timings(&relay.heard());
            let number = |value: &Value, name: &str| value[name].as_f64().unwrap();
            let counts: Vec<f64> = timings
                .iter()
                .map(|one| number(one, "predicted_n"))
                .collect();
            // Each of twelve replies made the 32 tokens that were asked for, which is what `usage` and the client say.
            assert_eq!(counts, [32.0; 12], "{endpoint} {form:?}");
            let of_prompts: f64 = timings
                .iter()
                .map(|one| number(one, "prompt_n") + number(one, "cache_n"))
                .sum();
            let summary = serve.summary.unwrap();
            assert_eq!(summary.output_tokens, Some(12 * 32));
            let input = summary.input_tokens.unwrap();
            assert!((of_prompts - input as f64).abs() < 0.5, "{input}");
            let Some(tpot) = &summary.tpot_ms else {
                assert!(!form.is_empty());
                continue;
            };
            assert_eq!(tpot.n, 12);
            // The server's clock of a reply begins with its first token: 31 gaps.
            let of_server = timings
                .iter()
                .map(|one| number(one, "predicted_ms") / 31.0)
                .sum::<f64>()
                / 12.0;
            // Shown and not judged: the relay and a busy machine are in both.
            println!(
                "{endpoint}: mean TPOT {:.3} ms by the client, {of_server:.3} ms by the server's timings, n=12",
                tpot.mean
            );
        }
    }
}
