//! Studies of more than two sizes, and what is refused before anything is measured.

use std::net::TcpListener;

use crate::study::common::{Scratch, can_study, own};

#[test]
fn a_port_that_is_taken_is_told_before_anything_is_measured() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let scratch = Scratch::new();
    let line = "study --model qwen2.5-72b --out study -- vllm serve m --port";
    let ran = scratch.line(line, &[&port]);
    ran.expect(2);
    assert!(ran.stderr.contains("is in use"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(!scratch.join("study").exists());
}

#[test]
fn a_study_of_three_sizes_explains_each_of_them_with_its_servers_log() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    // What vLLM 0.13's v1/engine/core.py says at its start, before the engine that is embedded; the study adds size and port.
    let script = format!(
        "tp=$(echo \" $*\" | sed 's/.*--tensor-parallel-size \\([0-9]*\\).*/\\1/')\n\
         echo \"INFO [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='m', tensor_parallel_size=$tp, enforce_eager=True\"\n\
         exec '{}' serve engine --box l40x4 --model llama-3.1-8b \"$@\"\n",
        own()
    );
    let server = scratch.write("vllm", &script);
    let line = "study --sim l40x4 --model llama-3.1-8b --tp 1,2,4 --concurrency 8 --requests 16 --input-tokens 16 --output-tokens 24 \
        --budget 1 --out study -- sh";
    let first = scratch.line(line, &[&server]);
    for (name, tp) in [("explanation-tp2", 2), ("explanation-tp4", 4)] {
        let explanation = scratch.json(&format!("study/{name}.json"));
        assert_eq!(explanation["tp"], tp, "{}", first.stderr);
        let engine = explanation["engine"].as_str().unwrap();
        // By its flags alone it would run graphs.
        assert!(engine.contains("eager"), "{engine}");
        assert!(scratch.join(&format!("study/{name}.html")).exists());
    }
    let between = scratch.json("study/explanation-tp2-tp4.json");
    assert_eq!(between["tp"], 4, "{between}");
    let page = std::fs::read_to_string(scratch.join("study/report.html")).unwrap();
    for part in ["TP2 is ", "TP4 is ", "TP4 against TP2"] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    for part in ["TP2 is ", "TP4 is "] {
        assert!(
            first.stdout.contains(part),
            "no `{part}` in {}",
            first.stdout
        );
    }
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

#[test]
fn a_size_whose_weights_do_not_fit_is_left_out_with_the_servers_words() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    // 145 GB on one GPU of 96 GB, and on two.
    let line = "study --sim rtxpro6000-mig --model qwen2.5-72b --tp 1,2 --concurrency 2 --requests 4 --input-tokens 8 --output-tokens 4 \
        --budget 1 --out study";
    let ran = scratch.line(line, &[]);
    let said = &ran.expect(3).stderr;
    assert!(
        said.contains("serve-tp1 is left out: the server ended"),
        "{said}"
    );
    assert!(scratch.join("study/serve-tp2/record.json").exists());
    assert!(scratch.join("study/report.html").exists());
}
