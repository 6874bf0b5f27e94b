//! An ablation from its command line to its exit code.
//!
//! What is known is in the folders of the launches: an ablation that was broken off reads them again, and resumes the launch that is
//! missing.

use std::path::Path;

use explain::{Ablation, Arm as Kept};
use program::Stop;
use program::command_line::quoted;
use record::{Payload, exit};
use runner::run::{Run, complete, set_aside};
use tp_plan::Surroundings;
use view::{Document, Item, Next, Tone};

use super::collect;
use super::plan::{AblateArgs, Plan, all_reduces};
use crate::explain::{boxes, slope_of};
use crate::json;
use crate::planner::{Asker, Servers, usage, whole};
use crate::study::subject::{LINKS, Subject, check_program};

/// The arms with what their launches measured.
const FILE: &str = "ablation.json";

/// The settings of an ablation, in its folder.
const SETTINGS: &str = "settings.json";

/// The version of its form.
const SCHEMA: u32 = 1;

/// Seconds that a look at the machine takes, about.
const LOOK_S: f64 = 5.0;

/// Runs an ablation, or goes on with one, and gives the exit code.
///
/// # Errors
/// What ended it; the launches that were whole are in its folder.
pub(crate) fn run(args: &AblateArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    if args.subject.sim.is_some() && !args.subject.server.is_empty() {
        let why = "--sim starts the embedded engine: leave the server command out";
        return Err(Stop::Usage(why.to_owned()));
    }
    let subject = Subject::new(&args.subject, &[args.tp])?;
    subject.devices(args.tp)?;
    check_program(&args.subject.server)?;
    asker.in_folder(args.subject.out.as_deref(), "ablation", |folder| {
        let open = || asker.open(folder, ("an ablation", SETTINGS), &args.settings());
        // What a simulated machine refuses is refused before there is a folder.
        let (plan, run) = match &subject.simulated {
            Some(described) => {
                let around = engine::surroundings(described, args.tp).map_err(usage("--sim"))?;
                (Plan::new(args, subject, &around)?, open()?)
            }
            None => {
                let mut run = open()?;
                let around = look(&subject, args.tp, &mut run)?;
                (Plan::new(args, subject, &around)?, run)
            }
        };
        for (name, reason) in &plan.refused {
            (asker.say)(&format!("without {name}: {reason}"));
        }
        if args.launches < 3 {
            (asker.say)("fewer than 3 launches an arm decide nothing");
        }
        all(&plan, folder, run, asker)
    })
}

/// Looks at this machine's devices and who reaches whom, as a step of the run: a look, not a measurement, with one small case and as few
/// samples as make a number. Every pair is probed whatever the cases are.
fn look(subject: &Subject<'_>, tp: u32, run: &mut Run<'_>) -> Result<Surroundings, Stop> {
    let few = "--cases local_ce --sizes 1M --samples 6 --budget 1 --gpus";
    let mut arguments: Vec<String> = few.split(' ').map(str::to_owned).collect();
    arguments.push(subject.devices(tp)?);
    let step = subject.measured(LINKS.to_owned(), "p2p", arguments, LOOK_S);
    let folder = run.step(&step)?.folder;
    let origin = folder.display().to_string();
    let around = match complete(&folder).map(|record| record.payload) {
        Some(Payload::Links(links)) => {
            boxes::measured(&links, tp, None, "measured".to_owned(), origin)
        }
        _ => Err(format!("{origin} holds no links of tplens p2p")),
    };
    let (around, _) = around.map_err(|why| Stop::Refused(why.into()))?;
    Ok(around)
}

fn all(plan: &Plan<'_>, folder: &Path, mut run: Run<'_>, asker: &Asker<'_>) -> Result<u8, Stop> {
    let mut steps = Vec::new();
    for launch in &plan.launches {
        let own = plan.steps(launch, folder)?;
        let is_done = own.iter().all(|step| step.done(folder).is_some());
        let is_begun = own.iter().any(|step| folder.join(&step.name).exists());
        if is_begun && (!is_done || collect::launch(plan, launch, folder).is_err()) {
            // What was broken off, or says nothing, is done again as a whole: its two steps belong together.
            set_aside(&folder.join(&launch.name))?;
        }
        plan.write_boxes(launch, folder)?;
        steps.extend(own);
    }
    run.expect(&steps);
    let (mut missing, mut servers) = (Vec::new(), Servers::default());
    let mut ablation = ablation(plan);
    let file = folder.join(FILE);
    // What is there comes first: a signal then leaves it all in the file.
    let mut launches: Vec<_> = plan.launches.iter().zip(steps.chunks(2)).collect();
    launches.sort_by_key(|(_, own)| own.iter().any(|step| step.done(folder).is_none()));
    for (launch, own) in launches {
        // With its server ends what the delay library writes.
        let ends = asker.tried(&mut run, own, &mut servers)?;
        let lost = ends.into_iter().find_map(Result::err);
        let say = |why: &String| (asker.say)(&format!("{} says nothing: {why}", launch.name));
        let one = match lost {
            Some(lost) => Err(lost),
            None => collect::launch(plan, launch, folder).inspect_err(say),
        };
        match one {
            Ok(one) => ablation.arms[launch.arm].launches.push(one),
            Err(reason) => missing.push(format!("{}: {reason}", launch.name)),
        }
        json::write(&file, &of_launches(&ablation))?;
    }
    let ablation = of_launches(&ablation);
    let (document, decided) = slope_of(&ablation);
    let document = completed(document, &ablation, &missing, &file);
    let whole = whole(missing.is_empty());
    Ok(exit::fold([asker.show.print(&document), whole, decided]))
}

/// The arms that have launches.
fn of_launches(ablation: &Ablation) -> Ablation {
    let mut ablation = ablation.clone();
    ablation.arms.retain(|arm| !arm.launches.is_empty());
    for arm in &mut ablation.arms {
        arm.launches.sort_by_key(|one| one.order);
    }
    ablation
}

/// An ablation without launches; what the slope test compares the others with comes first.
fn ablation(plan: &Plan<'_>) -> Ablation {
    let subject = &plan.subject;
    let engine = plan.facts.describe();
    let arms = plan.arms.iter().map(|arm| Kept {
        name: arm.name.clone(),
        change: arm.row.change,
        how: plan.how(arm),
        launches: Vec::new(),
    });
    Ablation {
        schema: SCHEMA,
        model: subject.model.name.clone(),
        tp: plan.args.tp,
        batch: subject.args.load.concurrency,
        engine: match subject.simulated.is_some() {
            true => Some(format!("{}{engine}", explain::EMBEDDED)),
            false => subject.command.known.is_some().then_some(engine),
        },
        simulated: subject.simulated.as_ref().map(|of| of.name.clone()),
        planned: all_reduces(&plan.step),
        step_from: Some(explain::StepFrom::DecodeGap),
        arms: arms.collect(),
    }
}

/// Makes of the document of the slope test that of an ablation; `missing` are the launches that say nothing, with their reasons.
fn completed(
    mut document: Document,
    ablation: &Ablation,
    missing: &[String],
    file: &Path,
) -> Document {
    let launches: usize = ablation.arms.iter().map(|arm| arm.launches.len()).sum();
    document.title = format!("Ablation of {}", ablation.model);
    document.simulated.clone_from(&ablation.simulated);
    document.answer.insert(0, format!(
        "{} TP{}, {} in flight: {launches} launches of {} arms; a step is the mean gap while every slot decodes.",
        ablation.model,
        ablation.tp,
        ablation.batch,
        ablation.arms.len()
    ));
    document.next.push(Next::by(
        "explain results of runs with it.",
        format!("tplens explain ... --ablation {}", quoted(file.as_os_str())),
    ));
    if let Some(first) = missing.first() {
        let text = format!("{} launches missing, the first {first}", missing.len());
        let item = Item::of(Tone::Warning, text).coded("launch-missing");
        document.findings.insert(0, item);
        let again = "run the same command again: it tries what is missing.";
        document.next.insert(0, Next::plain(again));
        if document.tone == Tone::Good {
            document.tone = Tone::Warning;
        }
    }
    document
}
