//! What in a serving result contradicts what, and what a number does not mean, in words with its figures.
//!
//! Each check reads the figures of one result and knows nothing of the tool that made it, so that they hold for anybody's file.

use super::impossible::{
    above_most, beyond_run, early_first_token, late_first_token, little_pace, median_above_all,
    pace,
};
use super::result::{Finding, FindingKind, Latency, ServeResult, float};
use super::run::ServeFormat;
use super::times::parts_of_latency;
use crate::metric::step_class;

/// A check; `None` where nothing is wrong or the figures that it needs are missing.
type Check = fn(&ServeResult) -> Option<Finding>;

const CHECKS: [Check; 22] = [
    in_flight,
    requests_missing,
    failures_dropped,
    burst_not_rate,
    second_wave,
    mixed_steps,
    mixed_steps_by_request,
    latency_as_ttft,
    inverse_throughput,
    latency_per_token,
    fewer_output_tokens,
    prompt_lengths,
    totals,
    parts_of_latency,
    peak_below_mean,
    beyond_run,
    above_most,
    late_first_token,
    early_first_token,
    median_above_all,
    pace,
    little_pace,
];

/// How far throughput times latency may lie from what was asked to be in flight.
const IN_FLIGHT: f64 = 0.05;

/// Failures below this part of all requests move no average that anybody reads.
const FEW_FAILURES: f64 = 0.01;

/// A rate counts as sustained when this part of it completed.
const SUSTAINED: f64 = 0.95;

/// A mean this many times the median is not of one group of requests.
const APART: f64 = 3.0;

/// Prompts that prefill for this part of a run leave few steps without prefill.
const MOSTLY_PREFILLING: f64 = 0.5;

/// Figures that were rounded agree within this.
const ROUNDED: f64 = 0.02;

/// The result with all that the checks find.
pub(super) fn checked(mut result: ServeResult) -> ServeResult {
    let found: Vec<Finding> = CHECKS.iter().filter_map(|check| check(&result)).collect();
    result.findings.extend(found);
    result
}

fn finding(kind: FindingKind, words: String) -> Option<Finding> {
    Some(Finding::new(kind, words))
}

fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * other.abs()
}

/// Little's law in a closed loop, less what the last requests leave empty.
fn in_flight(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let asked = run.concurrency_asked.filter(|_| {
        // At a finite rate the limit need not be reached.
        !run.request_rate_asked.is_some_and(f64::is_finite)
    })?;
    let (seen, latency) = (result.in_flight()?, result.latency_ms()?);
    let requests = float(run.completed);
    // At worst one more mean latency passes while the slots run empty.
    let least = requests * asked / (requests + asked);
    if seen >= least * (1.0 - IN_FLIGHT) && seen <= asked * (1.0 + IN_FLIGHT) {
        return None;
    }
    let failed = run
        .failed
        .filter(|failed| *failed > 0)
        .map_or_else(String::new, |failed| {
            format!("; {failed} failed requests held places too and are in neither figure")
        });
    finding(
        FindingKind::InFlight,
        format!(
            "{:.3} requests/s times a latency of {:.2} s are {seen:.1} requests in flight where {asked} were asked for \
             (Little's law){failed}",
            run.requests_per_s,
            latency / 1e3
        ),
    )
}

fn requests_missing(result: &ServeResult) -> Option<Finding> {
    let asked = result.asked.requests?;
    let counted = result.run.completed + result.run.failed?;
    let missing = asked.checked_sub(counted).filter(|missing| *missing > 0)?;
    finding(
        FindingKind::RequestsMissing,
        format!(
            "{asked} requests were asked for and {counted} are counted: {missing} neither succeeded nor failed"
        ),
    )
}

fn failures_dropped(result: &ServeResult) -> Option<Finding> {
    let failed = result.run.failed?;
    let all = result.run.completed + failed;
    let part = float(failed) / float(all);
    (part > FEW_FAILURES).then(|| {
        Finding::new(
            FindingKind::FailuresDropped,
            format!(
                "{failed} of {all} requests failed ({:.1}%) and are in no average: means, percentiles and tokens per second are \
                 of those that survived, and where the slow ones time out they look better the more fail",
                part * 100.0
            ),
        )
    })
}

fn burst_not_rate(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let rate = run.request_rate_asked.filter(|rate| rate.is_finite())?;
    if run.requests_per_s >= SUSTAINED * rate {
        return None;
    }
    let sent = float(run.completed + run.failed.unwrap_or(0));
    finding(
        FindingKind::BurstNotRate,
        format!(
            "{:.2} requests/s completed of {rate} offered ({:.0}%): {sent} requests came within {:.1} s and took {:.1} s, which is a \
             burst of {sent} and not a rate that is sustained",
            run.requests_per_s,
            run.requests_per_s / rate * 100.0,
            sent / rate,
            run.duration_s
        ),
    )
}

fn second_wave(result: &ServeResult) -> Option<Finding> {
    let ttft = result.run.ttft_ms.as_ref()?;
    let median = ttft.median.filter(|median| ttft.mean > APART * median)?;
    // What is no time to first token says nothing of waiting.
    if parts_of_latency(result).is_some() {
        return None;
    }
    let tail = result.p90(Latency::Ttft).map(|p90| ("90th", p90));
    let tail = tail
        .or(ttft.p99.map(|p99| ("99th", p99)))
        .map_or_else(String::new, |(which, value)| {
            format!(", {which} percentile {value:.0} ms")
        });
    finding(
        FindingKind::SecondWave,
        format!(
            "TTFT has a mean of {:.0} ms beside a median of {median:.0} ms{tail}: more than half were served at once and the rest \
             waited for slots (a second wave); neither figure alone tells what a user sees",
            ttft.mean
        ),
    )
}

/// Prefill throughout a burst, from the summary alone.
fn mixed_steps(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let is_burst = run.request_rate_asked == Some(f64::INFINITY);
    if !is_burst || result.clocked {
        return None;
    }
    let last = run
        .ttft_ms
        .as_ref()
        .and_then(|ttft| ttft.max.or(ttft.p99))?
        / 1e3;
    if last < MOSTLY_PREFILLING * run.duration_s || run.completed < 2 {
        return None;
    }
    let (itl_name, itl) = match run.itl_ms {
        Some(itl) => match itl.median {
            Some(median) => ("ITL median", Some(median)),
            None => ("ITL mean", Some(itl.mean)),
        },
        None => ("ITL", None),
    };
    let tpot = run.tpot_ms.as_ref().map(|tpot| tpot.mean);
    let step = itl.or(tpot)?;
    let shown = [("TPOT mean", tpot), (itl_name, itl)]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {:.0} ms", value?)))
        .collect::<Vec<_>>()
        .join(" and ");
    let tokens = result.total_tokens_per_s().map_or_else(String::new, |rate| {
        format!(
            "; {rate:.0} prompt and output tokens/s in steps of {step:.0} ms are {:.0} tokens a step, a prefill chunk and no decode \
             batch",
            rate * step / 1e3
        )
    });
    finding(
        FindingKind::MixedSteps,
        format!(
            "{shown} are of steps mixed with prefill, not of decoding: all {} requests came at once, and first tokens still came \
             {last:.1} s into a run of {:.1} s{tokens}",
            run.completed, run.duration_s
        ),
    )
}

/// The same where the instants of all requests are known.
fn mixed_steps_by_request(result: &ServeResult) -> Option<Finding> {
    if !result.clocked || !result.run.streamed {
        return None;
    }
    let classes = step_class::of(&result.requests);
    let part = classes
        .mixed_part()
        .filter(|part| *part > MOSTLY_PREFILLING)?;
    let tpot = result.run.tpot_ms.as_ref()?.mean;
    let pure = mean(&classes.decode).map_or_else(String::new, |pure| {
        format!("; over steps without prefill it is {pure:.2} ms")
    });
    finding(
        FindingKind::MixedSteps,
        format!(
            "TPOT mean {tpot:.2} ms is of steps mixed with prefill, not of decoding: {:.0}% of the tokens after the first came while \
             another request waited for its first token{pure}",
            part * 100.0
        ),
    )
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len() as u64))
}

fn latency_as_ttft(result: &ServeResult) -> Option<Finding> {
    let (ttft, latency) = (result.said.ttft_ms?, result.run.e2el_ms.as_ref()?.mean);
    let tells_tokens = result.output_each().is_none_or(|each| each > 2.0);
    (!result.run.streamed && tells_tokens && is_near(ttft, latency, ROUNDED)).then(|| {
        Finding::new(
            FindingKind::LatencyAsTtft,
            format!(
                "the {:.2} s that it calls time to first token are the whole latency, {:.2} s: replies were not streamed, so that \
                 there is no TTFT",
                ttft / 1e3,
                latency / 1e3
            ),
        )
    })
}

fn inverse_throughput(result: &ServeResult) -> Option<Finding> {
    let tpot = result.said.tpot_ms.filter(|_| !result.run.streamed)?;
    let rate = result
        .said
        .output_tokens_per_s
        .or_else(|| result.output_tokens_per_s())?;
    // At one request in flight the two are the same thing.
    let several = result.in_flight().is_some_and(|in_flight| in_flight > 1.5);
    (several && is_near(tpot * rate, 1e3, ROUNDED)).then(|| {
        Finding::new(
            FindingKind::InverseThroughput,
            format!(
                "the {tpot:.2} ms that it calls time per output token are 1 / {rate:.2} tokens/s of all requests together, not the pace \
                 of one: there is no TPOT"
            ),
        )
    })
}

fn latency_per_token(result: &ServeResult) -> Option<Finding> {
    let tpot = result.said.tpot_ms.filter(|_| !result.run.streamed)?;
    let (latency, each) = (result.run.e2el_ms.as_ref()?.mean, result.output_each()?);
    (each > 2.0 && is_near(tpot * each, latency, ROUNDED)).then(|| {
        Finding::new(
            FindingKind::LatencyPerToken,
            format!(
                "the {tpot:.2} ms that it calls time per output token are the whole latency of {:.2} s over {each:.0} tokens, waiting and \
                 prefill included: an upper bound of TPOT and not TPOT",
                latency / 1e3
            ),
        )
    })
}

fn fewer_output_tokens(result: &ServeResult) -> Option<Finding> {
    let (came, each) = (result.run.output_tokens?, result.asked.output_tokens?);
    let asked = each * result.run.completed;
    (float(came) < (1.0 - ROUNDED) * float(asked)).then(|| {
        Finding::new(
            FindingKind::FewerOutputTokens,
            format!(
                "{came} output tokens came of {asked} asked for ({} x {each}), {:.0}%: requests ended early, so that lengths differ \
                 and throughput is of other work than was asked for",
                result.run.completed,
                float(came) / float(asked) * 100.0
            ),
        )
    })
}

fn prompt_lengths(result: &ServeResult) -> Option<Finding> {
    let (came, requests) = (result.run.input_tokens?, result.run.completed);
    if let Some(each) = result.asked.input_tokens {
        let asked = each * requests;
        return (came != asked).then(|| {
            let (less, word) = if came < asked {
                (asked - came, "short")
            } else {
                (came - asked, "over")
            };
            Finding::new(
                FindingKind::PromptLengths,
                format!(
                    "{came} prompt tokens are not {requests} x {each} = {asked}: {less} {word} ({:.2}%), as where prompts are \
                     encoded again or have lengths of their own",
                    float(less) / float(asked) * 100.0
                ),
            )
        });
    }
    // A total that was worked out from a rate is not exact.
    let is_counted = result.run.format != ServeFormat::Summary;
    (is_counted && requests > 1 && came % requests != 0).then(|| {
        Finding::new(
            FindingKind::PromptLengths,
            format!(
                "{came} prompt tokens of {requests} requests are {:.3} each, no whole number: prompts are not all of one length",
                float(came) / float(requests)
            ),
        )
    })
}

fn totals(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let rate = |total: Option<u64>| total.map(|total| float(total) / run.duration_s);
    let all = run.input_tokens.zip(run.output_tokens);
    let said = [
        (
            "output tokens/s",
            result.said.output_tokens_per_s,
            rate(run.output_tokens),
        ),
        (
            "tokens/s",
            result.said.total_tokens_per_s,
            rate(all.map(|(input, output)| input + output)),
        ),
    ];
    let other: Vec<String> = said
        .into_iter()
        .filter_map(|(name, said, own)| {
            let (said, own) = (said?, own?);
            // Two decimals of a small rate are less than that.
            (!is_near(said, own, ROUNDED + result.duration_off()) && (said - own).abs() > 0.005)
                .then(|| {
                    format!(
                        "{said:.2} {name} are said and the totals over the duration are {own:.2}"
                    )
                })
        })
        .collect();
    (!other.is_empty()).then(|| Finding::new(FindingKind::Totals, other.join("; ")))
}

/// A peak counted in chunks falls below the mean where a chunk carries several tokens.
fn peak_below_mean(result: &ServeResult) -> Option<Finding> {
    let (peak, mean) = (
        result.said.peak_output_tokens_per_s?,
        result.output_tokens_per_s()?,
    );
    // Seconds of a run of one or two are not full.
    (result.run.duration_s >= 3.0 && peak < mean * (1.0 - ROUNDED)).then(|| {
        Finding::new(
            FindingKind::Peak,
            format!(
                "a peak of {peak:.0} output tokens/s lies below the mean of {mean:.0}: it counts chunks, which carry several tokens each, \
                 and ITL is then the gap of several tokens"
            ),
        )
    })
}
