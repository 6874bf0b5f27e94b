//! Searches over made-up systems whose knee is known by arithmetic.

use stats::SplitMix;

use super::*;

const BOUNDS: Bounds = Bounds {
    start: 1.0,
    lowest: 1e-3,
    highest: 1e6,
    resolution: 0.03,
    runs: 12,
    whole: false,
};

/// Runs a search to its end and gives what it found and how many runs it took.
fn search(bounds: Bounds, mut run: impl FnMut(f64, &[Trial]) -> Verdict) -> (Found, usize) {
    let mut trials = Vec::new();
    loop {
        match bounds.next(&trials) {
            Next::Done(found) => return (found, trials.len()),
            Next::Run(at) => {
                assert!(trials.len() < bounds.runs, "one run too many: {trials:?}");
                let verdict = run(at, &trials);
                trials.push(Trial { at, verdict });
            }
        }
    }
}

fn below(knee: f64) -> impl FnMut(f64, &[Trial]) -> Verdict {
    move |at, _| {
        if at <= knee {
            Verdict::Met
        } else {
            Verdict::Missed
        }
    }
}

fn uniform(random: &mut SplitMix) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let part = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    part
}

/// Whether an answer is within three percent of the knee.
#[track_caller]
fn assert_near(found: Found, knee: f64, seed: u64) {
    let met = found
        .met
        .unwrap_or_else(|| panic!("seed {seed}: {found:?}"));
    assert!(
        (met / knee - 1.0).abs() <= 0.03,
        "seed {seed}: {found:?}, and the knee is {knee}"
    );
}

#[test]
fn a_step_is_found_within_three_percent_in_twelve_runs() {
    for seed in 0..200 {
        // Doubling takes as many runs as the knee is powers of two away, and one more; halving a factor of two down to 3%
        // takes five (2^(1/32) = 1.022): from 2^-6 to 2^6 these are 12 at most.
        let knee = 2f64.powf(-5.9 + 11.8 * uniform(&mut SplitMix::new(seed)));
        let (found, runs) = search(BOUNDS, below(knee));
        assert_eq!(found.outcome, Outcome::Found, "seed {seed}");
        assert!(runs <= 12);
        assert_near(found, knee, seed);
        // It never claims more than the system can.
        assert!(found.met <= Some(knee));
    }
}

#[test]
fn whole_numbers_are_found_exactly_where_they_are_few() {
    let whole = Bounds {
        lowest: 1.0,
        start: 4.0,
        whole: true,
        ..BOUNDS
    };
    for knee in 1..=200 {
        let knee = f64::from(knee);
        let (found, runs) = search(whole, below(knee));
        assert!(runs <= 12);
        assert_eq!(found.outcome, Outcome::Found, "{knee}");
        let met = found.met.unwrap();
        // Three percent of fewer than 34 is less than one.
        assert!(met == knee || (knee >= 34.0 && met >= knee / 1.03 && met < knee));
        assert_eq!(met.fract(), 0.0);
    }
}

#[test]
fn never_and_always_are_said_with_the_bound() {
    let few = Bounds {
        lowest: 0.1,
        highest: 20.0,
        ..BOUNDS
    };
    let (never, runs) = search(few, below(0.01));
    assert_eq!(never.outcome, Outcome::Never);
    // 1, 0.5, 0.25, 0.125, 0.1.
    assert_eq!((never.met, never.not_met, runs), (None, Some(0.1), 5));
    let (always, runs) = search(few, below(1e9));
    assert_eq!(always.outcome, Outcome::Always);
    // 1, 2, 4, 8, 16, 20.
    assert_eq!((always.met, always.not_met, runs), (Some(20.0), None, 6));
    // Twelve runs double eleven times.
    let (wide, runs) = search(BOUNDS, below(1e9));
    assert_eq!(
        (wide.outcome, wide.met, runs),
        (Outcome::Wide, Some(2048.0), 12)
    );
}

#[test]
fn undecided_loads_are_repeated_and_not_taken_for_met() {
    // Met up to 8, undecided to 12, missed above.
    let band = |at: f64, _: &[Trial]| match at {
        met if met <= 8.0 => Verdict::Met,
        open if open <= 12.0 => Verdict::Undecided,
        _ => Verdict::Missed,
    };
    let bounds = Bounds {
        start: 6.0,
        ..BOUNDS
    };
    let (found, runs) = search(bounds, band);
    assert_eq!(found.not_met_verdict, Some(Verdict::Undecided));
    let met = found.met.unwrap();
    assert!((8.0 / 1.03..=8.0).contains(&met), "{found:?}");
    assert_eq!(runs, 12, "the runs that are left go into repeats");
    // 6 is met; 12 is tried three times, because there are runs to spare.
    let mut tries = 0;
    search(bounds, |at, trials| {
        tries += usize::from(at == 12.0);
        band(at, trials)
    });
    assert_eq!(tries, 3);
}

#[test]
fn a_load_that_the_client_could_not_make_is_no_answer() {
    // The client can 10, and the server is never asked for more than it can.
    let (found, runs) = search(BOUNDS, |at, _| match at {
        met if met <= 10.0 => Verdict::Met,
        _ => Verdict::NotKnown,
    });
    assert!(runs <= 12);
    assert_eq!(found.outcome, Outcome::ClientLimit);
    let met = found.met.unwrap();
    assert!((8.0..=10.0).contains(&met), "{found:?}");
    assert_eq!(found.not_met_verdict, Some(Verdict::NotKnown));

    // Below what is missed nothing is lost by a client that failed above it.
    let (found, _) = search(BOUNDS, |at, trials| match at {
        one if one == 1.0 && trials.len() < 3 => Verdict::NotKnown,
        met if met <= 0.3 => Verdict::Met,
        _ => Verdict::Missed,
    });
    assert_eq!(found.outcome, Outcome::Found);
}
