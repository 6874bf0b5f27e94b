//! What copies lose to memory of another node, from records of `tplens numa`, with the placement proven.

use std::collections::BTreeMap;

use record::{Numa, NumaPoint, Payload};

use super::held::Held;
use super::judging::Judging;
use super::three_way::Figure;
use super::trouble::{Trouble, of_copy};
use crate::report::{Check, Evidence, ReasonCode};

const KIND: &str = "numa_penalty";

/// The directions that are judged.
const CASES: [&str; 2] = ["h2d_pinned_ce", "d2h_pinned_ce"];

/// Memory that is this much faster far than near is an inversion, which nobody expects (our choice; NVIDIA/nccl issues 1086 and 1130
/// have such boxes).
const INVERSION: f64 = 1.05;

/// Samples by case and node of the memory, the thread being on the device's node.
type Places = BTreeMap<(String, u32), Vec<f64>>;

/// What all records have of one device.
#[derive(Default)]
struct OfDevice {
    home: Option<u32>,
    places: Places,
    trouble: Option<Trouble>,
    source: String,
}

/// One check for each device.
pub(super) fn penalty(judging: &Judging<'_>) -> Vec<Check> {
    let mut devices: BTreeMap<String, OfDevice> = BTreeMap::new();
    for found in &judging.findings.numa {
        let Payload::Numa(numa) = &found.it.payload else {
            continue;
        };
        for point in &numa.points {
            let Some(device) = numa.devices.get(point.device) else {
                continue;
            };
            let of = devices.entry(device.label.clone()).or_default();
            of.home = device.node;
            found.source.clone_into(&mut of.source);
            of.add(numa, point);
        }
    }
    if devices.is_empty() {
        return Vec::new();
    }
    let labels = judging.pool.labels();
    let one = |label: String| match devices.get(&label) {
        Some(of) => of.judged(judging, label),
        None => judging.lacking(KIND, vec![label]),
    };
    labels.into_iter().map(one).collect()
}

impl OfDevice {
    fn add(&mut self, numa: &Numa, point: &NumaPoint) {
        let is_judged =
            CASES.contains(&point.case.as_str()) && numa.copy_bytes == Some(point.bytes);
        let is_here = point.thread_node.is_none() || point.thread_node == self.home;
        if !is_judged || !is_here {
            return;
        }
        if let Some(trouble) = of_copy(&point.outcome) {
            if self.trouble.as_ref().is_none_or(|known| !known.is_fault()) {
                self.trouble = Some(trouble);
            }
            return;
        }
        if let (Some(node), Some(quantity)) = (point.memory_node, point.proven("bandwidth")) {
            let samples = self.places.entry((point.case.clone(), node)).or_default();
            samples.extend(&quantity.samples);
        }
    }

    fn judged(&self, judging: &Judging<'_>, label: String) -> Check {
        let about = vec![label.clone()];
        if let Some(trouble) = self.trouble.as_ref().filter(|trouble| trouble.is_fault()) {
            return judging.troubled(KIND, about, trouble, &self.source);
        }
        let ratios = self.ratios();
        let worst = ratios.iter().min_by(|a, b| a.2.value.total_cmp(&b.2.value));
        let Some((case, node, ratio)) = worst else {
            return self.untold(judging, about);
        };
        let evidence: Vec<Evidence> = ratios
            .iter()
            .map(|(case, node, ratio)| {
                ratio.evidence(
                    format!("{case}: node {node} over the near one"),
                    "1",
                    &self.source,
                )
            })
            .collect();
        let inverted = ratios
            .iter()
            .find(|(_, _, ratio)| ratio.ends.is_some_and(|(low, _)| low > INVERSION));
        if let Some((case, node, ratio)) = inverted {
            let detail = format!("{case}: node {node} is {:.2}x as fast", ratio.value);
            let subject = judging.subject(KIND, about);
            return subject.open(ReasonCode::ConfigMismatch, &detail, None, evidence);
        }
        let what = ("bandwidth of far over near memory", "1");
        let held = Held::new(KIND, about, ratio.clone(), what, &self.source);
        judging.hold(Held {
            more: evidence,
            remark: format!("slowest: {case}, node {node}"),
            ..held.by(judging.row(KIND, None), vec![label])
        })
    }

    /// Far over near, by case and node.
    fn ratios(&self) -> Vec<(String, u32, Figure)> {
        let Some(home) = self.home else {
            return Vec::new();
        };
        let figure = |key: &(String, u32)| Figure::of(self.places.get(key)?.clone());
        let far = self.places.keys().filter(|(_, node)| *node != home);
        far.filter_map(|key| {
            let near = figure(&(key.0.clone(), home))?;
            Some((key.0.clone(), key.1, figure(key)?.over(&near)?))
        })
        .collect()
    }

    /// Why there is no ratio.
    fn untold(&self, judging: &Judging<'_>, about: Vec<String>) -> Check {
        if let Some(trouble) = &self.trouble {
            return judging.troubled(KIND, about, trouble, &self.source);
        }
        let has_far = self.places.keys().any(|(_, node)| Some(*node) != self.home);
        let subject = judging.subject(KIND, about);
        match self.home {
            Some(_) if !self.places.is_empty() && !has_far => {
                subject.skipped(ReasonCode::NotApplicable, "")
            }
            _ => subject.open(
                ReasonCode::Unreadable,
                "placement is not proven",
                None,
                vec![],
            ),
        }
    }
}
