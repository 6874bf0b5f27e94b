//! Pages of one run and of several: whole, without anything beside them, and no name on them becomes markup.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use crate::load::common::Scratch;
use crate::load::mock::{Mock, Step, end, gap, good, head, part, text, usage_and_done};

/// A name that would run, load or close something if it became markup.
const HOSTILE: &str = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";

fn html(scratch: &Scratch, name: &str) -> String {
    let html = fs::read_to_string(scratch.join(name)).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    // Nothing is loaded, run or linked, and no number is none.
    for never in [
        "<script", "<img", "src=\"", "href=", "url(", "@import", "<b>", "NaN", "inf\"",
    ] {
        assert!(!html.contains(never), "{never} in {html}");
    }
    html
}

#[test]
fn a_run_has_a_page_with_its_figures_and_what_went_on() {
    // The last of five is cut short.
    let mock = Mock::playing(|asked| match asked.number {
        4 => vec![head(), part(text("a")), Step::Close],
        _ => good(),
    });
    let scratch = Scratch::new();
    let ran = scratch.run(
        &mock.url,
        &[
            "--requests",
            "5",
            "--model",
            HOSTILE,
            "--html",
            "run.html",
            "--request-csv",
            "requests.csv",
        ],
    );
    ran.expect(3);
    let page = html(&scratch, "run.html");
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    for says in [
        "answered 4 of 5 requests",
        "Before believing these numbers",
        "1 of 5 requests failed",
        "Successful requests",
        "part of the requests with TTFT up to a value",
        "requests in flight",
        "output tokens a second",
        "requests that failed so far",
        "cut short",
    ] {
        assert!(page.contains(says), "no `{says}` in {page}");
    }
    // Three distributions, in flight, tokens, failures.
    assert_eq!(page.matches("<svg").count(), 6);
    assert!(!page.contains("SIMULATED"));
    // Another client's eyes: a line a request and one of heads.
    let csv = fs::read_to_string(scratch.join("requests.csv")).unwrap();
    assert_eq!(csv.lines().count(), 6);
    assert!(csv.lines().next().unwrap().contains("TTFT (ms),TPOT (ms)"));
    // What is on the disk gives the same page.
    let shown = scratch
        .program(&["show", "out", "--html", "again.html"])
        .output()
        .unwrap();
    assert_eq!(shown.status.code(), Some(0));
    assert_eq!(html(&scratch, "again.html"), page);
}

#[test]
fn a_simulated_run_says_so_on_its_page_and_in_its_pictures() {
    let scratch = Scratch::new();
    let output = scratch
        .program(&[
            "run",
            "--sim",
            "rtxpro6000-mig",
            "--num-prompts",
            "3",
            "--max-concurrency",
            "3",
            "--random-input-len",
            "16",
            "--random-output-len",
            "4",
            "--out",
            "out",
            "--html",
            "run.html",
        ])
        .output()
        .unwrap();
    // A busy machine may be the limit, which exit code 3 says.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let page = html(&scratch, "run.html");
    assert!(page.contains("<title>SIMULATED: "));
    assert!(page.contains("SIMULATED on soft box rtxpro6000-mig"));
    // In every picture and below every one.
    let pictures = page.matches("<svg").count();
    assert!(pictures >= 5, "{pictures}");
    assert_eq!(page.matches(">SIMULATED</text>").count(), pictures);
    assert_eq!(page.matches(" (simulated)</figcaption>").count(), pictures);
}

#[test]
fn several_runs_are_curves_and_what_cannot_be_drawn_is_said() {
    let scratch = Scratch::new();
    // 5 ms between two tokens.
    let mock = Mock::playing(|_| {
        let first = vec![head(), part(text("a")), gap(5)];
        [
            first,
            vec![part(text("b")), part(usage_and_done(8, 2)), end()],
        ]
        .concat()
    });
    for places in ["1", "2", "3"] {
        let out = format!("runs/{places}");
        let output = scratch
            .load(
                &mock.url,
                &[
                    "--concurrency",
                    places,
                    "--requests",
                    "6",
                    "--model",
                    HOSTILE,
                ],
            )
            .args(["--no-metrics"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        fs::create_dir_all(scratch.join("runs")).unwrap();
        fs::rename(scratch.join("out"), scratch.join(&out)).unwrap();
    }
    let made = scratch
        .program(&["page", "runs", "--html", "all.html"])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let page = html(&scratch, "all.html");
    // Throughput against latency, then TTFT, TPOT and tokens by concurrency: three dots each; nothing by rate.
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("<circle").count(), 12);
    assert!(page.contains("By concurrency") && !page.contains("By rate"));
    // Six requests have an interval each in TTFT and TPOT.
    assert_eq!(page.matches("class=\"whisker\"").count(), 6);
    // The same as cells of a sweep of two labels: two curves.
    let plan = r#"
schema = 1
name = "{config}_np{n}"
[server]
command = ["server"]
base_url = "http://127.0.0.1:1"
[[matrix]]
configs = ["2A", "2B"]
models = ["8B"]
tp = [2]
inputs = [8]
outputs = [2]
num_prompts = "1,2"
"#;
    for cell in ["2A_np1", "2A_np2", "2B_np1", "2B_np2"] {
        let to = scratch.join(&format!("sw/cells/{cell}"));
        fs::create_dir_all(&to).unwrap();
        let from = format!("runs/{}/record.json", &cell[5..]);
        fs::copy(scratch.join(&from), to.join("record.json")).unwrap();
    }
    fs::write(scratch.join("sw/plan.toml"), plan).unwrap();
    let made = scratch
        .program(&["page", "sw/cells", "--html", "sweep.html"])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let swept = html(&scratch, "sweep.html");
    for label in ["2A 8B TP2", "2B 8B TP2"] {
        // In the legend of each of the four pictures.
        assert!(swept.matches(&format!("{label}: ")).count() >= 4, "{label}");
        assert!(swept.contains(&format!(">{label}</td>")), "{swept}");
    }
    fs::write(scratch.join("notes.txt"), "nothing\n").unwrap();
    let made = scratch
        .program(&["page", "runs", "notes.txt", "--html", "some.html"])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(3));
    assert!(html(&scratch, "some.html").contains("left out: notes.txt"));
    let made = scratch
        .program(&["page", "notes.txt", "--html", "none.html"])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(2));
}
