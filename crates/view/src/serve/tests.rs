//! One snapshot of each document, from hand-made records.

use record::caveat::Caveat;
use record::{
    Header, Payload, Provenance, Record, Serve, ServeClient, ServeFinding, ServeLoad, ServeRequest,
    ServeTarget, Simulated, Status, TokenCount, summarise,
};

use crate::document::Tone;
use crate::screen::Screen;

/// Eight requests, two at a time: TTFT 50 ms, then four more tokens 20 ms apart, each wave after the other.
fn requests() -> Vec<ServeRequest> {
    (0..8u32)
        .map(|id| {
            let sent = f64::from(id / 2) * 130.0;
            let token = |token| sent + 50.0 + 20.0 * f64::from(token);
            ServeRequest {
                id,
                sent_ms: sent,
                ended_ms: sent + 130.0,
                token_chunks_ms: (0..5).map(token).collect(),
                input_tokens: Some(89),
                output_tokens: Some(5),
                counted_by: Some(TokenCount::Usage),
                ..ServeRequest::default()
            }
        })
        .collect()
}

fn whole(requests: Vec<ServeRequest>) -> Record {
    let serve = Serve {
        target: Some(ServeTarget {
            base_url: "http://127.0.0.1:8000".to_owned(),
            model: "qwen2.5-72b".to_owned(),
            endpoint: "/v1/completions".to_owned(),
            streamed: true,
            server: Some("vLLM 0.13.0".to_owned()),
            tp: Some(2),
        }),
        load: Some(ServeLoad {
            concurrency: Some(2),
            requests: 8,
            warmups: 1,
            input_tokens: Some(89),
            output_tokens: Some(5),
            ignore_eos: true,
            seed: 7,
            ..ServeLoad::default()
        }),
        summary: summarise(&requests, true, None),
        requests,
        ..Serve::default()
    };
    Record {
        header: Header {
            schema: 1,
            program: "serve-bench".to_owned(),
            version: "0".to_owned(),
            simulated: None,
            provenance: Provenance::default(),
        },
        status: Status::Complete,
        exit_code: 0,
        payload: Payload::Serve(Box::new(serve)),
    }
}

fn serve(record: &mut Record) -> &mut Serve {
    match &mut record.payload {
        Payload::Serve(serve) => serve,
        _ => unreachable!(),
    }
}

#[test]
fn a_run_ends_with_its_answer() {
    // 4 waves of 130 ms: 0.52 s; 8 / 0.52 = 15.38 req/s; 40 / 0.52 = 76.92 tok/s; (712 + 40) / 0.52 = 1446.2 tok/s.
    let document = crate::record(&whole(requests()));
    let screen = document.screen(Screen::default());
    assert!(screen.lines().count() <= 25);
    assert!(
        screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
    insta::assert_snapshot!(screen);
}

#[test]
fn what_speaks_against_a_run_stands_below_its_answer() {
    let mut record = whole(requests().into_iter().take(3).collect());
    record.header.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    record.status = Status::Interrupted {
        signal: "SIGINT".to_owned(),
    };
    let serve = serve(&mut record);
    serve.summary = None;
    serve.client = Some(ServeClient {
        invalid: vec!["client-busy".to_owned(), "client-late".to_owned()],
        ..ServeClient::default()
    });
    let finding = ServeFinding::BatchNotReached {
        asked: 2,
        mean: 1.5,
    };
    serve.caveats = vec![Caveat::Serve { finding }];
    let document = crate::record(&record);
    assert_eq!(document.tone, Tone::Bad);
    let codes: Vec<_> = document.findings.iter().map(|item| item.code).collect();
    assert_eq!(
        codes,
        [
            Some("client-busy"),
            Some("client-late"),
            Some("batch-not-reached")
        ]
    );
    insta::assert_snapshot!(document.screen(Screen {
        quiet: true,
        ..Screen::default()
    }));
}
