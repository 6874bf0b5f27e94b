//! A fleet for the terminal: what it came to in a sentence, boxes that were not accepted, what is slower than its like, then each figure.

use comfy_table::{CellAlignment, Table, presets};

use super::find::DEPTH;
use super::judge::too_few;
use super::outcome::{Figure, Group, NotAccepted, Outcome, Scope};
use super::outliers::MIN_ALIKE;
use super::told::{no_score, outlier};
use crate::plural::plural;
use crate::report::BoxVerdict;

/// Lines of a list that are shown; the rest is in the JSON.
const MOST: usize = 50;
/// Characters of a sha256 that are shown, of a profile or a topology.
const SHORT: usize = 12;

/// The fleet as text. Everything in it was cleaned when it was read.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    lines.extend(simulated(outcome));
    lines.push(answer(outcome));
    lines.extend(limited(&outcome.unreadable, |file| {
        format!("could not be read: {}: {}", file.path, file.why)
    }));
    lines.extend(limited(&outcome.without_devices, |file| {
        format!("no device was looked at: {}: {}", file.path, file.why)
    }));
    lines.extend(not_searched(outcome));
    lines.extend(without_journal(outcome));
    lines.extend(limited(&outcome.superseded, |path| {
        format!("left out, as there is a later run of that box (its UUIDs are the same): {path}")
    }));
    lines.extend(limited(&outcome.copies, |path| {
        format!("left out, as it is the same run: {path}")
    }));
    let to_do = to_do(outcome);
    if !to_do.is_empty() {
        lines.push(String::new());
        lines.push("What to do".to_owned());
        lines.extend(to_do.iter().map(|step| format!("  {step}")));
    }
    for (index, group) in outcome.groups.iter().enumerate() {
        lines.push(String::new());
        lines.push(format!(
            "Group {} of {}: {}",
            index + 1,
            outcome.groups.len(),
            head(group)
        ));
        lines.extend(
            limited(&group.not_accepted, refused)
                .iter()
                .map(|line| format!("  {line}")),
        );
        lines.extend(
            limited(&group.outliers, outlier)
                .iter()
                .map(|line| format!("  {line}")),
        );
        lines.extend(no_score(group).map(|note| format!("  ({note})")));
        if !group.figures.is_empty() {
            lines.push(String::new());
            lines.extend(table(&group.figures));
        }
    }
    lines.join("\n") + "\n"
}

/// Folders that were not searched, in a sentence.
pub(super) fn not_searched(outcome: &Outcome) -> Option<String> {
    let first = outcome.not_searched.first()?;
    Some(format!(
        "not searched, more than {DEPTH} levels below what was named: {}, the first of them {first}; name them to have them searched",
        plural(outcome.not_searched.len(), "folder")
    ))
}

/// How many reports are taken as they were handed on, in a sentence.
pub(super) fn without_journal(outcome: &Outcome) -> Option<String> {
    let alone = outcome.without_journal;
    (alone > 0).then(|| {
        format!(
            "no journal beside {} of {}: taken as handed on, held against themselves and not against what their runs did",
            alone,
            plural(outcome.reports, "report")
        )
    })
}

/// What to do, the most pressing first.
pub(super) fn to_do(outcome: &Outcome) -> Vec<String> {
    let groups = || outcome.groups.iter();
    let count = |wanted: BoxVerdict| {
        let all = groups().flat_map(|group| &group.not_accepted);
        all.filter(|one| one.verdict == wanted).count()
    };
    let scoped = |wanted: Scope| {
        let mut all = groups().flat_map(|group| &group.outliers);
        all.any(|one| one.scope == wanted && !one.follows_box)
    };
    let boxes: usize = groups().map(|group| group.boxes).sum();
    let is_small = groups().any(|group| !group.whole_boxes_judged);
    let lacking = outcome
        .expected
        .map_or(0, |expected| expected.saturating_sub(boxes));
    // Reports that came and are of no box more.
    let again = outcome.superseded.len() + outcome.copies.len();
    [
        (
            count(BoxVerdict::Rejected) > 0,
            "rejected boxes: do what their own reports say (`accept report FOLDER`), and run them again",
        ),
        (
            scoped(Scope::Node),
            "boxes that are slow as a whole: it is the box and not each card; compare its power limit, BIOS, CPU, memory, kernel command line and cooling with those of a box that is not slow (`accept compare A B`), and run it again alone",
        ),
        (
            scoped(Scope::Device),
            "devices and pairs that are slower than their like: reseat the card, exchange it with one of a good box and see whether the fault goes with it",
        ),
        (
            count(BoxVerdict::Inconclusive) > 0,
            "inconclusive boxes: do what their own reports say; those that were broken off go on with `accept run --resume FOLDER`",
        ),
        (
            !outcome.without_devices.is_empty(),
            "runs without a device: mend what each names (driver, library, --sim), and run them again with another --out",
        ),
        (
            !outcome.unreadable.is_empty(),
            "files that could not be read: fetch them again from their boxes, with the journal beside each report",
        ),
        (
            lacking > again,
            "fewer boxes than were expected: look which of them wrote no report",
        ),
        (
            lacking > 0 && again > 0,
            "fewer boxes than reports: those that are left out are of a box that another report is of (its UUIDs are the same); gather one of each box",
        ),
        (
            !outcome.not_searched.is_empty(),
            "folders that were not searched: name them, too, to have them searched",
        ),
        (
            is_small,
            "boxes as a whole were not judged: gather reports of at least four boxes of one profile, device, driver and topology; a box that is slow in all of its devices is like itself",
        ),
    ]
    .into_iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, step)| step.to_owned())
    .collect()
}

/// The first lines of a list, and how many more there are.
fn limited<T>(rows: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = rows.iter().take(MOST).map(line).collect();
    if rows.len() > MOST {
        lines.push(format!(
            "and {} more; --json has them all",
            rows.len() - MOST
        ));
    }
    lines
}

/// The mark of a soft box.
pub(super) fn simulated(outcome: &Outcome) -> Option<String> {
    (!outcome.simulated.is_empty()).then(|| {
        format!(
            "SIMULATED on soft box {}: arithmetic of a box file, not a measurement",
            outcome.simulated.join(", ")
        )
    })
}

/// What it came to, in a sentence.
pub(super) fn answer(outcome: &Outcome) -> String {
    let groups = || outcome.groups.iter();
    let verdicts = |wanted: BoxVerdict| {
        groups()
            .flat_map(|group| &group.not_accepted)
            .filter(|one| one.verdict == wanted)
            .count()
    };
    let slower: Vec<String> = [Scope::Node, Scope::Device]
        .into_iter()
        .flat_map(|scope| slower(outcome, scope))
        .collect();
    let boxes: usize = groups().map(|group| group.boxes).sum();
    let judged: usize = groups()
        .flat_map(|group| &group.figures)
        .map(|figure| figure.judged)
        .sum();
    let told = if judged == 0 {
        too_few()
    } else {
        format!("{} beside their like", plural(judged, "figure"))
    };
    let whole = not_cleared(outcome);
    let slower = match (judged, &slower[..], &whole) {
        (0, _, _) => String::new(),
        (_, [], None) => "none is slower than its like; ".to_owned(),
        (_, [], Some(_)) => "no device or pair is slower than its like; ".to_owned(),
        (_, slower, _) => format!("slower than their like: {}; ", slower.join(", ")),
    };
    let slower = slower + &whole.map_or_else(String::new, |whole| whole + "; ");
    let expected = match outcome.expected {
        Some(expected) if boxes < expected => format!(" of {expected} that were expected"),
        _ => String::new(),
    };
    let apart = match outcome.groups.len() {
        0 | 1 => String::new(),
        groups => format!(" in {groups} groups that are not compared with each other"),
    };
    let empty = match outcome.without_devices.len() {
        0 => String::new(),
        runs => format!(", {} without a device", plural(runs, "run")),
    };
    format!(
        "{slower}{}{expected}{apart}: {} rejected, {} inconclusive; {told}; {} unreadable or not ended{empty}, {} of other programs passed over",
        plural(boxes, "box"),
        verdicts(BoxVerdict::Rejected),
        verdicts(BoxVerdict::Inconclusive),
        outcome.unreadable.len(),
        plural(outcome.passed_over, "file")
    )
}

/// That boxes as a whole cannot be judged, where some cannot.
fn not_cleared(outcome: &Outcome) -> Option<String> {
    let groups = &outcome.groups;
    let small: Vec<&Group> = groups
        .iter()
        .filter(|group| !group.whole_boxes_judged)
        .collect();
    let is_found = |group: &&Group| group.outliers.iter().any(|one| one.scope == Scope::Node);
    let other = match small.iter().any(is_found) {
        true => "other boxes",
        false => "boxes",
    };
    match (&small[..], groups.len()) {
        ([], _) => None,
        ([group], 1) => Some(format!(
            "{other} as a whole cannot be judged: {} of at least {MIN_ALIKE}",
            group.boxes_alike
        )),
        (_, of) => Some(format!(
            "{other} as a whole cannot be judged in {} of {of} groups: fewer than {MIN_ALIKE} alike",
            small.len()
        )),
    }
}

/// Boxes that a sentence names; the others are counted.
const NAMED: usize = 3;

/// The boxes that are slower, as a whole or in a device or pair, each with in how many figures.
fn slower(outcome: &Outcome, scope: Scope) -> Vec<String> {
    let mut boxes: Vec<(&str, &str, usize)> = Vec::new();
    let all = outcome.groups.iter().flat_map(|group| &group.outliers);
    for one in all.filter(|one| one.scope == scope && !one.follows_box) {
        match boxes
            .iter_mut()
            .find(|(_, report, _)| *report == one.report)
        {
            Some((.., figures)) => *figures += 1,
            None => boxes.push((&one.node, &one.report, 1)),
        }
    }
    let what = match scope {
        Scope::Node => "as a whole",
        Scope::Device => "in a device or pair",
    };
    let mut told: Vec<String> = boxes
        .iter()
        .take(NAMED)
        .map(|(node, report, figures)| {
            let figures = plural(*figures, "figure");
            let place = place(node, report);
            format!("box {place} {what} ({figures})")
        })
        .collect();
    if boxes.len() > NAMED {
        told.push(format!(
            "{} {what}",
            plural(boxes.len() - NAMED, "more box")
        ));
    }
    told
}

/// A box by its name and the folder of its report; the name of one whose name is withheld holds that already.
pub(super) fn place(node: &str, report: &str) -> String {
    let folder = report.rsplit_once('/').map_or("", |(folder, _)| folder);
    let last = folder.rsplit('/').next().unwrap_or_default();
    if last.is_empty() || node == last || node.ends_with(&format!("({last})")) {
        node.to_owned()
    } else {
        format!("{node} ({folder})")
    }
}

/// What is common to a group.
pub(super) fn head(group: &Group) -> String {
    let of = &group.fingerprint;
    let word =
        |name: &str, word: &Option<String>| word.as_ref().map(|word| format!("{name} {word}"));
    let short = |sha: &str| -> String { sha.chars().take(SHORT).collect() };
    let parts = [
        word("driver", &of.driver),
        word("kernel", &of.kernel),
        of.collectives.clone(),
        word("topology", &of.topology.as_deref().map(short)),
    ];
    let sha = short(&group.profile_sha256);
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{} with {}, profile {} ({sha}), {} {}{}{}",
        plural(group.boxes, "box"),
        plural(group.devices, "device"),
        group.profile,
        of.backend,
        of.devices.join(", "),
        if parts.is_empty() { "" } else { "; " },
        parts.join(", ")
    )
}

/// A box that was not accepted.
pub(super) fn refused(refused: &NotAccepted) -> String {
    let NotAccepted {
        node,
        report,
        verdict,
        reasons,
    } = refused;
    format!(
        "{} {node} ({report}): {}",
        verdict.words(),
        reasons.join("; ")
    )
}

/// Heads of the table of figures.
pub(super) const HEADS: [&str; 9] = [
    "check",
    "figure",
    "values",
    "judged",
    "median",
    "least",
    "most",
    "unit",
    "box to box",
];

/// What the last column is.
pub(super) const BOX_TO_BOX: &str = "box to box: 1.4826 of the median absolute deviation of each value over the median of the same place on all boxes; how places differ, such as pairs near and far, is in least and most only";

/// A row of the table of figures.
pub(super) fn cells(figure: &Figure) -> [String; 9] {
    let spread = figure.spread_percent.map_or_else(too_few, |percent| {
        let spread = match percent > 0.0 {
            true => format!("{percent:.2}%"),
            false => "most are equal".to_owned(),
        };
        match figure.boxes_alike < MIN_ALIKE {
            true => format!(
                "{spread} between devices or pairs; {} of at least {MIN_ALIKE}",
                plural(figure.boxes_alike, "box")
            ),
            false => spread,
        }
    });
    [
        figure.check.clone(),
        figure.what.clone(),
        figure.values.to_string(),
        figure.judged.to_string(),
        format!("{:.2}", figure.median),
        format!("{:.2}", figure.least),
        format!("{:.2}", figure.most),
        figure.unit.clone(),
        spread,
    ]
}

fn table(figures: &[Figure]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADS);
    for figure in figures {
        table.add_row(cells(figure));
    }
    for column in 2..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table
        .lines()
        .map(|line| format!(" {}", line.trim_end()))
        .collect();
    lines.push(format!("  ({BOX_TO_BOX})"));
    lines
}
