//! What in a serving result contradicts what, and what a number does not mean.
//!
//! Each check reads the figures of one result and knows nothing of the tool that made it, so that they hold for anybody's file.

use super::finding::Finding;
use super::latency::Latency;
use super::result::{ServeFormat, ServeResult, ServeRun};
use crate::number::float;
use record::metric::step_class;

/// A check; `None` where nothing is wrong or the figures that it needs are missing.
type Check = fn(&ServeResult) -> Option<Finding>;

#[rustfmt::skip]
const CHECKS: [Check; 16] = [
    requests_failed, in_flight, requests_missing, burst_not_rate, second_wave, mixed_steps, latency_as_ttft, inverse_throughput,
    latency_per_token, fewer_output_tokens, output_rate, total_rate, times_disagree, beyond_run, above_most,
    early_first_token,
];

/// How far throughput times latency may lie from what was asked to be in flight.
const IN_FLIGHT: f64 = 0.05;

/// Failures below this part of all requests move no average that anybody reads.
const FEW_FAILURES: f64 = 0.01;

/// A rate counts as sustained when this part of it completed.
const SUSTAINED: f64 = 0.95;

/// A mean this many times the median is not of one group of requests.
const APART: f64 = 3.0;

/// A mean TTFT above this part of a run that sent all at once is a place in the queue.
const WAITING: f64 = 0.1;

/// Prompts that prefill for this part of a run leave few steps without prefill.
const MOSTLY_PREFILLING: f64 = 0.5;

/// Figures that were rounded agree within this.
const ROUNDED: f64 = 0.02;

/// TTFT and TPOT make the latency within this where all replies are of one length; means of many lengths are no products of means.
const SAME_LENGTH: f64 = 0.1;
const MANY_LENGTHS: f64 = 0.5;

/// A first token may come in less time than a step of many in flight, as a prompt that is read elsewhere does, but not in this part.
const PART_OF_A_STEP: f64 = 0.2;

/// The result with all that the checks find; its conditions name the contradictions.
pub(super) fn checked(mut result: ServeResult) -> ServeResult {
    let found: Vec<Finding> = CHECKS.iter().filter_map(|check| check(&result)).collect();
    result.findings.extend(found);
    let contradictions = result.findings.iter().filter(|one| one.is_contradiction());
    let mut doubts: Vec<String> = contradictions.map(|one| one.code().to_owned()).collect();
    doubts.dedup();
    result.run.conditions.doubts = doubts;
    result
}

fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * other.abs()
}

/// Little's law in a closed loop, less what the last requests leave empty.
fn in_flight(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    // At a finite rate the limit need not be reached.
    let is_closed = !run.request_rate_asked.is_some_and(f64::is_finite);
    let asked = run.concurrency_asked.filter(|_| is_closed)?;
    let seen = result.in_flight()?;
    let requests = float(run.completed);
    // At worst one more mean latency passes while the slots run empty.
    let least = requests * asked / (requests + asked);
    let is_one = seen >= least * (1.0 - IN_FLIGHT) && seen <= asked * (1.0 + IN_FLIGHT);
    (!is_one).then_some(Finding::InFlightDiffers { asked, seen })
}

fn requests_missing(result: &ServeResult) -> Option<Finding> {
    let asked = result.asked.requests?;
    let counted = result.run.completed + result.run.failed?;
    (counted < asked).then_some(Finding::RequestsMissing { asked, counted })
}

fn requests_failed(result: &ServeResult) -> Option<Finding> {
    let failed = result.run.failed?;
    let sent = result.run.completed + failed;
    (float(failed) > FEW_FAILURES * float(sent)).then_some(Finding::RequestsFailed { failed, sent })
}

/// A rate that was not held: replies lasted on after the last request by more than one reply takes, or requests came for less.
fn burst_not_rate(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let offered = run.request_rate_asked.filter(|rate| rate.is_finite())?;
    let completed = run.requests_per_s;
    let ttft_ms = run.ttft_ms.map_or(0.0, |of| of.median.unwrap_or(of.mean));
    let tpot_ms = run.tpot_ms.map_or(0.0, |of| of.mean);
    let reply_s = (ttft_ms + tpot_ms * result.output_each().unwrap_or(0.0)) / 1e3;
    let arrivals_s = float(run.completed) / offered;
    let is_short = reply_s > arrivals_s || run.duration_s - arrivals_s > reply_s;
    (completed < SUSTAINED * offered && is_short)
        .then_some(Finding::BurstNotRate { offered, completed })
}

fn second_wave(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let ttft = run.ttft_ms.as_ref().filter(|_| run.streamed)?;
    let (mean_ms, median_ms) = (ttft.mean, ttft.median);
    // All at once, a prompt that comes so late has waited for others.
    let is_at_once =
        run.concurrency_asked.is_none() && run.request_rate_asked == Some(f64::INFINITY);
    let is_late = is_at_once && mean_ms / 1e3 > WAITING * run.duration_s;
    // What is no time to first token says nothing of waiting.
    let is_apart = median_ms.is_some_and(|median| mean_ms > APART * median);
    let is_one = (is_apart || is_late) && times_disagree(result).is_none();
    is_one.then_some(Finding::SecondWave { mean_ms, median_ms })
}

/// Prefill throughout a burst, by the summary alone or by the instants of all requests.
fn mixed_steps(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    if result.clocked {
        let mixed_part = step_class::of(&result.requests).mixed_part();
        let is_one = run.streamed && mixed_part.is_some_and(|part| part > MOSTLY_PREFILLING);
        let step_ms = run.tpot_ms.as_ref()?.mean;
        return is_one.then_some(Finding::MixedSteps {
            step_ms,
            mixed_part,
        });
    }
    let last_ms = run
        .ttft_ms
        .as_ref()
        .and_then(|ttft| ttft.max.or(ttft.p99))?;
    let is_burst = run.request_rate_asked == Some(f64::INFINITY) && run.completed > 1;
    let gap = run.itl_ms.map(|itl| itl.median.unwrap_or(itl.mean));
    let step_ms = gap.or(run.tpot_ms.map(|tpot| tpot.mean))?;
    (is_burst && last_ms / 1e3 >= MOSTLY_PREFILLING * run.duration_s).then_some(
        Finding::MixedSteps {
            step_ms,
            mixed_part: None,
        },
    )
}

/// A TTFT that is the whole latency: the client did not stream, or most replies came as one.
fn latency_as_ttft(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let latency = run.e2el_ms.as_ref()?;
    let ttft_ms = match run.ttft_ms.filter(|_| run.streamed) {
        Some(ttft) => ttft.median?,
        None => result.said.ttft_ms?,
    };
    let latency_ms = match run.streamed {
        true => latency.median?,
        false => latency.mean,
    };
    let has_tokens = result.output_each().is_none_or(|each| each > 2.0);
    (has_tokens && is_near(ttft_ms, latency_ms, ROUNDED))
        .then_some(Finding::LatencyAsTtft { ttft_ms })
}

fn inverse_throughput(result: &ServeResult) -> Option<Finding> {
    let tpot_ms = result
        .said
        .tpot_ms
        .filter(|_| result.run.tpot_ms.is_none())?;
    let rate = result
        .said
        .output_tokens_per_s
        .or_else(|| result.output_tokens_per_s())?;
    // At one request in flight the two are the same thing.
    let several = result.in_flight().is_some_and(|in_flight| in_flight > 1.5);
    (several && is_near(tpot_ms * rate, 1e3, ROUNDED))
        .then_some(Finding::InverseThroughput { tpot_ms })
}

fn latency_per_token(result: &ServeResult) -> Option<Finding> {
    let tpot_ms = result.said.tpot_ms.filter(|_| !result.run.streamed)?;
    let (latency, each) = (result.run.e2el_ms.as_ref()?.mean, result.output_each()?);
    (each > 2.0 && is_near(tpot_ms * each, latency, ROUNDED))
        .then_some(Finding::LatencyPerToken { tpot_ms })
}

fn fewer_output_tokens(result: &ServeResult) -> Option<Finding> {
    let (came, each) = (result.run.output_tokens?, result.asked.output_tokens?);
    let asked = each.checked_mul(result.run.completed)?;
    (float(came) < (1.0 - ROUNDED) * float(asked))
        .then_some(Finding::FewerOutputTokens { asked, came })
}

fn output_rate(result: &ServeResult) -> Option<Finding> {
    let said = result.said.output_tokens_per_s?;
    let own = float(result.run.output_tokens?) / result.run.duration_s;
    rate(result, "output tokens/s", said, own)
}

fn total_rate(result: &ServeResult) -> Option<Finding> {
    let said = result.said.total_tokens_per_s?;
    let all = result.run.input_tokens? + result.run.output_tokens?;
    rate(result, "tokens/s", said, float(all) / result.run.duration_s)
}

fn rate(result: &ServeResult, figure: &str, said: f64, own: f64) -> Option<Finding> {
    // Two decimals of a small rate are less than that.
    let is_same =
        is_near(said, own, ROUNDED + result.duration_off()) || (said - own).abs() <= 0.005;
    (!is_same).then(|| Finding::FiguresDiffer {
        figure: figure.to_owned(),
        said,
        own,
    })
}

/// A latency that TTFT and TPOT do not make: another unit, or another thing under the name. Those that a client states under wrong
/// names are told elsewhere.
fn times_disagree(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let latency_ms = run.e2el_ms.as_ref()?.mean;
    let disagree = |parts_ms| {
        Some(Finding::TimesDisagree {
            parts_ms,
            latency_ms,
        })
    };
    let mean = |latency, said: Option<f64>| {
        result
            .spread(latency)
            .map(|of| of.mean)
            .or(said.filter(|_| !run.streamed))
    };
    let ttft = mean(Latency::Ttft, result.said.ttft_ms);
    if let Some(ttft) = ttft.filter(|ttft| *ttft > latency_ms * (1.0 + SAME_LENGTH)) {
        return disagree(ttft);
    }
    let is_misnamed = [latency_as_ttft, inverse_throughput, latency_per_token]
        .iter()
        .any(|check| check(result).is_some());
    if is_misnamed {
        return None;
    }
    let each = result.output_each().filter(|each| *each > 1.0)?;
    let tokens = mean(Latency::Tpot, result.said.tpot_ms)? * (each - 1.0);
    let tolerance = match run.fixed_output {
        Some(true) => SAME_LENGTH,
        _ => MANY_LENGTHS,
    };
    match ttft {
        Some(ttft) if !is_near(ttft + tokens, latency_ms, tolerance) => disagree(ttft + tokens),
        // Without a TTFT the rest is the wait for it; more than half of the latency is another unit rather than a wait.
        None if tokens > latency_ms * (1.0 + tolerance) || tokens < latency_ms * MANY_LENGTHS => {
            disagree(tokens)
        }
        _ => None,
    }
}

/// A reply or a first token that lasts longer than the run that it is of.
fn beyond_run(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    // Ours knows the instants of each request, and is checked against them.
    let longest = run.e2el_ms.map(|of| ("e2el", of.max.unwrap_or(of.mean)));
    let both = longest
        .into_iter()
        .chain(result.said.ttft_ms.map(|ms| ("ttft", ms)));
    let (time, ms) = both.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let other_ms = run.duration_s * 1e3;
    let is_beyond = run.format != ServeFormat::Tplens
        && ms > other_ms * (1.0 + ROUNDED + result.duration_off());
    is_beyond.then_some(Finding::ImpossibleTime {
        time,
        ms,
        beside: "run",
        other_ms,
    })
}

/// More output tokens than requests may give.
fn above_most(result: &ServeResult) -> Option<Finding> {
    let run = Some(&result.run).filter(|run| run.format == ServeFormat::Summary)?;
    let own = float(result.asked.output_tokens?.checked_mul(run.completed)?);
    let said = float(run.output_tokens?);
    let is_above = said > own * (1.0 + ROUNDED + result.duration_off());
    is_above.then(|| Finding::FiguresDiffer {
        figure: "output tokens".to_owned(),
        said,
        own,
    })
}

/// A first token that comes in far less than a step: it waits for one at least.
fn early_first_token(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let first = run.ttft_ms.map(|first| first.mean);
    let ms = result.said.ttft_ms.or(first)?;
    let each = result.output_each().filter(|each| *each >= 2.0);
    let by_latency = run
        .e2el_ms
        .zip(each)
        .map(|(latency, each)| (latency.mean - ms) / (each - 1.0));
    let other_ms = run.tpot_ms.map(|each| each.mean).or(by_latency)?;
    let is_early = ms > 0.0 && ms < PART_OF_A_STEP * other_ms;
    is_early.then_some(Finding::ImpossibleTime {
        time: "ttft",
        ms,
        beside: "tpot",
        other_ms,
    })
}

/// A gain in requests per second below this is none.
const GAIN: f64 = 0.05;

/// Of several results that differ in how many requests were to be in flight, the number from which more are served no faster; nothing
/// where they are of other models, or fewer than three tell it.
#[must_use]
pub fn across(results: &[ServeResult]) -> Option<Finding> {
    let mut series: Vec<(f64, &ServeRun)> = results
        .iter()
        .filter_map(|one| Some((one.run.concurrency_asked?, &one.run)))
        .collect();
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_same = series
        .windows(2)
        .all(|pair| pair[0].1.model == pair[1].1.model && pair[0].0 < pair[1].0);
    if series.len() < 3 || !is_same {
        return None;
    }
    let rates = series.iter().map(|(_, run)| run.requests_per_s);
    let best = rates.fold(0.0, f64::max);
    let is_best = |(_, run): &&(f64, &ServeRun)| run.requests_per_s >= best * (1.0 - GAIN);
    let (from, _) = *series.iter().find(is_best)?;
    (from < series.last()?.0).then_some(Finding::Saturated { from, best })
}
