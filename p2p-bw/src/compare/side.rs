//! A file of links as rows and facts of a comparison.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;

use import::links::{LinkEnds, LinkFile, LinkTrouble, LinkValue, TroubleKind};
use program::compare::{Fact, Side, Value};
use record::Endpoint;

/// The rows of one of two files; `a` names the devices that both have.
pub(super) fn of(file: &LinkFile, a: &LinkFile, b: &LinkFile) -> Side<LinkEnds> {
    let names = Names(a, b);
    let devices = |file: &LinkFile| -> BTreeSet<usize> {
        file.devices.iter().map(|device| device.ordinal).collect()
    };
    let (of_a, of_b) = (devices(a), devices(b));
    // What several devices do at once is compared with what the same devices do.
    let are_others = of_a != of_b && !of_a.is_empty() && !of_b.is_empty();
    let value = |value: &LinkValue| {
        let ends = &value.ends;
        let is_group = [ends.from, ends.to].contains(&Endpoint::All);
        Value {
            number: ends.clone(),
            of: names.number(ends),
            bytes: value.bytes,
            value: value.value,
            unit: value.unit,
            n: value.n,
            samples: value.samples.clone(),
            is_judged: value.is_judged && !(is_group && are_others),
        }
    };
    Side {
        file: file.origin.clone(),
        started: file.started.clone(),
        simulated: file.simulated.clone(),
        facts: facts(file, &names),
        troubles: troubles(&file.troubles),
        values: file.values.iter().map(value).collect(),
    }
}

/// What a file says of tests that it lacks, but for those that its machine cannot do.
fn troubles(all: &[LinkTrouble]) -> Vec<String> {
    let is_said = |trouble: &&LinkTrouble| {
        let is_absent = [TroubleKind::NotApplicable, TroubleKind::Absent].contains(&trouble.kind);
        !(is_absent && trouble.ends.is_some())
    };
    let line = |trouble: &LinkTrouble| match &trouble.test {
        Some(test) if trouble.ends.is_some() => format!("{test}: {trouble}"),
        _ => trouble.to_string(),
    };
    let lines: BTreeSet<String> = all.iter().filter(is_said).map(line).collect();
    lines.into_iter().collect()
}

fn facts(file: &LinkFile, names: &Names<'_>) -> Vec<Fact> {
    let fact = |what, of: String, value: &dyn Display| Fact {
        what,
        of,
        value: value.to_string(),
    };
    let mut facts = vec![fact("tool", String::new(), &file.made_by)];
    for (what, value) in [
        ("host", &file.host),
        ("backend", &file.backend),
        ("driver", &file.driver),
        ("interface", &file.interface),
    ] {
        facts.extend(value.iter().map(|value| fact(what, String::new(), value)));
    }
    if !file.devices.is_empty() {
        let count = file.devices.len();
        facts.push(fact("number of devices", String::new(), &count));
    }
    for device in &file.devices {
        let of = || names.device(device.ordinal).into_owned();
        facts.push(fact("device", of(), &device.name));
        let link = device.link.iter();
        facts.extend(link.map(|link| fact("link under load", of(), link)));
    }
    let pair = |a, b, word: &str| format!("{} {word} {}", names.device(a), names.device(b));
    for ((a, b), path) in &file.paths {
        facts.push(fact("path", pair(*a, *b, "and"), path));
    }
    for ((from, to), state) in &file.peers {
        facts.push(fact("peer access", pair(*from, *to, "to"), state));
    }
    facts
}

/// What the devices of both files are called.
struct Names<'a>(&'a LinkFile, &'a LinkFile);

impl Names<'_> {
    fn device(&self, ordinal: usize) -> Cow<'_, str> {
        let mut devices = self.0.devices.iter().chain(&self.1.devices);
        let known = devices.find(|device| device.ordinal == ordinal && !device.label.is_empty());
        known.map_or_else(
            || format!("GPU{ordinal}").into(),
            |device| device.label.as_str().into(),
        )
    }

    fn number(&self, number: &LinkEnds) -> String {
        let end = |end| match end {
            Endpoint::Host => "host".into(),
            Endpoint::All => "all".into(),
            Endpoint::Device(ordinal) => self.device(ordinal),
        };
        let way = match number.from == number.to {
            true => end(number.from),
            false => format!("{} to {}", end(number.from), end(number.to)).into(),
        };
        match number.name.as_str() {
            "bandwidth" | "value" => format!("{} {way}", number.test),
            name => format!("{} {way}, {name}", number.test),
        }
    }
}
