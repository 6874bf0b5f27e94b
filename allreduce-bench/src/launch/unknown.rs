//! Launchers that are noticed and not understood: each of their copies would take itself for the only one, and all would measure
//! on the same devices at once.

/// A launcher by variables that it sets for each process.
struct Unknown {
    /// The number of all its processes; `None` where no variable tells it.
    size: Option<&'static str>,
    /// What else tells of it.
    others: &'static [&'static str],
}

/// Flux documents its variables in flux-environment(7), MVAPICH2 in its user guide under `mpirun_rsh`, IBM's jsrun and HPE's PALS
/// in their manual pages. PMI and PMIx are what a process and its launcher speak, and Hydra's counts are those of a host.
const UNKNOWN: &[Unknown] = &[
    Unknown {
        size: Some("PMI_SIZE"),
        others: &["PMI_RANK"],
    },
    Unknown {
        size: Some("PALS_SIZE"),
        others: &["PALS_RANKID"],
    },
    Unknown {
        size: Some("FLUX_JOB_SIZE"),
        others: &["FLUX_TASK_RANK"],
    },
    Unknown {
        size: Some("MV2_COMM_WORLD_SIZE"),
        others: &["MV2_COMM_WORLD_RANK"],
    },
    Unknown {
        size: Some("JSM_NAMESPACE_SIZE"),
        others: &["JSM_NAMESPACE_RANK"],
    },
    Unknown {
        size: None,
        others: &["PMIX_RANK"],
    },
    Unknown {
        size: None,
        others: &["MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
    },
];

/// Why not to go on: a launcher that is not understood says that this process has others beside it, or, where no launcher that
/// is known has told of this process, does not say that it is alone.
pub(super) fn refusal(variable: impl Fn(&str) -> Option<String>, is_told: bool) -> Option<String> {
    let sizes = || UNKNOWN.iter().filter_map(|launcher| launcher.size);
    let values = || sizes().filter_map(&variable);
    let is_one = |value: String| value.parse() == Ok(1_u32);
    let is_alone = values().next().map_or(is_told, |_| values().all(is_one));
    let found: Vec<String> = UNKNOWN
        .iter()
        .flat_map(|launcher| launcher.size.iter().chain(launcher.others))
        .filter_map(|name| Some(format!("{name}={}", variable(name)?.escape_debug())))
        .collect();
    (!is_alone && !found.is_empty()).then(|| {
        format!(
            "a launcher that is not known started this program ({}), and each of its copies would measure everything at once; \
             known are torchrun, mpirun (of Open MPI, MPICH and Intel MPI) and srun: use one of them, or start one copy with \
             --no-launcher",
            found.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)], is_told: bool) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        refusal(variable, is_told)
    }

    #[test]
    fn several_copies_of_each_launcher_that_is_not_known_are_refused_by_their_variables() {
        for variables in [
            &[("PMI_SIZE", "2"), ("PMI_RANK", "1")][..],
            &[("PALS_SIZE", "2"), ("PALS_RANKID", "1")],
            &[("FLUX_JOB_SIZE", "2"), ("FLUX_TASK_RANK", "0")],
            &[("MV2_COMM_WORLD_SIZE", "2"), ("MV2_COMM_WORLD_RANK", "0")],
            &[("JSM_NAMESPACE_SIZE", "2"), ("JSM_NAMESPACE_RANK", "0")],
            // These say no number of ranks.
            &[("PALS_RANKID", "0")],
            &[("PMIX_RANK", "0")],
            &[("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")],
            // One that is no number says nothing either, and one launcher may be inside another.
            &[("PMI_SIZE", "two")],
            &[("FLUX_JOB_SIZE", "1"), ("PMI_SIZE", "4")],
        ] {
            let reason = told(variables, false).unwrap();
            for (name, value) in variables {
                assert!(reason.contains(&format!("{name}={value}")), "{reason}");
            }
            let names = ["torchrun", "mpirun", "srun", "--no-launcher"];
            assert!(names.iter().all(|name| reason.contains(name)), "{reason}");
        }
        let lines = told(&[("PMI_SIZE", "2\n3")], false).unwrap();
        assert!(!lines.contains('\n'), "{lines}");
    }

    #[test]
    fn a_copy_that_is_alone_is_not_refused() {
        assert_eq!(told(&[], false), None);
        // A launcher that uses PMIx and says the number of its tasks.
        let one = [("FLUX_JOB_SIZE", "1"), ("PMIX_RANK", "0")];
        assert_eq!(told(&one, false), None);
        // As Open MPI sets it for the only rank of a job.
        assert_eq!(told(&[("PMIX_RANK", "0")], true), None);
        // One rank of a known launcher in each of four tasks: they are four.
        assert!(told(&[("FLUX_JOB_SIZE", "4")], true).is_some());
    }
}
