//! A study on a real engine: llama.cpp's server with a tiny model of random weights, on this machine's CPUs.

use std::path::Path;

use crate::study::common::{Scratch, can_study, skipped};

/// Tells which Python has the engine; `cargo xtask test` installs it.
const PYTHON: &str = "TPLENS_LLAMA_PYTHON";

#[test]
fn a_study_of_llama_cpp_measures_and_says_what_one_size_cannot_explain() {
    let Some(python) = std::env::var_os(PYTHON) else {
        skipped(
            "a study of a real engine needs a Python with xllamacpp; `cargo xtask test` installs it",
        );
        return;
    };
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llama");
    let line = "study --backend host --tp 1 --concurrency 4 --requests 12 --input-tokens 32 --output-tokens 32 --out study --model";
    let (model, server, folder) = (
        here.join("config.json"),
        here.join("serve.py"),
        scratch.join(""),
    );
    let words = [
        model.to_str(),
        Some("--"),
        python.to_str(),
        server.to_str(),
        Some("{port}"),
        folder.to_str(),
    ];
    let ran = scratch.line(line, &words.map(Option::unwrap));
    ran.expect(3);
    let serve = &scratch.json("study/serve-tp1/record.json");
    assert!(serve["header"]["simulated"].is_null(), "{}", ran.stdout);
    let summary = &serve["payload"]["serve"]["summary"];
    assert_eq!(summary["completed"], 12, "{summary}");
    // 12 requests of 32 tokens.
    assert_eq!(summary["output_tokens"], 384, "{summary}");
    assert!(summary["tpot_ms"]["mean"].as_f64().unwrap() > 0.0);
    let explanation = scratch.json("study/explanation-tp1.json");
    assert_eq!(explanation["outcome"]["is"], "refused");
    assert!(ran.stdout.contains("No answer: "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("SIMULATED"), "{}", ran.stdout);
    assert!(scratch.join("study/report.html").exists());
}
