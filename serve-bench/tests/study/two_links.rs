//! `explain --a --b` and TP2 against TP4 from files, and files that do not belong together.

use crate::study::common::{Scratch, range};

/// A result as vLLM's client keeps it: 16 in flight, 64 requests of 64 tokens in and 128 out.
fn result(
    scratch: &Scratch,
    name: &str,
    change: &[(&str, serde_json::Value)],
    tpot: f64,
) -> String {
    // TTFT 200 ms and 127 gaps; four waves of 16.
    let duration = 4.0 * (200.0 + 127.0 * tpot) / 1e3;
    let mut value = serde_json::json!({
        "model_id": "qwen2.5-72b", "num_prompts": 64, "request_rate": "inf", "max_concurrency": 16,
        "duration": duration, "completed": 64, "failed": 0, "total_input_tokens": 64 * 64, "total_output_tokens": 64 * 128,
        "request_throughput": 64.0 / duration, "output_throughput": 64.0 * 128.0 / duration,
        "mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": 1.0, "p99_ttft_ms": 201.0,
        "mean_tpot_ms": tpot, "median_tpot_ms": tpot, "std_tpot_ms": 0.01, "p99_tpot_ms": tpot,
        "mean_itl_ms": tpot, "median_itl_ms": tpot, "std_itl_ms": 0.01, "p99_itl_ms": tpot,
    });
    for (key, to) in change {
        value[*key] = to.clone();
    }
    scratch.write(name, &value.to_string())
}

/// All-reduces on `ranks` GPUs: `us` at 256 KiB, and as much bandwidth beyond.
fn curve(scratch: &Scratch, name: &str, of: &[(u32, f64)]) -> String {
    let mut text = String::from("op,ranks,bytes,us,mode\n");
    for (ranks, us) in of {
        for times in [1_u32, 16] {
            let (bytes, us) = (times * 262_144, us * f64::from(times));
            text.push_str(&format!("all_reduce,{ranks},{bytes},{us},graph\n"));
        }
    }
    scratch.write(name, &text)
}

#[test]
fn two_links_are_compared_as_text_json_and_page() {
    let scratch = Scratch::new();
    // 161 all-reduces of 16 * 8192 * 2 = 256 KiB, 40 us more each: 6.4 ms.
    let (a, b) = (
        result(&scratch, "a.json", &[], 40.0),
        result(&scratch, "b.json", &[], 46.7),
    );
    // Three launches of each curve, 1% apart.
    let launches = |side: &str, us: f64| -> Vec<String> {
        let all = [0.99, 1.0, 1.01].into_iter().enumerate();
        all.flat_map(|(n, times)| {
            let file = curve(&scratch, &format!("{side}{n}.csv"), &[(2, us * times)]);
            [format!("--allreduce-{side}"), file]
        })
        .collect()
    };
    let (of_a, of_b) = (launches("a", 20.0), launches("b", 60.0));
    let compare = |curves: &[&[String]]| {
        let mut args = vec!["explain", "--a", &a, "--b", &b];
        let curves: Vec<String> = curves.concat();
        args.extend(curves.iter().map(String::as_str));
        args.extend(
            "--link-a gen4x16,node --link-b gen4x8,sys --p2p-a off --p2p-b off --tp 2 --model qwen2.5-72b --out out".split(' '),
        );
        scratch.run(&args)
    };
    // One launch does not tell how far launches differ.
    let one = compare(&[&of_a[..2], &of_b[..2]]);
    one.expect(0);
    let ran = compare(&[&of_a, &of_b]);
    ran.expect(0);
    let json = scratch.json("out/explanation.json");
    assert_eq!(json["kind"], "links");
    let decode = &json["outcome"]["figures"]["decode"];
    let (low, mid, high) = range(&decode["measured"]);
    assert!(
        low < 6.7 && 6.7 < high && (mid - 6.7).abs() < 0.1,
        "{decode}"
    );
    assert_eq!(decode["predicted"]["planned"], 161);
    assert_eq!(decode["verdict"]["is"], "explained_by_link");
    let page = std::fs::read_to_string(scratch.join("out/report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("TP2 on two links"));
    assert!(!page.contains("<script") && page.len() < 1_000_000);
}

#[test]
fn four_against_two_is_explained_without_a_run_of_one() {
    let scratch = Scratch::new();
    let (two, four) = (
        result(&scratch, "tp2.json", &[], 36.0),
        result(&scratch, "tp4.json", &[], 26.7),
    );
    let curves = curve(&scratch, "curves.csv", &[(2, 20.0), (4, 50.0)]);
    let arguments = [
        "explain",
        "--tp2",
        &two,
        "--tp4",
        &four,
        "--model",
        "qwen2.5-72b",
        "--out",
        "out",
    ];
    let ran = scratch.run(&[&arguments[..], &["--allreduce", &curves]].concat());
    ran.expect(0);
    let json = scratch.json("out/explanation.json");
    assert_eq!(
        (&json["outcome"]["attribution"]["from"], &json["tp"]),
        (&2.into(), &4.into())
    );
    let without = scratch.run(&arguments);
    without.expect(3);
    // What only one GPU against several uses is refused with what it needs, and not dropped.
    for option in ["--ablation", "--half", "--trace", "--what-if"] {
        for (files, instead) in [
            (
                &["--tp2", &two, "--tp4", &four][..],
                "not for TP4 against TP2: give a result of one GPU with --tp1, too, or leave",
            ),
            (
                &["--a", &two, "--b", &four],
                match option {
                    "--ablation" => "--ablation and --a exclude each other",
                    "--what-if" => "cannot be used with",
                    _ => "not for two links: leave",
                },
            ),
        ] {
            let given = [&["explain", "--model", "qwen2.5-72b", option, &four], files];
            let ran = scratch.run(&given.concat());
            ran.expect(2);
            assert!(
                ran.stderr.contains(instead) && ran.stderr.contains(option),
                "{option}: {}",
                ran.stderr
            );
        }
    }
}
