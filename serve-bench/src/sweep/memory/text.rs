//! The check as text.

use std::collections::{BTreeMap, BTreeSet};

use program::compare::{columns, listed};

use super::fit::{Checked, Server, Verdict};
use super::size::gib;
use crate::sweep::expand::Cell;

/// The servers as a table, what was assumed, and what cannot run or may not, with the reasons.
pub(in crate::sweep) fn table(checked: &Checked, cells: &[Cell]) -> String {
    let mut lines: Vec<String> = checked.assumed.clone();
    lines.push(String::new());
    let heads = [
        "server",
        "usable",
        "weights",
        "reserve",
        "for keys, values",
        "a token",
        "requests at once",
        "verdict",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(asked(checked, cells).map(row));
    lines.extend(columns(&rows, &[1, 2, 3, 4, 5, 6]));
    let why = warnings(checked, cells);
    if !why.is_empty() {
        lines.push(String::new());
        lines.extend(why);
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// What cannot run or may not, and what waits, of the servers of these cells, a line each.
pub(in crate::sweep) fn warnings(checked: &Checked, cells: &[Cell]) -> Vec<String> {
    let mut why: Vec<String> = Vec::new();
    for server in asked(checked, cells) {
        let (word, reason) = match &server.verdict {
            Verdict::Fits => continue,
            Verdict::Close(reason) => ("may not fit", reason),
            Verdict::Never(reason) => ("does not fit", reason),
            Verdict::Unknown(reason) => ("not known", reason),
        };
        why.push(format!("{}: {word}: {reason}", server.name));
    }
    why.extend(too_long(checked, cells));
    why.extend(waiting(checked, cells));
    why
}

/// The servers that these cells are for.
fn asked<'a>(checked: &'a Checked, cells: &[Cell]) -> impl Iterator<Item = &'a Server> {
    let names: BTreeSet<String> = cells.iter().map(|cell| cell.group.name()).collect();
    let servers = checked.servers.iter();
    servers.filter(move |server| names.contains(&server.name))
}

fn row(server: &Server) -> Vec<String> {
    let verdict = match &server.verdict {
        Verdict::Fits => "fits",
        Verdict::Close(_) => "CLOSE",
        Verdict::Never(_) => "DOES NOT FIT",
        Verdict::Unknown(_) => "not known",
    };
    let mut cells = vec![server.name.clone()];
    match &server.room {
        Some(room) => cells.extend([
            gib(room.usable),
            gib(room.weights),
            gib(room.reserve),
            gib(room.left()),
            format!("{} KiB", room.token.div_ceil(1024)),
            room.at_once().to_string(),
        ]),
        None => cells.extend(std::iter::repeat_n("—".to_owned(), 6)),
    }
    cells.push(verdict.to_owned());
    cells
}

/// Cells that do not run on a server that does, by their reasons.
fn too_long(checked: &Checked, cells: &[Cell]) -> Vec<String> {
    let is_of_server = |reason: &String| {
        checked
            .servers
            .iter()
            .any(|server| matches!(&server.verdict, Verdict::Never(own) if own == reason))
    };
    let mut by_reason: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for cell in cells {
        let reason = checked.never.get(&cell.name);
        if let Some(reason) = reason.filter(|reason| !is_of_server(reason)) {
            by_reason.entry(reason).or_default().push(cell.name.clone());
        }
    }
    by_reason
        .into_iter()
        .map(|(reason, cells)| format!("{}: does not run: {reason}", listed(&cells, ", ")))
        .collect()
}

/// Servers that hold fewer requests at once than their cells have in flight.
fn waiting(checked: &Checked, cells: &[Cell]) -> Vec<String> {
    let of_server = |server: &Server| {
        let held = server.room.filter(|_| server.verdict == Verdict::Fits)?;
        let held = held.at_once();
        let in_flight = |cell: &&Cell| {
            let most = cell
                .concurrency
                .map_or(cell.num_prompts, |most| most.min(cell.num_prompts));
            cell.rate.is_none() && u64::from(most) > held && cell.group.name() == server.name
        };
        let count = cells.iter().filter(in_flight).count();
        (count > 0).then(|| {
            format!(
                "{}: in {count} cells more requests are in flight than the about {held} that it holds at once: the others wait, and TTFT is theirs, too",
                server.name
            )
        })
    };
    checked.servers.iter().filter_map(of_server).collect()
}
