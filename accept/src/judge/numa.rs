//! What copies lose to memory of another node, from records of `tplens numa`, with the placement proven.

use std::collections::BTreeMap;

use record::{Numa, NumaPoint, Payload};

use super::judging::Judging;
use super::trouble::of_copy;
use crate::report::{Came, Check, Measured, ReasonCode};

const KIND: &str = "numa_penalty";

/// The directions that are judged.
const CASES: [&str; 2] = ["h2d_pinned_ce", "d2h_pinned_ce"];

/// Memory that is this much faster far than near is an inversion, which nobody expects (our choice; NVIDIA/nccl issues 1086 and 1130
/// have such boxes).
const INVERSION: f64 = 1.05;

/// What all records have of one device.
#[derive(Default)]
struct OfDevice<'a> {
    home: Option<u32>,
    /// Samples by case and node of the memory, the thread being on the device's node.
    places: BTreeMap<(&'a str, u32), Vec<f64>>,
    trouble: Option<Came>,
    source: &'a str,
}

/// One check for each device.
pub(super) fn penalty(judging: &Judging<'_>) -> Vec<Check> {
    let mut devices: BTreeMap<&str, OfDevice<'_>> = BTreeMap::new();
    for found in &judging.findings.numa {
        let Payload::Numa(numa) = &found.it.payload else {
            continue;
        };
        for point in &numa.points {
            let Some(device) = numa.devices.get(point.device) else {
                continue;
            };
            let of = devices.entry(&device.label).or_default();
            (of.home, of.source) = (device.node, &found.source);
            of.add(numa, point);
        }
    }
    if devices.is_empty() {
        return Vec::new();
    }
    judging.each(KIND, |device| {
        let label = &*device.it.label;
        let own = devices.get(label);
        own.map_or_else(|| judging.lacking(KIND), |of| of.judged(judging, label))
    })
}

impl<'a> OfDevice<'a> {
    fn add(&mut self, numa: &Numa, point: &'a NumaPoint) {
        let is_judged = CASES.contains(&&*point.case) && numa.copy_bytes == Some(point.bytes);
        let is_here = point.thread_node.is_none() || point.thread_node == self.home;
        if !is_judged || !is_here {
            return;
        }
        if let Some(trouble) = of_copy(&point.outcome) {
            if self.trouble.as_ref().is_none_or(|known| !known.is_fault()) {
                self.trouble = Some(trouble);
            }
        } else if let (Some(node), Some(quantity)) = (point.memory_node, point.proven("bandwidth"))
        {
            let samples = self.places.entry((&point.case, node)).or_default();
            samples.extend(&quantity.samples);
        }
    }

    fn judged(&self, judging: &Judging<'_>, label: &str) -> Came {
        let fault = self.trouble.clone().filter(Came::is_fault);
        let ratios = self.ratios();
        let worst = ratios.iter().min_by(|a, b| a.2.value.total_cmp(&b.2.value));
        let (case, node, ratio) = match (fault, worst) {
            (Some(fault), _) => return fault,
            (None, None) => return self.untold(),
            (None, Some(worst)) => worst,
        };
        let evidence = || ratios.iter().map(|(_, _, ratio)| ratio.clone());
        let is_inverted =
            |(_, _, ratio): &&(&str, u32, Measured)| ratio.low.is_some_and(|low| low > INVERSION);
        if let Some((case, node, ratio)) = ratios.iter().find(is_inverted) {
            let detail = format!("{case}: node {node} is {:.2}x as fast", ratio.value);
            let open = Came::open(ReasonCode::ConfigMismatch);
            return open.saying(detail).with(evidence());
        }
        let ratio = ratio.clone().named("bandwidth of far over near memory");
        let came = judging.hold(judging.row(KIND, None), ratio, &[label]);
        came.saying(format!("slowest: {case}, node {node}"))
            .with(evidence())
    }

    /// Far over near, by case and node.
    fn ratios(&self) -> Vec<(&'a str, u32, Measured)> {
        let figure = |key: &(&'a str, u32)| Measured::of(self.places.get(key)?.clone());
        let far = self.places.keys().filter_map(|key| {
            let (case, node) = *key;
            let home = self.home.filter(|home| *home != node)?;
            let ratio = figure(key)?.over(&figure(&(case, home))?)?;
            let ratio = ratio.named(format!("{case}: node {node} over the near one"));
            Some((case, node, ratio.in_unit("1", self.source)))
        });
        far.collect()
    }

    /// Why there is no ratio.
    fn untold(&self) -> Came {
        let is_near = |(_, node): &(&str, u32)| Some(*node) == self.home;
        let are_near = !self.places.is_empty() && self.places.keys().all(is_near);
        match (&self.trouble, self.home) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) if are_near => Came::skip(ReasonCode::NotApplicable),
            _ => Came::open(ReasonCode::Unreadable).saying("placement is not proven"),
        }
    }
}
