//! Flags of `vllm bench serve` that are not of this program: those that change no number are accepted, the others are refused by name.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Each flag and what it is here. `one line`: no tokenizer of Python is loaded, requests carry no id, and nothing is drawn.
/// `refused`: it changes what is asked for or measured.
const TABLE: &str = include_str!("../../../data/vllm-flags.tsv");

/// The flags that are this here.
fn flags(here: &str) -> impl Iterator<Item = &'static str> {
    let rows = TABLE.lines().filter_map(|line| line.split_once('\t'));
    rows.filter_map(move |(flag, is)| (is == here).then_some(flag))
}

/// The flags of the other client that were given, each with what it is here.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct Foreign(Vec<(&'static str, &'static str)>);

impl Foreign {
    /// Those that are this here; empty for none.
    fn named(&self, here: &str) -> String {
        let flags = self.0.iter().filter(|(_, is)| *is == here);
        let flags: Vec<String> = flags.map(|(flag, _)| format!("--{flag}")).collect();
        flags.join(", ")
    }

    /// Those that change nothing, in a line; `None` where there are none.
    pub(in crate::load) fn unused(&self) -> Option<String> {
        let flags = self.named("one line");
        (!flags.is_empty()).then(|| format!("without effect here: {flags}"))
    }

    /// # Errors
    /// In words: a flag that changes a number.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.named("refused") {
            none if none.is_empty() => Ok(()),
            flags => Err(format!(
                "{flags} would change what is measured and is not known here; leave it out"
            )),
        }
    }
}

impl FromArgMatches for Foreign {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let all = ["one line", "refused"].map(|is| flags(is).map(move |flag| (flag, is)));
        let given = all.into_iter().flatten();
        Ok(Self(
            given
                .filter(|(flag, _)| matches.contains_id(flag))
                .collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Foreign {
    fn augment_args(line: Command) -> Command {
        let flag = |name: &'static str| {
            let flag = Arg::new(name).long(name).hide(true);
            flag.num_args(0..).action(ArgAction::Append)
        };
        let foreign = flags("one line").chain(flags("refused"));
        foreign.fold(line, |line, name| line.arg(flag(name)))
    }

    fn augment_args_for_update(line: Command) -> Command {
        Self::augment_args(line)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        foreign: Foreign,
    }

    #[test]
    fn what_changes_no_number_is_named_and_the_rest_refused_by_name() {
        let of = |flags: &[&str]| {
            let line = Line::parse_from([&["run"], flags].concat());
            (line.foreign.named("one line"), line.foreign.check().is_ok())
        };
        let flags = ["--trust-remote-code", "--tokenizer-mode", "slow"];
        let named = "--trust-remote-code, --tokenizer-mode".to_owned();
        assert_eq!(of(&flags), (named, true));
        assert_eq!(of(&["--logprobs", "5"]), (String::new(), false));
        assert_eq!(of(&[]), (String::new(), true));
    }

    #[test]
    fn the_table_of_the_page_is_that_of_the_program() {
        #[derive(Parser)]
        struct Run {
            #[command(flatten)]
            args: crate::load::Args,
        }
        // What works is a flag of ours, and what has no effect or is refused none that helps.
        let line = <Run as clap::CommandFactory>::command();
        let own: Vec<&str> = line
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(clap::Arg::get_long)
            .collect();
        for flag in flags("works").chain(flags("other meaning")) {
            assert!(own.contains(&flag), "--{flag}");
        }
        let page = include_str!("../../../../docs/serve.md");
        let mut all = 0;
        for here in ["works", "one line", "refused", "other meaning"] {
            all += flags(here).count();
            let flags: Vec<String> = flags(here).map(|flag| format!("`--{flag}`")).collect();
            let (begins, ends) = (format!("| {here}"), format!(" | {} |", flags.join(", ")));
            let is_row = |line: &str| line.starts_with(&begins) && line.ends_with(&ends);
            assert!(page.lines().any(is_row), "not in the page: {begins}{ends}");
        }
        // A row of another kind would be in neither.
        assert_eq!(all, TABLE.lines().count() - 1);
    }
}
