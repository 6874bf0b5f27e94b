//! The recipes: that what they start is understood by the program of today, and that the script which runs on a node does what it says.
//!
//! No scheduler is started here.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes")
}

#[test]
fn every_script_is_a_shell_s() {
    for name in ["one-node.sh", "slurm.sbatch", "mpirun.sh"] {
        let mut bash = Command::new("bash");
        let checked = bash.arg("-n").arg(recipes().join(name)).output().unwrap();
        let is_silent = checked.stderr.is_empty();
        assert!(checked.status.success() && is_silent, "{name}: {checked:?}");
    }
}

/// A folder with a program that writes its arguments into it and exits with a code.
fn stub(name: &str, code: u8) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("accept-recipes-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    let said = folder.join("said").display().to_string();
    let script = format!("printf '%s\\n' \"$@\" >> '{said}'\nexit {code}");
    program(&folder, "accept", &script);
    folder
}

/// A script of this name in a folder.
fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A recipe with launchers of its own folder first, on behalf of a profile.
fn recipe(name: &str, folder: &Path) -> Command {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    command
        .arg(recipes().join(name))
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("ACCEPT", folder.join("accept"))
        .env("RESULTS", folder.join("results"))
        .env("PROFILE", "l40x4")
        .env("NODE", "n1");
    for name in "SLURM_LOCALID OMPI_COMM_WORLD_LOCAL_RANK LEVEL LIMIT EXIT_ZERO".split(' ') {
        command.env_remove(name);
    }
    command
}

#[test]
fn launchers_start_the_node_s_script_and_the_fleet_is_judged_behind_it() {
    // Each launcher notes its options, and starts its last argument as it would on one of the nodes.
    let launcher =
        "printf '%s\\n' \"$@\" > \"${0%/*}/options\"; for last; do :; done; \"$last\"; exit $?";
    let ran = |name: &str, started_by: &str, more: &[(&str, &str)]| {
        let folder = stub(started_by, 1);
        program(&folder, started_by, launcher);
        let ended = recipe(name, &folder)
            .env("RECIPES", recipes())
            .envs(more.iter().copied())
            .output()
            .unwrap();
        // A rejected box does not end the others; the fleet's exit code is the recipe's.
        assert_eq!(ended.status.code(), Some(1), "{name}: {ended:?}");
        let [said, options] =
            ["said", "options"].map(|file| fs::read_to_string(folder.join(file)).unwrap());
        let results = folder.join("results").display().to_string();
        let expected = format!(
            "run\n--profile\nl40x4\n--level\nquick\n--out\n{results}/n1\nfleet\n{results}\n--expect\n3\n--html\n{results}/fleet.html\n"
        );
        assert_eq!(said, expected, "{name}");
        fs::remove_dir_all(&folder).unwrap();
        options
    };
    let job = [
        ("SLURM_JOB_NUM_NODES", "3"),
        ("SLURM_SUBMIT_DIR", "/"),
        ("SLURM_JOB_ID", "7"),
    ];
    let options = ran("slurm.sbatch", "srun", &job);
    assert!(options.starts_with("--ntasks-per-node=1\n"), "{options}");
    let options = ran("mpirun.sh", "mpirun", &[("HOSTS", "n1,n2,n3")]);
    assert!(
        options.starts_with("--host\nn1,n2,n3\n--map-by\nppr:1:node\n"),
        "{options}"
    );
}

fn one_node(folder: &Path, variables: &[(&str, &str)]) -> Output {
    recipe("one-node.sh", folder)
        .env("NODE", "n 1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn the_script_of_a_node_runs_once_and_hands_the_exit_code_on() {
    let folder = stub("code", 3);
    let ended = one_node(&folder, &[("LEVEL", "standard")]);
    assert_eq!(ended.status.code(), Some(3));
    let out = folder.join("results/n 1");
    let expected = format!(
        "run\n--profile\nl40x4\n--level\nstandard\n--out\n{}\n",
        out.display()
    );
    assert_eq!(fs::read_to_string(folder.join("said")).unwrap(), expected);
    // The folder of reports is its owner's only.
    let results = fs::metadata(folder.join("results")).unwrap();
    assert_eq!(results.permissions().mode() & 0o777, 0o700);
    let ended = one_node(&folder, &[("EXIT_ZERO", "1")]);
    assert_eq!(ended.status.code(), Some(0));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_run_that_does_not_end_is_ended() {
    let folder = stub("hang", 0);
    program(&folder, "accept", "exec sleep 600");
    // 124 is what timeout(1) exits with where it ended the program.
    let ended = one_node(&folder, &[("LIMIT", "0.2s")]);
    assert_eq!(ended.status.code(), Some(124));
    fs::remove_dir_all(&folder).unwrap();
}
