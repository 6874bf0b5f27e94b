//! `tplens accept profile draft`: a profile for the machine at hand, printed as TOML. It says what is there, not what was ordered: each line
//! has its source, to be checked against the order.

use program::outputs::print;
use program::{Stop, passing_folder};
use record::{LinkDevice, Links};
use runner::Interrupt;
use topology::PcieLink;

use super::folder::Folder;
use super::scene::{self, Scene};
use crate::cli::On;

/// Prints the profile.
pub(crate) fn draft(on: &On, interrupt: &Interrupt) -> Result<u8, Stop> {
    let (path, is_new) = (passing_folder("accept-draft"), true);
    let folder = Folder { path, is_new };
    let backend = on.backend.as_deref();
    let drafted = scene::look(on, backend, &folder, scene::LOOKING, interrupt);
    let text = drafted.and_then(|scene| text(&scene));
    folder.forget();
    Ok(print(&text?))
}

/// The profile of a machine that was looked at.
fn text(scene: &Scene) -> Result<String, Stop> {
    let links = &scene.links;
    let backend = links.backend.as_ref().map(|backend| backend.name.as_str());
    let (Some(backend), Some(first)) = (backend, links.devices.first()) else {
        return Err(Stop::Refused("no device to draft a profile for".into()));
    };
    let mut names: Vec<&str> = links.devices.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let count = links.devices.len();
    let is_guest = scene.machine.hypervisor == Some(true);
    let is_mig = links.devices.iter().any(|device| device.mig.is_some());
    let soft = scene.found.it.header.simulated.as_ref();
    let soft = soft.map(|soft| format!(", SIMULATED on {}", soft.box_name));
    let mut text = format!(
        "# Drafted by tplens accept profile draft{}: it says what is there. Compare each line with the order.\n\
         schema = \"accept-profile/1\"\nname = \"draft\"\ntitle = \"{count}x {}\"\nextends = \"base\"\n\n\
         # As the driver lists them.\n[match]\nbackend = {backend:?}\nnames = {names:?}\ncount = {count}\nmig = {is_mig}\n\
         guest = {is_guest}\n",
        soft.unwrap_or_default(),
        first.name.replace('"', ""),
    );
    if let Some(gib) = memory_gib(links) {
        text += &format!("memory_gib_at_least = {gib:.1}\n");
    }
    let maxima = links.devices.iter().map(|device| {
        let maxima = scene.maxima(device).into_iter().flatten();
        maxima.reduce(PcieLink::slower)
    });
    let all: Option<Vec<PcieLink>> = maxima.collect();
    text += &match all.and_then(|all| all.into_iter().reduce(PcieLink::slower)) {
        Some(link) => format!(
            "\n[link]\ngeneration = {}\nwidth = {}\nsource = \"the best that slot and card can do, as the kernel of this machine shows it\"\n",
            link.generation(),
            link.width()
        ),
        None => "\n[link]\n# generation = 5\n# width = 16\nsource = \"not shown here: state what was ordered\"\n".to_owned(),
    };
    // Of a guest or of MIG instances it is not known.
    if count > 1 && !is_guest && !is_mig {
        text += "\n[peer]\nexpect = \"direct\"\nsource = \"assumed: devices of one machine reach each other directly; else staged or forbidden\"\n";
    }
    let mut devices: Vec<&LinkDevice> = links.devices.iter().collect();
    devices.sort_by_key(|device| device.address);
    let nodes: Option<Vec<u32>> = devices.iter().map(|device| device.node).collect();
    if let Some(nodes) = nodes {
        text += &format!(
            "\n[numa]\nnodes = {nodes:?}\nsource = \"numa_node of the kernel of this machine, in the order of PCI addresses\"\n"
        );
    }
    Ok(text)
}

/// What each device has at least, in GiB, less a GiB that drivers keep.
fn memory_gib(links: &Links) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let all = links.devices.iter().map(|device| device.memory_bytes);
    let least = all.collect::<Option<Vec<u64>>>()?.into_iter().min()?;
    Some((gib(least) - 1.0).floor()).filter(|gib| *gib > 0.0)
}
