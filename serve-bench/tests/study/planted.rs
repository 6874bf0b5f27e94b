//! Studies on simulated machines whose truth the test plants: an all-reduce unlike any default, and an engine that does none.

use crate::study::common::{Scratch, bar, can_study, own, range, skipped};

/// The shipped box with another time of an all-reduce of 256 KiB, which is what the model sends at 16 sequences.
fn box_with_all_reduce(us: &str) -> String {
    let shipped = include_str!("../../../boxes/rtxpro6000-mig.toml");
    // The first table is the all-reduce, the second the all-gather.
    let text = shipped.replacen("[262144, 62.9]", &format!("[262144, {us}]"), 1);
    assert!(text != shipped, "the table has changed");
    text
}

/// Whether this machine was too busy for the load generator, so that the study's figures are not the server's; it says so and exits 3.
fn was_starved(ran: &crate::study::common::Ran) -> bool {
    let starved = ran.code == 3 && ran.stderr.contains("the load generator was the limit");
    if starved {
        skipped("the load generator was the limit: this machine is too busy");
    }
    starved
}

/// A study of both sizes with few and short requests; `profile` is what the engine plays.
fn study(scratch: &Scratch, box_file: &str, profile: &str) -> crate::study::common::Ran {
    let profile = scratch.write("profile.json", profile);
    let line = format!(
        "study --sim {box_file} --model qwen2.5-72b-fp8 --concurrency 16 --requests 32 --input-tokens 89 --output-tokens 24 --out study -- \
         {} serve engine --box {box_file} --model qwen2.5-72b-fp8 --profile",
        own()
    );
    scratch.line(&line, &[&profile])
}

#[test]
fn a_planted_all_reduce_is_found_by_the_whole_chain() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let box_file = scratch.write("planted.toml", &box_with_all_reduce("137.0"));
    let ran = study(&scratch, &box_file, "{}");
    if was_starved(&ran) {
        return;
    }
    ran.expect(0);
    let explanation = scratch.json("study/explanation-tp2.json");
    // 1 embedding + 2 * 80 layers = 161 all-reduces of 16 * 8192 * 2 = 262144 B take 161 * 137 us = 22.06 ms. The all-gather
    // of 16 * 152064 / 2 * 2 = 2433024 B lies between 252.1 us at 2 MiB and 473.5 us at 4 MiB: 22.3 to 22.5 ms in all.
    let (low, _, high) = range(&bar(&explanation, "communication")["ms"]);
    assert!(
        low <= 22.3 && 22.5 <= high,
        "[{low}, {high}]\n{}",
        ran.stdout
    );
    assert_eq!(bar(&explanation, "communication")["grade"], "C");
    let page = std::fs::read_to_string(scratch.join("study/report.html")).unwrap();
    for part in [
        "<title>SIMULATED: ",
        "SIMULATED machine rtxpro6000-mig",
        "(simulated)",
    ] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    assert!(ran.stdout.contains("SIMULATED"), "{}", ran.stdout);
    // Files stand between the steps.
    for name in ["links", "allreduce-tp2", "serve-tp1", "serve-tp2"] {
        assert_eq!(
            scratch.json(&format!("study/{name}/record.json"))["header"]["simulated"]["box_name"],
            "rtxpro6000-mig",
            "{name}"
        );
    }
}

#[test]
fn an_engine_without_communication_yields_no_claim() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let box_file = scratch.write("planted.toml", &box_with_all_reduce("65.0"));
    // The GEMMs gain 1.9x, which lies within what is assumed; nothing is left for communication.
    let planted =
        r#"{"all_reduce_us": 0.0, "all_gather_us": 0.0, "gemm_speedup_per_doubling": 1.9}"#;
    let ran = study(&scratch, &box_file, planted);
    if was_starved(&ran) {
        return;
    }
    // This box's own curve, 161 times 65 us, is far more than nothing: it is said not to fit.
    ran.expect(3);
    let explanation = scratch.json("study/explanation-tp2.json");
    let claim = &explanation["outcome"]["attribution"]["claim"];
    assert_eq!(claim["is"], "none", "{claim}\n{}", ran.stdout);
}
