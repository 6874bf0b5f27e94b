//! Which launcher started this process, as which of its ranks, and where rank 0 listens: read from the launcher's variables.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use clap::Args;
use program::command_line::seconds;

/// How ranks that a launcher started find each other.
#[derive(Debug, Clone, Args)]
pub(crate) struct LaunchArgs {
    /// Where rank 0 of a launcher's ranks listens, HOST or HOST:PORT. By default its host is taken from the launcher's variables
    /// and the port follows from the job.
    #[arg(long, value_name = "HOST")]
    pub(crate) rendezvous: Option<String>,

    /// How long the ranks that a launcher started wait for each other.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) rendezvous_wait: Duration,

    /// Ignore a launcher's variables and start all ranks from this process.
    #[arg(long)]
    pub(crate) no_launcher: bool,
}

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
    /// What tells its jobs apart: all that are set.
    job: &'static [&'static str],
    /// What names rank 0's host first; a list where there are several hosts.
    host: &'static str,
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
        job: &[
            "TORCHELASTIC_RUN_ID",
            "MASTER_PORT",
            "TORCHELASTIC_RESTART_COUNT",
            "MASTER_ADDR",
        ],
        host: "MASTER_ADDR",
    },
    Launcher {
        name: "mpirun",
        marks: &["OMPI_COMM_WORLD_RANK"],
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        job: &["PMIX_NAMESPACE"],
        host: "MASTER_ADDR",
    },
    // MPICH and Intel MPI. `srun --mpi=pmi2` sets the first two as well, and not the local rank.
    Launcher {
        name: "mpirun",
        marks: &["PMI_RANK", "MPI_LOCALRANKID"],
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        local_rank: "MPI_LOCALRANKID",
        local_size: &["MPI_LOCALNRANKS"],
        job: &[],
        host: "MASTER_ADDR",
    },
    Launcher {
        name: "srun",
        marks: &[STEP],
        rank: "SLURM_PROCID",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        local_rank: "SLURM_LOCALID",
        local_size: &[],
        job: &["SLURM_JOB_ID", STEP],
        host: "SLURM_STEP_NODELIST",
    },
];

/// A step's number: absent in the shell of `salloc` and in a batch script.
const STEP: &str = "SLURM_STEP_ID";

/// Steps from here on are none of `srun`: a batch script, an interactive shell and the like (slurm/slurm.h,
/// `SLURM_INTERACTIVE_STEP` is 0xfffffffa).
const SPECIAL_STEPS: u64 = 0xffff_fff0;

/// How many processes launchers that are not known started.
const UNKNOWN_SIZES: [&str; 5] = [
    "PMI_SIZE",
    "PALS_SIZE",
    "FLUX_JOB_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_SIZE",
];

/// Ports from which rank 0 takes its own, below those that systems give to clients.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

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
    /// What tells this job of the launcher from its others.
    pub(super) job: String,
    /// Rank 0's host, where the launcher names it.
    host: Option<String>,
}

impl Place {
    /// The place of this process; `None` where no launcher started it, where it is alone, or where launchers are to be ignored.
    ///
    /// # Errors
    /// The variables of a launcher contradict each other, or one is missing; or a launcher is none of those that are known.
    pub(crate) fn find(args: &LaunchArgs) -> Result<Option<Self>, String> {
        if args.no_launcher {
            return Ok(None);
        }
        Self::among(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn among(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let is_special = |step: String| step.parse::<u64>().is_ok_and(|step| step >= SPECIAL_STEPS);
        let is_set = |mark: &&str| match variable(mark) {
            Some(step) if **mark == *STEP => !is_special(step),
            value => value.is_some(),
        };
        let started = |launcher: &&Launcher| launcher.marks.iter().all(is_set);
        let Some(launcher) = LAUNCHERS.iter().find(started) else {
            return unknown(&variable);
        };
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let number = |names: &[&'static str]| -> Result<u32, String> {
            let (name, value) = (names.join(" or "), first(names));
            let text = value.as_deref().unwrap_or("not set");
            text.parse().map_err(|_| {
                format!(
                    "{} started this program, and {name} is {text}, which is no number; fix it, or ignore the launcher with \
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
        if size == 1 {
            return unknown(&variable);
        }
        let here = first(launcher.local_size).and_then(|text| text.parse().ok());
        let hosts = variable(launcher.host);
        let is_list = |hosts: &String| hosts.contains(['[', ',']);
        let several_hosts =
            here.is_some_and(|here: u32| here != size) || hosts.as_ref().is_some_and(is_list);
        let job = launcher.job.iter().filter_map(|name| variable(name));
        let job = job.collect::<Vec<_>>().join("-");
        Ok(Some(Self {
            launcher: launcher.name,
            rank,
            size,
            local_rank,
            several_hosts,
            // A launcher that does not name its jobs is told from others of its kind by its process, which a host shares.
            job: match job.is_empty() && !several_hosts {
                true => format!("of-{}", std::os::unix::process::parent_id()),
                false => job,
            },
            host: hosts.map(|list| first_host(&list)),
        }))
    }

    /// Where rank 0 listens.
    ///
    /// # Errors
    /// The ranks are on several hosts, and nothing names rank 0's; or `asked` has no port that is one.
    pub(super) fn address(&self, asked: Option<&str>) -> Result<(String, u16), String> {
        let mut hash = DefaultHasher::new();
        let user = rustix::process::geteuid().as_raw();
        (self.launcher, &self.job, user).hash(&mut hash);
        let count = u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(hash.finish() % count).unwrap_or_default();
        let own = self.host.as_deref().filter(|_| self.several_hosts);
        match (asked, own) {
            (Some(asked), _) => match asked.rsplit_once(':') {
                None => Ok((asked.to_owned(), port)),
                Some((host, port)) => port
                    .parse()
                    .map(|port| (host.to_owned(), port))
                    .map_err(|_| format!("--rendezvous {asked}: `{port}` is no port")),
            },
            (None, Some(host)) => Ok((host.to_owned(), port)),
            (None, None) if self.several_hosts => Err(format!(
                "the ranks of {} are on several hosts: name rank 0's host with --rendezvous",
                self.launcher
            )),
            (None, None) => Ok(("127.0.0.1".to_owned(), port)),
        }
    }
}

/// The first host of a list as Slurm writes it, such as `node[07-09],gpu1`.
fn first_host(list: &str) -> String {
    let (host, rest) = list.split_once(['[', ',']).unwrap_or((list, ""));
    let is_bracket = list.as_bytes().get(host.len()) == Some(&b'[');
    let number = rest.split([',', '-', ']']).next().filter(|_| is_bracket);
    format!("{host}{}", number.unwrap_or_default())
}

/// Refuses to be one of many copies that would each measure everything at once.
fn unknown(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Place>, String> {
    let is_many = |value: &String| value.parse::<u32>() != Ok(1);
    let sizes = UNKNOWN_SIZES.iter();
    let mut many = sizes.filter_map(|name| Some((name, variable(name).filter(is_many)?)));
    match many.next() {
        None => Ok(None),
        Some((name, value)) => Err(format!(
            "a launcher that is not known started this program ({name}={}); use torchrun, mpirun or srun, or start one copy with \
             --no-launcher",
            value.escape_debug()
        )),
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
        ("SLURM_STEP_NODELIST", "node[07-09],gpu1"),
        ("SLURM_JOB_ID", "77"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "5"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_STEP_NUM_TASKS", "6"),
        ("SLURM_LOCALID", "1"),
    ];

    #[test]
    fn each_launcher_tells_rank_size_and_local_rank() {
        let torchrun = [
            ("TORCHELASTIC_RUN_ID", "none"),
            ("MASTER_ADDR", "node7"),
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
        let own = format!("of-{}", std::os::unix::process::parent_id());
        for (variables, launcher, rank, size, several_hosts, job, host) in [
            (
                &torchrun[..],
                "torchrun",
                1,
                2,
                false,
                "none-29500-node7",
                Some("node7"),
            ),
            (&open_mpi, "mpirun", 3, 4, true, "9.1", None),
            // It says nothing of hosts.
            (&hydra, "mpirun", 1, 2, false, &own, None),
            // The step's six tasks, not the job's eight.
            (&SRUN, "srun", 5, 6, true, "77-0", Some("node07")),
        ] {
            let expected = Place {
                launcher,
                rank,
                size,
                local_rank: 1,
                several_hosts,
                job: job.to_owned(),
                host: host.map(str::to_owned),
            };
            assert_eq!(place(variables), Ok(Some(expected)));
        }
        // torchrun within srun: the inner one counts.
        let both = [&torchrun[..], &SRUN].concat();
        assert_eq!(place(&both).unwrap().unwrap().launcher, "torchrun");
    }

    #[test]
    fn rank_0_listens_where_the_launcher_or_the_flag_says() {
        let srun = place(&SRUN).unwrap().unwrap();
        let (host, port) = srun.address(None).unwrap();
        assert_eq!(host, "node07");
        // All ranks of a job find the same port, and another job another one.
        assert_eq!(srun.address(None), Ok((host, port)));
        assert_eq!(srun.address(Some("n1")), Ok(("n1".to_owned(), port)));
        assert_eq!(srun.address(Some("n1:29")), Ok(("n1".to_owned(), 29)));
        assert!(srun.address(Some("n1:x")).is_err());
        let mut one = srun.clone();
        (one.several_hosts, one.job) = (false, "78-0".to_owned());
        let (host, other) = one.address(None).unwrap();
        assert_eq!(host, "127.0.0.1");
        assert_ne!(other, port);
        let nowhere = Place { host: None, ..srun };
        assert!(nowhere.address(None).unwrap_err().contains("--rendezvous"));
        assert_eq!(first_host("node3"), "node3");
        assert_eq!(first_host("node3,node4"), "node3");
        assert_eq!(first_host("node[3,7]"), "node3");
    }

    #[test]
    fn copies_of_an_unknown_launcher_are_refused() {
        // As HPE's PALS sets them: no local rank as Hydra has it.
        let pals = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PALS_RANKID", "0")];
        assert!(place(&pals).unwrap_err().contains("PMI_SIZE=2"));
        // `srun --mpi=pmi2` sets them as well.
        let slurm = [&pals[..], &SRUN].concat();
        assert_eq!(place(&slurm).unwrap().unwrap().launcher, "srun");
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
}
