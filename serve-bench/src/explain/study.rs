//! What a study explains: each size against one GPU, each size against the one before it, and one page with all of it.
//!
//! A log of a server that does not fit is left out with the reason: what was measured is explained without it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use view::{Block, Document, Section};

use super::explained::{PAGE, code, explained};
use super::logs::EngineLogFile;
use super::sources::Sources;
use crate::json;

/// One size of a study, with what was measured of it.
#[derive(Debug, Clone)]
pub(crate) struct OfSize {
    /// The tensor parallel size.
    pub(crate) tp: u32,
    /// Its results and those of one GPU.
    pub(crate) sources: Sources,
    /// Logs of the servers that the study started.
    pub(crate) logs: Vec<PathBuf>,
}

/// Explains a study: writes `explanation-tpN.json` and `.html` for each size, the same for each size against the one before it,
/// and one page; prints all, and gives the exit code.
///
/// # Errors
/// Files that cannot be used, or a file that cannot be written.
pub(crate) fn of_study(
    sizes: &[OfSize],
    folder: &Path,
    show: Show,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    // The log of the smallest size is read beside each other one.
    let mut told = BTreeSet::new();
    let with_logs = |size: &OfSize| with_logs(size, &mut told);
    let sizes: Vec<OfSize> = sizes.iter().map(with_logs).collect();
    told.iter().for_each(|line| say(line));
    // Where none of several ran on one GPU, because it has no room, there is no speed-up over one to explain.
    let has_one = sizes
        .iter()
        .any(|size| size.sources.serving.iter().any(|(tp, _)| *tp == Some(1)));
    let own = sizes.iter().filter(|_| has_one || sizes.len() == 1);
    let own = own.map(|size| {
        let tp = size.tp;
        let (name, heading) = (format!("tp{tp}"), format!("TP{tp}"));
        (name, heading, size.sources.clone())
    });
    let pairs = sizes.windows(2).map(|pair| {
        let (from, to) = (pair[0].tp, pair[1].tp);
        let heading = format!("TP{to} against TP{from}");
        let sources = compared(&pair[0], &pair[1]);
        (format!("tp{from}-tp{to}"), heading, sources)
    });
    let mut shown: Vec<(String, Document)> = Vec::new();
    let mut codes = Vec::new();
    for (name, heading, sources) in own.chain(pairs) {
        let (document, explanation) = explained(&sources, None)?;
        let file = |kind: &str| folder.join(format!("explanation-{name}.{kind}"));
        json::write(&file("json"), &explanation)?;
        codes.push(outputs::write(&file("html"), Ok(document.html())));
        codes.push(code(&explanation));
        shown.push((heading, document));
    }
    let whole = whole(shown);
    codes.push(outputs::write(&folder.join(PAGE), Ok(whole.html())));
    codes.push(show.print(&whole));
    Ok(exit::fold(codes))
}

/// A size with those of its servers' logs that say what its explanation can use; why others cannot be used goes to `told`.
fn with_logs(size: &OfSize, told: &mut BTreeSet<String>) -> OfSize {
    let mut size = size.clone();
    for file in &size.logs {
        match EngineLogFile::read(file, None) {
            Ok(log) => size.sources.engine_logs.push(log),
            Err(why) => {
                let file = file.display();
                told.insert(format!("{file} is left out of the explanation: {why}"));
            }
        }
    }
    // The flags of the server's command are in the log as the engine took them.
    if !size.sources.engine_logs.is_empty()
        && let Err(why) = size.sources.read()
    {
        let tp = size.tp;
        told.insert(format!(
            "the servers' logs are left out of the explanation of TP{tp}: {why}"
        ));
        size.sources.engine_logs.clear();
    }
    size
}

/// A size against the one before it, without the run on one GPU.
fn compared(less: &OfSize, more: &OfSize) -> Sources {
    let both = [&less.sources, &more.sources];
    let is_one = |tp: Option<u32>| tp == Some(less.tp) || tp == Some(more.tp);
    let mut sources = more.sources.clone();
    let serving = both.iter().flat_map(|of| of.serving.clone());
    sources.serving = serving.filter(|(tp, _)| is_one(*tp)).collect();
    let curves = both.iter().flat_map(|of| of.case.allreduce.clone());
    sources.case.allreduce = curves.collect();
    // Each size has its own server's log and that of one GPU, which is not compared here.
    let logs = both.iter().flat_map(|of| of.engine_logs.clone());
    sources.engine_logs = logs.filter(|log| is_one(Some(log.tp))).collect();
    sources
}

/// All of them as one document: answers in the order of the sizes, what to do by the first that says so.
fn whole(shown: Vec<(String, Document)>) -> Document {
    let is_alone = shown.len() == 1;
    let mut whole = Document::default();
    for (name, mut one) in shown {
        let named = |text: String| match is_alone || text.starts_with("TP") {
            true => text,
            false => format!("{name}: {text}"),
        };
        // The first sentence of each stands on the screen, the rest is in its own part.
        if !is_alone && !one.answer.is_empty() {
            let rest = vec![Block::list(one.answer.drain(1..))];
            one.sections.insert(0, Section::detail("Answer", rest));
        }
        let sections = one.sections.into_iter().map(|section| Section {
            detail: section.detail || !is_alone,
            heading: named(section.heading),
            ..section
        });
        if whole.title.is_empty() {
            (whole.title, whole.made_by, whole.tone) = (one.title, one.made_by, one.tone);
            whole.next = one.next;
        }
        whole.simulated = whole.simulated.or(one.simulated);
        whole.answer.extend(one.answer.into_iter().map(named));
        one.findings
            .retain(|finding| !whole.findings.contains(finding));
        whole.findings.extend(one.findings);
        whole.sections.extend(sections);
    }
    whole
}
