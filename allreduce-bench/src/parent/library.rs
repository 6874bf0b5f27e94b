//! `allreduce-bench library`: which collective library loads, and what it says, without a device of its vendor.

use device::collectives::Inspection;
use inventory::library::inspected;
use inventory::{BackendArg, Built};
use measure::exit;
use program::Stop;
use supervisor::Interrupt;

use crate::cli::LibraryArgs;

/// What the library says, as text, and the exit code: 0 where it answers.
///
/// # Errors
/// No library loads ([`Stop::Refused`], with the reason of each), the command line asks for none, or a signal came.
pub(crate) fn library(args: &LibraryArgs, interrupt: &Interrupt) -> Result<(String, u8), Stop> {
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
    if let Some(path) = args.ccl.as_ref().filter(|path| !path.exists()) {
        return Err(Stop::Usage(format!(
            "--ccl {}: there is no such file or folder; name the library's file or a folder that has it, or leave --ccl out",
            path.display()
        )));
    }
    let mut reasons = Vec::new();
    for backend in backends {
        match inspected(backend, args.ccl.as_deref(), args.deadline, interrupt)? {
            Ok(inspection) => return Ok(told(&inspection)),
            Err(reason) => reasons.push(format!("{}: {reason}", backend.name())),
        }
    }
    Err(Stop::Refused(format!(
        "no collective library answers: {}",
        reasons.join("; ")
    )))
}

/// An id's bytes are not shown: whoever has them can join.
fn told(inspection: &Inspection) -> (String, u8) {
    let facts = &inspection.facts;
    let version = facts.version.as_deref().unwrap_or("of unknown version");
    let mut lines = vec![("library", format!("{} {version}", facts.name))];
    if let Some(file) = &facts.file {
        lines.push(("file", file.display().to_string()));
    }
    if let Some(soft_box) = &facts.soft_box {
        let name = if soft_box.is_empty() {
            "none is played"
        } else {
            soft_box.as_str()
        };
        lines.push(("soft box", format!("{name} (simulated)")));
    }
    let (id, code) = match &inspection.id {
        Ok(id) if id.is_blank => (format!("{} B, all of them 0", id.bytes), exit::INCONCLUSIVE),
        Ok(id) => (format!("made, {} B", id.bytes), exit::DONE),
        Err(words) => (format!("not made: {words}"), exit::INCONCLUSIVE),
    };
    lines.push(("id", id));
    let communicator = match &inspection.communicator {
        Ok(()) => "made, of one rank".to_owned(),
        Err(words) => format!("not made, of one rank: {words}"),
    };
    lines.push(("communicator", communicator));
    for lack in &inspection.lacks {
        let (operation, element) = (lack.operation.name(), lack.element.name());
        lines.push((
            "does not do",
            format!("{operation} of {element}: {}", lack.why),
        ));
    }
    let text = lines
        .iter()
        .map(|(name, value)| format!("{name:<12}  {value}\n"));
    (text.collect(), code)
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
            lacks: Vec::new(),
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
        let (text, code) = told(&inspection(Ok(made)));
        assert_eq!(code, exit::DONE);
        assert_eq!(
            text,
            "library       nccl 2.28.9\n\
             file          /env/libnccl.so.2\n\
             id            made, 128 B\n\
             communicator  not made, of one rank: unhandled cuda error\n"
        );
    }

    #[test]
    fn a_library_that_makes_no_id_does_not_answer() {
        let blank = IdShape {
            bytes: 128,
            is_blank: true,
        };
        for id in [Ok(blank), Err("system error".to_owned())] {
            assert_eq!(told(&inspection(id)).1, exit::INCONCLUSIVE);
        }
    }
}
