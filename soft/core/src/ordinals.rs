//! Which devices a process sees, in which order. `CUDA_VISIBLE_DEVICES` is honoured; it says nothing about what they can do.

use boxfile::BoxFile;

/// One device as the driver counts it: a whole GPU, or a MIG instance of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordinal {
    /// Position in the box's `[[device]]` list.
    pub physical: usize,
    /// Position in that device's `[[device.mig]]` list.
    pub mig: Option<usize>,
    /// Name as the driver prints it.
    pub name: String,
    /// Id as text, `GPU-` or `MIG-` and a UUID.
    pub uuid: String,
    /// The 16 bytes of the id; zeros where the box's id is not a UUID.
    pub uuid_bytes: [u8; 16],
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Memory that somebody else holds, in bytes.
    pub busy_bytes: u64,
}

/// The devices of a box that a process sees; `visible` is the value of `CUDA_VISIBLE_DEVICES` where it is set.
///
/// The list has numbers, or ids that may be cut short; as the vendor's driver does, it ends at the first entry that names
/// no device.
#[must_use]
pub fn ordinals(described: &BoxFile, visible: Option<&str>) -> Vec<Ordinal> {
    let all = every_ordinal(described);
    let Some(visible) = visible else { return all };
    visible
        .split(',')
        .map(|entry| {
            let entry = entry.trim();
            match entry.parse::<usize>() {
                Ok(number) => all.get(number),
                Err(_) if entry.len() > 4 => {
                    all.iter().find(|ordinal| ordinal.uuid.starts_with(entry))
                }
                Err(_) => None,
            }
        })
        .map_while(|found| found.cloned())
        .collect()
}

fn every_ordinal(described: &BoxFile) -> Vec<Ordinal> {
    let mut all = Vec::new();
    for (physical, device) in described.device.iter().enumerate() {
        let busy_mib = device.busy.as_ref().map_or(0, |busy| busy.memory_mib);
        if device.mig.is_empty() {
            all.push(Ordinal {
                physical,
                mig: None,
                name: device.name.clone(),
                uuid: device.uuid.clone(),
                uuid_bytes: device.uuid_bytes().unwrap_or_default(),
                memory_bytes: device.memory_mib << 20,
                busy_bytes: busy_mib << 20,
            });
        }
        for (index, instance) in device.mig.iter().enumerate() {
            all.push(Ordinal {
                physical,
                mig: Some(index),
                name: format!("{} MIG {}", device.name, instance.profile),
                uuid: instance.uuid.clone(),
                uuid_bytes: instance.uuid_bytes().unwrap_or_default(),
                memory_bytes: instance.memory_mib << 20,
                busy_bytes: 0,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::ordinals;
    use boxfile::BoxFile;

    #[test]
    fn a_box_without_mig_shows_its_devices_in_order() {
        let l40 = BoxFile::builtin("l40x4").expect("built in");
        let seen = |visible| {
            ordinals(&l40, visible)
                .iter()
                .map(|ordinal| ordinal.physical)
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(None), [0, 1, 2, 3]);
        assert_eq!(seen(Some("2,0")), [2, 0]);
        assert_eq!(seen(Some("1,9,0")), [1]);
        assert_eq!(seen(Some("")), [0; 0]);
        assert_eq!(seen(Some(&l40.device[3].uuid)), [3]);
    }

    #[test]
    fn mig_instances_are_the_devices() {
        let mig = BoxFile::builtin("rtxpro6000-mig").expect("built in");
        let seen = ordinals(&mig, None);
        assert_eq!(seen.len(), 2);
        assert!(
            seen[0].name.ends_with("DC-4-96Q MIG 4g.96gb"),
            "{}",
            seen[0].name
        );
        // MIG-00000000-0000-5000-8000-000000000002
        assert_eq!(
            seen[1].uuid_bytes,
            [0, 0, 0, 0, 0, 0, 0x50, 0, 0x80, 0, 0, 0, 0, 0, 0, 2]
        );
        assert_eq!(
            ordinals(&mig, Some("MIG-00000000-0000-5000-8000-000000000002"))[0].physical,
            1
        );
    }
}
