//! What asks of engines are made of: what a body asks for, what a prefill engine is asked of it, and what its reply hands over.

use super::shape::{Handover, Unsupported};
use crate::Body;

/// What a decode engine gets of a prefill engine that pushes: no block ids.
const PUSHED: [&str; 6] = [
    "remote_engine_id",
    "remote_request_id",
    "remote_host",
    "remote_port",
    "tp_size",
    "pp_size",
];

/// Refuses what a hand-over of one prompt to one reply cannot serve.
pub(super) fn one_reply(body: &Body<'_>) -> Result<(), Unsupported> {
    prompt_only(body)?;
    if replies(body) > 1 {
        return Err(Unsupported::SeveralReplies);
    }
    if prompts(body) > 1 {
        return Err(Unsupported::SeveralPrompts);
    }
    Ok(())
}

/// Refuses what only a prefill engine could answer.
pub(super) fn prompt_only(body: &Body<'_>) -> Result<(), Unsupported> {
    let asks = |key| !matches!(body.raw(key), None | Some("null" | "false"));
    if asks("echo") || asks("prompt_logprobs") {
        return Err(Unsupported::PromptLogprobs);
    }
    Ok(())
}

/// Replies that a prompt asks for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped"
)]
pub(super) fn replies(body: &Body<'_>) -> usize {
    body.number("n")
        .map_or(1, |n| n.clamp(1.0, 1024.0) as usize)
}

/// Prompts in a body: those of an array of texts or of arrays, otherwise one.
pub(super) fn prompts(body: &Body<'_>) -> usize {
    let raw = body.raw("prompt").filter(|raw| raw.starts_with('['));
    let items = raw.and_then(|raw| serde_json::from_str::<Vec<serde_json::Value>>(raw).ok());
    items
        .filter(|items| items.iter().any(|item| item.is_string() || item.is_array()))
        .map_or(1, |items| items.len().max(1))
}

/// The body of a prefill engine that computes a prompt and one token, as vLLM's proxies write it.
pub(super) fn one_token(body: &Body<'_>, more: &[(&'static str, String)]) -> String {
    let mut set = vec![
        ("stream", "false".to_owned()),
        ("max_tokens", "1".to_owned()),
    ];
    if body.raw("max_completion_tokens").is_some() {
        set.push(("max_completion_tokens", "1".to_owned()));
    }
    set.extend_from_slice(more);
    // Both would refuse a request of one token, or are of streams only.
    let drop = ["stream_options", "min_tokens", "min_completion_tokens"];
    body.edited(&set, &drop)
}

/// Whether a prompt is a list of texts or of token lists.
pub(super) fn is_list(raw: &str) -> bool {
    let inner = raw.strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['"', '[']))
}

/// A hand-over without block ids where the prefill engine pushes: always, or where it says so.
pub(super) fn pushed(handed: Handover, always: bool) -> Result<Handover, Unsupported> {
    let params = Body::read(handed.params.as_bytes()).map_err(|_| Unsupported::NoHandover)?;
    if !always && params.string("transfer_mode").as_deref() != Some("push") {
        return Ok(handed);
    }
    let kept = PUSHED
        .iter()
        .filter_map(|key| Some((*key, params.raw(key)?)));
    let kept: String = kept.map(|(key, raw)| format!(",\"{key}\":{raw}")).collect();
    let params = format!(r#"{{"do_remote_prefill":true,"do_remote_decode":false{kept}}}"#);
    Ok(Handover { params, ..handed })
}

/// What stands under `kv_transfer_params` of a reply.
pub(super) fn handed(reply: &Body<'_>) -> Result<Handover, Unsupported> {
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
