//! Evidence that contradicts itself: a box that is not that of the files, sides that were not made alike, curves that cannot be.

use crate::study::common::{Ran, Scratch};

/// A streamed closed loop of 64 requests, 16 in flight, 89 tokens in and 256 out, in vLLM's keys; `step_ms` a token.
fn served(step_ms: f64, more: &[(&str, serde_json::Value)]) -> String {
    // Four waves of 256 steps.
    let seconds = 4.0 * 256.0 * step_ms / 1e3;
    let mut value = serde_json::json!({
        "model_id": "Qwen2.5-VL-72B-Instruct-FP8", "max_concurrency": 16, "request_rate": "inf", "num_prompts": 64,
        "completed": 64, "failed": 0, "duration": seconds, "request_throughput": 64.0 / seconds,
        "total_input_tokens": 64 * 89, "total_output_tokens": 64 * 256, "output_throughput": 64.0 * 256.0 / seconds,
        "mean_ttft_ms": step_ms, "median_ttft_ms": step_ms, "mean_tpot_ms": step_ms, "median_tpot_ms": step_ms,
        "mean_itl_ms": step_ms, "median_itl_ms": step_ms, "mean_e2el_ms": 256.0 * step_ms,
    });
    for (key, what) in more {
        value[key] = what.clone();
    }
    value.to_string()
}

fn pair(
    scratch: &Scratch,
    one: &[(&str, serde_json::Value)],
    two: &[(&str, serde_json::Value)],
    more: &[&str],
) -> Ran {
    let files = [
        scratch.write("one.json", &served(60.9, one)),
        scratch.write("two.json", &served(45.3, two)),
    ];
    let arguments = [
        "explain",
        "--tp1",
        &files[0],
        "--tp2",
        &files[1],
        "--model",
        "qwen2.5-vl-72b-fp8",
    ];
    scratch.run(&[&arguments, more].concat())
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    ran.expect(2);
    assert_eq!(ran.stderr.trim().lines().count(), 1, "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "no {word} in {}", ran.stderr);
    }
}

/// The links of the fixture: one device of that name, whose slot was at Gen4 x16 under load.
fn links(scratch: &Scratch, name: &str, soft: Option<&str>, mig: bool) -> String {
    let text = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/measure/tests/fixtures/records/links.json"
    );
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(text).unwrap()).unwrap();
    record["header"]["simulated"] = soft.map_or(
        serde_json::Value::Null,
        |soft| serde_json::json!({ "box_name": soft }),
    );
    let links = &mut record["payload"]["links"];
    let reading = |width: u8| {
        let link = serde_json::json!({ "generation": 4, "width": width });
        serde_json::json!({
            "device": link, "slot": link, "card": null, "slot_maximum": null, "readings": 1, "narrowed_to": null, "unreadable": null
        })
    };
    let devices = links["devices"].as_array_mut().unwrap();
    for device in devices {
        device["name"] = name.into();
        device["loaded"] = reading(16);
        device["mig"] = match mig {
            true => serde_json::json!({ "profile": "4g.96gb", "parent_uuid": null }),
            false => serde_json::Value::Null,
        };
    }
    scratch.write("links.json", &record.to_string())
}

#[test]
fn a_box_that_the_files_are_not_of_is_refused_with_both() {
    let scratch = Scratch::new();
    let soft = |name: &str| vec![("simulated", serde_json::json!(name))];
    let l40 = soft("l40x4");
    let other = pair(&scratch, &l40, &l40, &["--box", "h200x8"]);
    refused(
        &other,
        &[
            "--box says h200x8, but ",
            "one.json is of the soft box l40x4",
        ],
    );
    pair(&scratch, &l40, &l40, &["--box", "rtxpro6000-bare"]).expect(2);
    // GPUs that the results name.
    let gpu = |name: &str| vec![("gpu", serde_json::json!(name))];
    let other = pair(
        &scratch,
        &gpu("NVIDIA H200"),
        &gpu("NVIDIA H200"),
        &["--box", "rtxpro6000-mig"],
    );
    refused(
        &other,
        &["one.json ran on NVIDIA H200, but the box has NVIDIA RTX Pro 6000"],
    );
}

#[test]
fn links_that_are_not_those_of_the_box_are_refused_by_explain_and_predict() {
    let scratch = Scratch::new();
    for (name, soft, mig, named, words) in [
        (
            "NVIDIA L40",
            None,
            false,
            "h200x8",
            [
                "--box says h200x8, which has NVIDIA H200",
                "was measured on NVIDIA L40: leave --box out",
            ],
        ),
        (
            "AMD Radeon AI PRO R9700",
            Some("r9700-x16"),
            false,
            "r9700-x8",
            ["--box says r9700-x8", "is of the soft box r9700-x16"],
        ),
        (
            "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
            None,
            true,
            "rtxpro6000-bare",
            ["which has whole GPUs", "was measured on MIG instances"],
        ),
        // The box is at Gen5 x16.
        (
            "NVIDIA RTX Pro 6000 Blackwell Server Edition",
            None,
            false,
            "rtxpro6000-bare",
            ["whose GPUs are at Gen5 x16", "read Gen4 x16 under load"],
        ),
    ] {
        let file = links(&scratch, name, soft, mig);
        let more = ["--box", named, "--links", &file];
        refused(&pair(&scratch, &[], &[], &more), &words);
        let asked = [
            "predict",
            "--model",
            "llama-3.1-8b",
            "--batch",
            "16",
            "--tp",
            "1",
        ];
        refused(&scratch.run(&[&asked[..], &more].concat()), &words);
        // Without --box the links stand.
        let asked = [&asked[..], &["--links", &file]].concat();
        let ran = scratch.run(&asked);
        assert!(
            ran.code == 0 || !ran.stderr.contains("--box"),
            "{}",
            ran.stderr
        );
    }
    // The record says that it was made on the host `box`.
    let file = links(&scratch, "NVIDIA H200", None, false);
    let on = |host: &str| vec![("host", serde_json::json!(host))];
    // What vLLM's client calls the host is where it connected, which may be a service's name: no other machine by itself.
    let ran = pair(&scratch, &on("node7"), &on("node7"), &["--links", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = pair(&scratch, &on("box"), &on("box"), &["--links", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The box whose links they are is taken.
    let file = links(&scratch, "NVIDIA L40", None, false);
    let ran = scratch.run(&[
        "predict",
        "--model",
        "llama-3.1-8b",
        "--batch",
        "16",
        "--tp",
        "1",
        "--box",
        "l40x4",
        "--links",
        &file,
    ]);
    ran.expect(0);
}

#[test]
fn two_engines_are_refused_and_two_versions_are_warned_of_on_the_first_screen() {
    let scratch = Scratch::new();
    let engine = |name: &str, version: &str| {
        vec![
            ("engine", serde_json::json!(name)),
            ("version", serde_json::json!(version)),
        ]
    };
    let vllm = engine("vllm", "0.13.0");
    let ran = pair(&scratch, &vllm, &engine("sglang", "0.5.6"), &[]);
    ran.expect(3);
    let first = ran.stdout.lines().next().unwrap();
    assert!(
        first.contains("the runs were served by different engines (vllm in ")
            && first.contains("and sglang in "),
        "{first}"
    );
    let page = scratch.join("page.html").display().to_string();
    let ran = pair(
        &scratch,
        &vllm,
        &engine("vllm", "v0.10.2"),
        &["--html", &page],
    );
    ran.expect(0);
    let third = ran.stdout.lines().nth(2).unwrap();
    assert!(
        third.starts_with("WARNING: not the same engine version (0.13.0 in "),
        "{third}"
    );
    assert!(third.contains("which costs no grade"), "{third}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("not the same engine version"), "the page");
    // The same of two links.
    let [a, b] = [60.9, 61.5].map(|step| served(step, &vllm));
    let b = b.replace("0.13.0", "0.12.1");
    let (a, b) = (scratch.write("a.json", &a), scratch.write("b.json", &b));
    let ran = scratch.run(&[
        "explain",
        "--a",
        &a,
        "--b",
        &b,
        "--tp",
        "2",
        "--model",
        "qwen2.5-vl-72b-fp8",
        "--link-a",
        "gen4x16",
        "--link-b",
        "gen4x8",
    ]);
    ran.expect(0);
    assert!(
        ran.stdout
            .contains("WARNING: not the same engine version (0.13.0 in "),
        "{}",
        ran.stdout
    );
}

#[test]
fn curves_that_fall_or_stay_are_refused_and_a_cut_one_is_said() {
    let scratch = Scratch::new();
    let curve = |times: &dyn Fn(u64) -> f64| {
        let rows = [8192_u64, 65_536, 1 << 20, 32 << 20];
        let rows = rows.map(|bytes| format!("all_reduce,2,{bytes},{}\n", times(bytes)));
        scratch.write(
            "curve.csv",
            &format!("\u{feff}op,ranks,bytes,us\r\n{}", rows.concat()),
        )
    };
    let explain = |file: &str| pair(&scratch, &[], &[], &["--allreduce", file]);
    // 20 us and 25 GB/s.
    let good = curve(&|bytes| 20.0 + bytes as f64 / 25e3);
    explain(&good).expect(0);
    let falls = curve(&|bytes| 1e6 / bytes as f64 + 30.0);
    refused(
        &explain(&falls),
        &[
            "curve.csv: 8 KiB 152.07 us and 64 KiB 45.26 us",
            "half as long for more bytes",
        ],
    );
    let stays = curve(&|_| 39.3);
    refused(
        &explain(&stays),
        &["4096 times as many bytes take no longer"],
    );
    let text = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/measure/tests/fixtures/collectives/nccl-tests-2.19.6.txt"
    );
    let text = std::fs::read_to_string(text).unwrap();
    let cut = text.split_once("     1048576        262144").unwrap().0;
    let cut = scratch.write("cut.txt", cut);
    let ran = explain(&cut);
    ran.expect(0);
    assert!(
        ran.stdout.contains(
            "cut.txt is cut: its head says sizes up to 1048576 bytes and it ends at 262144"
        ),
        "{}",
        ran.stdout
    );
}
