//! `tplens serve selftest` as a program: its lines and its JSON. What is timed here is asserted only where a busy machine cannot
//! change it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Output;

use serde_json::Value;

fn selftest(arguments: &[&str]) -> Output {
    let mut command = built::named("serve-bench");
    command.arg("selftest").args(arguments).output().unwrap()
}

#[test]
fn each_load_is_a_line_with_the_tokens_that_the_engine_counted() {
    let name = format!("serve-bench-selftest-{}.json", std::process::id());
    let json = std::env::temp_dir().join(name);
    let output = selftest(&["--streams", "2,24", "--json", json.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    // Whether the client was in time here says nothing of the program.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {said}");
    assert_eq!(report["exit_code"], code.unwrap());
    // No fewer than 20 requests, in whole rounds; five seconds at 20 a second.
    for (line, requests) in report["lines"]
        .as_array()
        .unwrap()
        .iter()
        .zip([20, 24, 100])
    {
        assert_eq!(line["requests"], requests, "{line}");
        let tokens = f64::from(requests) * 64.0;
        assert_eq!(line["tokens"][0].as_f64(), Some(tokens), "{line}");
        assert_eq!(line["tokens"][1].as_f64(), Some(tokens), "{line}");
        // The engine hands a token out before the client can see it.
        assert!(line["ttft_off_ms"].as_f64().unwrap() > 0.0, "{line}");
    }
    // Of a rate alone.
    assert!(report["lines"][0]["send_lag_ms"].is_null());
    assert!(report["lines"][2]["send_lag_ms"].is_number());
    let screen = String::from_utf8(output.stdout).unwrap();
    assert!(
        screen.lines().count() <= 25 && screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
    std::fs::remove_file(&json).unwrap();
}
