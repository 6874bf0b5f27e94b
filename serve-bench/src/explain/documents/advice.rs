//! What to do and what to measure, a line each.

use ::explain::{Advice, Effect, Measure, NextStep, Rule};
use view::Next;

use super::bars::{range, takes, times};

/// Advice and measurements for the screen at most.
const SHOWN: (usize, usize) = (1, 2);

/// What to do next: the best measurement where communication was not measured, then advice.
pub(super) fn next(advice: &[Advice], steps: &[NextStep], measure: bool) -> Vec<Next> {
    let steps = steps.iter().filter(|_| measure).take(SHOWN.0).map(step);
    let advice = advice.iter().take(SHOWN.1).map(advised);
    steps.chain(advice).collect()
}

/// A measurement with its command.
pub(super) fn step(of: &NextStep) -> Next {
    let brings = of.after_ms.map_or_else(String::new, |after| {
        let now = of.now_ms;
        format!(": communication's interval from {now:.1} to {after:.1} ms")
    });
    Next {
        text: format!("{} ({}){brings}.", measure(of.measure), takes(of.minutes)),
        command: of.command.clone(),
    }
}

fn measure(of: Measure) -> &'static str {
    match of {
        Measure::Shard => "Run the 1/N shard on one GPU",
        Measure::Stream => "Serve both sizes without a prefix cache, with a stream",
        Measure::Repeats => "Start each server five times, in turn",
        Measure::Ablation => "Vary the link (ablate)",
        Measure::Curve => "Time the all-reduce at the model's sizes",
    }
}

/// Advice with its command.
pub(super) fn advised(of: &Advice) -> Next {
    let effect = of.effect.as_ref().map_or_else(String::new, effect);
    Next {
        text: format!("{}{effect}.", rule(&of.rule)),
        command: of.command.clone(),
    }
}

fn effect(of: &Effect) -> String {
    match of.at_most {
        true => format!(": at most {:.2}x TP1", of.times.high),
        false => format!(": about {} TP1", times(&of.times)),
    }
}

/// Why peer access may be denied, by what was seen on the way.
fn way(redirects: bool, translates: bool) -> &'static str {
    match (redirects, translates) {
        (true, true) => "Switch off ACS redirection, set iommu=pt",
        (true, false) => "Switch off ACS redirection between the GPUs",
        (false, true) => "Set the IOMMU to pass-through (iommu=pt)",
        (false, false) => "Check ACS and the IOMMU",
    }
}

fn rule(of: &Rule) -> String {
    let text = match of {
        Rule::Replicas {
            replicas,
            in_flight,
            ..
        } => {
            return format!(
                "Compare {replicas} replicas of TP1, {in_flight} in flight in all: longer steps, no all-reduce"
            );
        }
        Rule::LibraryToldOff { variable, value } => {
            return format!("Unset {variable}={value}: it keeps the library from peer access");
        }
        Rule::CustomAllReduceGated { replicas } => {
            return format!(
                "Serve {replicas} replicas of TP2: the engine's own all-reduce is for two GPUs"
            );
        }
        Rule::KernelsFirst { gemm_ms } => {
            return format!(
                "Look at kernels first: narrow GEMMs take {} ms",
                range(gemm_ms, 1)
            );
        }
        Rule::LinkTrainedDown { device, now, most } => {
            return format!("Bring {device}'s link from {now} to {most}: reseat, check the BIOS");
        }
        Rule::OtherPair { a, b } => return format!("Serve on {a} and {b}: their link is faster"),
        Rule::Eager {
            largest_graph: Some(largest),
        } => {
            return format!("Capture graphs up to this batch (now up to {largest})");
        }
        Rule::ThreadsElsewhere { nodes, share } => {
            let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
            let (nodes, share) = (nodes.join(","), share * 100.0);
            return format!(
                "Bind the server to NUMA node {nodes}: {share:.0}% of its CPU time is elsewhere"
            );
        }
        Rule::ThroughHost { guest: true, .. } => {
            "Use a host that lets passed-through GPUs reach each other, or bare metal"
        }
        Rule::ThroughHost {
            redirects,
            translates,
            ..
        } => way(*redirects, *translates),
        Rule::MigWithoutPeers => "Use whole GPUs: MIG instances cannot reach each other",
        Rule::CustomAllReduceByFlag => "Drop --disable-custom-all-reduce",
        Rule::Eager {
            largest_graph: None,
        } => "Start the servers with graphs, not eager",
        Rule::NothingToGain => "Leave the links as they are",
    };
    text.to_owned()
}
