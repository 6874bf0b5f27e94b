//! What records tell besides their numbers: links, the machine beside a load, and the variables that were set.

use std::collections::BTreeMap;
use std::path::Path;

use ::explain::{Seen, Variable};
use record::{Payload, Record, load};

/// What a record tells; a run's tensor parallel size goes with what its monitor saw.
fn add(seen: &mut Seen, record: &Record, tp: Option<u32>, origin: &str) {
    let environment: &BTreeMap<String, String> = &record.header.provenance.environment;
    match &record.payload {
        Payload::Links(links) => seen.links = Some(links.as_ref().clone()),
        Payload::Serve(serve) => {
            let machine = serve
                .server
                .as_ref()
                .and_then(|server| server.machine.clone());
            seen.machines.extend(tp.zip(machine));
            // The environment of a load generator is not the server's.
            return;
        }
        _ => {}
    }
    let variables = environment.iter().map(|(name, value)| Variable {
        name: name.clone(),
        value: value.clone(),
        origin: origin.to_owned(),
    });
    seen.variables.extend(variables);
}

/// The same of a file or folder, where it is a record of ours.
pub(super) fn add_file(seen: &mut Seen, file: &Path, tp: Option<u32>) {
    // What is no record of ours was read, or refused, as what it is.
    if let Ok(record) = load(file) {
        add(seen, &record, tp, &file.display().to_string());
    }
}
