//! The comparison itself: gates, the decode step, the time to first token, and bytes over the wire.

use measure::import::Spread;
use measure::record::PlannedCollective;
use tp_plan::plan;

use super::measured::Measured;
use super::result::{
    Difference, LinkComparison, LinkFigures, LinkOutcome, LinkPrediction, TimeOf, WireDifference,
};
use super::side::LinkSide;
use super::verdict::LinkVerdict;
use super::wire::{needed, wire};
use crate::attribute::{CollectiveCost, Collectives, Grade, Refusal, StepFrom, Taken, step_from};
use crate::explanation::{SCHEMA, sources};
use crate::first_token::{alone, prefill_plan, prompt_tokens};
use crate::gates::{Gate, RunShape, Verdict, failed, is_of_decode, pair_gates};
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;

/// What tells this form from an explanation.
const KIND: &str = "links";

/// Why the same model at the same tensor parallel size takes another time over another link; the same inputs, seed and number of
/// draws give the same result.
#[must_use]
pub fn compare_links(a: &LinkSide, b: &LinkSide, seed: u64, draws: u32) -> LinkComparison {
    let gates = pair_gates((&a.name, &a.inputs), (&b.name, &b.inputs));
    let mut inputs = sources(&a.inputs);
    for source in sources(&b.inputs) {
        if !inputs.contains(&source) {
            inputs.push(source);
        }
    }
    LinkComparison {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        simulated: a.inputs.simulated().or_else(|| b.inputs.simulated()),
        model: a.inputs.model.name.clone(),
        tp: a.inputs.tp,
        a: a.facts(),
        b: b.facts(),
        inputs,
        outcome: outcome(a, b, &gates, seed, draws),
        gates,
    }
}

/// A pair under comparison.
struct Pair<'a> {
    a: &'a LinkSide,
    b: &'a LinkSide,
    seed: u64,
    draws: u32,
}

fn reasons<'a>(gates: impl Iterator<Item = &'a Gate>) -> Vec<String> {
    gates
        .map(|gate| format!("{}: {}", gate.name, gate.seen))
        .collect()
}

fn outcome(a: &LinkSide, b: &LinkSide, gates: &[Gate], seed: u64, draws: u32) -> LinkOutcome {
    let refused = |reasons| LinkOutcome::Refused {
        refusal: Refusal { reasons },
    };
    let of_all = reasons(failed(gates).filter(|gate| !is_of_decode(gate)));
    if !of_all.is_empty() {
        return refused(of_all);
    }
    let pair = Pair { a, b, seed, draws };
    let mut figures = LinkFigures {
        batch: a.inputs.batch().unwrap_or(1),
        decode: None,
        first_token: None,
        not_judged: Vec::new(),
        wire: Vec::new(),
        confounders: a.confounders(b),
        next: Vec::new(),
        caveats: Vec::new(),
        priors: Vec::new(),
        seed,
        draws,
    };
    let of_decode = reasons(failed(gates).filter(|gate| is_of_decode(gate)));
    let decode = if of_decode.is_empty() {
        pair.decode(&mut figures)
    } else {
        Err(of_decode.join("; "))
    };
    match decode {
        Ok(difference) => figures.decode = Some(difference),
        Err(why) => figures
            .not_judged
            .push(format!("the decode step is not judged: {why}")),
    }
    match pair.first_token(&mut figures) {
        Ok(difference) => figures.first_token = Some(difference),
        Err(why) => figures
            .not_judged
            .push(format!("the time to first token is not judged: {why}")),
    }
    if figures.decode.is_none() && figures.first_token.is_none() {
        return refused(figures.not_judged);
    }
    for gate in gates.iter().filter(|gate| gate.verdict == Verdict::Unknown) {
        figures
            .caveats
            .push(format!("{}: {}", gate.name, gate.seen));
    }
    if figures.wire.is_empty() && a.inputs.tp > 1 {
        figures.caveats.push("what bytes over the two links can differ by is not worked out: give --links-a and --links-b, or --link-a gen4x16 and --link-b gen4x8".to_owned());
    }
    pair.next(&mut figures);
    keep_once(&mut figures.caveats);
    LinkOutcome::Compared {
        figures: Box::new(figures),
    }
}

fn keep_once<T: PartialEq + Clone>(of: &mut Vec<T>) {
    let mut kept: Vec<T> = Vec::new();
    for one in of.iter() {
        if !kept.contains(one) {
            kept.push(one.clone());
        }
    }
    *of = kept;
}

/// Collectives of one side, of which there are none on one GPU.
enum Sent {
    Nothing,
    ByCurve(Box<Collectives>),
}

impl Sent {
    fn of(
        planned: &[PlannedCollective],
        by: impl Fn(&[PlannedCollective]) -> Result<Collectives, String>,
    ) -> Result<Self, String> {
        match planned {
            [] => Ok(Self::Nothing),
            some => by(some).map(|found| Self::ByCurve(Box::new(found))),
        }
    }

    fn draw_both(a: &Self, b: &Self, random: &mut Random) -> (Taken, Taken) {
        let nothing = Taken {
            ms: 0.0,
            bare_ms: 0.0,
        };
        match (a, b) {
            (Self::ByCurve(a), Self::ByCurve(b)) => Collectives::draw_both(a, b, random),
            (Self::ByCurve(a), Self::Nothing) => (a.draw(random), nothing),
            (Self::Nothing, Self::ByCurve(b)) => (nothing, b.draw(random)),
            (Self::Nothing, Self::Nothing) => (nothing, nothing),
        }
    }

    /// Where nothing is sent, nothing is in doubt.
    fn grade(&self) -> Grade {
        match self {
            Self::Nothing => Grade::A,
            Self::ByCurve(of) => of.grade(),
        }
    }

    fn costs(&self) -> Vec<CollectiveCost> {
        match self {
            Self::Nothing => Vec::new(),
            Self::ByCurve(of) => of.costs(),
        }
    }
}

impl Pair<'_> {
    fn sides(&self) -> [&Inputs; 2] {
        [&self.a.inputs, &self.b.inputs]
    }

    fn share_of_raw(&self) -> Option<Prior> {
        self.a.inputs.prior("pcie_share_of_raw")
    }

    fn decode(&self, figures: &mut LinkFigures) -> Result<Difference, String> {
        let runs = |inputs: &Inputs| inputs.runs(inputs.tp).cloned().collect::<Vec<_>>();
        let [of_a, of_b] = self.sides().map(runs);
        let all: Vec<_> = of_a.iter().chain(&of_b).collect();
        let from = step_from(&all).ok_or(
            "a result has neither a time per token nor a latency with a count of output tokens",
        )?;
        let times = |runs: &[measure::import::ServeRun]| -> Vec<Spread> {
            runs.iter()
                .filter_map(|run| step_time(&RunShape::new(run), run, from))
                .collect()
        };
        let (a, b) = (times(&of_a), times(&of_b));
        let batch = figures.batch;
        let planned = self.sides().map(|inputs| {
            let engine = inputs.engine(inputs.tp);
            engine.map_or_else(Vec::new, |engine| {
                plan(&inputs.model, engine, batch, None).collectives
            })
        });
        if from == StepFrom::Latency {
            figures.caveats.push("replies were not streamed: the step is the latency over the output tokens, so that the prompts' collectives are in its difference, and are not in what the curves predict; run with a stream".to_owned());
        }
        self.difference(
            figures,
            (TimeOf::DecodeStep, Some(from)),
            (&a, &b),
            &planned,
            |inputs, planned| Collectives::of(inputs, inputs.is_eager(batch), planned),
        )
    }

    fn first_token(&self, figures: &mut LinkFigures) -> Result<Difference, String> {
        let mut times: [Vec<Spread>; 2] = [Vec::new(), Vec::new()];
        for (side, inputs) in self.sides().into_iter().enumerate() {
            for run in inputs.runs(inputs.tp) {
                times[side].push(alone(run)?);
            }
        }
        let run = self.a.inputs.runs(self.a.inputs.tp).next();
        let run = run.ok_or("there is no run")?;
        let tokens = prompt_tokens(run).ok_or("the file does not say how long the prompts were")?;
        let planned = self.sides().map(|inputs| {
            let engine = inputs.engine(inputs.tp);
            engine.map_or_else(Vec::new, |engine| {
                prefill_plan(&inputs.model, engine, tokens)
            })
        });
        figures
            .caveats
            .push("no prompt token is taken to come from the prefix cache".to_owned());
        let [a, b] = &times;
        self.difference(
            figures,
            (TimeOf::FirstToken, None),
            (a, b),
            &planned,
            Collectives::of_prefill,
        )
    }

    fn difference(
        &self,
        figures: &mut LinkFigures,
        (of, step_from): (TimeOf, Option<StepFrom>),
        (a, b): (&[Spread], &[Spread]),
        planned: &[Vec<PlannedCollective>; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, String>,
    ) -> Result<Difference, String> {
        let measured = Measured::new(&self.a.inputs, a, b).ok_or("a side has no time")?;
        if a.len() == 1 || b.len() == 1 {
            figures.caveats.push("one start of a server on a side: the spread between starts is assumed; repeat the runs, in turn".to_owned());
        }
        figures.priors.extend(measured.priors());
        let sent = self.sent(figures, planned, by);
        let mut random = Random::new(self.seed);
        let mut drawn = Drawn::default();
        for _ in 0..self.draws.max(1) {
            let (one, other) = measured.draw(&mut random);
            drawn.a.push(one);
            drawn.b.push(other);
            drawn.measured.push(other - one);
            if let Some([on_a, on_b]) = &sent {
                let (on_a, on_b) = Sent::draw_both(on_a, on_b, &mut random);
                drawn.sent_a.push(on_a.ms);
                drawn.sent_b.push(on_b.ms);
                drawn.predicted.push(on_b.ms - on_a.ms);
                drawn.beyond.push(other - one - (on_b.ms - on_a.ms));
                drawn
                    .ratio
                    .push((other - one) / (on_b.bare_ms - on_a.bare_ms));
            }
        }
        let not_finite = || "a time is not finite".to_owned();
        let range = |draws: &[f64]| Range::of(draws).ok_or_else(not_finite);
        let seen = range(&drawn.measured)?;
        let predicted = match &sent {
            None => None,
            Some([on_a, on_b]) => Some(prediction(&drawn, on_a, on_b)?),
        };
        let wires = self.wires(figures, of, planned);
        let verdict = match &predicted {
            Some(by) => LinkVerdict::by_curves(&seen, &by.difference, &by.beyond),
            None => LinkVerdict::by_bytes(&seen, wires.as_ref().map(|wire| &wire.difference_ms)),
        };
        Ok(Difference {
            of,
            step_from,
            runs_of_a: a.len(),
            runs_of_b: b.len(),
            a: range(&drawn.a)?,
            b: range(&drawn.b)?,
            needed: needed((self.a, self.b), &seen, &planned[1]),
            measured: seen,
            predicted,
            verdict,
        })
    }

    /// Both sides' collectives by their curves; `None`, said in the caveats, where one has none.
    fn sent(
        &self,
        figures: &mut LinkFigures,
        planned: &[Vec<PlannedCollective>; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, String>,
    ) -> Option<[Sent; 2]> {
        let of = |side: &LinkSide, planned: &[PlannedCollective]| {
            // A curve that was published for the GPU is of no link in particular.
            let own = side.inputs.usable_curve();
            if !planned.is_empty() && !own.iter().any(|point| point.ranks == side.inputs.tp) {
                return Err(format!("no curve of this link on {} ranks", side.inputs.tp));
            }
            Sent::of(planned, |planned| by(&side.inputs, planned))
        };
        let mut sides = Vec::new();
        for (side, planned) in [self.a, self.b].into_iter().zip(planned) {
            match of(side, planned) {
                Ok(sent) => {
                    if let Sent::ByCurve(found) = &sent {
                        figures.caveats.extend(found.caveats.iter().cloned());
                        for prior in found.priors() {
                            if !figures.priors.contains(&prior) {
                                figures.priors.push(prior);
                            }
                        }
                    }
                    sides.push(sent);
                }
                Err(why) => figures.caveats.push(format!("{}: {why}", side.name)),
            }
        }
        sides.try_into().ok()
    }

    /// What bytes make of this time, and of the whole run's prompts.
    fn wires(
        &self,
        figures: &mut LinkFigures,
        of: TimeOf,
        planned: &[Vec<PlannedCollective>; 2],
    ) -> Option<WireDifference> {
        let share = self.share_of_raw()?;
        let sides = (self.a, self.b);
        let run = self.a.inputs.runs(self.a.inputs.tp).next()?;
        let tokens = prompt_tokens(run);
        let words = match (of, tokens) {
            (TimeOf::DecodeStep, _) => format!("a decode step of {} sequences", figures.batch),
            (_, Some(tokens)) => format!("a prompt of {tokens} tokens"),
            (_, None) => "a prompt".to_owned(),
        };
        let wired = wire(sides, of, words, &planned[0], 1.0, &share)?;
        figures.wire.push(wired.clone());
        let engine = self.a.inputs.engine(self.a.inputs.tp);
        if let (TimeOf::DecodeStep, Some(tokens), Some(engine)) = (of, tokens, engine) {
            let prompt = prefill_plan(&self.a.inputs.model, engine, tokens);
            #[expect(clippy::cast_precision_loss, reason = "requests are far below 2^53")]
            let prompts = run.completed as f64;
            for (of, words, times) in [
                (
                    TimeOf::FirstToken,
                    format!("a prompt of {tokens} tokens"),
                    1.0,
                ),
                (
                    TimeOf::WholeRun,
                    format!("the {} prompts of the run", run.completed),
                    prompts,
                ),
            ] {
                figures
                    .wire
                    .extend(wire(sides, of, words, &prompt, times, &share));
            }
        } else {
            // The time to first token stands there already where the decode step was judged.
            let seen = figures.wire.iter().filter(|wire| wire.of == of).count();
            if seen > 1 {
                figures.wire.pop();
            }
        }
        if !figures.priors.contains(&share) {
            figures.priors.push(share);
        }
        Some(wired)
    }

    /// What would settle more.
    fn next(&self, figures: &mut LinkFigures) {
        let (model, tp, batch) = (&self.a.inputs.model.name, self.a.inputs.tp, figures.batch);
        let differences = [&figures.decode, &figures.first_token];
        let any = |is: fn(&LinkVerdict) -> bool| {
            let mut found = differences.iter().filter_map(|one| one.as_ref());
            found.any(|one| is(&one.verdict))
        };
        let blind = differences
            .iter()
            .filter_map(|one| one.as_ref())
            .any(|one| one.predicted.is_none());
        let mut next = Vec::new();
        if blind && tp > 1 {
            let tokens = self.a.inputs.runs(tp).next().and_then(prompt_tokens);
            let chunk = tokens.map_or(String::new(), |tokens| format!(" --prefill-chunk {tokens}"));
            next.push(format!(
                "the collectives on both links: allreduce-bench --model {model} --tp {tp} --batches {batch}{chunk} on each, then explain with --allreduce-a and --allreduce-b"
            ));
        }
        let more = |verdict: &LinkVerdict| {
            matches!(
                verdict,
                LinkVerdict::MoreThanLink { .. } | LinkVerdict::MoreThanBytes { .. }
            )
        };
        if any(more) && tp > 1 {
            next.push("the same on one GPU of each side, which sends nothing between GPUs: explain --a FILE --b FILE --tp 1; what differs there is host, NUMA node or clocks".to_owned());
        }
        if any(|verdict| matches!(verdict, LinkVerdict::LessThanLink { .. })) {
            next.push("whether the engine takes the path that was timed: NCCL_DEBUG=INFO and the engine's words on its custom all-reduce, and a trace for overlap".to_owned());
        }
        if any(|verdict| {
            matches!(
                verdict,
                LinkVerdict::NotTold { .. } | LinkVerdict::CannotShow { .. }
            )
        }) {
            next.push("five starts of the server on each link, in turn (A B B A), the same load each; give every file: --a A1 --a A2 ... --b B1 --b B2 ...".to_owned());
        }
        figures.next = next;
    }
}

/// Values of all draws.
#[derive(Default)]
struct Drawn {
    a: Vec<f64>,
    b: Vec<f64>,
    measured: Vec<f64>,
    sent_a: Vec<f64>,
    sent_b: Vec<f64>,
    predicted: Vec<f64>,
    beyond: Vec<f64>,
    /// Measured over predicted difference, as the curves are.
    ratio: Vec<f64>,
}

fn prediction(drawn: &Drawn, a: &Sent, b: &Sent) -> Result<LinkPrediction, String> {
    let range = |draws: &[f64]| Range::of(draws).ok_or_else(|| "a time is not finite".to_owned());
    let difference = range(&drawn.predicted)?;
    let count = match b {
        Sent::ByCurve(of) => of.all_reduces(),
        Sent::Nothing => 0,
    };
    let told = difference.low > 0.0 || difference.high < 0.0;
    let effective = Range::of(&drawn.ratio).filter(|_| told).map(|ratio| Range {
        low: ratio.low * f64::from(count),
        mid: ratio.mid * f64::from(count),
        high: ratio.high * f64::from(count),
    });
    let (collectives_of_a, collectives_of_b) = (a.costs(), b.costs());
    let grade = a.grade().max(b.grade());
    Ok(LinkPrediction {
        a: range(&drawn.sent_a)?,
        b: range(&drawn.sent_b)?,
        difference,
        beyond: range(&drawn.beyond)?,
        planned: count,
        effective,
        grade,
        collectives_of_a,
        collectives_of_b,
    })
}

/// The time of a decode step as a run shows it, ms.
pub(super) fn step_time(
    shape: &RunShape<'_>,
    run: &measure::import::ServeRun,
    from: StepFrom,
) -> Option<Spread> {
    match from {
        StepFrom::DecodeGap => shape.decode_gap(),
        StepFrom::Tpot => run.tpot_ms,
        StepFrom::Latency => {
            let latency = run.e2el_ms?;
            let output = shape.output().filter(|output| *output >= 2.0)?;
            let each = |ms: f64| ms / output;
            Some(Spread {
                n: latency.n,
                mean: each(latency.mean),
                mean_interval: latency
                    .mean_interval
                    .map(|interval| measure::stats::Interval {
                        low: each(interval.low),
                        high: each(interval.high),
                        ..interval
                    }),
                median: latency.median.map(each),
                min: latency.min.map(each),
                max: latency.max.map(each),
                p99: latency.p99.map(each),
            })
        }
    }
}
