//! What `tplens p2p load` found: whether memory kept what was written, and whether sums came out right.
//!
//! Its rates are not judged: they are those of a device that does both at once, with copies beside them.

use std::collections::BTreeMap;

use super::judging::{Judging, seen_times};
use super::pool::Pooled;
use crate::report::Check;

/// One check for each device that was loaded: the worst of all loads.
pub(super) fn loaded(judging: &Judging<'_>, kind: &str, case: &str) -> Vec<Check> {
    let mut devices: BTreeMap<&String, Vec<&Pooled>> = BTreeMap::new();
    for ((of, from, ..), pooled) in &judging.pool.points {
        if of == case {
            devices.entry(from).or_default().push(pooled);
        }
    }
    let one = |(label, loads): (&String, Vec<&Pooled>)| {
        let troubles = loads
            .iter()
            .filter_map(|load| Some((load.trouble.as_ref()?, load)));
        if let Some((trouble, load)) =
            troubles.max_by_key(|(trouble, _)| trouble.verdict.severity())
        {
            return judging.troubled(kind, vec![label.clone()], trouble, &load.source());
        }
        let n = loads.iter().map(|load| load.measured).sum();
        let all = "all right";
        let evidence = seen_times(n, "loads compared", all, Some(all.to_owned()), "the soak");
        judging.pass(kind, label, evidence)
    };
    devices.into_iter().map(one).collect()
}
