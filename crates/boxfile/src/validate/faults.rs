//! Checks of injected faults.

use super::{Check, Keys};
use crate::{BoxFile, Fault, HangOp, Link, Vendor};

impl BoxFile {
    pub(super) fn check_fault(&self, keys: &Keys<'_>, at: &str, fault: &Fault) -> Check {
        let key = |name: &str| format!("{at}.{name}");
        match fault {
            Fault::AllocFailure { nth, .. } => {
                keys.require(*nth > 0, &key("nth"), nth, "allocations are counted from 1")
            }
            Fault::InitFailure { code } => keys.require(*code != 0, &key("code"), code, "0 is success"),
            Fault::PeerDenied { pair } | Fault::DropData { pair } => self.check_pair(keys, &key("pair"), *pair),
            Fault::SlowWay { pair, percent } => {
                self.check_pair(keys, &key("pair"), *pair)?;
                keys.require(
                    (1..100).contains(percent),
                    &key("percent"),
                    percent,
                    "a slow way has 1 to 99 percent of its rate",
                )?;
                let known = self.peer_path(pair[0], pair[1]).gbps.is_some();
                keys.require(
                    known,
                    &key("pair"),
                    format!("{pair:?}"),
                    "only a pair whose rate the box gives can have a slow way",
                )
            }
            Fault::WrongData { pair: Some(pair), direction: None, device: None } => {
                self.check_pair(keys, &key("pair"), *pair)
            }
            Fault::WrongData { pair: None, direction: Some(_), device: Some(device) } => {
                self.check_index(keys, &key("device"), *device)
            }
            Fault::WrongData { .. } => {
                Err(keys.refuse(at, "wrong_data", "give either pair, or direction and device"))
            }
            Fault::MbindRefused { node } => self.check_node(keys, &key("node"), *node),
            Fault::MemoryErrors { device, .. } | Fault::KernelWrong { device, .. } | Fault::DeviceLost { device, .. } | Fault::NvlinkDown { device, .. } | Fault::NvlinkErrors { device, .. } => self.check_index(keys, &key("device"), *device),
            Fault::RowRemaps { device, .. } => {
                self.check_index(keys, &key("device"), *device)?;
                keys.require(
                    self.vendor == Vendor::NVIDIA,
                    &key("device"),
                    device,
                    "only NVIDIA's devices tell of rows that were replaced",
                )
            }
            Fault::RetiredPages { device, retired, after_lost_data, pending, after_readings } => {
                self.check_index(keys, &key("device"), *device)?;
                keys.require(
                    after_lost_data <= retired && (!pending || *retired > 0),
                    &key("retired"),
                    retired,
                    "all pages are counted here, those on which data was lost and those that wait among them",
                )?;
                keys.require(
                    self.vendor == Vendor::NVIDIA || (self.vendor == Vendor::AMD && *after_readings == 0 && *after_lost_data == 0),
                    at,
                    "retired_pages",
                    "NVIDIA's devices tell of pages; AMD's do in a file, from the start and without causes",
                )
            }
            Fault::Hang { op, device, pair, .. } => match (op, device, pair) {
                (HangOp::Init, None, None) => Ok(()),
                (HangOp::Peer | HangOp::EnablePeer, None, Some(pair)) => self.check_pair(keys, &key("pair"), *pair),
                (HangOp::H2d | HangOp::D2h | HangOp::Local | HangOp::Kernel, Some(device), None) => {
                    self.check_index(keys, &key("device"), *device)
                }
                _ => Err(keys.refuse(
                    at,
                    "hang",
                    "peer and enable_peer take pair; h2d, d2h, local and kernel take device; init takes neither",
                )),
            },
            Fault::Retrain { device, generation, width, .. } => {
                self.check_index(keys, &key("device"), *device)?;
                keys.link(&key("generation"), Some(Link { generation: *generation, width: *width }))?;
                let known = self.slot_link(*device).is_some();
                keys.require(known, &key("device"), device, "only a device whose slot link the box gives can retrain")
            }
            Fault::LinkErrors { address, .. } => {
                let is_there = self.port.iter().any(|port| port.address == *address)
                    || self.device.iter().any(|device| device.address == *address);
                keys.require(is_there, &key("address"), address, "there is no device or port of this address")
            }
            Fault::CollectiveInitFailure { rank, code } => {
                self.check_rank(keys, &key("rank"), *rank)?;
                keys.require(
                    (1..=6).contains(code),
                    &key("code"),
                    code,
                    "a failure of the collective library is 1 to 6",
                )
            }
            Fault::CollectiveWrong { rank, .. }
            | Fault::CollectiveHang { rank, .. }
            | Fault::CollectiveDeath { rank, .. } => self.check_rank(keys, &key("rank"), *rank),
        }
    }

    fn check_rank(&self, keys: &Keys<'_>, key: &str, rank: u32) -> Check {
        let ranks = self.seen_devices();
        keys.require(
            (rank as usize) < ranks,
            key,
            rank,
            &format!(
                "the box has devices for ranks 0 to {}",
                ranks.saturating_sub(1)
            ),
        )
    }
}
