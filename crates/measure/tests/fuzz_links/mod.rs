//! The readers of links take whatever a file holds: they give values that can be, or one line that says what is wrong.
//!
//! `TPLENS_FUZZ_INPUTS` is how many inputs are made (20,000 if it is not set), `TPLENS_FUZZ_FIRST` the number of the first one:
//! see docs/fuzzing.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod mutation;

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use measure::export::nvbandwidth_json;
use measure::import::links::{LinkFile, of_text};
use measure::record::{Line, LinksEvent, Payload, Record};

/// The files that inputs are made of: of nvbandwidth, of ours in its form, and our record and journal.
fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let record = read("records/links.json");
    let loaded = Record::from_json(&record, "record").unwrap();
    vec![
        read("links/nvbandwidth-0.8.json"),
        read("links/nvbandwidth-0.8.txt"),
        read("links/nvbandwidth-0.8-verbose.txt"),
        nvbandwidth_json(&loaded).unwrap().text,
        journal(&loaded),
        record,
    ]
}

/// The journal that a record could have come from.
fn journal(record: &Record) -> String {
    let Payload::Links(links) = &record.payload else {
        panic!("not links");
    };
    let header = Line::Header {
        header: Box::new(record.header.clone()),
    };
    let point = |point: &measure::record::Point| Line::Links {
        event: Box::new(LinksEvent::Point {
            point: Box::new(point.clone()),
        }),
    };
    let end = Line::End {
        status: record.status.clone(),
        exit_code: record.exit_code,
    };
    std::iter::once(header)
        .chain(links.points.iter().map(point))
        .chain([end])
        .map(|line| serde_json::to_string(&line).unwrap() + "\n")
        .collect()
}

fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a reader gave is sound, or a line without control characters.
fn check(read: Result<LinkFile, measure::import::ImportError>) -> bool {
    let is_line = |words: &str| !words.is_empty() && !words.contains(char::is_control);
    match read {
        Err(error) => {
            assert!(is_line(&error.to_string()), "{error}");
            false
        }
        Ok(file) => {
            for value in &file.values {
                assert!(value.value.is_finite() && value.value > 0.0, "{value:?}");
                assert!(is_line(&value.ends.test), "{value:?}");
            }
            for trouble in &file.troubles {
                assert!(is_line(&trouble.words), "{trouble:?}");
            }
            true
        }
    }
}

#[test]
fn no_input_breaks_a_reader() {
    let files = files();
    for file in &files {
        assert!(check(of_text(file, "whole")), "a whole file is taken");
    }
    let inputs = number_of("TPLENS_FUZZ_INPUTS").unwrap_or(20_000);
    let first = number_of("TPLENS_FUZZ_FIRST").unwrap_or(0);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (files, taken) = (&files, &taken);
            scope.spawn(move || {
                for number in (first + thread..first + inputs).step_by(threads as usize) {
                    let input = mutation::input(number, files);
                    let sound = catch_unwind(|| check(of_text(&input, "input")));
                    assert!(
                        sound.is_ok(),
                        "TPLENS_FUZZ_FIRST={number} TPLENS_FUZZ_INPUTS=1 makes it again:\n{input}"
                    );
                    taken.fetch_add(usize::from(sound.unwrap()), Ordering::Relaxed);
                }
            });
        }
    });
    let taken = taken.into_inner() as u64;
    println!("{inputs} inputs, {taken} taken, {} refused", inputs - taken);
    // Inputs that are all refused, or all taken, would test little.
    assert!(
        inputs < 1000 || (inputs / 10 < taken && taken < inputs),
        "{taken}"
    );
}
