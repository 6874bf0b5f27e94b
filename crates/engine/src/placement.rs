//! What a described box means for an engine on it: the facts that decide collective paths, and the room for sequences.

use boxfile::{BoxFile, Device};
use tp_plan::{ModelFacts, Surroundings, Vendor};

use crate::{EngineError, Refused, Request};

/// Tokens of one key-value block, as vLLM's default on GPUs.
const BLOCK_TOKENS: u32 = 16;
/// Part of a GPU's memory that the engine uses, as vLLM's `--gpu-memory-utilization` default.
const MEMORY_PART: f64 = 0.9;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// How much an engine holds at once. Tokens and sequences of a step are limited by [`tp_plan::EngineFacts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest sequence, prompt and output, tokens.
    pub max_model_len: u32,
    /// Tokens of one key-value block.
    pub block_tokens: u32,
    /// Key-value blocks; each rank holds its part of every one.
    pub kv_blocks: u64,
}

impl Limits {
    /// The limits of a model on the first `ranks` devices of a box: what weights leave of nine tenths of the memory holds
    /// keys and values, and the longest sequence is the smaller of `max_model_len` and what fits there. The memory of
    /// activations is not subtracted.
    ///
    /// # Errors
    /// The box has fewer devices, or the weights leave no room for one block.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes are far below 2^53 and the difference is checked to be positive"
    )]
    pub fn of_box(
        described: &BoxFile,
        model: &ModelFacts,
        ranks: u32,
        max_model_len: u32,
    ) -> Result<Self, EngineError> {
        let devices = first_devices(described, ranks)?;
        let smallest = devices.iter().map(memory_bytes).min().unwrap_or(0);
        let usable = MEMORY_PART * smallest as f64;
        let shards = f64::from(ranks);
        let block_bytes = f64::from(BLOCK_TOKENS) * model.kv_bytes_per_token_on_rank(ranks) as f64;
        let room = usable - model.weight_bytes as f64 / shards;
        if !(room >= block_bytes && block_bytes > 0.0) {
            return Err(EngineError::DoesNotFit {
                model: model.name.clone(),
                weight_gb: model.weight_bytes as f64 / 1e9,
                ranks,
                usable_gb: usable / 1e9,
            });
        }
        let kv_blocks = (room / block_bytes) as u64;
        let fits = u32::try_from(kv_blocks * u64::from(BLOCK_TOKENS)).unwrap_or(u32::MAX);
        Ok(Self {
            max_model_len: max_model_len.min(fits),
            block_tokens: BLOCK_TOKENS,
            kv_blocks,
        })
    }
}

impl Limits {
    /// Says whether a request could be served at all.
    ///
    /// # Errors
    /// It could not, whatever else runs.
    pub fn check(&self, request: &Request) -> Result<(), Refused> {
        if request.prompt_tokens == 0 {
            return Err(Refused::EmptyPrompt);
        }
        if request.output_tokens == 0 {
            return Err(Refused::NoOutput);
        }
        if request.whole_tokens() > u64::from(self.max_model_len) {
            return Err(Refused::TooLong {
                prompt: request.prompt_tokens,
                output: request.output_tokens,
                limit: self.max_model_len,
            });
        }
        let needed = self.blocks(request);
        if needed > self.kv_blocks {
            return Err(Refused::NeverFits {
                needed,
                blocks: self.kv_blocks,
            });
        }
        Ok(())
    }

    /// Blocks that the whole request fills.
    pub(crate) fn blocks(&self, request: &Request) -> u64 {
        request
            .whole_tokens()
            .div_ceil(u64::from(self.block_tokens))
    }
}

/// What an engine's rules for collective paths see of the first `ranks` devices of a box.
///
/// # Errors
/// The box has fewer devices.
pub fn surroundings(described: &BoxFile, ranks: u32) -> Result<Surroundings, EngineError> {
    let devices = first_devices(described, ranks)?;
    let pairs = || (0..devices.len()).flat_map(|a| (0..a).map(move |b| described.peer_path(a, b)));
    let peer_access = pairs().all(|path| path.access);
    let vendor = Vendor::of(described.vendor.as_str());
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let memory = devices.iter().map(memory_bytes).min();
    let mig = devices.iter().any(|device| !device.mig.is_empty());
    let mut around = Surroundings::of_gpus(vendor, &names, memory, mig, Some(peer_access));
    around.full_nvlink = devices.len() > 1 && pairs().all(|path| path.fabric);
    Ok(around)
}

fn first_devices(described: &BoxFile, ranks: u32) -> Result<&[Device], EngineError> {
    usize::try_from(ranks)
        .ok()
        .filter(|ranks| *ranks > 0)
        .and_then(|ranks| described.device.get(..ranks))
        .ok_or_else(|| EngineError::TooFewDevices {
            name: described.name.clone(),
            devices: described.device.len(),
            ranks,
        })
}

/// Memory that a process on the device sees: a MIG instance's where there is one.
fn memory_bytes(device: &Device) -> u64 {
    let mib = device
        .mig
        .first()
        .map_or(device.memory_mib, |instance| instance.memory_mib);
    mib * MIB
}
