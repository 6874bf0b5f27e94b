//! The program `mx-smi` of a MetaX box whose GPUs are joined by links of their own: it prints the matrix of links, which no file
//! of sysfs shows, and answers nothing else.

use super::{at, make_folder};
use crate::{BoxError, BoxFile, Vendor};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where MetaX's driver puts it.
const PLACE: &str = "opt/mxdriver/bin";

pub(super) fn write(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    let devices = 0..described.device.len();
    let mut pairs = devices
        .clone()
        .flat_map(|a| devices.clone().map(move |b| (a, b)));
    let joined = pairs.any(|(a, b)| a != b && described.peer_path(a, b).fabric);
    if described.vendor != Vendor::METAX || !joined {
        return Ok(());
    }
    let folder = root.join(PLACE);
    make_folder(&folder)?;
    let path = folder.join("mx-smi");
    let matrix = matrix(described);
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1 $2\" != \"topo -m\" ]; then\n\
         \techo \"mx-smi: a simulated machine answers topo -m only\" >&2\n\
         \texit 1\n\
         fi\n\
         cat <<'MATRIX'\n{matrix}MATRIX\n"
    );
    fs::write(&path, script).map_err(at(&path))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at(&path))
}

/// The text of `mx-smi topo -m`, in columns of eight characters.
fn matrix(described: &BoxFile) -> String {
    let count = described.device.len();
    let cell = |text: String| format!("{text:<8}");
    let heads: String = (0..count).map(|gpu| cell(format!("GPU{gpu}"))).collect();
    let mut text = format!(
        "{:<50}: {count}\nDevice link type matrix\n{:8}{heads}Node Affinity  CPU Affinity\n",
        "Attached GPUs", ""
    );
    for a in 0..count {
        let links: String = (0..count)
            .map(|b| cell(link_type(described, a, b).to_owned()))
            .collect();
        let node = described.device[a].node;
        let cpus = described
            .node
            .iter()
            .find(|entry| Some(entry.id) == node)
            .map_or("N/A", |entry| &entry.cpus);
        let node = node.map_or("N/A".to_owned(), |node| node.to_string());
        let name = cell(format!("GPU{a}"));
        text.push_str(&format!("{name}{links}{node:<15}{cpus}\n"));
    }
    text.push_str(
        "\nLegend:\n  X    = Self\n  SYS  = between NUMA nodes\n  NODE = within a NUMA node\n  MX   = MetaXLink\n",
    );
    text
}

/// Two GPUs without links of their own are distinguished by node only.
fn link_type(described: &BoxFile, a: usize, b: usize) -> &'static str {
    let node = |gpu: usize| described.device[gpu].node;
    if a == b {
        "X"
    } else if described.peer_path(a, b).fabric {
        "MX"
    } else if node(a).is_some() && node(a) == node(b) {
        "NODE"
    } else {
        "SYS"
    }
}
