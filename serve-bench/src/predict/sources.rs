//! From files to what the prediction starts from.

use ::explain::{DESCRIBED, PredictInputs};
use boxfile::{BoxFile, CollectiveKind as Kind, CollectiveLibrary};
use engine::Curve;
use import::{CurvePoint, ServeRun};
use record::{CallMode, CollectiveKind, CollectivePath};

use super::args::PredictArgs;
use crate::explain::Sources;

/// Prompt and output tokens where nobody says.
const LENGTHS: (f64, f64) = (1024.0, 256.0);

/// Sequences that decode at once where nobody says.
const BATCH: u32 = 16;

/// Reads everything.
///
/// # Errors
/// A file, a name or a prior that cannot be used; in words.
pub(super) fn read(args: &PredictArgs) -> Result<PredictInputs, String> {
    let mut sizes = args.tp.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let case = &args.case;
    let is_named = case.box_name.is_some() || case.links.is_some() || case.gpu.is_some();
    if !is_named && args.tp1.is_none() {
        return Err("which machine is not said: give --box, --gpu, --links or --tp1".to_owned());
    }
    let sources = Sources {
        model: Some(args.model.clone()),
        serving: args
            .tp1
            .iter()
            .map(|file| (Some(1), file.clone()))
            .collect(),
        case: case.clone(),
        ranks: sizes.last().copied().unwrap_or(1),
        ..Sources::default()
    };
    let (mut base, link, described) = sources.read()?;
    // That of one GPU is compared with a result of one, whatever is asked about.
    let others = sizes.iter().copied().filter(|tp| *tp != 1);
    base.engines = [1]
        .into_iter()
        .chain(others)
        .map(|tp| case.engine.facts(tp, &base.around))
        .collect();
    // A described box stands beside nothing that was measured: a figure of it says nothing about another one.
    let measured = !base.curve.is_empty() || !base.serve.is_empty() || case.links.is_some();
    if let Some(described) = described.filter(|_| !measured) {
        base.curve = curve_of(&described);
    }
    let runs = || base.serve.iter().map(|(_, run)| run);
    let flight = runs().find_map(|run| run.concurrency_asked);
    // Of engines that are split each batch is looked at.
    let split = args.paper.split.map(|_| 1);
    let flight = flight.map(|flight| flight.round().clamp(1.0, 1e6) as u32);
    let batch = args.batch.or(flight).or(split).unwrap_or(BATCH);
    let each = |given: Option<u32>, all: fn(&ServeRun) -> Option<u64>, usual: f64| {
        let of = |run: &ServeRun| Some(all(run)? as f64 / run.completed as f64);
        let of = |run: &ServeRun| of(run).filter(|of| of.is_finite());
        let known = given.map(f64::from).or_else(|| runs().find_map(of));
        known.unwrap_or(usual)
    };
    let input_tokens = each(args.input_tokens, |run| run.input_tokens, LENGTHS.0);
    let output_tokens = each(args.output_tokens, |run| run.output_tokens, LENGTHS.1);
    Ok(PredictInputs {
        base,
        sizes,
        batch,
        input_tokens,
        output_tokens,
        link,
    })
}

/// The collective times that a box file states, as points of a simulated box.
fn curve_of(described: &BoxFile) -> Vec<CurvePoint> {
    let mut points = Vec::new();
    for table in &described.collective {
        let kind = match table.kind {
            Kind::AllReduce => CollectiveKind::AllReduce,
            Kind::AllGather => CollectiveKind::AllGather,
            Kind::ReduceScatter => continue,
        };
        let own = table.library == CollectiveLibrary::Custom;
        let path = if own {
            CollectivePath::Custom
        } else {
            CollectivePath::Library
        };
        // The library takes the fastest of its tables; another table of the same size gives the same point.
        let curve = Curve::of_box(described, table.ranks);
        let timed = table.points.iter().filter_map(|(bytes, _)| {
            let us = curve.us(kind, path, *bytes)?;
            Some(CurvePoint {
                kind,
                ranks: table.ranks,
                bytes_per_rank: *bytes,
                us,
                low: None,
                high: None,
                n: None,
                mode: Some(CallMode::Graph),
                library: (!own).then(|| DESCRIBED.to_owned()),
                engine: own.then(|| DESCRIBED.to_owned()),
                origin: format!("box file {}", described.name),
                simulated: Some(described.name.clone()),
            })
        });
        let new: Vec<CurvePoint> = timed.filter(|point| !points.contains(point)).collect();
        points.extend(new);
    }
    points
}
