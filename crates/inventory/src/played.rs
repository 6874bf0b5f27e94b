//! `--sim` from the command line to the driver that answers: what it goes together with, the restart on the box, and that a
//! simulated driver answered. How a program is restarted is the matter of [`program::sim`].

use std::path::Path;

use anyhow::anyhow;
use device::Built;
use program::{Stop, sim};
use topology::Sysfs;

use crate::backend::BackendArg;
use crate::choose::Chosen;

/// Refuses `--sim` beside `--backend host`.
///
/// # Errors
/// [`Stop::Usage`] for both.
pub fn refuse_host(asked: Option<&str>, backend: BackendArg) -> Result<(), Stop> {
    if asked.is_some() && backend == BackendArg::Named(Built::Host) {
        return Err(Stop::Usage(
            "--sim plays GPUs and --backend host measures this machine: leave one of them out"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The tree to read: this machine's, or that of the box which `--sim` asks for. Where the box is not played yet, this program
/// starts again on it, with the simulated drivers of its vendor and these libraries.
///
/// # Errors
/// What [`crate::soft_libraries`] and [`sim::restart`] say.
pub fn sysfs(asked: Option<&str>, folder: &Path, libraries: &[&str]) -> Result<Sysfs, Stop> {
    match (asked, sim::sysfs_root()) {
        (_, Some(root)) => Ok(Sysfs::at(root)),
        (None, None) => Ok(Sysfs::real()),
        (Some(name), None) => {
            let drivers = crate::soft_libraries(sim::vendor(name)?)?;
            Err(sim::restart(name, folder, &[drivers, libraries].concat()))
        }
    }
}

/// Shows that what answered is a simulated driver where `--sim` asked for one.
///
/// # Errors
/// [`Stop::Internal`]: it is a real one.
pub fn expect_soft(asked: Option<&str>, chosen: &Chosen) -> Result<(), Stop> {
    if asked.is_some() && chosen.inventory.soft_box.is_none() {
        return Err(Stop::Internal(anyhow!(
            "--sim was asked for, but what answered is the real {} backend",
            chosen.backend.name()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inventory;

    #[test]
    fn a_box_and_the_host_do_not_go_together_and_each_alone_does() {
        let host = BackendArg::Named(Built::Host);
        assert!(refuse_host(None, host).is_ok());
        assert!(refuse_host(Some("l40x4"), BackendArg::Auto).is_ok());
        let refused = refuse_host(Some("l40x4"), host);
        assert!(matches!(refused, Err(Stop::Usage(why)) if why.contains("--backend host")));
    }

    #[test]
    fn only_a_soft_driver_answers_for_a_box() {
        let answered = |soft_box: Option<&str>| Chosen {
            backend: Built::Cuda,
            inventory: Inventory {
                soft_box: soft_box.map(str::to_owned),
                ..Inventory::default()
            },
            said: Vec::new(),
            absent: Vec::new(),
        };
        assert!(expect_soft(None, &answered(None)).is_ok());
        assert!(expect_soft(Some("l40x4"), &answered(Some("l40x4"))).is_ok());
        let refused = expect_soft(Some("l40x4"), &answered(None));
        assert!(matches!(refused, Err(Stop::Internal(why)) if why.to_string().contains("cuda")));
    }
}
