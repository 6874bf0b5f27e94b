//! What a time to first token is made of, where nothing else was in flight.

use measure::import::{ServeRun, Spread};
use serde::{Deserialize, Serialize};
use tp_plan::ModelFacts;

use super::plan::prefill_plan;
use crate::attribute::{CollectiveCost, Collectives};
use crate::gates::RunShape;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;

/// With more in flight than this a prompt waits for others.
const ALONE: f64 = 1.05;

/// What a time to first token is made of, ms. Ranges are 5%, 50% and 95%.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstToken {
    /// Tensor parallel size.
    pub tp: u32,
    /// Prompt tokens.
    pub tokens: u32,
    /// As measured, the mean.
    pub measured_ms: f64,
    /// Multiplications and additions of the prompt at the assumed rate.
    pub arithmetic: Range,
    /// Collectives of its chunks; `None` where there is no curve.
    pub communication: Option<Range>,
    /// What is left: the host, attention, and all that is not known.
    pub left: Range,
    /// The collectives with the curve's times.
    pub collectives: Vec<CollectiveCost>,
    /// What was taken as known.
    pub priors: Vec<Prior>,
    /// Reservations.
    pub caveats: Vec<String>,
}

/// The time to first token of a run in which nothing else was in flight; the error says why it is not told.
pub(crate) fn alone(run: &ServeRun) -> Result<Spread, String> {
    let first = run.ttft_ms.filter(|_| run.streamed);
    let first = first.ok_or_else(|| {
        "there is no time to first token of a stream: run with a stream, one request in flight"
            .to_owned()
    })?;
    let shape = RunShape::new(run);
    let flight = run.in_flight_wanted().or_else(|| shape.in_flight());
    match flight {
        Some(flight) if flight <= ALONE => Ok(first),
        Some(flight) => Err(format!(
            "{flight:.0} requests were in flight, so that a prompt waits for others and the time to first token holds that wait: run with --concurrency 1"
        )),
        None => Err("nobody says how many requests were in flight, so a wait may be in the time to first token: run with --concurrency 1".to_owned()),
    }
}

/// Prompt tokens of a request, rounded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and a billion"
)]
pub(crate) fn prompt_tokens(run: &ServeRun) -> Option<u32> {
    let tokens = RunShape::new(run).input()?;
    (tokens >= 1.0).then(|| tokens.round().clamp(1.0, 1e9) as u32)
}

/// Parameters that a prompt token is multiplied with: of routed experts those that it uses, and no row of the embedding but one.
/// The three matrices of an expert are gate, up and down.
pub(crate) fn active_parameters(model: &ModelFacts) -> f64 {
    let hidden = f64::from(model.hidden);
    let idle = model.experts.map_or(0.0, |experts| {
        let unused = f64::from(experts.count.saturating_sub(experts.per_token));
        f64::from(experts.layers) * unused * 3.0 * hidden * f64::from(experts.intermediate)
    });
    let looked_up = if model.tied_embeddings {
        0.0
    } else {
        f64::from(model.vocab) * hidden
    };
    #[expect(clippy::cast_precision_loss, reason = "parameters are far below 2^53")]
    let all = model.parameters as f64;
    (all - idle - looked_up).max(0.0)
}

/// What the time to first token at the size under explanation is made of.
///
/// # Errors
/// No run of that size was streamed with one request in flight; in words.
pub fn first_token(inputs: &Inputs, seed: u64, draws: u32) -> Result<FirstToken, String> {
    let run = inputs
        .runs(inputs.tp)
        .next()
        .ok_or_else(|| format!("there is no result of TP{}", inputs.tp))?;
    let measured = alone(run)?.mean;
    let tokens = prompt_tokens(run).ok_or("the file does not say how long the prompts were")?;
    let engine = inputs.engine(inputs.tp).ok_or("the engine is not known")?;
    let rate = inputs
        .prior("prefill_tflops")
        .ok_or("there is no range of prefill rates")?;
    let planned = prefill_plan(&inputs.model, engine, tokens);
    let mut caveats = vec!["no prompt token is taken to come from the prefix cache".to_owned()];
    let collectives = if planned.is_empty() {
        None
    } else {
        Collectives::of_prefill(inputs, &planned)
            .map_err(|why| caveats.push(format!("no bar for communication: {why}")))
            .ok()
    };
    // A multiplication and an addition for each weight.
    let flops = 2.0 * active_parameters(&inputs.model) * f64::from(tokens) / f64::from(inputs.tp);
    let mut random = Random::new(seed);
    let drawn: Vec<(f64, f64)> = (0..draws.max(1))
        .map(|_| {
            let arithmetic = flops / (rate.at(random.uniform()) * 1e12) * 1e3;
            let sent = collectives.as_ref().map_or(0.0, |c| c.draw(&mut random).ms);
            (arithmetic, sent)
        })
        .collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        Range::of(&drawn.iter().map(of).collect::<Vec<_>>()).ok_or("a time is not finite")
    };
    let left = range(|(arithmetic, sent)| arithmetic + sent)?;
    let mut priors = vec![rate];
    if let Some(collectives) = &collectives {
        caveats.extend(collectives.caveats.iter().cloned());
        priors.extend(collectives.priors());
    }
    Ok(FirstToken {
        tp: inputs.tp,
        tokens,
        measured_ms: measured,
        arithmetic: range(|(arithmetic, _)| *arithmetic)?,
        communication: match collectives {
            Some(_) => Some(range(|(_, sent)| *sent)?),
            None => None,
        },
        left: Range {
            low: measured - left.high,
            mid: measured - left.mid,
            high: measured - left.low,
        },
        collectives: collectives.map_or_else(Vec::new, |c| c.costs()),
        priors,
        caveats,
    })
}

impl std::fmt::Display for FirstToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sent = self.communication.as_ref().map_or_else(
            || "collectives not known".to_owned(),
            |sent| format!("collectives {}", sent.with_decimals(1)),
        );
        write!(
            f,
            "time to first token of {} prompt tokens on TP{}: {:.1} ms measured; {sent}, arithmetic {}, left {} (ms, median [5%, 95%])",
            self.tokens,
            self.tp,
            self.measured_ms,
            self.arithmetic.with_decimals(1),
            self.left.with_decimals(1),
        )
    }
}
