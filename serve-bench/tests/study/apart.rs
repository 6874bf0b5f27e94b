//! A study of prefill and decode apart on embedded engines: a planted link limits, parts are of the measured requests, and it resumes.

use crate::study::common::{Scratch, own};

#[test]
fn a_planted_link_limits_and_aggregated_engines_serve_more() {
    let engine = |more: &str| {
        format!(
            "'{}' serve engine --box rtxpro6000-mig --model llama-3.1-8b --port {{port}} {more}",
            own()
        )
    };
    let scratch = Scratch::new();
    let decode = engine("--role decode --kv-link 10GB/s,300ms");
    let prefill = engine("--role prefill");
    let aggregated = engine("");
    let words = "study --model llama-3.1-8b --concurrency 4 --requests 12 --input-tokens 1000 --output-tokens 8 --out study";
    let mut study: Vec<&str> = words.split(' ').collect();
    study.extend([
        "--prefill",
        &prefill,
        "--decode",
        &decode,
        "--aggregated",
        &aggregated,
    ]);
    let ran = scratch.run(&study);
    // 3: a machine that other tests share holds the load generator up, and says so.
    assert!([0, 3].contains(&ran.code), "{}\n{}", ran.stderr, ran.stdout);
    let apart = scratch.json("study/apart.json");
    let part = |code: &str| {
        let parts = apart["parts"]["parts"].as_array().unwrap();
        parts
            .iter()
            .find(|part| part["code"] == code)
            .unwrap()
            .clone()
    };
    // 1008 tokens of 131,072 bytes at 10 GB/s and 300 ms: 313.2 ms, one after the other: 3.2 a second.
    let sent = part("kv-transfer");
    assert!(
        (sent["mean_ms"].as_f64().unwrap() / 313.2 - 1.0).abs() < 0.01,
        "{apart}"
    );
    // Of the measured requests only, not of the warm-up.
    assert_eq!(
        (&sent["n"], &part("prefill")["n"], &apart["parts"]["n"]),
        (&12.into(), &12.into(), &12.into())
    );
    let rate = apart["split"]["run"]["requests_per_s"].as_f64().unwrap();
    assert!((2.0..3.3).contains(&rate), "{apart}");
    assert_eq!(
        (&apart["limit"], &apart["verdict"]),
        (&"link".into(), &"do-not-split".into())
    );
    // The client sees what the router sees.
    let (client, router) = (
        &apart["split"]["run"]["ttft_ms"]["mean"],
        &apart["parts"]["ttft_ms"],
    );
    let ratio = client.as_f64().unwrap() / router.as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.05, "{apart}");
    // Two GPUs with four in flight, one with two.
    assert_eq!(
        (
            &apart["split"]["gpus"],
            &apart["aggregated"]["run"]["concurrency_asked"]
        ),
        (&2.into(), &2.0.into())
    );

    let again = scratch.run(&study);
    assert_eq!(again.code, ran.code, "{}", again.stderr);
    assert!(!again.stderr.contains("starting"), "{}", again.stderr);
    assert_eq!(again.stdout, ran.stdout);
}

#[test]
fn an_engine_that_is_no_address_and_has_no_port_is_refused() {
    let scratch = Scratch::new();
    let words = "study --model llama-3.1-8b --out study --prefill http://127.0.0.1:1 --decode";
    let ran = scratch.run(&words.split(' ').chain(["vllm serve m"]).collect::<Vec<_>>());
    ran.expect(2);
    assert!(!scratch.join("study").exists());
}
