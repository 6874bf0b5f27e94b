//! Leave-one-out on the public curves: what a reading between octaves is worth beside fitted lines.

use crate::reality::fits::{Line, median, two_protocols};
use explain::{Priors, PublishedCurve, PublishedPath};

/// The sizes that decoding sends, and so the ones that are judged.
const WINDOW: std::ops::RangeInclusive<u64> = (8 << 10)..=(4 << 20);

/// Largest relative errors over the sizes of one curve.
struct Errors {
    log_log: f64,
    hockney: f64,
    two: f64,
}

/// Each size of the window that has a neighbour on both sides is left out and read from the rest.
fn left_out(curve: &PublishedCurve) -> Errors {
    let mut worst = Errors {
        log_log: 0.0,
        hockney: 0.0,
        two: 0.0,
    };
    for index in 1..curve.points.len() - 1 {
        let (bytes, us) = curve.points[index];
        if !WINDOW.contains(&bytes) {
            continue;
        }
        let mut without = curve.clone();
        without.points.remove(index);
        let rest = &without.points;
        let error = |read: f64| (read / us - 1.0).abs();
        worst.log_log = worst.log_log.max(error(without.us_at(bytes)));
        worst.hockney = worst.hockney.max(error(Line::of(rest).at(bytes)));
        worst.two = worst.two.max(error(two_protocols(rest, bytes)));
    }
    worst
}

fn is_two_over_pcie(curve: &PublishedCurve) -> bool {
    let pcie = ["rtx pro 6000", "l40"].contains(&curve.gpu.as_str());
    pcie && curve.path == PublishedPath::Peer && curve.ranks == 2
}

#[test]
fn a_line_between_octaves_errs_less_than_latency_and_bandwidth() {
    let priors = Priors::builtin().unwrap();
    println!("| GPU | path | GPUs | log-log between octaves | two protocols | Hockney |");
    println!("|---|---|---|---|---|---|");
    let mut all = Vec::new();
    for curve in priors.all_curves() {
        let errors = left_out(curve);
        println!(
            "| {} | {:?} | {} | {:.0}% | {:.0}% | {:.0}% |",
            curve.gpu,
            curve.path,
            curve.ranks,
            errors.log_log * 100.0,
            errors.two * 100.0,
            errors.hockney * 100.0
        );
        all.push((curve, errors));
    }
    let column =
        |of: fn(&Errors) -> f64| -> Vec<f64> { all.iter().map(|(_, errors)| of(errors)).collect() };
    println!(
        "| median of {} | | | {:.0}% | {:.0}% | {:.0}% |",
        all.len(),
        median(&column(|errors| errors.log_log)) * 100.0,
        median(&column(|errors| errors.two)) * 100.0,
        median(&column(|errors| errors.hockney)) * 100.0
    );
    let pcie: Vec<&Errors> = all
        .iter()
        .filter(|(curve, _)| is_two_over_pcie(curve))
        .map(|(_, errors)| errors)
        .collect();
    assert_eq!(pcie.len(), 2);
    for errors in pcie {
        assert!(errors.log_log <= 0.16, "{}", errors.log_log);
        assert!(errors.hockney > 0.25, "{}", errors.hockney);
    }
    assert!(median(&column(|e| e.log_log)) < median(&column(|e| e.hockney)));
}
