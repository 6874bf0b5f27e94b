//! A serving benchmark as one line a request, units in the head; what is not known is empty.

use super::cell::{Column, run, shown, simulated, table, word_of};
use record::metric;
use record::{Payload, Record, Serve, ServeRequest};

struct Line<'a> {
    record: &'a Record,
    serve: &'a Serve,
    request: &'a ServeRequest,
}

/// One line for each request that ended, in the order of their ends, a header line first; `None` of another kind of record.
///
/// A request that failed has its instants and its error, and no latency.
#[must_use]
pub fn requests(record: &Record) -> Option<String> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    let columns: [Column<Line<'_>>; 22] = [
        ("request", |of| of.request.id.to_string()),
        ("intended (ms)", |of| shown(of.request.intended_ms)),
        ("sent (ms)", |of| of.request.sent_ms.to_string()),
        ("ended (ms)", |of| of.request.ended_ms.to_string()),
        ("queue (ms)", |of| of.latency(metric::queue_time)),
        ("TTFC (ms)", |of| of.latency(metric::ttfc)),
        ("TTFT (ms)", |of| of.latency(metric::ttft)),
        ("TPOT (ms)", |of| of.latency(metric::tpot)),
        ("largest ITL (ms)", |of| {
            of.latency(|request| metric::itl(request).into_iter().reduce(f64::max))
        }),
        ("E2EL (ms)", |of| {
            of.latency(|request| Some(metric::e2el(request)))
        }),
        ("E2EL from intended (ms)", |of| {
            of.latency(metric::e2el_intended)
        }),
        ("input (tokens)", |of| shown(of.request.input_tokens)),
        ("cached (tokens)", |of| shown(of.request.cached_tokens)),
        ("output (tokens)", |of| shown(of.request.output_tokens)),
        ("counted by", |of| word_of(of.request.counted_by.as_ref())),
        ("chunks with tokens", |of| {
            of.request.token_chunks_ms.len().to_string()
        }),
        ("error", |of| {
            shown(of.request.error.as_ref().map(|error| error.kind))
        }),
        ("error seen", |of| {
            shown(of.request.error.as_ref().map(|error| &error.seen))
        }),
        ("model", |of| {
            shown(of.serve.target.as_ref().map(|target| &target.model))
        }),
        ("tp", |of| {
            shown(of.serve.target.as_ref().and_then(|it| it.tp))
        }),
        ("run", |of| run(of.record)),
        ("simulated", |of| simulated(of.record)),
    ];
    let lines = serve.requests.iter().map(|request| Line {
        record,
        serve,
        request,
    });
    Some(table(&columns, lines))
}

impl Line<'_> {
    fn latency(&self, of: fn(&ServeRequest) -> Option<f64>) -> String {
        let well = Some(self.request).filter(|request| request.error.is_none());
        shown(well.and_then(of))
    }
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
