//! The README against the program.

use super::common::Scratch;

#[test]
fn the_simulated_example_is_what_the_program_prints() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let example = readme.split_once("<!-- allreduce-example -->").unwrap().1;
    let example = example.split("```").nth(1).unwrap();
    let command = example.split_once("$ cargo xtask allreduce ").unwrap().1;
    let (command, shown) = command.split_once('\n').unwrap();
    let ran = Scratch::new().run(&command.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The second line has the time and the host; the virtual clock makes all others the same in every run.
    let lines = |text: &str| -> Vec<String> {
        let lines = text.trim().lines().enumerate();
        let kept = lines.filter(|(index, _)| *index != 1);
        kept.map(|(_, line)| line.to_owned()).collect()
    };
    assert_eq!(lines(shown), lines(&ran.stdout));
}
