//! `tplens allreduce library`: which collective library loads, and what it says, without a device of its vendor.

use std::path::Path;

use device::collectives::Inspection;
use inventory::library::inspected;
use inventory::{BackendArg, Built};
use program::Stop;
use record::{FailureKind, exit};
use runner::Interrupt;
use view::{Block, Document, Section, Tone};

use crate::cli::LibraryArgs;

/// What the library says, and the exit code: 0 where it answers.
///
/// # Errors
/// No library loads ([`Stop::Refused`], with the reason of each), the command line asks for none, or a signal came.
pub(crate) fn library(args: &LibraryArgs, interrupt: &Interrupt) -> Result<(Document, u8), Stop> {
    let backends: Vec<Built> = match args.backend {
        BackendArg::Named(Built::Host) => {
            return Err(Stop::Usage(
                "--backend host has collectives of its own and loads no library; leave it out"
                    .to_owned(),
            ));
        }
        BackendArg::Named(backend) => vec![backend],
        BackendArg::Auto => {
            let all = Built::ALL.iter().copied();
            all.filter(|backend| *backend != Built::Host).collect()
        }
    };
    args.ccl.as_deref().map_or(Ok(()), check_library)?;
    let mut reasons = Vec::new();
    for backend in backends {
        match inspected(backend, args.ccl.as_deref(), args.deadline, interrupt)? {
            Ok(inspection) => return Ok(told(&inspection)),
            Err(reason) => reasons.push(format!("{}: {reason}", backend.name())),
        }
    }
    let why = format!("no collective library answers: {}", reasons.join("; "));
    Err(Stop::Refused(FailureKind::LibraryMissing.of(why)))
}

/// Refuses a library that is not there.
pub(super) fn check_library(path: &Path) -> Result<(), Stop> {
    match path.exists() {
        true => Ok(()),
        false => Err(Stop::Usage(format!(
            "--ccl {}: there is no such file or folder; name the library's file or a folder that has it, or leave --ccl out",
            path.display()
        ))),
    }
}

/// An id's bytes are not shown: whoever has them can join.
fn told(inspection: &Inspection) -> (Document, u8) {
    let facts = &inspection.facts;
    let name = facts.name.to_uppercase();
    let version = facts.version.as_deref().unwrap_or("of unknown version");
    let (id, code) = match &inspection.id {
        Ok(id) if id.is_blank => ("its id is blank".to_owned(), exit::INCONCLUSIVE),
        Ok(id) => (format!("it makes ids of {} B", id.bytes), exit::DONE),
        Err(words) => (format!("it makes no id: {words}"), exit::INCONCLUSIVE),
    };
    let file = facts.file.iter();
    let file = file.map(|file| format!("file: {}", file.display()));
    let lines = file.chain([match &inspection.communicator {
        Ok(()) => "communicator of one rank: made".to_owned(),
        Err(words) => format!("communicator of one rank: not made: {words}"),
    }]);
    let is_answer = code == exit::DONE;
    let document = Document {
        title: "Collective library".to_owned(),
        simulated: facts.soft_box.clone().map(|name| match name.as_str() {
            "" => "a simulated library".to_owned(),
            _ => name,
        }),
        tone: if is_answer { Tone::Good } else { Tone::Bad },
        answer: vec![format!("{name} {version} loads; {id}.")],
        sections: vec![Section::new("", vec![Block::list(lines)])],
        ..Document::default()
    };
    (document, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::collectives::{CollectivesFacts, IdShape};

    fn inspection(id: Result<IdShape, String>) -> Inspection {
        Inspection {
            facts: CollectivesFacts {
                name: "nccl".to_owned(),
                version: Some("2.28.9".to_owned()),
                file: Some("/env/libnccl.so.2".into()),
                soft_box: None,
            },
            id,
            communicator: Err("unhandled cuda error".to_owned()),
        }
    }

    #[test]
    fn a_library_without_a_driver_answers_when_it_makes_an_id() {
        let made = IdShape {
            bytes: 128,
            is_blank: false,
        };
        assert_eq!(told(&inspection(Ok(made))).1, exit::DONE);
    }
}
