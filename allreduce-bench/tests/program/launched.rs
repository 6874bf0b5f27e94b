//! Ranks that a launcher started: two copies of the program with a launcher's variables, and the real `mpirun` where there is one.

use std::path::Path;
use std::process::Command;

use boxfile::Fault;
use record::{CallMode, CollectiveOutcome, LauncherFacts, Status};
use rustix::process::Signal;

use super::common::{Kept, Ran, Running, Scratch, exact_us, has_two_cpus, skipped, two_gpus, with};

/// In the environment of every copy, and to be found nowhere.
const CANARY: &str = "canary-7f3a9c";

/// The variables of rank `rank` of two on one host.
type Variables = fn(rank: usize) -> Vec<(&'static str, String)>;

/// Jobs of tests that run at once differ.
fn job() -> String {
    // Of its own for each test, which has a thread of its own: the port goes by it.
    let thread = format!("{:?}", std::thread::current().id());
    let thread = thread.replace(|digit: char| !digit.is_ascii_digit(), "");
    format!("{}{thread}", std::process::id())
}

fn open_mpi(rank: usize) -> Vec<(&'static str, String)> {
    vec![
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", "2".to_owned()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2".to_owned()),
        ("PMIX_NAMESPACE", job()),
    ]
}

fn hydra(rank: usize) -> Vec<(&'static str, String)> {
    vec![
        ("PMI_RANK", rank.to_string()),
        ("PMI_SIZE", "2".to_owned()),
        ("MPI_LOCALRANKID", rank.to_string()),
        ("MPI_LOCALNRANKS", "2".to_owned()),
    ]
}

fn srun(rank: usize) -> Vec<(&'static str, String)> {
    vec![
        ("SLURM_JOB_ID", job()),
        ("SLURM_STEP_ID", "0".to_owned()),
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_NTASKS", "2".to_owned()),
        ("SLURM_LOCALID", rank.to_string()),
        ("SLURM_STEP_NODELIST", "node7".to_owned()),
    ]
}

fn torchrun(rank: usize) -> Vec<(&'static str, String)> {
    vec![
        ("TORCHELASTIC_RUN_ID", job()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", "29500".to_owned()),
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", "2".to_owned()),
        ("LOCAL_RANK", rank.to_string()),
        ("LOCAL_WORLD_SIZE", "2".to_owned()),
    ]
}

const QUICK: [&str; 4] = ["--samples", "6", "--modes", "back-to-back"];

const ON_HOST: [&str; 8] = [
    "--backend",
    "host",
    "--sizes",
    "4K",
    "--out",
    "out",
    "--rendezvous-wait",
    "30",
];

/// One copy, which finds its folder of temporary files in `tmp` of the scratch folder.
fn copy(scratch: &Scratch, variables: &[(&str, String)], arguments: &[&str]) -> Command {
    std::fs::create_dir_all(scratch.join("tmp")).unwrap();
    let mut command = scratch.program(arguments);
    command.env("TMPDIR", scratch.join("tmp"));
    command.env("SECRET_TOKEN", CANARY);
    command.envs(variables.iter().map(|(name, value)| (*name, value)));
    command
}

/// Both copies, rank 0 first.
fn start(scratch: &Scratch, of: Variables, arguments: &[&str]) -> [Running; 2] {
    // The follower comes first, so that it has to wait.
    let follower = Running::start(copy(scratch, &of(1), arguments));
    let leader = Running::start(copy(scratch, &of(0), arguments));
    [leader, follower]
}

fn texts<'a>(fixed: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
    fixed
        .iter()
        .copied()
        .chain(more.iter().map(String::as_str))
        .collect()
}

/// What a job left: the leader's record, and a follower that said nothing.
fn both(scratch: &Scratch, [leader, follower]: [Running; 2]) -> Kept {
    let (leader, follower) = (leader.end(), follower.end());
    assert_eq!(follower.code, 0, "{}{}", follower.stderr, leader.stderr);
    assert_eq!(
        (follower.stdout.as_str(), follower.stderr.as_str()),
        ("", "")
    );
    let kept = scratch.left(leader);
    is_empty(&scratch.join("tmp"));
    kept
}

fn is_empty(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whether no file below says the secret; gives how many were looked at.
fn keeps_the_secret(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files += keeps_the_secret(&path);
        } else if let Ok(content) = std::fs::read(&path) {
            let said = content
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes());
            assert!(!said, "{}", path.display());
            files += 1;
        }
    }
    files
}

#[test]
fn the_ranks_of_each_launcher_measure_together_on_host_memory() {
    if !has_two_cpus() {
        return;
    }
    for (of, name) in [
        (open_mpi as Variables, "mpirun"),
        (hydra, "mpirun"),
        (srun, "srun"),
        (torchrun, "torchrun"),
    ] {
        let scratch = Scratch::new();
        let kept = both(
            &scratch,
            start(&scratch, of, &[&QUICK[..], &ON_HOST].concat()),
        );
        assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
        assert_eq!(kept.record.status, Status::Complete);
        exact_us(kept.reduced(4096, CallMode::BackToBack));
        let found = kept.collectives();
        let host = kept.record.header.provenance.host.clone().unwrap();
        let expected = LauncherFacts {
            name: name.to_owned(),
            hosts: vec![host.clone(), host],
        };
        assert_eq!(found.launcher, Some(expected));
        let labels: Vec<&str> = found
            .devices
            .iter()
            .map(|device| device.label.as_str())
            .collect();
        assert_eq!(labels, ["HOST0", "HOST1"]);
        // Two devices of one host make one pair.
        assert_eq!(found.paths.len(), 1);
        assert!(keeps_the_secret(&scratch.join(".")) > 0);
    }
}

#[test]
fn ranks_on_a_soft_box_take_the_time_that_its_file_says() {
    let scratch = Scratch::new();
    let arguments = scratch.on(&two_gpus(), &["--sizes", "4K,64K"]);
    let kept = both(&scratch, start(&scratch, srun, &texts(&QUICK, &arguments)));
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    assert_eq!(
        kept.record.header.simulated.as_ref().unwrap().box_name,
        "two-l40"
    );
    // The box says 50 us at every size.
    for bytes in [4096, 65536] {
        let took = exact_us(kept.reduced(bytes, CallMode::BackToBack));
        assert!((took - 50.0).abs() < 0.02 * 50.0, "{took}");
    }
}

/// Two copies on a box that measure 4 KiB and stay in the first call of 8 KiB.
fn stuck(scratch: &Scratch) -> [Running; 2] {
    // Calls up to there: 1 + (1 + 4) + 6 * (1 + 4) = 36 at the first size; joining is none.
    let described = with(Fault::CollectiveHang {
        rank: 1,
        after_calls: 36,
        protocol: None,
    });
    let more = ["--sizes", "4K,8K", "--deadline", "600"];
    let arguments = scratch.on(&described, &more);
    let mut copies = start(scratch, srun, &texts(&QUICK, &arguments));
    copies[0].until("to measure");
    scratch.until_a_point_is_kept();
    copies
}

#[test]
fn a_follower_that_is_killed_is_named_and_what_was_measured_is_kept() {
    let scratch = Scratch::new();
    let [leader, follower] = stuck(&scratch);
    follower.signal(Signal::KILL);
    assert_eq!(follower.end().code, 128 + 9);
    let kept = scratch.left(leader.end());
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    exact_us(kept.reduced(4096, CallMode::BackToBack));
    let CollectiveOutcome::Failed { reason } = kept.reduced(8192, CallMode::BackToBack) else {
        panic!("{:?}", kept.reduced(8192, CallMode::BackToBack));
    };
    assert!(
        reason.contains("rank 1") && reason.contains("connection"),
        "{reason}"
    );
}

#[test]
fn a_follower_whose_leader_is_killed_ends_its_rank_and_says_so() {
    let scratch = Scratch::new();
    let [leader, follower] = stuck(&scratch);
    leader.signal(Signal::KILL);
    assert_eq!(leader.end().code, 128 + 9);
    let follower = follower.end();
    assert_eq!(follower.code, 3, "{}", follower.stderr);
    assert_eq!(follower.stdout, "");
    assert!(
        follower
            .stderr
            .starts_with("rank 1: the connection to rank 0 is lost"),
        "{}",
        follower.stderr
    );
    scratch.nobody_is_left();
}

#[test]
fn a_rank_that_never_comes_is_told_in_words() {
    let scratch = Scratch::new();
    let arguments = scratch.on(&two_gpus(), &["--rendezvous-wait", "1"]);
    let alone = |rank| {
        let ran = copy(&scratch, &srun(rank), &texts(&[], &arguments)).output();
        Ran::of(ran.unwrap())
    };
    let follower = alone(1);
    assert_eq!((follower.code, follower.stdout.as_str()), (3, ""));
    assert!(
        follower
            .stderr
            .starts_with("rank 1: rank 0 did not answer at 127.0.0.1:"),
        "{}",
        follower.stderr
    );
    let kept = scratch.left(alone(0));
    assert_eq!(kept.ran.code, 3);
    assert!(
        kept.ran
            .stderr
            .contains("rank 1 did not come to 127.0.0.1:"),
        "{}",
        kept.ran.stderr
    );
    is_empty(&scratch.join("tmp"));
}

#[test]
fn the_real_mpirun_starts_the_ranks() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        skipped("mpirun is not installed (Debian's openmpi-bin)");
        return;
    }
    if !has_two_cpus() {
        return;
    }
    let scratch = Scratch::new();
    let program = scratch.program([&QUICK[..], &ON_HOST].concat());
    let mut mpirun = Command::new("mpirun");
    // Open MPI's own words; root is refused without them, and containers may not bind.
    mpirun.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-np",
        "2",
    ]);
    mpirun.arg(program.get_program()).args(program.get_args());
    mpirun.current_dir(scratch.join("."));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => mpirun.env(name, value),
            None => mpirun.env_remove(name),
        };
    }
    let kept = scratch.left(Ran::of(mpirun.output().unwrap()));
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let launcher = kept.collectives().launcher.as_ref().unwrap();
    assert_eq!(
        (launcher.name.as_str(), launcher.hosts.len()),
        ("mpirun", 2)
    );
    exact_us(kept.reduced(4096, CallMode::BackToBack));
}
