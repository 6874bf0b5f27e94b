//! An ablation as text: what will be run, and what came out.

use std::path::Path;

use explain::{Ablation, Change, LEAST_LAUNCHES, number_of};
use program::Stop;
use program::command_line::quoted;
use tp_plan::Vendor;

use super::collect::{METRICS, metric_in_words};
use super::launch::{self, Measured};
use super::plan::Plan;
use crate::study::serving::assumed;
use crate::study::shell::shell;

/// What is printed for a port that is chosen when the server is started, so that commands run as they are printed.
pub(crate) const PORT: u16 = 8000;

/// What --backend calls host memory.
const HOST: &str = "host";

/// What a change is called.
fn word(change: Change) -> &'static str {
    match change {
        Change::Baseline => "baseline",
        Change::Link => "link",
        Change::Delay => "delay",
        Change::Confounded => "confounded",
        Change::NegativeControl => "control",
    }
}

/// The first line, whatever follows.
fn heading(model: &str, tp: u32, batch: u32, simulated: Option<&str>) -> String {
    let on = simulated.map_or_else(String::new, |name| {
        format!(", simulated on soft box {name}")
    });
    format!("ablation of {model}, TP{tp}, {batch} in flight{on}")
}

/// What is said of a number of launches that tells nothing of the link; empty where it is enough.
pub(super) fn too_few(launches: u32) -> String {
    if launches as usize >= LEAST_LAUNCHES {
        return String::new();
    }
    format!(
        "an arm of fewer than {LEAST_LAUNCHES} launches is left out of the line, so that nothing is told of the link: give --launches {LEAST_LAUNCHES} or more\n"
    )
}

/// The arms, their order, their commands and the time, and what cannot be done.
///
/// # Errors
/// As [`Plan::server`].
pub(super) fn plan(plan: &Plan<'_>, folder: &Path) -> Result<String, Stop> {
    let args = plan.args;
    let soft = plan.place.soft.as_ref();
    let simulated = soft.map(|described| described.name.as_str());
    let mut text = heading(&plan.model.name, args.tp, args.load.concurrency, simulated);
    text.push_str(&format!(
        "\n{} of {} each: {}, seed {}; {} in a step\n",
        number_of(plan.arms.len() as u64, "arm"),
        number_of(args.launches.into(), "launch"),
        number_of(plan.order.len() as u64, "launch"),
        args.seed,
        number_of(plan.count().into(), "all-reduce")
    ));
    text.push_str(&too_few(args.launches));
    if args.engine_python.is_none() && plan.place.own_is_off(args.tp).is_none() {
        text.push_str("the engine's own all-reduce is off in every arm: its time is not known without --engine-python\n");
    }
    let (seconds, is_assumed) = plan.seconds();
    text.push_str(&format!(
        "about {}",
        minutes(seconds * plan.order.len() as f64)
    ));
    text.push_str(&match is_assumed {
        true => format!(", {}\n", assumed()),
        false => ", by the box's own step\n".to_owned(),
    });
    if soft.is_none() && plan.place.around.vendor == Vendor::Host && args.backend != HOST {
        text.push_str("no GPU answers on this machine: the plan is of ranks in its host memory, and takes it that the engine serves on its CPUs; on a machine with GPUs run --plan there, since arms, devices and times are others\n");
    }
    text.push_str("\narms\n");
    for arm in &plan.arms {
        text.push_str(&format!(
            "  {:<22} {:<11} {}\n",
            arm.name,
            word(arm.change()),
            plan.how(arm)
        ));
    }
    if plan.arms.iter().any(|arm| arm.controlled().is_some()) {
        text.push_str("  --arms takes these names but for the controls, which --controls adds, and arms of NUMA nodes always have\n");
    }
    if !plan.refused.is_empty() {
        text.push_str("\nnot possible here\n");
        for (name, reason) in &plan.refused {
            text.push_str(&format!("  {name:<22} {reason}\n"));
        }
    }
    text.push_str("\norder\n");
    for (number, round) in plan.order.chunks(plan.arms.len().max(1)).enumerate() {
        let names: Vec<&str> = round
            .iter()
            .map(|arm| plan.arms[*arm].name.as_str())
            .collect();
        text.push_str(&format!("  round {}: {}\n", number + 1, names.join(", ")));
    }
    text.push_str("\ncommands of each arm's first launch\n");
    for (index, arm) in plan.arms.iter().enumerate() {
        let number = plan.order.iter().position(|at| *at == index).unwrap_or(0);
        let of = folder.join(launch::folder(number, arm));
        let variables = plan.environment(arm, &of).map_err(Stop::Usage)?;
        let before: String = variables
            .iter()
            .map(|(name, value)| format!("{name}={} ", quoted(value.as_ref())))
            .collect();
        let file = |name: &str| soft.is_some().then(|| of.join(name));
        text.push_str(&format!("  {}\n", arm.name));
        if arm.tp > 1 {
            let mut words = Plan::binding(arm);
            words.push("allreduce-bench".to_owned());
            words.extend(plan.bench(arm, file("bench-box.toml").as_deref()));
            text.push_str(&format!("    {before}{}\n", shell(&words)));
        }
        let port = plan.command.as_ref().and_then(|command| command.port());
        let port = port.unwrap_or(PORT);
        let words = plan.server(arm, port, file("engine-box.toml").as_deref())?;
        let words: Vec<String> = measure::record::redacted_arguments(words);
        text.push_str(&format!("    {before}{}\n", shell(&words)));
        let mut words = vec!["serve-bench".to_owned()];
        let url = format!("http://127.0.0.1:{port}");
        words.extend(plan.load().words(&url, arm.tp));
        text.push_str(&format!("    {}\n", shell(&words)));
    }
    Ok(text)
}

/// What was laid against what, below the arms of the slope test.
pub(super) fn result(ablation: &Ablation) -> String {
    let simulated = ablation.simulated.as_deref();
    let step = ablation.step_from.map_or_else(
        || "no launch shows a step".to_owned(),
        |metric| format!("a step is {} of a launch", metric_in_words(metric)),
    );
    format!(
        "{}; {} in a step; {step}\n",
        heading(&ablation.model, ablation.tp, ablation.batch, simulated),
        number_of(ablation.planned.into(), "all-reduce")
    )
}

/// What an arm's launches took, for one line while it runs.
pub(super) fn launched(launch: &Measured) -> String {
    let collective = launch.collective_us.map_or_else(String::new, |range| {
        format!("collectives {} us an all-reduce, ", range.with_decimals(2))
    });
    let step = launch.steps.best().map_or_else(String::new, |mean| {
        format!("step {} ms", mean.ms.with_decimals(3))
    });
    let late = late(launch).map(|why| format!("; kept, and left out of the line: {why}"));
    format!("{collective}{step}{}", late.unwrap_or_default())
}

/// What this machine made of a launch of a soft box; `None` where it was quiet enough.
pub(super) fn late(launch: &Measured) -> Option<String> {
    let shown = METRICS.iter().find_map(|metric| launch.by(*metric))?;
    match (&shown.limited, shown.late_ms) {
        (Some(limited), _) => Some(limited.clone()),
        (None, Some(ms)) if shown.is_late() => {
            Some(format!("{ms:.2} ms of a step are this machine's lateness"))
        }
        (None, _) => None,
    }
}

/// A time as people say it.
pub(crate) fn minutes(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metric_of_the_step_is_named() {
        let ablation = Ablation {
            schema: 1,
            simulated: Some("l40x4".to_owned()),
            model: "m".to_owned(),
            tp: 2,
            batch: 16,
            engine: None,
            planned: 161,
            step_from: Some(explain::StepFrom::Tpot),
            arms: vec![],
        };
        assert_eq!(
            result(&ablation),
            "ablation of m, TP2, 16 in flight, simulated on soft box l40x4; 161 all-reduces in a step; a step is the mean time per output token of a launch\n"
        );
    }

    #[test]
    fn times_are_told_in_the_unit_that_fits() {
        assert_eq!(
            [80.0, 600.0, 9000.0].map(minutes),
            ["80 s", "10 min", "2.5 h"]
        );
    }
}
