//! Whether the times of a result go together: a reply's latency is its time to first token and one time per output token for each
//! of the others.

use super::result::{Finding, FindingKind, ServeResult};

/// Means of replies of one length agree within this; means of many lengths are not products of means.
const SAME_LENGTH: f64 = 0.1;
const MANY_LENGTHS: f64 = 0.5;

/// A first token behind the last, or parts that are not the whole: another unit, or another thing under the name.
pub(super) fn parts_of_latency(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let (ttft, whole) = (run.ttft_ms.as_ref()?.mean, run.e2el_ms.as_ref()?.mean);
    let found = |words| Some(Finding::new(FindingKind::Parts, words));
    if ttft > whole * (1.0 + SAME_LENGTH) {
        return found(format!(
            "the mean TTFT of {ttft:.3} ms is above the mean latency of {whole:.3} ms, which no request can do: one of them has another \
             unit, or is another thing"
        ));
    }
    let tpot = run.tpot_ms.as_ref()?.mean;
    let tokens = result.output_each().filter(|tokens| *tokens > 1.0)?;
    let parts = ttft + tpot * (tokens - 1.0);
    let tolerance = match run.fixed_output {
        Some(true) => SAME_LENGTH,
        _ => MANY_LENGTHS,
    };
    if (parts - whole).abs() <= whole * tolerance {
        return None;
    }
    found(format!(
        "TTFT {ttft:.3} ms and {:.1} times TPOT {tpot:.3} ms are {parts:.3} ms, and the mean latency is {whole:.3} ms: one of the three has \
         another unit, or is another thing",
        tokens - 1.0
    ))
}
