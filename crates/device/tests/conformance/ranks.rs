//! Ranks of a communicator as processes: this program, started again once for each rank.
//!
//! Rank 0 makes the id and says it on its standard output; the test passes it to the others, as programs do.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::thread;

use boxfile::BoxFile;
use device::Built;
use device::collectives::{Collectives, UniqueId};

use crate::process::{Stage, again, backend_of};

/// Set for a rank: its number, how many there are, on which box, and the id; rank 0 makes the id and has none.
const RANK: &str = "TPLENS_CONFORMANCE_RANK";
/// What stands before the id in the output of rank 0.
const ID: &str = "tplens-id:";

/// One rank's place among the others.
pub(crate) struct Seat {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    place: String,
    id: Option<String>,
}

impl Seat {
    /// The place of this process, where it is a rank.
    fn of_this_process() -> Option<Self> {
        let text = std::env::var(RANK).ok()?;
        let fields: Vec<&str> = text.split('/').collect();
        Some(Self {
            rank: fields[0].parse().unwrap(),
            ranks: fields[1].parse().unwrap(),
            place: fields[2].to_owned(),
            id: fields.get(3).map(|id| (*id).to_owned()),
        })
    }

    /// Makes the id and says it, or takes the one that was given.
    fn id<C: Collectives>(&self, library: &C) -> UniqueId {
        match &self.id {
            Some(id) => UniqueId::try_from(id.clone()).unwrap(),
            None => {
                let id = library.unique_id().unwrap();
                let mut out = std::io::stdout();
                writeln!(out, "\n{ID}{}", String::from(id.clone())).unwrap();
                out.flush().unwrap();
                id
            }
        }
    }

    /// Joins as this rank.
    pub(crate) fn join<C: Collectives>(
        &self,
        library: &C,
        device: &<C::Backend as device::Backend>::Device,
    ) -> C::Communicator {
        let id = self.id(library);
        library.join(device, &id, self.ranks, self.rank).unwrap()
    }
}

/// Whether this process is a rank.
pub(crate) fn is_one() -> bool {
    std::env::var_os(RANK).is_some()
}

/// Runs `body` in one process for each rank, which `command` starts for this test; those in `lost` may end without a result. The
/// place tells calls of one test apart.
pub(crate) fn run(
    test: &str,
    place: &str,
    ranks: u32,
    lost: &[u32],
    command: impl Fn() -> Command + Sync,
    body: impl FnOnce(&Seat),
) {
    if let Some(seat) = Seat::of_this_process() {
        // Another call of the same test has ranks of its own.
        if (seat.place.as_str(), seat.ranks) == (place, ranks) {
            body(&seat);
        }
        return;
    }
    let start = |seat: String| {
        let mut command = command();
        command.args(["--exact", test, "--nocapture"]);
        command.env(RANK, seat).env_remove("TPLENS_SKIP_LOG");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut first = start(format!("0/{ranks}/{place}"));
    let mut lines = BufReader::new(first.stdout.take().unwrap());
    let mut errors = first.stderr.take().unwrap();
    let outputs: Vec<Output> = thread::scope(|scope| {
        let errors = scope.spawn(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let (mut said, mut id) = (Vec::new(), None);
        while id.is_none() {
            let before = said.len();
            if lines.read_until(b'\n', &mut said).unwrap() == 0 {
                break;
            }
            let line = String::from_utf8_lossy(&said[before..]).into_owned();
            id = line.split_once(ID).map(|(_, id)| id.trim().to_owned());
        }
        let others: Vec<_> = (1..ranks)
            .filter_map(|rank| Some(format!("{rank}/{ranks}/{place}/{}", id.as_ref()?)))
            .map(|seat| scope.spawn(|| start(seat).wait_with_output().unwrap()))
            .collect();
        lines.read_to_end(&mut said).unwrap();
        let first = Output {
            status: first.wait().unwrap(),
            stdout: said,
            stderr: errors.join().unwrap(),
        };
        let others = others.into_iter().map(|other| other.join().unwrap());
        std::iter::once(first).chain(others).collect()
    });
    let mut failed = String::new();
    for (rank, output) in (0u32..).zip(&outputs) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let went_well =
            output.status.success() && out.contains("1 passed") && !err.contains("panicked");
        if !went_well && !lost.contains(&rank) {
            failed.push_str(&format!(
                "rank {rank} of {ranks} on {place}: {}\n{out}\n{err}\n",
                output.status
            ));
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert_eq!(outputs.len(), ranks as usize, "rank 0 said no id");
}

/// Runs `body` in one process for each rank on a box, with the simulated libraries of its vendor.
pub(crate) fn ranks_on(test: &str, described: &BoxFile, ranks: u32, body: impl FnOnce(&Seat)) {
    let place = described.name.as_str();
    if is_one() {
        return run(test, place, ranks, &[], again, body);
    }
    let stage = Stage::new(test, described);
    run(test, place, ranks, &[], || stage.program(), body);
}

/// The name of the collective library of a vendor's backend.
pub(crate) fn library_of(built: Built) -> &'static str {
    match built {
        Built::Cuda => "nccl",
        Built::Hip => "rccl",
        Built::Maca => "mccl",
        Built::Host => "host",
    }
}

/// A box with a table for every collective of its vendor's library among so many ranks: of one point where it has none itself, as
/// these facts are about sums and not about times.
pub(crate) fn with_collectives(described: &BoxFile, ranks: u32) -> BoxFile {
    let library = library_of(backend_of(described).unwrap());
    let mut all = described.clone();
    for kind in [
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "broadcast",
        "sendrecv",
    ] {
        let table = format!(
            "[[collective]]\nlibrary = \"{library}\"\nkind = \"{kind}\"\nranks = {ranks}\npoints = [[1024, 5.0]]\n\
             assumed = \"test\"\n"
        );
        let text = format!("{}\n{table}", described.to_toml().unwrap());
        // A table that is there already makes this one a second of its own, which no box may have.
        if let Ok(mut more) = BoxFile::from_toml(&text, "more.toml") {
            all.collective.extend(more.collective.pop());
        }
    }
    all
}
