//! vLLM's NixlConnector: the decode engine pulls, or (`NixlPushConnector`) registers and the prefill engine writes.
//!
//! After vLLM 0.10 to 0.33. The prefill engine's reply names its blocks, and says by `transfer_mode` who moves them.

use super::shape::{Ask, Dialect, Handover, Lease, Leg, Order, Release, Unsupported, one_token};
use crate::Body;

/// What a prefill engine is told: keep the blocks, somebody will fetch them.
const PREFILL: &str = r#"{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}"#;

/// What a decode engine gets of a prefill engine that pushes: no block ids.
const PUSHED: [&str; 6] = [
    "remote_engine_id",
    "remote_request_id",
    "remote_host",
    "remote_port",
    "tp_size",
    "pp_size",
];

/// The row; `pushes` whatever the reply says.
#[derive(Debug)]
pub(super) struct Nixl {
    pub(super) pushes: bool,
}

impl Dialect for Nixl {
    fn name(&self) -> &'static str {
        if self.pushes { "push" } else { "nixl" }
    }

    fn order(&self) -> Order {
        Order::PrefillFirst
    }

    fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask> {
        Some(Ask {
            body: Some(one_token(
                body,
                &[("kv_transfer_params", PREFILL.to_owned())],
            )),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        })
    }

    fn handover(&self, reply: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        let handed = handed(reply)?;
        let params = Body::read(handed.params.as_bytes()).map_err(|_| Unsupported::NoHandover)?;
        let mode = params.string("transfer_mode");
        if !self.pushes && mode.as_deref() != Some("push") {
            return Ok(Some(handed));
        }
        let kept = PUSHED
            .iter()
            .filter_map(|key| Some((*key, params.raw(key)?)));
        let kept: String = kept.map(|(key, raw)| format!(",\"{key}\":{raw}")).collect();
        let params = format!(r#"{{"do_remote_prefill":true,"do_remote_decode":false{kept}}}"#);
        Ok(Some(Handover { params, ..handed }))
    }

    fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, handover: Option<&Handover>) -> Ask {
        let params = handover.map(|handover| ("kv_transfer_params", handover.params.clone()));
        Ask {
            body: Some(body.edited(params.as_slice(), &[])),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        }
    }

    fn release(&self) -> Release {
        Release::ThroughDecode
    }

    fn lease(&self) -> Lease {
        // 0.33; before it VLLM_NIXL_ABORT_REQUEST_TIMEOUT, 480 s.
        Lease {
            seconds: 30,
            setting: "kv_lease_duration",
        }
    }
}

/// What stands under `kv_transfer_params` of a reply.
fn handed(reply: &Body<'_>) -> Result<Handover, Unsupported> {
    let params = reply
        .raw("kv_transfer_params")
        .filter(|raw| raw.starts_with('{'));
    let params = params.ok_or(Unsupported::NoHandover)?.to_owned();
    let inner = Body::read(params.as_bytes()).map_err(|_| Unsupported::NoHandover)?;
    let usage = reply
        .raw("usage")
        .and_then(|raw| Body::read(raw.as_bytes()).ok());
    let prompt = usage.and_then(|usage| usage.number("prompt_tokens"));
    // A monotonic clock's seconds are of another machine; those since 1970 are above 10^9.
    let expires_s = inner
        .number("remote_blocks_expiry_time")
        .filter(|s| *s > 1e9);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens"
    )]
    let prompt_tokens = prompt.map(|tokens| tokens.max(0.0) as u64);
    Ok(Handover {
        params,
        expires_s,
        prompt_tokens,
    })
}
