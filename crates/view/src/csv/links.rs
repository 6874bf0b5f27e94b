//! The numbers of a `tplens p2p` record.

use super::cell::{
    Column, high, low, outcome, run, shown, simulated, table, verification, word_of,
};
use crate::ends::label;
use record::quantity::{Quantity, Timing};
use record::{
    Endpoint, LinkUse, Links, NamedQuantity, Outcome, Point, Record, Verification, stream,
};

/// One number of a point, or a point without one.
struct Line<'a> {
    record: &'a Record,
    links: &'a Links,
    point: &'a Point,
    named: Option<&'a NamedQuantity>,
}

/// One line for each number, a header line first.
pub(super) fn lines(record: &Record, links: &Links) -> String {
    let columns: [Column<Line<'_>>; 21] = [
        ("case", |of| of.point.case.clone()),
        ("quantity", Line::quantity),
        ("from", |of| label(of.links, of.ends().0)),
        ("to", |of| label(of.links, of.ends().1)),
        ("bytes", |of| of.point.bytes.to_string()),
        ("outcome", |of| of.outcome().0.to_owned()),
        ("median", |of| shown(of.sound().map(|sound| sound.value))),
        ("unit", |of| shown(of.named.map(|of| of.quantity.unit))),
        ("low", |of| low(of.sound())),
        ("high", |of| high(of.sound())),
        ("n", |of| shown(of.named.map(|of| of.quantity.n))),
        ("copies_per_sample", |of| {
            shown(of.timing().map(|timing| timing.copies_per_sample))
        }),
        ("clock", |of| {
            word_of(of.timing().map(|timing| &timing.source))
        }),
        ("gate", |of| word_of(of.timing().map(|timing| &timing.gate))),
        ("path", |of| {
            let path = of.measured().and_then(|(link, _)| link.path);
            shown(path.map(|path| path.name().into_owned()))
        }),
        ("ceiling_gb_per_s", |of| {
            let link = of.measured().zip(of.named);
            shown(link.and_then(|((link, _), named)| link.ceiling(&named.name)))
        }),
        ("fraction", |of| {
            let sound = of.measured().zip(of.named).filter(|_| of.sound().is_some());
            shown(sound.and_then(|((link, _), named)| link.fraction.get(&named.name)))
        }),
        ("verification", |of| {
            verification(of.measured().map(|of| of.1))
        }),
        ("basis_or_reason", |of| {
            let basis = of.measured().map(|(link, _)| link.basis.clone());
            basis.unwrap_or_else(|| of.outcome().1.to_owned())
        }),
        ("run", |of| run(of.record)),
        ("simulated", |of| simulated(of.record)),
    ];
    let lines = links.points.iter().flat_map(|point| {
        let named: Vec<Option<&NamedQuantity>> = match &point.outcome {
            Outcome::Measured { quantities, .. } => quantities.iter().map(Some).collect(),
            _ => vec![None],
        };
        named.into_iter().map(move |named| Line {
            record,
            links,
            point,
            named,
        })
    });
    table(&columns, lines)
}

impl<'a> Line<'a> {
    fn outcome(&self) -> (&'static str, &'a str) {
        outcome(self.point.outcome.unmeasured())
    }

    fn measured(&self) -> Option<(&'a LinkUse, &'a Verification)> {
        match &self.point.outcome {
            Outcome::Measured {
                link, verification, ..
            } => Some((link, verification)),
            _ => None,
        }
    }

    /// The number; one that belongs to wrong data stands for nothing and is not written.
    fn sound(&self) -> Option<&'a Quantity> {
        let is_wrong = self.point.outcome.unmeasured().is_some();
        self.named
            .filter(|_| !is_wrong)
            .map(|named| &named.quantity)
    }

    fn timing(&self) -> Option<&'a Timing> {
        self.named.map(|named| &named.quantity.timing)
    }

    fn ends(&self) -> (Endpoint, Endpoint) {
        let (from, to) = (self.point.from, self.point.to);
        match self.named.is_some_and(|named| named.name == "back") {
            true => (to, from),
            false => (from, to),
        }
    }

    fn quantity(&self) -> String {
        let Some(named) = self.named else {
            return String::new();
        };
        let (point, devices) = (self.point, self.links.devices.len());
        match stream(&named.name, point.from, point.to, devices) {
            Some((from, to)) => {
                let (from, to) = (label(self.links, from), label(self.links, to));
                format!("share {from} to {to}")
            }
            None => named.name.clone(),
        }
    }
}
