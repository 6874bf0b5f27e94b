//! The README against the program: its table of cases and the boxes that it names.

use super::common::Scratch;

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_table_of_cases_is_what_the_program_lists() {
    let readme = readme();
    let table = readme.split_once("<!-- cases -->").unwrap().1;
    let table = table.split_once("<!-- /cases -->").unwrap().0;
    let row = |line: &str| {
        let rest = line.trim().strip_prefix("| `")?;
        let (key, rest) = rest.split_once("` |")?;
        let (mark, description) = rest.trim().strip_suffix('|')?.split_once('|')?;
        let is_core = mark.trim() == "core";
        Some((key.to_owned(), is_core, description.trim().to_owned()))
    };
    let written: Vec<(String, bool, String)> = table.lines().filter_map(row).collect();

    let list = Scratch::new().run(&["--list", "--backend", "host"]).stdout;
    let case = |line: &str| {
        let (key, rest) = line.trim().split_once(' ')?;
        let described = rest.trim().strip_prefix("core ");
        let is_core = described.is_some();
        let description = described.unwrap_or(rest).trim();
        Some((key.to_owned(), is_core, description.to_owned()))
    };
    let cases = list.lines().skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<(String, bool, String)> = cases.filter_map(case).collect();
    assert_eq!(written, listed);
}

#[test]
fn every_built_in_box_is_named() {
    let readme = readme();
    for name in boxfile::builtin_names() {
        assert!(
            readme.contains(&format!("`{name}`")),
            "{name} is not in the README"
        );
    }
}

#[test]
fn the_simulated_example_is_what_the_program_prints() {
    let readme = readme();
    let example = readme.split_once("<!-- sim-example -->").unwrap().1;
    let example = example.split("```").nth(1).unwrap();
    let (command, shown) = example
        .split_once("$ cargo xtask p2p ")
        .unwrap()
        .1
        .split_once('\n')
        .unwrap();
    let ran = Scratch::new().run(&command.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The second line has the time and the host; the virtual clock makes all others the same in every run.
    let lines = |text: &str| -> Vec<String> {
        let lines = text
            .trim()
            .lines()
            .enumerate()
            .filter(|(index, _)| *index != 1);
        lines.map(|(_, line)| line.to_owned()).collect()
    };
    assert_eq!(lines(shown), lines(&ran.stdout));
}
