//! What a run writes: the record without secrets, the mark of a simulated machine, and the files that were asked for.

use record::Record;
use serde_json::Value;

use crate::load::common::Scratch;
use crate::load::mock::{Manner, Mock, good};

#[test]
fn a_soft_box_is_marked_by_header_or_by_version() {
    for (header, version) in [
        ("x-tplens-soft-box: a-box\r\n", None),
        ("", Some(r#"{"version":"1.2","tplens_soft_box":"a-box"}"#)),
    ] {
        let mock = Mock::start(Manner {
            header,
            version,
            ..Manner::of(|_| good())
        });
        let scratch = Scratch::new();
        let ran = scratch.run(&mock.url, &[]);
        ran.expect(0);
        let simulated = ran.record().header.simulated.as_ref().unwrap();
        assert_eq!(simulated.box_name, "a-box");
        assert!(ran.stdout.contains("a-box"), "{}", ran.stdout);
        let server = ran.serve().target.as_ref().unwrap().server.clone();
        assert_eq!(
            server.as_deref(),
            Some(if version.is_some() {
                "mock 1.2"
            } else {
                "mock"
            })
        );
    }
}

#[test]
fn the_files_that_were_asked_for_hold_the_run() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let more = [
        "--json",
        "-",
        "--csv",
        "x.csv",
        "--save-result",
        "--result-filename",
        "v.json",
        "--detailed",
    ];
    let ran = scratch.run(&mock.url, &more);
    ran.expect(0);
    assert_eq!(
        &Record::from_json(&ran.stdout, "stdout").unwrap(),
        ran.record()
    );
    assert!(
        !std::fs::read_to_string(scratch.join("x.csv"))
            .unwrap()
            .is_empty()
    );
    let text = std::fs::read_to_string(scratch.join("v.json")).unwrap();
    let vllm: Value = serde_json::from_str(&text).unwrap();
    // Two requests of eight and two tokens.
    assert_eq!(vllm["completed"], 2);
    assert_eq!(vllm["total_input_tokens"], 16);
    assert_eq!(vllm["total_output_tokens"], 4);
    assert_eq!(vllm["output_lens"].as_array().unwrap().len(), 2);
}

#[test]
fn a_folder_that_holds_a_result_is_not_written_over() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    scratch.run(&mock.url, &[]).expect(0);
    let kept = std::fs::read(scratch.join("out/record.json")).unwrap();
    scratch.run(&mock.url, &[]).expect(2);
    assert_eq!(
        std::fs::read(scratch.join("out/record.json")).unwrap(),
        kept
    );
    assert_eq!(mock.asked().len(), 2);
}
