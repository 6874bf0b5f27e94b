//! What a study explains: each size against one GPU, each size against the one before it, and one page with all of it.
//!
//! A log of a server or an ablation that does not fit is left out with the reason: what was measured is explained without it.

use std::path::{Path, PathBuf};

use ::explain::{
    DRAWS, Explanation, Inputs, Priors, SizeComparison, SizeOutcome, Slope, answer, compare_sizes,
    sizes_answer, sizes_text,
};
use measure::exit;
use program::{Stop, outputs};
use report::{Page, Section};

use super::logs::EngineLogFile;
use super::sources::Sources;
use super::{PAGE, SEED, ablation, code, explained, json, page, write};

/// One size of a study, with what was measured of it.
#[derive(Debug, Clone)]
pub(crate) struct OfSize {
    /// The tensor parallel size.
    pub(crate) tp: u32,
    /// Its results and those of one GPU.
    pub(crate) sources: Sources,
    /// Logs of the servers that the study started.
    pub(crate) logs: Vec<PathBuf>,
    /// Arms of an ablation of this size.
    pub(crate) ablation: Option<PathBuf>,
}

/// Something that was explained, as it is shown.
struct Shown {
    /// Its name on a page of several.
    name: String,
    answer: Vec<String>,
    text: String,
    page: Page,
    code: u8,
}

/// Explains a study: writes `explanation-tpN.json` and `.html` for each size, the same for each size against the one before it,
/// and one page; prints all, and gives the exit code.
///
/// # Errors
/// Files that cannot be used, or a file that cannot be written.
pub(crate) fn of_study(sizes: &[OfSize], folder: &Path, say: &dyn Fn(&str)) -> Result<u8, Stop> {
    let note = sizes.iter().find_map(|size| size.sources.note.as_deref());
    let mut told = Vec::new();
    let sizes: Vec<OfSize> = sizes
        .iter()
        .map(|size| with_logs(size, &mut told))
        .collect();
    told.dedup();
    told.iter().for_each(|line| say(line));
    let mut shown = Vec::new();
    let mut against_one = Vec::new();
    // Where none of several ran on one GPU, because it has no room, there is no speed-up over one to explain.
    let has_one = sizes
        .iter()
        .any(|size| size.sources.serving.iter().any(|(tp, _)| *tp == 1));
    for size in sizes.iter().filter(|_| has_one || sizes.len() == 1) {
        let (inputs, explanation) = with_slope(size, say)?;
        let name = format!("explanation-tp{}", size.tp);
        let page = page::page(&inputs, &explanation, None);
        keep(folder, &name, &explanation, &page, note)?;
        shown.push(Shown {
            name: format!("TP{}", size.tp),
            answer: answer(&explanation),
            text: ::explain::text(&explanation),
            page,
            code: code(&explanation),
        });
        against_one.push((size.tp, explanation));
    }
    for pair in sizes.windows(2) {
        let (from, to) = (pair[0].tp, pair[1].tp);
        let (inputs, mut comparison) = compared(&pair[0], &pair[1])?;
        // One page must not tell what it says elsewhere that it cannot.
        if let Some((_, of)) = against_one.iter().find(|(tp, _)| *tp == to) {
            comparison = comparison.beside(of);
        }
        let name = format!("explanation-tp{from}-tp{to}");
        let page = page::sizes(&inputs, &comparison);
        keep(folder, &name, &comparison, &page, note)?;
        shown.push(Shown {
            name: format!("TP{to} against TP{from}"),
            answer: sizes_answer(&comparison),
            text: sizes_text(&comparison),
            page,
            code: match comparison.outcome {
                SizeOutcome::Attributed { .. } => exit::DONE,
                SizeOutcome::Refused { .. } => exit::INCONCLUSIVE,
            },
        });
    }
    let printed = outputs::print(&whole_text(&shown, note));
    let codes: Vec<u8> = shown.iter().map(|one| one.code).collect();
    write(&folder.join(PAGE), &whole_page(shown, note).html())?;
    Ok(exit::fold(codes.into_iter().chain([printed])))
}

/// A size with those of its servers' logs that say what its explanation can use; why others cannot be used goes to `told`.
fn with_logs(size: &OfSize, told: &mut Vec<String>) -> OfSize {
    let mut size = size.clone();
    for file in &size.logs {
        match EngineLogFile::read(file, None) {
            Ok(log) => size.sources.engine_logs.push(log),
            Err(reason) => told.push(format!("{}: {reason}", left_out(file))),
        }
    }
    if size.sources.engine_logs.is_empty() {
        return size;
    }
    // The flags of the server's command are in the log as the engine took them.
    let Ok(priors) = Priors::builtin() else {
        return size;
    };
    if let Err(reason) = size.sources.read(priors) {
        told.push(format!(
            "the logs of the servers are left out of the explanation of TP{}: {reason}",
            size.tp
        ));
        size.sources.engine_logs.clear();
    }
    size
}

fn left_out(file: &Path) -> String {
    format!("{} is left out of the explanation", file.display())
}

/// The explanation of a size, with its slope test where there is one that fits.
fn with_slope(size: &OfSize, say: &dyn Fn(&str)) -> Result<(Inputs, Explanation), Stop> {
    let Some(file) = &size.ablation else {
        return explained(&size.sources, None, &[]);
    };
    let attempt = |slope: Slope| explained(&size.sources, Some(&slope), &[]);
    match ablation::read(file).and_then(attempt) {
        Err(Stop::Usage(reason)) => {
            say(&format!("{}: {reason}", left_out(file)));
            explained(&size.sources, None, &[])
        }
        done => done,
    }
}

/// A size against the one before it, without the run on one GPU.
fn compared(less: &OfSize, more: &OfSize) -> Result<(Inputs, SizeComparison), Stop> {
    let (before, mut sources) = (&less.sources, more.sources.clone());
    let runs = before.serving.iter().chain(&more.sources.serving);
    sources.serving = runs
        .filter(|(tp, _)| [less.tp, more.tp].contains(tp))
        .cloned()
        .collect();
    sources.collectives = before
        .collectives
        .iter()
        .chain(&more.sources.collectives)
        .cloned()
        .collect();
    // Each size has its own server's log and that of one GPU, which is not compared here.
    let logs = before.engine_logs.iter().chain(&more.sources.engine_logs);
    sources.engine_logs = logs
        .filter(|log| [less.tp, more.tp].contains(&log.tp()))
        .cloned()
        .collect();
    let priors = super::known(&[])?;
    let inputs = sources.read(priors).map_err(Stop::Usage)?;
    let mut comparison = compare_sizes(&inputs, less.tp, SEED, DRAWS);
    comparison.notes.extend(more.sources.note.clone());
    Ok((inputs, comparison))
}

fn keep<T: serde::Serialize>(
    folder: &Path,
    name: &str,
    found: &T,
    page: &Page,
    note: Option<&str>,
) -> Result<(), Stop> {
    write(&folder.join(format!("{name}.json")), &json(found)?)?;
    let mut page = page.clone();
    page.answer.extend(note.map(str::to_owned));
    write(&folder.join(format!("{name}.html")), &page.html())
}

/// All of it for the terminal: the answers first, where there are several.
fn whole_text(shown: &[Shown], note: Option<&str>) -> String {
    let mut text = String::new();
    if shown.len() > 1 {
        for one in shown {
            for sentence in &one.answer {
                text.push_str(&format!("{}\n", named(&one.name, sentence)));
            }
        }
        text = banner(shown) + &text;
    }
    for one in shown {
        if shown.len() > 1 {
            text.push_str(&format!("\n---- {} ----\n\n", one.name));
        }
        text.push_str(&one.text);
    }
    if let Some(note) = note {
        text.push_str(&format!("\n{note}\n"));
    }
    text
}

/// What stands above figures of a soft box.
fn banner(shown: &[Shown]) -> String {
    let soft = shown.iter().find_map(|one| one.page.simulated.as_ref());
    soft.map_or_else(String::new, |name| {
        format!("SIMULATED on the soft box {name}: no figure here is of real hardware\n\n")
    })
}

/// A sentence or heading with the size that it is of, where it does not begin with one.
fn named(name: &str, text: &str) -> String {
    match text.starts_with("TP") {
        true => text.to_owned(),
        false => format!("{name}: {text}"),
    }
}

/// One page of several: their answers first, then the sections of each under its name.
fn whole_page(shown: Vec<Shown>, note: Option<&str>) -> Page {
    let several = shown.len() > 1;
    let mut whole = Page::default();
    for one in shown {
        let Page {
            title,
            simulated,
            answer,
            sections,
            made_by,
        } = one.page;
        if whole.title.is_empty() {
            whole.title = title;
            whole.made_by = made_by;
        } else if let Some((model, what)) = title.rsplit_once(": ") {
            let known = whole.title.starts_with(model);
            whole.title.push_str(&match known {
                true => format!("; {what}"),
                false => format!("; {title}"),
            });
        }
        whole.simulated = whole.simulated.or(simulated);
        let of_one = |text: String| match several {
            true => named(&one.name, &text),
            false => text,
        };
        whole.answer.extend(answer.into_iter().map(of_one));
        let sections = sections.into_iter().map(|section| Section {
            heading: of_one(section.heading),
            ..section
        });
        whole.sections.extend(sections);
    }
    whole.answer.extend(note.map(str::to_owned));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, title: &str) -> Shown {
        Shown {
            name: name.to_owned(),
            answer: vec![format!("{name} gives 1x."), "Do this.".to_owned()],
            text: format!("{name} text\n"),
            page: Page {
                title: title.to_owned(),
                simulated: Some("b".to_owned()),
                answer: vec![
                    format!("{name} gives 1x."),
                    "Do this.".to_owned(),
                    format!("WARNING: {name} falls."),
                ],
                sections: vec![Section {
                    heading: "Step".to_owned(),
                    blocks: Vec::new(),
                }],
                made_by: "me".to_owned(),
            },
            code: exit::DONE,
        }
    }

    #[test]
    fn a_page_of_several_sizes_answers_all_of_them_first() {
        let page = whole_page(
            vec![
                shown("TP2", "m: 2 GPUs against one"),
                shown("TP4", "m: 4 GPUs against one"),
            ],
            Some("note"),
        );
        assert_eq!(page.title, "m: 2 GPUs against one; 4 GPUs against one");
        assert_eq!(
            page.answer,
            [
                "TP2 gives 1x.",
                "TP2: Do this.",
                "TP2: WARNING: TP2 falls.",
                "TP4 gives 1x.",
                "TP4: Do this.",
                "TP4: WARNING: TP4 falls.",
                "note"
            ]
        );
        let heads: Vec<&str> = page
            .sections
            .iter()
            .map(|section| section.heading.as_str())
            .collect();
        assert_eq!(heads, ["TP2: Step", "TP4: Step"]);
        assert_eq!(page.simulated.as_deref(), Some("b"));
    }

    #[test]
    fn one_size_is_shown_as_an_explanation_by_itself_is() {
        let one = || vec![shown("TP2", "m: 2 GPUs against one")];
        assert_eq!(whole_text(&one(), None), "TP2 text\n");
        let page = whole_page(one(), None);
        assert_eq!(
            page.answer,
            ["TP2 gives 1x.", "Do this.", "WARNING: TP2 falls."]
        );
        assert_eq!(page.sections[0].heading, "Step");
    }

    #[test]
    fn a_study_s_own_warning_stands_on_the_page_of_each_size() {
        let folder = std::env::temp_dir().join(format!("tplens-study-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let page = shown("TP2", "t").page;
        keep(&folder, "e", &vec![1], &page, Some("warning: TP2 waits.")).unwrap();
        let html = std::fs::read_to_string(folder.join("e.html")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(html.contains("warning: TP2 waits."), "{html}");
        assert!(html.contains("WARNING: TP2 falls."), "{html}");
    }

    #[test]
    fn the_terminal_shows_the_answers_of_several_sizes_before_any_table() {
        let text = whole_text(&[shown("TP2", "t"), shown("TP4", "t")], Some("note"));
        assert!(text.starts_with("SIMULATED on the soft box b: "), "{text}");
        let at = |part: &str| text.find(part).unwrap();
        assert!(at("TP4: Do this.") < at("TP2 text"));
        assert!(text.ends_with("TP4 text\n\nnote\n"));
    }
}
