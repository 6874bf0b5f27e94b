//! `nvidia-smi -L`: GPUs and their MIG devices with UUIDs.

use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::table::MOST_ENDS;
use super::{Captured, CapturedError, MigDevice};

/// The command.
pub(super) const TOOL: &str = "nvidia-smi -L";

/// The most MIG devices of a GPU that are read; a GPU has at most 7 slices, each with compute instances.
const MOST_MIG: usize = 64;

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    let line = lines.peek().unwrap_or_default();
    gpu(line).is_some() || is_mig(line)
}

/// Reads one line; a MIG device belongs to the GPU above it.
pub(super) fn read(
    lines: &mut Lines,
    seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let mut above = None;
    while begins(lines, seen) {
        let number = lines.number();
        let refuse = |what: String| malformed(TOOL, number, what);
        let line = lines.peek().unwrap_or_default();
        match gpu(line) {
            Some((gpu, rest)) => {
                let (name, uuid) = uuid(rest, "GPU-")
                    .ok_or_else(|| refuse(format!("GPU {gpu} has no whole UUID")))?;
                if captured.gpus.len() >= MOST_ENDS {
                    return Err(refuse(format!("GPU {gpu} is more than {MOST_ENDS} GPUs")));
                }
                let named = captured.gpu(gpu);
                if named.uuid.is_some() {
                    return Err(CapturedError::Twice {
                        tool: TOOL,
                        line: number,
                        what: format!("GPU {gpu}"),
                    });
                }
                named.name = Some(name.to_owned());
                named.uuid = Some(uuid.to_owned());
                above = Some(gpu);
            }
            None => {
                let mig = mig(line).ok_or_else(|| {
                    refuse(format!("{} is no whole line of a MIG device", shown(line)))
                })?;
                let gpu = above.ok_or_else(|| {
                    refuse(format!("MIG device {} has no GPU above it", mig.number))
                })?;
                let of = &mut captured.gpu(gpu).mig;
                if of.len() >= MOST_MIG {
                    return Err(refuse(format!(
                        "GPU {gpu} has more than {MOST_MIG} MIG devices"
                    )));
                }
                of.push(mig);
            }
        }
        lines.advance();
    }
    Ok(())
}

/// Number and rest of `GPU 0: ...`.
fn gpu(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.strip_prefix("GPU ")?.split_once(':')?;
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // `rocm-smi` of old and tables of bandwidths write their lines like this, too.
    let is_figure = |c: char| c == '-' || c.is_ascii_digit();
    let other = rest.contains("(Topology)") || rest.trim_start().starts_with(is_figure);
    (plain && !other).then(|| Some((number.parse().ok()?, rest)))?
}

fn is_mig(line: &str) -> bool {
    line.starts_with("MIG ") && line.contains(" Device ")
}

/// Reads `MIG 1g.10gb     Device  0: (UUID: MIG-...)`.
fn mig(line: &str) -> Option<MigDevice> {
    let (profile, rest) = line.strip_prefix("MIG ")?.split_once(" Device ")?;
    let (number, rest) = rest.split_once(':')?;
    let (between, uuid) = uuid(rest, "MIG-")?;
    let profile = profile.trim();
    (between.is_empty() && !profile.is_empty()).then(|| {
        Some(MigDevice {
            number: number.trim().parse().ok()?,
            profile: profile.to_owned(),
            uuid: uuid.to_owned(),
        })
    })?
}

/// What stands before `(UUID: ...)`, and the UUID, which ends the line and begins with this.
pub(super) fn uuid<'a>(text: &'a str, begins: &str) -> Option<(&'a str, &'a str)> {
    let (before, uuid) = text.rsplit_once("(UUID:")?;
    let uuid = uuid.trim().strip_suffix(')')?;
    let known = uuid.starts_with(begins) && !uuid.contains(char::is_whitespace);
    known.then_some((before.trim(), uuid))
}
