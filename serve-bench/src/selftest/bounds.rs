//! What this client's error may be, and whether a line keeps to it.

use serde::{Deserialize, Serialize};

use super::compare::Compared;

/// Bounds of the error of TTFT up to a number of streams, ms.
struct Bound {
    streams: u32,
    mean: f64,
    p99: f64,
}

/// In ascending order. Beyond the last nothing is promised.
const BOUNDS: [Bound; 3] = [
    Bound {
        streams: 4,
        mean: 1.0,
        p99: 2.0,
    },
    Bound {
        streams: 256,
        mean: 2.0,
        p99: 5.0,
    },
    Bound {
        streams: 1000,
        mean: 4.0,
        p99: 11.0,
    },
];

/// Bound of the error of the mean TPOT, percent.
const TPOT_PERCENT: f64 = 0.1;

/// A server that is later than this has not kept its schedule, ms: in the mean, and at the 99th percentile.
const LATE_MEAN: f64 = 2.0;
const LATE_P99: f64 = 10.0;

/// What is said of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub(super) enum Verdict {
    /// All errors are within their bounds.
    Within,
    /// Some are not; in words.
    Beyond(Vec<String>),
    /// Nothing can be said of the client; in words.
    NotJudged(String),
}

/// Judges a line.
pub(super) fn judge(streams: u32, compared: &Compared) -> Verdict {
    if compared.true_tokens != compared.client_tokens {
        return Verdict::Beyond(vec![format!(
            "{} tokens were written and {} counted",
            compared.true_tokens, compared.client_tokens
        )]);
    }
    if let Some(late) = &compared.server_late_ms {
        let tail = late.p99.unwrap_or(late.max);
        if late.mean > LATE_MEAN || tail > LATE_P99 {
            return Verdict::NotJudged(format!(
                "the server itself was {:.1} ms late in the mean and {tail:.1} ms at the 99th percentile",
                late.mean
            ));
        }
    }
    let Some(bound) = BOUNDS.iter().find(|bound| streams <= bound.streams) else {
        return Verdict::NotJudged(format!("no bound is stated for {streams} streams"));
    };
    let error = &compared.ttft_error_ms;
    let mut why = Vec::new();
    if error.mean.abs() > bound.mean {
        why.push(format!("mean TTFT is off by more than {} ms", bound.mean));
    }
    if compared.ttft_tail_ms() > bound.p99 {
        why.push(format!(
            "TTFT at the 99th percentile is off by more than {} ms",
            bound.p99
        ));
    }
    match compared.tpot_error_percent {
        Some(percent) if percent.abs() > TPOT_PERCENT => {
            why.push(format!("mean TPOT is off by more than {TPOT_PERCENT}%"));
        }
        _ => {}
    }
    if why.is_empty() {
        Verdict::Within
    } else {
        Verdict::Beyond(why)
    }
}

#[cfg(test)]
mod tests {
    use measure::stats::distribution;

    use super::*;

    fn compared(errors: &[f64], late: f64) -> Compared {
        Compared {
            true_ttft_ms: 50.0,
            client_ttft_ms: 50.0,
            ttft_error_ms: distribution(errors).unwrap(),
            ttft_off_ms: distribution(errors).unwrap(),
            true_tpot_ms: Some(20.0),
            client_tpot_ms: Some(20.0),
            tpot_error_percent: Some(0.0),
            true_tokens: 100,
            client_tokens: 100,
            receipts_by_kernel: 1.0,
            server_late_ms: distribution(&[late]),
        }
    }

    #[test]
    fn each_error_has_its_bound_by_the_number_of_streams() {
        assert_eq!(judge(4, &compared(&[0.5, 1.4], 0.1)), Verdict::Within);
        // Mean 1.5 ms: within 2 at 256 streams, not within 1 at 4.
        let wide = compared(&[1.5; 300], 0.1);
        assert_eq!(judge(256, &wide), Verdict::Within);
        assert!(matches!(judge(4, &wide), Verdict::Beyond(why) if why.len() == 1));
        // A mean of 0.09 ms with one request 9 ms off, of less than 200 requests.
        let mut one = vec![0.0; 99];
        one.push(9.0);
        assert!(
            matches!(judge(4, &compared(&one, 0.1)), Verdict::Beyond(why) if why[0].contains("99th"))
        );
        let tpot = Compared {
            tpot_error_percent: Some(-0.2),
            ..compared(&[0.1], 0.1)
        };
        assert!(matches!(judge(4, &tpot), Verdict::Beyond(why) if why[0].contains("TPOT")));
        let tokens = Compared {
            client_tokens: 200,
            ..compared(&[0.1], 0.1)
        };
        assert!(
            matches!(judge(4, &tokens), Verdict::Beyond(why) if why[0].contains("200 counted"))
        );
    }

    #[test]
    fn a_server_that_lagged_says_nothing_of_the_client() {
        assert!(matches!(
            judge(4, &compared(&[30.0], 12.0)),
            Verdict::NotJudged(_)
        ));
        assert!(matches!(
            judge(2000, &compared(&[0.1], 0.1)),
            Verdict::NotJudged(_)
        ));
    }
}
