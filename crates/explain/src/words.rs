//! Words that every text of this crate has alike: the mark of a soft box, what was read, and what to do first.

use crate::explanation::InputSource;
use crate::gates::{Gate, Verdict, in_plain_words};
use crate::text::{Topic, list, warning};

/// What stands where there is nothing to show.
pub(crate) const ABSENT: &str = "—";

/// Reasons of a refusal that stand in the first sentence.
const REASONS: usize = 2;

/// The line above a text of a soft box; empty where all is measured.
pub(crate) fn simulated(soft: Option<&str>) -> String {
    soft.map_or_else(String::new, |soft| {
        format!("SIMULATED on the soft box {soft}: no figure here is of real hardware\n\n")
    })
}

/// So many of something, such as `1 launch` and `3 launches`.
#[must_use]
pub fn number_of(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// A name, or that there is none.
pub(crate) fn or_unknown(name: Option<&str>) -> &str {
    name.unwrap_or("unknown")
}

/// What was read and what was taken from it.
pub(crate) fn inputs(sources: &[InputSource]) -> String {
    let lines: Vec<String> = sources
        .iter()
        .map(|source| format!("{}: {}", source.origin, source.taken))
        .collect();
    list(Topic::Inputs.title(), &lines)
}

/// The first reasons of a refusal in plain words, and how many more there are; all of them are failed gates further down.
pub(crate) fn first_reasons(reasons: &[String]) -> String {
    let told = reasons.get(..REASONS).unwrap_or(reasons);
    let words: Vec<String> = told.iter().map(|reason| in_plain_words(reason)).collect();
    let words = words.join("; ");
    match reasons.len() - told.len() {
        0 => words,
        more => format!("{words}; and {more} more that stand below"),
    }
}

/// What to run first where gates refuse: what the first failed gate asks for, else `otherwise`.
pub(crate) fn what_to_run_first(gates: &[Gate], otherwise: &str) -> String {
    let failed = gates.iter().filter(|gate| gate.verdict == Verdict::Failed);
    let mut asked = failed.filter_map(|gate| gate.what_to_run.as_deref());
    format!("What to do first: {}.", asked.next().unwrap_or(otherwise))
}

/// The line below the answer of a comparison whose sides differ in more than what is compared; its curves are C at best.
pub(crate) fn warned(judged: bool, gates: &[Gate]) -> String {
    let line = warning(gates, &[]).filter(|_| judged);
    line.map_or_else(String::new, |line| format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_not_told_as_several() {
        assert_eq!(number_of(1, "arm"), "1 arm");
        assert_eq!(number_of(0, "arm"), "0 arms");
        assert_eq!(number_of(1, "launch"), "1 launch");
        assert_eq!(number_of(3, "launch"), "3 launches");
    }
}
