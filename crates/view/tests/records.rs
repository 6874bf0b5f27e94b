//! Records of each kind as an earlier version wrote them still load, render, and import.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use import::{collectives, serve};
use record::caveat::Condition;
use record::{Arrivals, CallMode, Payload, Record, RecordError, load};
use view::csv;
use view::export::{ExportError, VllmForm, vllm_file_name, vllm_json, vllm_text};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../import/tests/fixtures/records")
        .join(name)
}

fn record(name: &str) -> Record {
    load(&path(name)).unwrap()
}

#[test]
fn one_of_each_kind_loads_and_is_written_again_as_it_was() {
    for name in ["links.json", "numa.json", "collectives.json", "serve.json"] {
        let record = record(name);
        assert!(csv::record(&record).lines().count() > 1);
        // What is read is written again as it was, but for fields that came later.
        let again = serde_json::to_string(&record).unwrap();
        assert_eq!(Record::from_json(&again, name).unwrap(), record);
    }
}

fn screen(name: &str) -> String {
    view::record(&record(name)).screen(view::Screen::default())
}

#[test]
fn links_begin_with_their_matrix_and_end_with_what_is_wrong() {
    insta::assert_snapshot!(screen("links.json"), @r#"
    Copies of 64 MiB, GB/s and share of what the link carries (57.0)
      from \ to  host      MIG0  MIG1
      host          —  50.0 88%     —
      MIG0          —         —     —
      MIG1          —         —     —

    No P2P: host 50.0 GB/s (88% of limit).
    MIG instances have no peer access: what they exchange goes through host memory.
    ! P2P MIG0->MIG1 is denied: access: no. [peer-not-direct]
    ! MIG0 is used by others (448 MiB). [device-busy]
    Next: Stop the other work and measure again.
    "#);
}

#[test]
fn host_memory_by_node_ends_with_the_binding() {
    insta::assert_snapshot!(screen("numa.json"), @r#"
    Copies of 64 MiB, GB/s
            node  direction       pinned near    worst far  pageable near  worst far
      GPU0     0  host to device         25.5  22.1 (-13%)              —          —

    The wrong node costs pinned copies up to 13%.
    Bind GPU0 to node 0.
    ! h2d_huge_ce GPU0, memory 0, thread 0 skipped: no huge pages of 2 MiB are free. [not-measured]
    ! d2h_pinned_ce GPU0, memory 1, thread 0: place not proven. [node-unproven]
    ! Host memory by CPUs failed: its process ended with signal: 9 (SIGKILL): (perhaps the node's memory
      is full). [not-measured]
    Next: Start workers bound to their nodes:
          tplens numa exec --gpus 0 -- PROGRAM
          Or as one program:
          numactl --cpunodebind=0 --membind=0 PROGRAM
    "#);
}

#[test]
fn collectives_have_a_row_for_each_step() {
    insta::assert_snapshot!(screen("collectives.json"), @r#"
    All-reduce of qwen2.5-72b on vLLM 0.13.0 graph, TP2
                ms per step  calls     size  us each  by
      batch 16         7.60     80  256 KiB     95.0  NCCL
      Medians from one replayed graph, without work between the calls.

    SIMULATED on rtxpro6000-mig: not a measurement of this machine.
    Collectives not normal: NCCL 2.29.2 between 2 ranks.
    All-reduces of a step take 7.60 ms at batch 16.
    All-reduce: 95.0 us a call at 256 KiB.
    x Wrong data in all-reduce of 16 KiB, graph: element 0 is 1, the sum is 2. [wrong-data]
    "#);
}

#[test]
fn an_engine_s_kernel_that_was_not_timed_is_the_next_thing_to_time() {
    let mut record = record("collectives.json");
    let command = |record: &Record| view::record(record).next.first()?.command.clone();
    assert_eq!(command(&record), None);
    if let Payload::Collectives(collectives) = &mut record.payload {
        collectives.caveats = vec![Condition::EngineKernelNotTimed.with("")];
    }
    let words = "tplens allreduce --model qwen2.5-72b --tp 2 --engine-python PATH";
    assert_eq!(command(&record).as_deref(), Some(words));
}

#[test]
fn codes_of_evidence_have_words() {
    assert_ne!(view::evidence("measured-one"), "measured-one");
    assert_eq!(view::evidence("gemm"), "gemm");
}

#[test]
fn a_record_of_ours_is_a_curve() {
    let points = collectives::read(&path("collectives.json")).unwrap();
    // The second point has wrong data and stands for nothing.
    assert_eq!(points.len(), 1);
    let point = &points[0];
    assert_eq!((point.ranks, point.bytes_per_rank), (2, 262_144));
    assert_eq!((point.us, point.n), (95.0, Some(6)));
    // Six samples: the interval is the whole range.
    assert_eq!((point.low, point.high), (Some(94.05), Some(96.9)));
    assert_eq!(point.mode, Some(CallMode::Graph));
    assert_eq!(point.simulated.as_deref(), Some("rtxpro6000-mig"));
    let words = collectives::read(&path("serve.json"))
        .unwrap_err()
        .to_string();
    assert!(
        words.ends_with(
            "holds a serving benchmark of tplens serve run; give a record of tplens allreduce"
        ),
        "{words}"
    );
}

fn detailed() -> VllmForm {
    VllmForm {
        detailed: true,
        ..VllmForm::default()
    }
}

#[test]
fn a_record_of_ours_is_a_serving_result_and_so_is_its_form_for_vllm() {
    let ours = serve::read(&path("serve.json")).unwrap();
    assert_eq!((ours.completed, ours.failed), (6, Some(1)));
    assert_eq!((ours.tp, ours.concurrency_asked), (Some(2), Some(2.0)));
    assert_eq!(ours.fixed_output, Some(true));
    assert_eq!(ours.simulated.as_deref(), Some("rtxpro6000-mig"));

    let folder = std::env::temp_dir().join(format!("tplens-export-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("vllm.json");
    let json = vllm_json(&record("serve.json"), &detailed()).unwrap();
    // An item a request; seconds there, ms here: the first request's first token came after 50 ms.
    let lists = json
        .as_object()
        .unwrap()
        .values()
        .filter_map(|value| value.as_array());
    assert!(lists.map(Vec::len).all(|items| items == 7));
    assert_eq!(json["ttfts"][0], 0.05);
    assert_eq!(json["itls"][0].as_array().unwrap().len(), 3);
    std::fs::write(&file, json.to_string()).unwrap();
    let again = serve::read(&file).unwrap();
    std::fs::remove_dir_all(folder).unwrap();

    assert_eq!(again.simulated, ours.simulated);
    assert_eq!(
        (again.completed, again.failed),
        (ours.completed, ours.failed)
    );
    assert_eq!(
        (again.duration_s, again.requests_per_s),
        (ours.duration_s, ours.requests_per_s)
    );
    assert_eq!(
        (again.input_tokens, again.output_tokens),
        (ours.input_tokens, ours.output_tokens)
    );
    assert_eq!(again.fixed_output, ours.fixed_output);
    for (one, other) in [
        (again.ttft_ms, ours.ttft_ms),
        (again.tpot_ms, ours.tpot_ms),
        (again.itl_ms, ours.itl_ms),
        (again.e2el_ms, ours.e2el_ms),
    ] {
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(
            (one.mean, one.median, one.n),
            (other.mean, other.median, other.n)
        );
        // The lists are in seconds, which costs the last digits.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
        let (one, other) = (one.mean_interval.unwrap(), other.mean_interval.unwrap());
        assert!(near(one.low, other.low) && near(one.high, other.high));
    }
}

#[test]
fn the_form_for_vllm_has_exactly_its_keys_and_null_for_what_is_absent() {
    let json = vllm_json(&record("serve.json"), &VllmForm::default()).unwrap();
    let keys: Vec<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    // Keys of vLLM 0.33 in alphabetical order with `e2el` among its metrics, and `simulated`, which is ours.
    let expected = "backend burstiness completed date duration endpoint_type failed label latencies max_concurrency \
                    max_concurrent_requests max_output_tokens_per_s mean_e2el_ms mean_itl_ms mean_tpot_ms mean_ttft_ms \
                    median_e2el_ms median_itl_ms median_tpot_ms median_ttft_ms model_id num_prompts output_throughput \
                    p99_e2el_ms p99_itl_ms p99_tpot_ms p99_ttft_ms queue_times request_goodput request_rate request_throughput \
                    rtfx simulated std_e2el_ms std_itl_ms std_tpot_ms std_ttft_ms tokenizer_id total_input_tokens \
                    total_output_tokens total_token_throughput";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    // vLLM gives percentiles of however few; nobody set a service level.
    assert!(json["p99_ttft_ms"].is_f64() && json["request_goodput"].is_null());
    assert_eq!(json["request_rate"], "inf");
    assert_eq!(json["date"], "20260102-030405");
    assert_eq!(
        vllm_json(&record("links.json"), &VllmForm::default()),
        Err(ExportError::NotServe("links of tplens p2p"))
    );
}

#[test]
fn a_run_without_a_summary_is_refused_with_the_next_step() {
    let mut broken = record("serve.json");
    if let Payload::Serve(serve) = &mut broken.payload {
        serve.summary = None;
    }
    assert_eq!(
        vllm_json(&broken, &VllmForm::default()),
        Err(ExportError::NoSummary)
    );
    let folder = std::env::temp_dir().join(format!("tplens-broken-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("record.json");
    std::fs::write(&file, serde_json::to_string(&broken).unwrap()).unwrap();
    // A folder is read by the record in it.
    let words = serve::read(&folder).unwrap_err().to_string();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(words.contains("has no summary after 7 requests"), "{words}");
}

#[test]
fn the_block_for_vllm_is_read_as_what_it_says() {
    let text = vllm_text(&record("serve.json"), &VllmForm::default()).unwrap();
    let file = std::env::temp_dir().join(format!("tplens-block-{}.txt", std::process::id()));
    std::fs::write(&file, &text).unwrap();
    let read = serve::read(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    assert_eq!((read.completed, read.failed), (6, Some(1)));
    assert_eq!(
        (read.input_tokens, read.output_tokens),
        (Some(534), Some(24))
    );
    assert_eq!(read.ttft_ms.map(|ttft| ttft.mean), Some(52.5));
    assert!(text.starts_with("SIMULATED on rtxpro6000-mig\n============ Serving"));
}

#[test]
fn a_file_for_vllm_is_named_as_vllm_names_it() {
    let mut named = record("serve.json");
    let form = VllmForm {
        model: Some("org/qwen2.5-72b".to_owned()),
        ..VllmForm::default()
    };
    let name = |record: &Record, form: &VllmForm| vllm_file_name(record, form).unwrap();
    assert_eq!(
        name(&named, &form),
        "openai-infqps-concurrency2-qwen2.5-72b-20260102-030405.json"
    );
    if let Payload::Serve(serve) = &mut named.payload {
        let load = serve.load.as_mut().unwrap();
        load.concurrency = None;
        load.arrivals = Arrivals::Poisson { rate: 4.0 };
    }
    let labelled = VllmForm {
        label: Some("x/y".to_owned()),
        ..VllmForm::default()
    };
    // Python writes 4.0; a label's slash would be a folder.
    assert_eq!(
        name(&named, &labelled),
        "x-y-4.0qps-qwen2.5-72b-20260102-030405.json"
    );
    // What a server calls its model; a file system takes 255 bytes.
    let hostile = VllmForm {
        model: Some(format!("\u{1b}]0;owned\u{7}\u{202e}{}", "ü".repeat(125))),
        ..labelled
    };
    let name = name(&named, &hostile);
    assert!(
        name.starts_with("x-y-4.0qps-_]0;owned__ü") && name.ends_with("ü-20260102-030405.json"),
        "{name}"
    );
    assert!(name.len() < 240, "{name}");
}

#[test]
fn a_time_that_no_chunk_can_have_is_refused_by_its_request() {
    // 1e300 ms once made a metric panic, and 1e11 ms a page of 64 GB.
    for time in [1e300, 1e11, -5.0, 1.0] {
        let mut changed = record("serve.json");
        let Payload::Serve(serve) = &mut changed.payload else {
            panic!("{changed:?}");
        };
        serve.requests[1].token_chunks_ms[1] = time;
        let id = serve.requests[1].id;
        let json = serde_json::to_string(&changed).unwrap();
        let refused = Record::from_json(&json, "r").unwrap_err();
        assert!(
            matches!(&refused, RecordError::Times { origin, request, field } if
                (origin.as_str(), *request, *field) == ("r", id, "token_chunks_ms")),
            "{refused:?}"
        );
    }
}
