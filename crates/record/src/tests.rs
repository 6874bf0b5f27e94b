//! Records and journals: what is written loads again, also when it was torn, and what is not ours is refused.

use topology::{Machine, Sysfs};

use super::*;
use crate::caveat::Caveat;

fn header() -> Header {
    Header {
        schema: SCHEMA,
        program: "p2p-bw".to_owned(),
        version: "0.1.0".to_owned(),
        simulated: None,
        provenance: Provenance::default(),
    }
}

fn lines() -> Vec<Line> {
    let found = LinksEvent::Found {
        machine: Box::new(Machine::read(&Sysfs::real()).unwrap()),
        backend: BackendFacts::default(),
        devices: Vec::new(),
        paths: Vec::new(),
    };
    let point = Point {
        case: "h2d_pinned_ce".to_owned(),
        from: Endpoint::Host,
        to: Endpoint::Device(0),
        bytes: 1,
        outcome: Outcome::Skipped {
            reason: "because".into(),
        },
        caveats: vec![Caveat::NoGate],
    };
    let event = |event| Line::Links {
        event: Box::new(event),
    };
    vec![
        Line::Header {
            header: Box::new(header()),
        },
        event(found),
        event(LinksEvent::Intent { from: 0, to: 1 }),
        event(LinksEvent::Point {
            point: Box::new(point),
        }),
        Line::End {
            status: Status::Complete,
            exit_code: 0,
        },
    ]
}

fn journal() -> String {
    let text = |line| serde_json::to_string(line).unwrap() + "\n";
    lines().iter().map(text).collect()
}

fn links(record: &Record) -> &Links {
    let Payload::Links(links) = &record.payload else {
        panic!("not links");
    };
    links
}

#[test]
fn a_journal_and_the_record_made_from_it_say_the_same() {
    let record = Record::from_journal(&journal(), "j").unwrap();
    assert_eq!(record.status, Status::Complete);
    assert_eq!(links(&record).points.len(), 1);
    let json = serde_json::to_string(&record).unwrap();
    assert_eq!(Record::from_json(&json, "r").unwrap(), record);
}

#[test]
fn a_journal_cut_at_any_byte_loads_what_was_whole_or_says_why_not() {
    let whole = journal();
    let first_line = whole.find('\n').unwrap();
    for end in 0..whole.len() {
        let cut = String::from_utf8_lossy(&whole.as_bytes()[..end]).into_owned();
        match Record::from_journal(&cut, "j") {
            Ok(record) => {
                assert!(end >= first_line, "a record without a header at {end}");
                assert_eq!(
                    record.status,
                    if end + 1 >= whole.len() {
                        Status::Complete
                    } else {
                        Status::Broken
                    }
                );
            }
            Err(error) => {
                assert!(end < first_line, "{end}: {error}");
                assert!(matches!(error, RecordError::NoHeader { .. }));
            }
        }
    }
}

#[test]
fn a_pair_under_probe_when_the_run_broke_is_named() {
    let text: String = journal()
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        links(&Record::from_journal(&text, "j").unwrap()).pending,
        [(0, 1)]
    );
}

#[test]
fn a_newer_schema_and_garbage_are_refused_by_name() {
    let newer = journal().replacen("\"schema\":2", "\"schema\":3", 1);
    assert!(matches!(
        Record::from_journal(&newer, "j"),
        Err(RecordError::TooNew { found: 3, .. })
    ));
    let garbage = journal().replacen("\"links\"", "\"nonsense\"", 1);
    let error = Record::from_journal(&garbage, "j").unwrap_err().to_string();
    assert!(error.contains("j, line 2"), "{error}");
    assert!(Record::from_json("{}", "r").is_err());
}

#[test]
fn a_field_of_a_later_minor_version_is_passed_over() {
    let later = journal().replacen("\"schema\":2", "\"schema\":2,\"added_later\":[1]", 1);
    assert!(Record::from_journal(&later, "j").is_ok());
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("tplens-whole-{}", std::process::id()));
    let results = ResultFolder::create(&folder).unwrap();
    let file = folder.join("out.json");
    write_whole(&file, b"old").unwrap();
    // A name that is too long for the file system cannot be written; the old file stays.
    assert!(write_whole(&folder.join("x".repeat(300)), b"new").is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    // /dev/full takes no byte, and says so.
    assert!(write_whole(std::path::Path::new("/dev/full"), b"new").is_err());
    let mut journal = results.begin_journal().unwrap();
    lines()
        .iter()
        .for_each(|line| journal.append(line).unwrap());
    let record = results.write_record().unwrap();
    assert_eq!(load(&results.record_path()).unwrap(), record);
    assert_eq!(load(&folder).unwrap(), record);
    assert!(matches!(
        ResultFolder::create(&folder),
        Err(FolderError::Taken(_))
    ));
    std::fs::remove_dir_all(folder).unwrap();
}
