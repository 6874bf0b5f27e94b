//! Known answers on boxes that a seed draws: curves, protocols, transports, numbers of ranks, launch costs and noise.
//!
//! The devices are those of a box that ships; what its library's calls take is drawn. The clock is virtual and every generator has
//! a seed, so a run repeats bit by bit.

use boxfile::{
    BoxFile, Collective, CollectiveKind, CollectiveLibrary, Figure, Noise, Origin, Protocol,
    Transport,
};

use super::boxes::told;
use super::common::{Ran, Scratch, full};
use super::dice::Dice;
use super::known::{Errors, Limited, WITH_NOISE, WITHOUT_NOISE};

/// Any number; printed, so that one box can be drawn again.
const SEED: u64 = 20_261_122;

/// How many boxes are drawn.
fn boxes() -> u64 {
    if full() { 20 } else { 4 }
}

/// The operations by their words on the command line.
const OPERATIONS: [(CollectiveKind, &str); 5] = [
    (CollectiveKind::AllReduce, "all_reduce"),
    (CollectiveKind::AllGather, "all_gather"),
    (CollectiveKind::ReduceScatter, "reduce_scatter"),
    (CollectiveKind::Broadcast, "broadcast"),
    (CollectiveKind::SendRecv, "sendrecv"),
];

/// A box with what is asked of it.
struct Drawn {
    described: BoxFile,
    ranks: u32,
    operations: String,
    sizes: String,
    /// Variables of the user.
    variables: Vec<(String, &'static str)>,
    limited: Limited,
}

fn draw(number: u64) -> Drawn {
    let mut dice = Dice::new(SEED, number);
    let (base, most_ranks) = dice.one_of(&[
        ("l40x4", 4),
        ("mxc500x4", 4),
        ("r9700-x8", 2),
        ("rtxpro6000-bare", 2),
        ("rtxpro6000-mig", 2),
    ]);
    let mut described = BoxFile::builtin(base).unwrap();
    described.name = format!("drawn-{number}");
    described.noise = dice.chance(0.5).then(|| Noise {
        cv: dice.real(0.0, 0.01),
        slow_fraction: dice.real(0.0, 0.02),
        slow_extra: 0.15,
        seed: dice.whole(0, 1 << 40),
    });
    let ranks = u32::try_from(dice.whole(2, most_ranks)).unwrap();
    let library = described.collective_library().unwrap();
    // Ranks meet in an all-reduce, so every box has one.
    let operations = [OPERATIONS[0], dice.one_of(&OPERATIONS)];
    described.collective.clear();
    for (kind, _) in operations {
        if described.collective.iter().all(|table| table.kind != kind) {
            described
                .collective
                .extend(tables(&mut dice, (library, kind, ranks)));
        }
    }
    // Instances of MIG do not reach each other.
    let mut limited = Limited {
        through_host: base == "rtxpro6000-mig",
        only: None,
    };
    let prefix = match library {
        CollectiveLibrary::Mccl => "MCCL",
        _ => "NCCL",
    };
    let mut variables = Vec::new();
    if dice.chance(0.3) {
        limited.through_host = true;
        variables.push((format!("{prefix}_P2P_DISABLE"), "1"));
    }
    if dice.chance(0.3) {
        let (only, word) = dice.one_of(&[
            (Protocol::Ll, "LL"),
            (Protocol::Ll128, "LL128"),
            (Protocol::Simple, "Simple"),
        ]);
        limited.only = Some(only);
        variables.push((format!("{prefix}_PROTO"), word));
    }
    let sizes: Vec<String> = (0..4)
        // In whole bf16.
        .map(|_| dice.factor(4.0, 262_144.0).round() * 2.0)
        .map(|bytes| format!("{bytes:.0}"))
        .collect();
    Drawn {
        described,
        ranks,
        operations: operations.map(|(_, word)| word).join(","),
        sizes: sizes.join(","),
        variables,
        limited,
    }
}

/// Tables of one operation: for one transport, the other or both, some in protocols. A call finds one under every limit, because
/// one of each transport is in no protocol.
fn tables(
    dice: &mut Dice,
    (library, kind, ranks): (CollectiveLibrary, CollectiveKind, u32),
) -> Vec<Collective> {
    let transports = match dice.chance(0.3) {
        true => vec![None],
        false => vec![Some(Transport::P2p), Some(Transport::Shm)],
    };
    let mut drawn = Vec::new();
    for transport in transports {
        let protocols = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];
        let protocols = protocols.into_iter().filter(|_| dice.chance(0.5)).map(Some);
        for protocol in protocols.chain([None]).collect::<Vec<_>>() {
            drawn.push(Collective {
                library,
                kind,
                ranks,
                protocol,
                transport,
                points: curve(dice),
                launch_us: dice
                    .chance(0.4)
                    .then(|| Figure::assumed(dice.real(5.0, 80.0), "drawn by a test")),
                origin: Origin::Assumed("drawn by a test".to_owned()),
            });
        }
    }
    drawn
}

/// Points whose times mostly rise, and sometimes fall.
fn curve(dice: &mut Dice) -> Vec<(u64, f64)> {
    let (mut bytes, mut us) = (dice.whole(4, 8192), dice.factor(4.0, 40.0));
    (0..dice.whole(1, 8))
        .map(|_| {
            let point = (bytes, us);
            bytes = bytes * dice.whole(110, 800) / 100 + 1;
            us *= dice.factor(0.8, 3.0);
            point
        })
        .collect()
}

#[test]
fn drawn_boxes_take_the_times_of_their_points() {
    told(&format!("seed {SEED}"));
    let (mut exact, mut noisy) = (Errors::default(), Errors::default());
    for number in 0..boxes() {
        let drawn = draw(number);
        let (errors, limit) = match drawn.described.noise {
            None => (&mut exact, WITHOUT_NOISE),
            Some(_) => (&mut noisy, WITH_NOISE),
        };
        let ranks = drawn.ranks.to_string();
        let asked = [
            "--ops",
            &drawn.operations,
            "--sizes",
            &drawn.sizes,
            "--tp",
            &ranks,
        ];
        let how = ["--samples", "6", "--budget", "600"];
        let modes = ["--modes", "back-to-back,graph,interleaved"];
        let scratch = Scratch::new();
        let arguments = scratch.on(
            &drawn.described,
            &[&asked[..], &how[..], &modes[..]].concat(),
        );
        let mut command = scratch.program(arguments);
        command.envs(drawn.variables.iter().map(|(name, value)| (name, *value)));
        let kept = scratch.left(Ran::of(command.output().unwrap()));
        errors.judge(&kept, &drawn.described, (drawn.limited, limit));
    }
    told(&format!("drawn without noise: {}", exact.words()));
    told(&format!("drawn with noise: {}", noisy.words()));
    // Four sizes in three modes, of two operations where these differ.
    assert!(exact.count + noisy.count >= 12 * usize::try_from(boxes()).unwrap());
}
