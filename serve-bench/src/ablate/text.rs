//! An ablation as text: what will be run, and what came out.

use std::path::Path;

use explain::{Ablation, Change, Range};
use measure::stats::over_launches;
use program::Stop;
use program::command_line::quoted;

use super::launch;
use super::plan::{Plan, assumed};

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

/// The arms, their order, their commands and the time, and what cannot be done.
///
/// # Errors
/// As [`Plan::server`].
pub(super) fn plan(plan: &Plan<'_>, folder: &Path) -> Result<String, Stop> {
    let args = plan.args;
    let soft = plan.place.soft.as_ref();
    let simulated = soft.map(|described| described.name.as_str());
    let mut text = heading(&plan.model.name, args.tp, args.concurrency, simulated);
    text.push_str(&format!(
        "\n{} arms of {} launches each: {} launches, seed {}; {} all-reduces in a step\n",
        plan.arms.len(),
        args.launches,
        plan.order.len(),
        args.seed,
        plan.count()
    ));
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
    text.push_str("\narms\n");
    for arm in &plan.arms {
        text.push_str(&format!(
            "  {:<22} {:<11} {}\n",
            arm.name,
            word(arm.change()),
            plan.how(arm)
        ));
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
        // The port is chosen when it is started.
        let port = plan.command.as_ref().and_then(|command| command.port());
        let words = plan.server(arm, port.unwrap_or(0), file("engine-box.toml").as_deref())?;
        let words: Vec<String> = measure::record::redacted_arguments(words);
        text.push_str(&format!("    {before}{}\n", shell(&words)));
        let mut words = vec!["serve-bench".to_owned()];
        words.extend(plan.load().words("URL", arm.tp));
        text.push_str(&format!("    {}\n", shell(&words)));
    }
    Ok(text)
}

fn shell(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// What came out: a row an arm.
pub(super) fn result(ablation: &Ablation) -> String {
    let simulated = ablation.simulated.as_deref();
    let mut text = heading(&ablation.model, ablation.tp, ablation.batch, simulated);
    text.push_str(&format!(
        "; {} all-reduces in a step\nmedian over launches [90% interval of a single launch; with several the lowest and highest launch]\n\n",
        ablation.planned
    ));
    text.push_str(&format!(
        "{:<22} {:<11} {:>3}  {:<24} step ms\n",
        "arm", "change", "n", "collective us"
    ));
    for arm in &ablation.arms {
        let collective: Option<Vec<Range>> = arm
            .launches
            .iter()
            .map(|launch| launch.collective_us)
            .collect();
        let steps: Vec<Range> = arm.launches.iter().map(|launch| launch.step_ms).collect();
        text.push_str(
            format!(
                "{:<22} {:<11} {:>3}  {:<24} {:<24}",
                arm.name,
                word(arm.change),
                arm.launches.len(),
                collective
                    .and_then(|of| spread(&of, 2))
                    .unwrap_or_else(|| "-".to_owned()),
                spread(&steps, 3).unwrap_or_else(|| "-".to_owned()),
            )
            .trim_end(),
        );
        text.push('\n');
    }
    text
}

/// The median of launches and how far they lie apart; of one launch its own interval.
fn spread(launches: &[Range], decimals: usize) -> Option<String> {
    if let [one] = launches {
        return Some(one.with_decimals(decimals));
    }
    let mids: Vec<f64> = launches.iter().map(|range| range.mid).collect();
    let mid = over_launches(&mids)?.value;
    let low = mids.iter().copied().fold(f64::INFINITY, f64::min);
    let high = mids.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Range { low, mid, high }.with_decimals(decimals))
}

/// What an arm's launches took, for one line while it runs.
pub(super) fn launched(launch: &explain::Launch) -> String {
    let collective = launch.collective_us.map_or_else(String::new, |range| {
        format!("collectives {} us an all-reduce, ", range.with_decimals(2))
    });
    format!("{collective}step {} ms", launch.step_ms.with_decimals(3))
}

/// A time as people say it.
pub(super) fn minutes(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use explain::Arm as Kept;

    use super::*;

    fn launch(order: u32, us: Option<f64>, ms: f64) -> explain::Launch {
        let around = |mid: f64| Range {
            low: mid * 0.9,
            mid,
            high: mid * 1.1,
        };
        explain::Launch {
            order,
            collective_us: us.map(around),
            step_ms: around(ms),
            steps: 1000,
            folder: None,
        }
    }

    #[test]
    fn a_row_has_the_median_and_the_range_of_its_launches() {
        let arm = |name: &str, change, launches| Kept {
            name: name.to_owned(),
            change,
            how: String::new(),
            control_of: None,
            launches,
        };
        let ablation = Ablation {
            schema: 1,
            simulated: Some("l40x4".to_owned()),
            model: "m".to_owned(),
            tp: 2,
            batch: 16,
            engine: None,
            planned: 161,
            arms: vec![
                arm(
                    "baseline",
                    Change::Baseline,
                    vec![
                        launch(0, Some(20.0), 30.0),
                        launch(3, Some(24.0), 31.0),
                        launch(4, Some(21.0), 33.0),
                    ],
                ),
                arm(
                    "tp1-baseline",
                    Change::NegativeControl,
                    vec![launch(1, None, 50.0)],
                ),
            ],
        };
        let text = result(&ablation);
        assert!(
            text.starts_with(
                "ablation of m, TP2, 16 in flight, simulated on soft box l40x4; 161 all-reduces"
            ),
            "{text}"
        );
        // Medians of 20, 24, 21 and of 30, 31, 33.
        let rows: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(
            rows.contains(
                &"baseline baseline 3 21.00 [20.00, 24.00] 31.000 [30.000, 33.000]".to_owned()
            ),
            "{text}"
        );
        // One launch: its own interval, a tenth to each side.
        assert!(
            rows.contains(&"tp1-baseline control 1 - 50.000 [45.000, 55.000]".to_owned()),
            "{text}"
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
