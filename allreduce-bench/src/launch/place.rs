//! Which launcher started this process, and as which of its ranks: read from the launcher's variables.

use super::args::LaunchArgs;

/// A launcher by the variables that it sets for each process. Of several names the first that is set counts.
struct Launcher {
    name: &'static str,
    /// All of them are set where it started this process.
    marks: &'static [&'static str],
    rank: &'static str,
    size: &'static [&'static str],
    local_rank: &'static str,
    /// Processes on this host.
    local_size: &'static [&'static str],
    /// Hosts.
    hosts: &'static [&'static str],
    /// What tells its jobs apart: all that are set.
    job: &'static [&'static str],
}

/// The launcher inside comes first: `srun torchrun` sets the variables of both, and so does an `mpirun` that uses `srun` to
/// reach its hosts. Open MPI documents its variables in mpirun(1), Hydra in its `env` of MPICH and Intel MPI, Slurm in srun(1)
/// under "output environment variables", torchrun in torch.distributed.run.
const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "torchrun",
        marks: &["TORCHELASTIC_RUN_ID"],
        rank: "RANK",
        size: &["WORLD_SIZE"],
        local_rank: "LOCAL_RANK",
        local_size: &["LOCAL_WORLD_SIZE"],
        hosts: &[],
        job: &[
            "TORCHELASTIC_RUN_ID",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RESTART_COUNT",
        ],
    },
    Launcher {
        name: "mpirun",
        marks: &["OMPI_COMM_WORLD_RANK"],
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        hosts: &[],
        job: &["PMIX_NAMESPACE"],
    },
    // MPICH and Intel MPI. `srun --mpi=pmi2` sets the first two as well, and not the local rank.
    Launcher {
        name: "mpirun",
        marks: &["PMI_RANK", "MPI_LOCALRANKID"],
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        local_rank: "MPI_LOCALRANKID",
        local_size: &["MPI_LOCALNRANKS"],
        hosts: &[],
        job: &[],
    },
    Launcher {
        name: "srun",
        marks: &[STEP],
        rank: "SLURM_PROCID",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        local_rank: "SLURM_LOCALID",
        local_size: &[],
        hosts: &["SLURM_STEP_NUM_NODES", "SLURM_NNODES"],
        job: &["SLURM_JOB_ID", STEP],
    },
];

/// Numbers of ranks as launchers tell them that are not known here: Hydra without a local rank (Cray PALS), Flux, MVAPICH2, IBM's jsrun.
const UNKNOWN: [&str; 5] = [
    "PMI_SIZE",
    "PALS_SIZE",
    "FLUX_JOB_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_SIZE",
];

/// Why not to go on where another launcher started several copies: each would measure everything, all at once.
fn unknown(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut sizes = UNKNOWN
        .into_iter()
        .filter_map(|name| Some((name, variable(name)?.parse::<u64>().ok()?)));
    let (name, size) = sizes.find(|(_, size)| *size > 1)?;
    Some(format!(
        "{name} is {size}: a launcher that is not known here started this program, and {size} copies would disturb each other; start it with \
         mpirun of Open MPI, MPICH or Intel MPI, srun or torchrun, or one copy with --no-launcher"
    ))
}

/// A step's number: absent in the shell of `salloc` and in a batch script.
const STEP: &str = "SLURM_STEP_ID";

/// Steps from here on are none of `srun`: a batch script, an interactive shell and the like (slurm/slurm.h,
/// `SLURM_INTERACTIVE_STEP` is 0xfffffffa).
const SPECIAL_STEPS: u64 = 0xffff_fff0;

/// One of the processes that a launcher started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `mpirun`, `srun` or `torchrun`.
    pub(crate) launcher: &'static str,
    pub(crate) rank: u32,
    /// Number of ranks, at least 2.
    pub(crate) size: u32,
    /// The rank among those of this host.
    pub(crate) local_rank: u32,
    /// Whether some ranks are known to be on another host.
    pub(super) several_hosts: bool,
    /// What tells this job of the launcher from its others; empty where it says nothing.
    pub(super) job: String,
}

impl Place {
    /// The place of this process; `None` where no launcher started it, where it is alone, or where launchers are to be ignored.
    ///
    /// # Errors
    /// The variables of a launcher contradict each other, or one is missing.
    pub(crate) fn find(args: &LaunchArgs) -> Result<Option<Self>, String> {
        if args.no_launcher {
            return Ok(None);
        }
        Self::among(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn among(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let started = |launcher: &&Launcher| {
            let mut marks = launcher.marks.iter();
            marks.all(|mark| variable(mark).is_some())
        };
        let Some(launcher) = LAUNCHERS.iter().find(started) else {
            return unknown(variable).map_or(Ok(None), Err);
        };
        let is_special = |step: u64| step >= SPECIAL_STEPS;
        if launcher.marks == [STEP]
            && variable(STEP).is_some_and(|step| step.parse().is_ok_and(is_special))
        {
            return Ok(None);
        }
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let number = |names: &[&'static str]| -> Result<u32, String> {
            let (name, value) = (names.join(" or "), first(names));
            let text = value.as_deref().unwrap_or("not set");
            text.parse().map_err(|_| {
                format!(
                    "{} started this program, and {name} is {text}, which is no number; mend it, or ignore the launcher with \
                     --no-launcher",
                    launcher.name
                )
            })
        };
        let (rank, size) = (number(&[launcher.rank])?, number(launcher.size)?);
        let local_rank = number(&[launcher.local_rank])?;
        if rank >= size || local_rank > rank {
            return Err(format!(
                "{} started this program as rank {rank} of {size} and as rank {local_rank} of its host, which cannot be; ignore \
                 the launcher with --no-launcher",
                launcher.name
            ));
        }
        let given = |names: &[&str]| first(names).and_then(|text| text.parse::<u32>().ok());
        let elsewhere = given(launcher.local_size).is_some_and(|here| here != size);
        let hosts = given(launcher.hosts).is_some_and(|hosts| hosts > 1);
        let job: Vec<String> = launcher
            .job
            .iter()
            .filter_map(|name| variable(name))
            .collect();
        Ok((size > 1).then(|| Self {
            launcher: launcher.name,
            rank,
            size,
            local_rank,
            several_hosts: elsewhere || hosts,
            job: job.join("-"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>, String> {
        Place::among(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const SRUN: [(&str, &str); 7] = [
        ("SLURM_JOB_ID", "77"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "5"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_STEP_NUM_TASKS", "6"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_NNODES", "2"),
    ];

    #[test]
    fn each_launcher_tells_rank_size_and_local_rank() {
        let torchrun = [
            ("TORCHELASTIC_RUN_ID", "none"),
            ("MASTER_PORT", "29500"),
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "2"),
        ];
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ("PMIX_NAMESPACE", "9.1"),
        ];
        let hydra = [
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("MPI_LOCALRANKID", "1"),
        ];
        for (variables, launcher, rank, size, local_rank, several_hosts, job) in [
            (&torchrun[..], "torchrun", 1, 2, 1, false, "none-29500"),
            (&open_mpi, "mpirun", 3, 4, 1, true, "9.1"),
            (&hydra, "mpirun", 1, 2, 1, false, ""),
            // The step's six tasks, not the job's eight.
            (&SRUN, "srun", 5, 6, 1, true, "77-0"),
        ] {
            let expected = Place {
                launcher,
                rank,
                size,
                local_rank,
                several_hosts,
                job: job.to_owned(),
            };
            assert_eq!(place(variables), Ok(Some(expected)));
        }
        // torchrun within srun: the inner one counts.
        let both = [&torchrun[..], &SRUN].concat();
        assert_eq!(place(&both).unwrap().unwrap().launcher, "torchrun");
    }

    #[test]
    fn copies_of_a_launcher_that_is_not_known_do_not_measure_at_once() {
        // As Cray's PALS sets them: no local rank that Hydra would set.
        let told =
            place(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PALS_RANKID", "0")]).unwrap_err();
        assert!(
            told.contains("PMI_SIZE is 2") && told.contains("--no-launcher"),
            "{told}"
        );
        assert_eq!(place(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), Ok(None));
    }

    #[test]
    fn a_shell_within_an_allocation_and_a_rank_alone_are_no_launch() {
        let without_step: Vec<_> = SRUN
            .iter()
            .filter(|(name, _)| *name != STEP)
            .copied()
            .collect();
        assert_eq!(place(&without_step), Ok(None));
        // 0xfffffffa is 4294967290.
        let interactive = [&[(STEP, "4294967290")][..], &without_step].concat();
        assert_eq!(place(&interactive), Ok(None));
        // Variables that a user exported for torch.
        assert_eq!(place(&[("RANK", "0"), ("WORLD_SIZE", "2")]), Ok(None));
        let alone = [
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("OMPI_COMM_WORLD_SIZE", "1"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ];
        assert_eq!(place(&alone), Ok(None));
    }

    #[test]
    fn variables_that_make_no_sense_are_named() {
        let missing = place(&[("OMPI_COMM_WORLD_RANK", "0")]).unwrap_err();
        assert!(
            missing.contains("OMPI_COMM_WORLD_SIZE is not set"),
            "{missing}"
        );
        let beyond = place(&[
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ]);
        assert!(beyond.unwrap_err().contains("rank 2 of 2"));
    }
}
