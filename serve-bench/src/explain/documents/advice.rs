//! What to do and what to measure, a line each.

use ::explain::{Advice, Effect, Measure, NextStep, Rule};
use view::Next;

use super::bars::{range, times};

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
    let takes = match of.minutes < 1.5 {
        true => format!("about {:.0} s", of.minutes * 60.0),
        false => format!("about {:.0} min", of.minutes),
    };
    let brings = of.after_ms.map_or_else(String::new, |after| {
        let now = of.now_ms;
        format!(
            ": narrows the interval of communication from {now:.1} ms wide to {after:.1} ms wide"
        )
    });
    Next {
        text: format!("{} ({takes}){brings}.", measure(of.measure)),
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
        true => format!(": at most {:.2}x TP1 while decoding", of.times.high),
        false => format!(": about {} TP1 while decoding", times(&of.times)),
    }
}

fn rule(of: &Rule) -> String {
    match of {
        Rule::Replicas {
            replicas,
            in_flight,
            times: gain,
        } => format!(
            "Compare {replicas} replicas of TP1, {in_flight} in flight in all: about {} the tokens/s of TP{replicas}",
            times(gain)
        ),
        Rule::LibraryToldOff { variable, value } => {
            format!("Unset {variable}={value}: it keeps the library from peer access")
        }
        Rule::CustomAllReduceGated { replicas } => {
            format!("Serve {replicas} replicas of TP2: the engine's own all-reduce is for two GPUs")
        }
        Rule::KernelsFirst { gemm_ms } => {
            let ms = range(gemm_ms, 1);
            format!("Look at kernels first: narrow GEMMs take {ms} ms")
        }
        Rule::LinkTrainedDown { device, now, most } => {
            format!("Bring {device}'s link from {now} to {most}: reseat, check the BIOS")
        }
        Rule::OtherPair { a, b } => format!("Serve on {a} and {b}: their link is faster"),
        Rule::Eager { largest_graph } => match largest_graph {
            Some(largest) => format!("Capture graphs up to this batch (now up to {largest})"),
            None => "Start the servers with graphs, not eager".to_owned(),
        },
        Rule::ThreadsElsewhere { nodes, share } => {
            let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
            let (nodes, share) = (nodes.join(","), share * 100.0);
            format!(
                "Bind the server to NUMA node {nodes}: {share:.0}% of its CPU time is elsewhere"
            )
        }
        Rule::ThroughHost { guest } => match guest {
            true => "Use a host that lets passed-through GPUs reach each other, or bare metal",
            false => "Check ACS and the IOMMU",
        }
        .to_owned(),
        Rule::MigWithoutPeers => {
            "Use whole GPUs, as MIG instances cannot reach each other (tplens p2p checks that)"
                .to_owned()
        }
        Rule::CustomAllReduceByFlag => "Drop --disable-custom-all-reduce".to_owned(),
        Rule::NothingToGain => "Leave the links as they are".to_owned(),
    }
}
