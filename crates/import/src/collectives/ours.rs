//! A record of `tplens allreduce` as a file of collective times.

use super::value::{CallFile, CallTrouble, CallValue};
use crate::error::ImportError;
use crate::links::TroubleKind;
use record::calls::{Row, Series, rows};
use record::control::replaced;
use record::{CollectivePoint, Collectives, Payload, Record};

/// The values and troubles of a record; a size whose data was wrong has no value.
pub(super) fn file(record: &Record, origin: &str) -> Result<CallFile, ImportError> {
    let Payload::Collectives(collectives) = &record.payload else {
        let kind = record.payload.kind();
        let why = format!("holds {kind}; give a record of tplens allreduce");
        return Err(ImportError::unusable(origin, why));
    };
    let header = &record.header;
    let backend = collectives.backend.as_ref();
    let library = collectives.library.as_ref();
    let rows = rows(collectives);
    let points = collectives.points.iter().filter_map(trouble);
    // How the run ended, where it did not end by itself.
    let broken_off = TroubleKind::of_status(&record.status);
    let broken_off = broken_off.map(|(kind, detail)| CallTrouble::of_file(kind, replaced(detail)));
    Ok(CallFile {
        origin: origin.to_owned(),
        made_by: replaced(&format!("{} {}", header.program, header.version)),
        simulated: record.soft_box().map(|name| replaced(&name)),
        started: Some(replaced(&header.provenance.started)).filter(|text| !text.is_empty()),
        host: header.provenance.host.as_deref().map(replaced),
        backend: backend.map(|backend| replaced(&backend.name)),
        driver: backend.and_then(|backend| backend.driver.as_deref().map(replaced)),
        library: library.map(|library| {
            let words = [Some(library.name.as_str()), library.version.as_deref()];
            let words: Vec<&str> = words.into_iter().flatten().collect();
            replaced(&words.join(" "))
        }),
        transport: transport(collectives),
        devices: collectives
            .devices
            .iter()
            .map(|device| replaced(&device.name))
            .collect(),
        values: rows
            .iter()
            .filter_map(|row| value(row, by(row, collectives)))
            .collect(),
        troubles: points.chain(broken_off).collect(),
        unused: Vec::new(),
        environment: header.provenance.environment.clone(),
    })
}

/// The library behind a row: for what an engine did none that the record names, and host memory where its tensors were there.
fn by(row: &Row<'_>, collectives: &Collectives) -> Option<String> {
    if row.series.engine.is_some() {
        let engine = collectives.engine.as_ref();
        let is_host = engine.is_some_and(|engine| engine.device == "cpu");
        return is_host.then(|| "host".to_owned());
    }
    let library = collectives.library.as_ref()?;
    Some(replaced(&library.name))
}

/// What a library told of its channels, else what its record says in a word.
fn transport(collectives: &Collectives) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for facts in &collectives.transports {
        let mut ways: Vec<&str> = facts.channels.iter().map(|c| c.via.as_str()).collect();
        ways.sort_unstable();
        ways.dedup();
        if !ways.is_empty() {
            told.push(replaced(&ways.join(" and ")));
        }
    }
    if !told.is_empty() {
        return Some(told.join(", "));
    }
    let library = collectives.library.as_ref()?;
    library.transport.as_deref().map(replaced)
}

fn cleaned(series: Series) -> Series {
    Series {
        engine: series.engine.as_deref().map(replaced),
        ..series
    }
}

fn value(row: &Row<'_>, library: Option<String>) -> Option<CallValue> {
    let time = row.time()?;
    Some(CallValue {
        series: cleaned(row.series.clone()),
        bytes_per_rank: row.bytes_per_rank,
        us: time.value,
        interval: time.interval,
        n: Some(time.n as u64),
        samples: time.samples.clone(),
        clock: Some(time.timing.source),
        library,
    })
}

fn trouble(point: &CollectivePoint) -> Option<CallTrouble> {
    let (why, detail) = point.outcome.unmeasured()?;
    Some(CallTrouble {
        kind: why.into(),
        series: Some(cleaned(Series::of(point))),
        bytes_per_rank: Some(point.bytes_per_rank),
        detail: replaced(detail),
    })
}
