//! Pages of `explain`: an ablation beside results, and names that would break a page if they became part of it.

use crate::study::common::{Ran, Scratch};

/// A name that would run, close or turn around something if it became markup: with a right-to-left override, and long.
fn hostile() -> String {
    format!(
        "<script>alert(1)<\u{2044}script>\"'&\u{202e}{}",
        "x".repeat(150)
    )
}

/// An arm of five launches around a collective time and a step.
fn arm(name: &str, change: &str, us: f64, ms: f64) -> serde_json::Value {
    let around =
        |mid: f64| serde_json::json!({"low": mid * 0.999, "mid": mid, "high": mid * 1.001});
    let launches = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|part| {
        serde_json::json!({
            "order": 0, "collective_us": around(us * (1.0 + 0.005 * part)), "step_ms": around(ms * (1.0 - 0.001 * part)),
            "steps": 1000, "folder": null,
        })
    });
    serde_json::json!({"name": name, "change": change, "how": name, "launches": launches})
}

/// Steps of 30 ms and 161 all-reduces.
fn ablation(scratch: &Scratch, link_arm: &str) -> String {
    let step = |us: f64| 30.0 + 161.0 * us / 1e3;
    let value = serde_json::json!({
        "schema": 1, "simulated": null, "model": "qwen2.5-72b", "tp": 2, "batch": 16, "engine": null, "planned": 161,
        "arms": [
            arm("baseline", "baseline", 60.0, step(60.0)),
            arm(link_arm, "link", 120.0, step(120.0)),
            arm("channels-1", "link", 90.0, step(90.0)),
        ],
    });
    scratch.write("arms.json", &value.to_string())
}

fn curve(scratch: &Scratch, name: &str) -> String {
    // 60 us at 256 KiB, which is 16 * 8192 * 2.
    let rows = [131_072, 262_144, 4_194_304].map(|bytes: u32| {
        let us = 60.0 * f64::from(bytes) / 262_144.0;
        format!("all_reduce,2,{bytes},{us},graph\n")
    });
    scratch.write(name, &format!("op,ranks,bytes,us,mode\n{}", rows.concat()))
}

fn explain(scratch: &Scratch, [one, two, curve]: [&str; 3], more: &[&str]) -> Ran {
    let always = ["explain", "--model", "qwen2.5-72b", "--out", "out"];
    let files = ["--tp1", one, "--tp2", two, "--allreduce", curve];
    scratch.run(&[&always, &files[..], more].concat())
}

/// The page, which needs nothing beside it.
fn page(scratch: &Scratch) -> String {
    let page = std::fs::read_to_string(scratch.join("out/report.html")).unwrap();
    // Commands that are printed name the server of the machine itself, in words.
    let page = page.replace("http://127.0.0.1:8000", "URL");
    for never in [
        "<script", "http:", "https:", "src=", "href=", "url(", "@import", "NaN",
    ] {
        assert!(!page.contains(never), "{never}");
    }
    assert!(page.len() < 1_000_000, "{}", page.len());
    page
}

#[test]
fn an_ablation_beside_results_is_in_the_answer_the_page_and_the_inputs() {
    let scratch = Scratch::new();
    // 30 ms and 161 * 60 us = 9.7 ms are 39.7; half of 53 is 26.5, which leaves the arms' figure room beside what work loses.
    let one = scratch.vllm("one.json", 53.0);
    let two = scratch.vllm("two.json", 39.7);
    let curve = curve(&scratch, "curve.csv");
    let arms = ablation(&scratch, "p2p-off");
    let ran = explain(&scratch, [&one, &two, &curve], &["--ablation", &arms]);
    ran.expect(0);
    let page = page(&scratch);
    for part in [
        "planned: 161 all-reduces",
        "ablation (arms 3)",
        ">p2p-off</td>",
    ] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    let explanation = scratch.json("out/explanation.json");
    let inputs = explanation["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["origin"] == arms.as_str()));
    let next = explanation["outcome"]["next"].to_string();
    assert!(!next.contains("tplens ablate"), "{next}");
}

#[test]
fn names_of_others_are_words_on_the_page_and_no_markup() {
    let scratch = Scratch::new();
    let hostile = hostile();
    let one = scratch.vllm(&format!("{hostile}1.json"), 57.0);
    let two = scratch.vllm(&format!("{hostile}2.json"), 39.7);
    let curve = curve(&scratch, &format!("{hostile}.csv"));
    let arms = ablation(&scratch, &hostile);
    let ran = explain(&scratch, [&one, &two, &curve], &["--ablation", &arms]);
    ran.expect(0);
    let page = page(&scratch);
    assert!(
        page.contains("&lt;script&gt;alert(1)"),
        "no name in the page"
    );
    assert!(!page.contains('\u{202e}') && !ran.stdout.contains('\u{202e}'));
}

#[test]
fn a_shard_of_another_size_is_refused_with_the_command_of_the_one_that_fits() {
    let scratch = Scratch::new();
    let files = [("one.json", 53.0), ("two.json", 39.7), ("half.json", 27.0)];
    let [one, two, half] = files.map(|(name, tpot)| scratch.vllm(name, tpot));
    let text = std::fs::read_to_string(&half).unwrap();
    let text = text.replace("qwen2.5-72b", "qwen2.5-72b-half-tp4");
    std::fs::write(&half, text).unwrap();
    let curve = curve(&scratch, "curve.csv");
    let ran = explain(&scratch, [&one, &two, &curve], &["--half", &half]);
    let said = &ran.expect(2).stderr;
    assert!(said.contains("tplens half --tp 2"), "{said}");
}
