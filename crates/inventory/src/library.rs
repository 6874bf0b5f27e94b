//! The child that loads a collective library and lets it say what it is: a library may hang or crash where its driver is missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use device::Built;
use device::VisitCollectives;
use device::collectives::{Collectives, CollectivesFacts, Inspection, inspect};
use program::Stop;
use runner::Interrupt;
use runner::child::Line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::choose::OPENING_STEPS;

/// The hidden subcommand that a program which asks about libraries runs [`run`] for.
pub const CHILD: &str = "__library";

/// Asks what a library is.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    backend: Built,
    /// Its file, or a folder that has it; `None` for the first that is found.
    path: Option<PathBuf>,
    /// Whether its name, version and file are all that is asked for; it is then not used.
    only_facts: bool,
}

/// What it says, or the reason why it does not.
type Reply<T> = Result<T, String>;

/// Asks the library and answers the parent, once.
///
/// # Errors
/// The pipes broke, or the request was not understood.
pub fn run() -> anyhow::Result<()> {
    let mut line: Line<Request> = Line::open()?;
    let Some(Request {
        backend,
        path,
        only_facts,
    }) = line.request()?
    else {
        return Ok(());
    };
    let path = path.as_deref();
    if only_facts {
        let told = backend.visit_collectives(Facts(path));
        return line.send(&told.map_err(|error| error.to_string()));
    }
    line.send(&inspect(backend, path).map_err(|error| error.to_string()))
}

/// The path that was named.
struct Facts<'a>(Option<&'a Path>);

impl VisitCollectives for Facts<'_> {
    type Output = device::Result<CollectivesFacts>;

    fn visit<C: Collectives>(self) -> Self::Output {
        Ok(C::open(self.0)?.facts().clone())
    }
}

/// What a backend's library says of itself and can do, asked in a child; the reason where it says nothing within `deadline`.
///
/// # Errors
/// No child can be started, or a signal came.
pub fn inspected(
    backend: Built,
    path: Option<&Path>,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Reply<Inspection>, Stop> {
    ask(backend, path, false, deadline, interrupt)
}

/// Name, version and file of a backend's library, asked in a child; it is loaded and not used. The reason where it says nothing
/// within `deadline`.
///
/// # Errors
/// No child can be started, or a signal came.
pub fn facts(
    backend: Built,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Reply<CollectivesFacts>, Stop> {
    ask(backend, None, true, deadline, interrupt)
}

fn ask<T: DeserializeOwned + Send + 'static>(
    backend: Built,
    path: Option<&Path>,
    only_facts: bool,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Reply<T>, Stop> {
    let request = Request {
        backend,
        path: path.map(Path::to_owned),
        only_facts,
    };
    let deadline = deadline * OPENING_STEPS;
    Ok(program::ask(CHILD, &request, deadline, interrupt)?.and_then(|reply: Reply<T>| reply))
}
