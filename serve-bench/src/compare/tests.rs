//! Every pair of published results has a ratio, and a verdict or the code of what refuses it.

use std::path::{Path, PathBuf};

use import::serve::read_all;
use stats::{Threshold, Verdict};

use super::cells::Cells;
use super::differences::{Difference, Grade};
use crate::show::Named;

const FIVE: Threshold = Threshold(0.05);

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn named(path: &Path) -> Vec<Named> {
    let results = read_all(path).unwrap_or_default();
    results.into_iter().map(|one| (None, one)).collect()
}

/// The files of the golden corpus and of the readers' fixtures that hold results of clients.
fn published() -> Vec<Vec<Named>> {
    let folders = ["../golden/inputs", "../crates/import/tests/fixtures/serve"];
    let entries = folders
        .iter()
        .flat_map(|path| folder(path).read_dir().unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let results = files.iter().map(|file| named(file));
    let is_measured = |all: &Vec<Named>| {
        !all.is_empty() && all.iter().all(|(_, one)| one.run.simulated.is_none())
    };
    results.filter(is_measured).collect()
}

#[test]
fn every_pair_of_published_results_has_a_ratio_and_a_verdict_or_a_refusal() {
    let all = published();
    // 10 files of case 4, 6 of case 5 and 2 of case 2 are in the corpus alone.
    assert!(all.len() > 25, "{}", all.len());
    let (mut judged, mut refused) = (0, 0);
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            let cells = Cells::of(a, b, FIVE).unwrap();
            assert!(!cells.cells.is_empty());
            for one in &cells.cells {
                let headline = &one.headline;
                assert!(headline.times.is_finite() && headline.times > 0.0);
                let is_judged = headline.verdict != Verdict::NotJudged;
                assert_eq!(is_judged, one.grade.is_some());
                let mut grades = one.differences.iter().map(Difference::grade);
                assert_eq!(is_judged, grades.all(|grade| grade.is_some()));
                judged += usize::from(is_judged);
                refused += usize::from(!is_judged);
            }
        }
    }
    assert!(judged > 100 && refused > 100, "{judged} {refused}");
}

#[test]
fn one_run_each_that_is_3_3_times_faster_is_judged_without_an_interval() {
    let a = named(&folder("../golden/inputs/case2-tp1.json"));
    let mut b = a.clone();
    let run = &mut b[0].1.run;
    run.duration_s /= 3.3;
    run.requests_per_s *= 3.3;
    b[0].1.said.output_tokens_per_s = a[0].1.output_tokens_per_s().map(|rate| rate * 3.3);
    let cells = Cells::of(&a, &b, FIVE).unwrap();
    let headline = &cells.cells[0].headline;
    assert!((headline.times - 3.3).abs() < 0.01, "{}", headline.times);
    assert_eq!(
        (headline.interval, headline.verdict),
        (None, Verdict::Faster)
    );
}

#[test]
fn another_load_lowers_the_grade_and_refuses_nothing() {
    let of = |name: &str| named(&folder("../golden/inputs").join(name));
    let (small, large) = (of("case4-nixl-1024.txt"), of("case4-nixl-4096.txt"));
    let cells = Cells::of(&small, &large, FIVE).unwrap();
    assert!(cells.best_of_each);
    assert_eq!(cells.cells[0].grade, Some(Grade::C));
    assert_eq!(cells.cells[0].headline.verdict, Verdict::Regression);
    // The same prompts through another connector.
    let cells = Cells::of(&small, &of("case4-mooncake-1024.txt"), FIVE).unwrap();
    assert!(!cells.best_of_each);
    assert_ne!(cells.cells[0].grade, Some(Grade::C));
}
