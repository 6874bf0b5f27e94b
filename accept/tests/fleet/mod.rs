//! `tplens accept fleet` as a user meets it, on a thousand reports: what it finds, what it needs of memory, and its exit codes.
//!
//! How long it takes is printed; a test on a busy machine cannot say more.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod files;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use files::{Shape, watched, write};
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("accept-fleet-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn accept() -> Command {
    built::named("accept")
}

#[test]
fn one_slow_gpu_of_two_thousand_is_named_within_300_mb() {
    let folder = folder("thousand");
    write(
        &folder,
        Shape {
            boxes: 1000,
            gpus: 2,
        },
    );
    let (json, page) = (folder.join("fleet.out"), folder.join("fleet.html"));
    let out = fs::File::create(&json).unwrap();
    let started = accept()
        .arg("fleet")
        .arg(&folder)
        .args(["--json", "--html"])
        .arg(&page)
        .stdout(out)
        .stderr(Stdio::null())
        .spawn();
    let begun = std::time::Instant::now();
    let (ended, most) = watched(started.unwrap());
    println!(
        "1000 reports: {:.2?}, {} MB",
        begun.elapsed(),
        most / 1_000_000
    );
    assert_eq!(ended.code(), Some(1));
    assert!(most > 0 && most < 300_000_000, "{most} bytes");
    let outcome: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(
        outcome["groups"][0]["nodes"].as_array().unwrap().len(),
        1000
    );
    let outliers = outcome["groups"][0]["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 1, "{outliers:?}");
    let found = &outliers[0];
    let named = (&found["node"], &found["about"], &found["slots"]);
    let slot = serde_json::json!(["0000:11:00.0"]);
    assert_eq!(
        named,
        (&"n0007".into(), &serde_json::json!(["GPU1"]), &slot)
    );
    // 0.95 of 25: 5% worse, and as all others are equal the spread is the floor of 1%: z is -5.
    assert!((found["worse_percent"].as_f64().unwrap() - 5.0).abs() < 1e-9);
    assert!((found["z"].as_f64().unwrap() + 5.0).abs() < 1e-9);
    assert!(fs::read_to_string(&page).unwrap().contains("n0007"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_exit_code_says_what_came_out() {
    let folder = folder("codes");
    let code = |arguments: &[&str]| {
        let ended = accept()
            .arg("fleet")
            .arg(&folder)
            .args(arguments)
            .output()
            .unwrap();
        (
            ended.status.code(),
            String::from_utf8(ended.stdout).unwrap() + &String::from_utf8(ended.stderr).unwrap(),
        )
    };
    // Nothing there, then three boxes of one GPU, which are too few to be judged, then four, then a torn report.
    assert_eq!(code(&[]).0, Some(2));
    write(&folder, Shape { boxes: 3, gpus: 1 });
    let (few, said) = code(&[]);
    assert_eq!(few, Some(3), "{said}");
    write(&folder, Shape { boxes: 4, gpus: 1 });
    assert_eq!(code(&[]).0, Some(0));
    fs::create_dir(folder.join("torn")).unwrap();
    fs::write(folder.join("torn/report.json"), "{\"schema\": 1, \"pro").unwrap();
    let (torn, said) = code(&[]);
    assert_eq!(torn, Some(3), "{said}");
    // A run that did not end is reported, and so are boxes without a report.
    fs::remove_dir_all(folder.join("torn")).unwrap();
    fs::create_dir(folder.join("killed")).unwrap();
    fs::write(folder.join("killed/journal.jsonl"), "").unwrap();
    let (killed, said) = code(&[]);
    assert_eq!(killed, Some(3), "{said}");
    fs::remove_dir_all(folder.join("killed")).unwrap();
    assert_eq!(code(&["--expect", "4"]).0, Some(0));
    let (lacking, said) = code(&["--expect", "5"]);
    assert_eq!(lacking, Some(3), "{said}");
    // A page that cannot be written is told before anything is read.
    assert_eq!(code(&["--html", "/none/fleet.html"]).0, Some(2));
    fs::remove_dir_all(&folder).unwrap();
}
