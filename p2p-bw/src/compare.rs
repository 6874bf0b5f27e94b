//! `tplens p2p compare`: which numbers of two files of links are the same, and why one is gone.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use import::links::{LinkEnds, LinkFile, LinkTrouble, LinkValue, PeerState, TroubleKind, read};
use program::compare::{CompareFlags, Fact, Gone, Rules, Side, Value, compare};
use program::outputs;
use program::show::Show;
use record::Endpoint;

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens p2p, or JSON or text of nvbandwidth.
    pub(crate) a: PathBuf,

    /// The file that is compared with it, in any of these formats.
    pub(crate) b: PathBuf,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares, prints, and returns the exit code.
///
/// # Errors
/// A file cannot be read, or only one is simulated.
pub(crate) fn run(args: &CompareArgs, show: Show) -> anyhow::Result<u8> {
    let opened = |path| read(path).map_err(|error| anyhow!("{error}"));
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    let moved = a.devices.iter().find_map(|of_a| {
        let address = of_a.address?;
        // Slices of one GPU have one address.
        let mut of_b = b.devices.iter().filter(|one| one.address == Some(address));
        let first = of_b.clone().next()?;
        let is_moved = of_b.all(|one| one.ordinal != of_a.ordinal);
        is_moved.then_some((address, of_a.ordinal, first.ordinal))
    });
    if let Some((address, in_a, in_b)) = moved {
        return Err(anyhow!(
            "the GPU at {address} is GPU{in_a} in A and GPU{in_b} in B: measure again with all GPUs in the same order"
        ));
    }
    let is_worse = |(pair, is): &(&(usize, usize), &PeerState)| {
        let was = a.peers.get(*pair);
        was.is_some_and(|was| is.is_worse_than(*was))
    };
    let rules = Rules {
        threshold: args.flags.threshold,
        is_same: |a: &LinkEnds, b| a.mirrored().is_some_and(|mirror| mirror == *b),
        gone: &|value| gone(value, &b),
        worse_peers: b.peers.iter().filter(is_worse).count(),
    };
    let comparison = compare(side(&a, &a, &b), side(&b, &a, &b), &rules)?;
    let document = comparison.document();
    let code = comparison.exit_code();
    outputs::comparison(&args.flags, &comparison, (&document, show), code)
}

/// The path through host memory, which is not measured where access is direct.
const STAGED: &str = "d2d_staged_ce";

/// What B says of a number that it lacks.
fn gone(value: &Value<LinkEnds>, file: &LinkFile) -> Gone {
    let number = &value.number;
    let is_about = |trouble: &&LinkTrouble| {
        let same = trouble.ends.is_none_or(|(from, to)| {
            (from, to) == (number.from, number.to)
                || (number.mirrored().is_some() && (to, from) == (number.from, number.to))
        });
        let roles = &trouble.roles;
        let its = roles.is_empty() || roles.iter().any(|role| role == number.role());
        let sizes = trouble.bytes.zip(value.bytes);
        let of_size = trouble.kind == TroubleKind::NotApplicable
            || sizes.is_none_or(|(found, wanted)| found == wanted);
        trouble.test.as_ref() == Some(&number.test) && its && same && of_size
    };
    // The text of nvbandwidth does not say which test it waived, and a file that is not whole not what it lacks.
    let is_vague =
        |trouble: &&LinkTrouble| trouble.test.is_none() && trouble.kind != TroubleKind::Absent;
    let Some(trouble) = file.troubles.iter().find(is_about) else {
        let vague = file.troubles.iter().find(is_vague);
        return vague.map_or(Gone::NotAsked, |trouble| Gone::Untried(trouble.to_string()));
    };
    let words = trouble.to_string();
    let is_its = |(from, to): &(usize, usize)| {
        let ends = [number.from, number.to];
        [*from, *to]
            .iter()
            .all(|at| ends.contains(&Endpoint::Device(*at)))
    };
    let mut untried = file.peers.iter().filter(|(_, state)| !state.is_tried());
    let is_untried = file.without_peers || untried.any(|(pair, _)| is_its(pair));
    match trouble.kind {
        TroubleKind::NotApplicable if number.test == STAGED => Gone::NotAsked,
        TroubleKind::NotApplicable if is_untried => Gone::Untried(words),
        TroubleKind::Failed
        | TroubleKind::Hang
        | TroubleKind::WrongData
        | TroubleKind::NotApplicable => Gone::Lost(words),
        TroubleKind::Absent | TroubleKind::Interrupted | TroubleKind::File => Gone::Untried(words),
    }
}

/// The rows and facts of one of two files; `a` names the devices that both have.
fn side(file: &LinkFile, a: &LinkFile, b: &LinkFile) -> Side<LinkEnds> {
    let label = |ordinal: usize| {
        let mut devices = a.devices.iter().chain(&b.devices);
        let known = devices.find(|device| device.ordinal == ordinal && !device.label.is_empty());
        known.map_or_else(|| format!("GPU{ordinal}"), |device| device.label.clone())
    };
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
            of: words(ends, &label),
            number: ends.clone(),
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
        facts: facts(file, &label),
        troubles: troubles(&file.troubles),
        values: file.values.iter().map(value).collect(),
    }
}

/// What a device is called, by its number.
type Label<'a> = &'a dyn Fn(usize) -> String;

/// A number in words.
fn words(number: &LinkEnds, label: Label<'_>) -> String {
    let end = |end| match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::All => "all".to_owned(),
        Endpoint::Device(ordinal) => label(ordinal),
    };
    let way = match number.from == number.to {
        true => end(number.from),
        false => format!("{} to {}", end(number.from), end(number.to)),
    };
    match number.name.as_str() {
        "bandwidth" | "value" => format!("{} {way}", number.test),
        name => format!("{} {way}, {name}", number.test),
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

fn facts(file: &LinkFile, label: Label<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |what, of: &str, value: &dyn Display| {
        facts.push(Fact {
            what,
            of: of.to_owned(),
            value: value.to_string(),
        });
    };
    fact("tool", "", &file.made_by);
    for (what, value) in [
        ("host", &file.host),
        ("backend", &file.backend),
        ("driver", &file.driver),
        ("interface", &file.interface),
    ] {
        value.iter().for_each(|value| fact(what, "", value));
    }
    if !file.devices.is_empty() {
        fact("number of devices", "", &file.devices.len());
    }
    for device in &file.devices {
        let of = label(device.ordinal);
        fact("device", &of, &device.name);
        let address = device.address.iter();
        address.for_each(|address| fact("PCI address", &of, address));
        let link = device.link.iter();
        link.for_each(|link| fact("link under load", &of, link));
    }
    for ((a, b), path) in &file.paths {
        fact("path", &format!("{} and {}", label(*a), label(*b)), path);
    }
    for ((from, to), state) in &file.peers {
        let pair = format!("{} to {}", label(*from), label(*to));
        fact("peer access", &pair, state);
    }
    facts
}
