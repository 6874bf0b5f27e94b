//! A serving benchmark as one line a request, units in the head; what is not known is empty.

use super::cell::{number, run_word, table, word_of};
use record::metric::{e2el, e2el_intended, itl, queue_time, tpot, ttfc, ttft};
use record::{Payload, Record, ServeRequest};

const COLUMNS: [&str; 22] = [
    "request",
    "intended (ms)",
    "sent (ms)",
    "ended (ms)",
    "queue (ms)",
    "TTFC (ms)",
    "TTFT (ms)",
    "TPOT (ms)",
    "largest ITL (ms)",
    "E2EL (ms)",
    "E2EL from intended (ms)",
    "input (tokens)",
    "cached (tokens)",
    "output (tokens)",
    "counted by",
    "chunks with tokens",
    "error",
    "error seen",
    "model",
    "tp",
    "run",
    "simulated",
];

/// One line for each request that ended, in the order of their ends, a header line first; `None` of another kind of record.
///
/// A request that failed has its instants and its error, and no latency.
#[must_use]
pub fn requests(record: &Record) -> Option<String> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    let target = serve.target.clone().unwrap_or_default();
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let rows = serve.requests.iter().map(|request| {
        let well = request.error.is_none();
        let ms = |value: Option<f64>| value.map_or_else(String::new, number);
        let latency = |of: fn(&ServeRequest) -> Option<f64>| ms(of(request).filter(|_| well));
        let count = |count: Option<u32>| count.map_or_else(String::new, |count| count.to_string());
        let error = request.error.as_ref();
        [
            request.id.to_string(),
            ms(request.intended_ms),
            number(request.sent_ms),
            number(request.ended_ms),
            latency(queue_time),
            latency(ttfc),
            latency(ttft),
            latency(tpot),
            latency(|request| itl(request).into_iter().reduce(f64::max)),
            latency(|request| Some(e2el(request))),
            latency(e2el_intended),
            count(request.input_tokens),
            count(request.cached_tokens),
            count(request.output_tokens),
            request
                .counted_by
                .as_ref()
                .map_or_else(String::new, word_of),
            request.token_chunks_ms.len().to_string(),
            error.map_or_else(String::new, |error| error.kind.to_string()),
            error.map_or_else(String::new, |error| error.seen.clone()),
            target.model.clone(),
            target.tp.map_or_else(String::new, |tp| tp.to_string()),
            run.to_owned(),
            simulated.clone(),
        ]
    });
    Some(table(COLUMNS, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{
        Header, Provenance, RequestError, RequestErrorKind, Serve, ServeTarget, Simulated, Status,
        TokenCount,
    };

    #[test]
    fn a_request_is_a_line_with_its_latencies_or_its_error() {
        let good = ServeRequest {
            id: 1,
            sent_ms: 10.0,
            ended_ms: 75.0,
            first_chunk_ms: Some(20.0),
            token_chunks_ms: vec![30.0, 40.0, 70.0],
            input_tokens: Some(8),
            output_tokens: Some(3),
            counted_by: Some(TokenCount::Usage),
            ..ServeRequest::default()
        };
        let bad = ServeRequest {
            id: 0,
            sent_ms: 5.0,
            ended_ms: 80.0,
            error: Some(RequestError {
                kind: RequestErrorKind::CutShort,
                seen: "closed, \"early\"".to_owned(),
            }),
            ..ServeRequest::default()
        };
        let record = Record {
            header: Header {
                schema: 1,
                program: "serve-bench".to_owned(),
                version: "0".to_owned(),
                simulated: Some(Simulated {
                    box_name: "l40x4".to_owned(),
                }),
                provenance: Provenance::default(),
            },
            status: Status::Complete,
            exit_code: 3,
            payload: Payload::Serve(Box::new(Serve {
                target: Some(ServeTarget {
                    model: "=evil".to_owned(),
                    ..ServeTarget::default()
                }),
                requests: vec![good, bad],
                ..Serve::default()
            })),
        };
        let csv = requests(&record).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with(
            "request,intended (ms),sent (ms),ended (ms),queue (ms),TTFC (ms),TTFT (ms)"
        ));
        // TTFC 20 - 10, TTFT 30 - 10, TPOT (70 - 30) / 2, gaps 10 and 30, E2EL 70 - 10.
        assert_eq!(
            lines[1],
            "1,,10,75,,10,20,20,30,60,,8,,3,usage,3,,,'=evil,,complete,l40x4"
        );
        assert_eq!(
            lines[2],
            "0,,5,80,,,,,,,,,,,,0,cut short,\"closed, \"\"early\"\"\",'=evil,,complete,l40x4"
        );
        assert_eq!(lines.len(), 3);
    }
}
