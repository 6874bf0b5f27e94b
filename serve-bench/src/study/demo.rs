//! `serve-bench demo`: studies of soft boxes with the embedded engine, each with a time that is stated before it begins.
//!
//! What is stated is worked out from the box file and held against the clock at the end. Nothing is measured in this process.

mod load;
mod plan;
pub(super) mod times;

use std::path::PathBuf;
use std::time::Instant;

use boxfile::builtin_names;
use clap::Args;
use measure::exit;
use program::{Stop, outputs, result_folder};
use supervisor::Interrupt;

use self::plan::Plan;
use super::{again, own_words, tell_again};

/// A study on a soft box with the embedded engine: shows what a study gives, on any machine. Goes on where it was broken off when
/// started again with the same box and --out.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// The soft box: a built-in name, a box file, or `all` for every built-in one [default: rtxpro6000-mig]
    #[arg(long = "box", value_name = "BOX")]
    box_name: Option<String>,

    /// The model [default: the first of qwen2.5-72b-fp8, qwen3-14b and llama-3.1-8b that one GPU of the box holds]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Change the link of the server, too, at each size, to see whether its step follows: an ablation.
    #[arg(long)]
    full: bool,

    /// Print boxes, models, sizes and times, and what does not apply to which box; run nothing.
    #[arg(long)]
    list: bool,

    /// Folder of the study, of several boxes with one in it for each. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The box of a demonstration that names none.
const DEFAULT: &str = "rtxpro6000-mig";

/// The name of every built-in box.
const ALL: &str = "all";

/// Runs the demonstrations that are asked for, or lists them, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn demo(args: &DemoArgs, interrupt: &Interrupt, say: &dyn Fn(&str)) -> Result<u8, Stop> {
    let wanted = match args.box_name.as_deref() {
        None if args.list => ALL,
        None => DEFAULT,
        Some(name) => name,
    };
    let names = match wanted {
        ALL => builtin_names(),
        one => vec![one],
    };
    let (mut plans, mut codes) = (Vec::new(), Vec::new());
    for name in &names {
        match Plan::new(name, args.model.as_deref()) {
            Ok(plan) => plans.push(plan),
            Err(stop) if names.len() == 1 => return Err(stop),
            Err(stop) => codes.push(outputs::stopped(&stop)),
        }
    }
    if args.list {
        codes.push(outputs::print(&list(&plans)));
        return Ok(exit::fold(codes));
    }
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| result_folder(None, "demo"));
    let unnamed = args.out.is_none().then_some(&*folder);
    // Said now, because what is killed says nothing.
    let goes_on = again(own_words(), unnamed);
    say(&format!(
        "if it is broken off, this goes on with it: {goes_on}"
    ));
    let mut ended = Vec::new();
    for plan in &plans {
        let own = match names.len() {
            1 => folder.clone(),
            _ => folder.join(&plan.described.name),
        };
        let begun = Instant::now();
        let code = match plan.run(&own, args.full, interrupt, say) {
            Ok(code) => code,
            Err(stop @ Stop::Interrupted(_)) => {
                tell_again(unnamed, say);
                return Err(stop);
            }
            Err(stop) if names.len() == 1 => return Err(stop),
            Err(stop) => outputs::stopped(&stop),
        };
        ended.push((plan, begun.elapsed(), code));
    }
    if names.len() > 1 {
        say(&format!("all of it is in {}", folder.display()));
        for (plan, took, code) in &ended {
            let (name, took) = (&plan.described.name, took.as_secs());
            let stated = plan.stated(args.full);
            say(&format!(
                "  {name:<16} stated {stated:>4} s, took {took:>4} s, exit code {code}"
            ));
        }
    }
    codes.extend(ended.iter().map(|(_, _, code)| *code));
    Ok(exit::fold(codes))
}

/// Boxes with what is run on each and how long it takes.
fn list(plans: &[Plan]) -> String {
    let mut text = format!(
        "{:<16} {:>4}  {:<16} {:<8} {:>6} {:>8}\n",
        "box", "GPUs", "model", "TP", "demo s", "--full s"
    );
    for plan in plans {
        let sizes: Vec<String> = plan.sizes.iter().map(u32::to_string).collect();
        text.push_str(&format!(
            "{:<16} {:>4}  {:<16} {:<8} {:>6} {:>8}\n",
            plan.described.name,
            plan.described.device.len(),
            plan.model,
            sizes.join(","),
            plan.stated(false),
            plan.stated(true)
        ));
    }
    text.push_str(
        "seconds are stated for two cores that do little else; all figures are simulated\n",
    );
    // A line that holds for several boxes is told once.
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for plan in plans {
        let name = plan.described.name.as_str();
        for line in plan.remarks.iter().chain(&plan.left_out) {
            match told.iter_mut().find(|(of, _)| of == line) {
                Some((_, boxes)) => boxes.push(name),
                None => told.push((line, vec![name])),
            }
        }
    }
    for (line, boxes) in told {
        let of = match boxes.len() == plans.len() {
            true if plans.len() > 1 => "all boxes".to_owned(),
            _ => boxes.join(", "),
        };
        text.push_str(&format!("{of}: {line}\n"));
    }
    text
}
