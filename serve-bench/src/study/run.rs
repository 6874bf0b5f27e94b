//! A study from its command line to its exit code: links, collectives of each size, the load on the server of each size, and why.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use program::Stop;
use record::exit;
use runner::run::{Step, check_servers};
use serde_json::json;

use super::subject::{LINKS, Subject, SubjectArgs, check_program, visible};
use crate::explain::{self, CaseArgs, OfSize, Sources};
use crate::planner::{Asker, Servers, words};
use crate::split::study::{ApartArgs, ApartStudy};

/// The settings of a study, in its folder.
const FILE: &str = "study.json";

/// What tplens p2p aims at on real devices, and what a simulated GPU and pair add, s.
const LINKS_S: f64 = 30.0;
const GPU_S: f64 = 1.5;
const PAIR_S: f64 = 0.5;

/// Seconds for the collectives of a size.
const BUDGET_S: f64 = 30.0;

/// The whole chain on this box: links, collectives at the model's sizes, the server started once for each size, load, and why the
/// second GPU gives what it gives. Goes on where it was broken off when started again with the same settings and folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(super) subject: SubjectArgs,

    /// Tensor parallel sizes, ascending; 1 is what the others are compared with. One whose server does not start, as where the weights do
    /// not go into the GPUs' memory, is left out.
    #[arg(long, value_name = "LIST", default_value = "1,2", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) tp: Vec<u32>,

    #[command(flatten)]
    pub(super) apart: ApartArgs,

    #[arg(skip)]
    pub(super) demo: Extras,
}

/// Runs a study, or resumes one, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn run(args: &StudyArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    let subject = &args.subject;
    asker.in_folder(subject.out.as_deref(), "study", |folder| {
        if args.apart.prefill.is_empty() {
            return of_sizes(args, folder, asker);
        }
        let apart = ApartStudy {
            args: &args.apart,
            model: &subject.model,
            load: &subject.load,
            folder,
        };
        apart.run(asker)
    })
}

/// What a demonstration adds to a study.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras {
    /// What the reader must know of how the results were made.
    pub(super) note: Option<String>,
    /// Batches whose messages are timed, and how, where not all up to twice the one that is served in all modes.
    pub(super) collectives: Option<(&'static str, &'static str)>,
    /// Whether it switched the engine's own all-reduce off, because no simulated machine can time it.
    pub(super) off_by_us: bool,
}

/// Runs or resumes the study of tensor parallel sizes.
fn of_sizes(args: &StudyArgs, folder: &Path, asker: &Asker<'_>) -> Result<u8, Stop> {
    let sizes = &args.tp[..];
    if !sizes.is_sorted_by(|a, b| a < b) || (sizes.len() > 1 && sizes[0] != 1) {
        return Err(Stop::Usage(
            "--tp must name each size once, ascending, several with 1, which the others are compared with, such as 1,2".to_owned(),
        ));
    }
    let subject = Subject::new(&args.subject, sizes)?;
    let steps = steps(&subject, (sizes, &args.demo), folder)?;
    check_servers(&steps, folder)?;
    let needs = |step: &Step| step.needs.is_some() && step.done(folder).is_none();
    if steps.iter().any(needs) {
        check_program(&subject.args.server)?;
    }
    let settings = subject.args.settings(json!({"tp": sizes}));
    let mut run = asker.open(folder, ("a study", FILE), &settings)?;
    let mut notes: Vec<String> = args.demo.note.iter().cloned().collect();
    notes.iter().for_each(|note| (asker.say)(note));
    let (mut codes, mut done) = (Vec::new(), Vec::new());
    asker.expect(&mut run, &steps);
    let ends = asker.tried(&mut run, &steps, &mut Servers::default())?;
    for (step, end) in steps.iter().zip(ends) {
        done.extend(end.is_ok().then_some(&step.name));
        codes.push(end.as_ref().map_or(exit::INCONCLUSIVE, |end| end.code));
        let note = |lost: String| format!("{} is left out: {lost}", step.name);
        notes.extend(end.err().map(note));
    }
    let served = sizes.iter().copied();
    let served: Vec<u32> = served
        .filter(|tp| done.contains(&&of("serve", *tp)))
        .collect();
    if served.is_empty() {
        return Err(Stop::Refused(notes.join("; ").into()));
    }
    let path = |name: String| done.contains(&&name).then(|| folder.join(name));
    let flags = subject.command.flags();
    // What others print is not read.
    let logs_are_read = matches!(subject.command.known, Some("vllm" | "sglang"));
    // Each size: its own runs beside that of one GPU, and its server's log.
    let of_size = |tp: u32| {
        let own = served.iter().copied().filter(|of| *of == 1 || *of == tp);
        let logs = own.clone().map(|tp| folder.join(of("server", tp) + ".log"));
        OfSize {
            tp,
            logs: logs.filter(|log| logs_are_read && log.exists()).collect(),
            sources: Sources {
                model: Some(subject.args.model.clone()),
                case: CaseArgs {
                    allreduce: path(of("allreduce", tp)).into_iter().collect(),
                    links: path(LINKS.to_owned()),
                    engine: flags,
                    ..CaseArgs::default()
                },
                note: (!notes.is_empty()).then(|| notes.join(" ")),
                sim: subject.args.sim.clone(),
                off_by_us: args.demo.off_by_us,
                serving: own
                    .map(|tp| (Some(tp), folder.join(of("serve", tp))))
                    .collect(),
                ..Sources::default()
            },
        }
    };
    let explained = served.iter().copied();
    let explained = explained.filter(|tp| *tp > 1 || served.len() == 1);
    let explained: Vec<OfSize> = explained.map(of_size).collect();
    let of_study = explain::of_study(&explained, folder, asker.show, asker.say);
    codes.push(of_study?);
    asker.tell_where(folder, &folder.join(explain::PAGE));
    Ok(exit::fold(codes))
}

/// All steps in their order.
///
/// # Errors
/// Devices that do not suffice, or that a server cannot be shown.
fn steps(
    subject: &Subject<'_>,
    (sizes, extras): (&[u32], &Extras),
    folder: &Path,
) -> Result<Vec<Step>, Stop> {
    let load = &subject.args.load;
    let largest = sizes.last().copied().unwrap_or(1);
    let gpus = f64::from(largest);
    let seconds = match &subject.simulated {
        Some(_) => gpus * GPU_S + gpus * (gpus - 1.0) * PAIR_S,
        None => LINKS_S,
    };
    let arguments = vec!["--gpus".to_owned(), subject.devices(largest)?];
    let mut steps = vec![subject.measured(LINKS.to_owned(), "p2p", arguments, seconds)];
    for tp in sizes.iter().copied().filter(|tp| *tp > 1) {
        let devices = (subject.devices(tp)?, tp);
        let (batches, modes) = match extras.collectives {
            Some((batches, modes)) => (batches.to_owned(), Some(modes)),
            None => (batches(load.concurrency), None),
        };
        let mut step = subject.collectives(of("allreduce", tp), devices, batches, BUDGET_S);
        let modes = words(modes.map(|modes| ("--modes", modes.to_owned())));
        step.arguments.extend(modes);
        steps.push(step);
    }
    for tp in sizes.iter().copied() {
        let server = (format!("server tp{tp}"), subject.command.for_size(tp));
        let log = folder.join(of("server", tp) + ".log");
        let environment = environment(subject, tp)?;
        steps.push(subject.serving(of("serve", tp), tp, server, environment, log));
    }
    Ok(steps)
}

/// What a server sees of the devices: those of its size, where they were named.
fn environment(subject: &Subject<'_>, tp: u32) -> Result<Vec<(OsString, OsString)>, Stop> {
    const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
    let args = subject.args;
    if args.gpus.is_none() || args.sim.is_some() {
        return Ok(Vec::new());
    }
    let devices = visible(&subject.devices(tp)?, VARIABLE)?;
    Ok(vec![(VARIABLE.into(), devices.into())])
}

/// The name of what belongs to a size.
fn of(what: &str, tp: u32) -> String {
    format!("{what}-tp{tp}")
}

/// Batches whose message sizes are measured: powers of two on both sides of the one that is served, so that there is a curve.
fn batches(concurrency: u32) -> String {
    let most = concurrency.saturating_mul(2).max(64);
    let powers = std::iter::successors(Some(1u32), |batch| batch.checked_mul(2));
    let powers = powers.take_while(|batch| *batch <= most);
    let batches: std::collections::BTreeSet<u32> = powers.chain([concurrency]).collect();
    let words: Vec<String> = batches.iter().map(u32::to_string).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_that_is_served_is_among_those_that_are_measured() {
        assert_eq!(batches(16), "1,2,4,8,16,32,64");
        // Twice 100 is 200; powers of two up to it, and 100 itself.
        assert_eq!(batches(100), "1,2,4,8,16,32,64,100,128");
    }
}
