//! The largest rate through the router, where the link alone is what limits: known beforehand.

use std::process::Stdio;

use super::engines::routed;
use crate::engine::served::Served;
use crate::study::common::skipped;

#[test]
fn slo_finds_the_rate_of_the_link_through_the_router_with_prompts_that_no_cache_has() {
    let prefill = Served::with(&["--role", "prefill", "--enable-prefix-caching"]);
    let decode = Served::with(&["--role", "decode", "--kv-link", "1000GB/s,50ms"]);
    let router = routed(&prefill, &decode, "auto");
    let folder = format!("serve-bench-searched-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let search =
        "slo --slo mean_ttft<=600ms --start 4 --resolution 25% --window 3 --runs 8 --seed 1 --out";
    let load =
        "--random-input-len 64 --random-output-len 4 --burstiness 1000 --num-warmups 2 --base-url";
    let ran = built::named("serve-bench")
        .args(search.split(' '))
        .arg(&folder)
        .arg("--")
        .args(load.split(' '))
        .arg(format!("http://{}", router.address))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    router.end();
    let said = String::from_utf8_lossy(&ran.stderr);
    let answer = std::fs::read_to_string(folder.join("slo.json")).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    if answer["found"]["outcome"] == "client_limit" {
        skipped("the load generator was the limit: this machine is too busy");
        return;
    }
    // 50 ms each, one after the other: 20 a second at most, of which 95% may be missing; at 10 a second half of the time is free.
    let met = answer["found"]["met"].as_f64().unwrap();
    assert!((8.0..=21.1).contains(&met), "{answer} {said}");
    // Each run has prompts of its own: not one block was found in the cache, of some hundred prompts.
    let of = |name: &str| prefill.metric(name);
    assert!(of("vllm:prefix_cache_queries_total") > 100.0 * 64.0);
    assert!(of("vllm:prefix_cache_hits_total") < 1.0, "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}
