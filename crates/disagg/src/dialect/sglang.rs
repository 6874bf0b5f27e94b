//! SGLang's bootstrap: the same body to both engines at once, matched by a room. After SGLang 0.4 to 0.5.23.

use super::shape::{
    Ask, Dialect, Handover, Lease, Leg, Order, Release, Unsupported, prompt_only, prompts, replies,
};
use crate::Body;

/// The row.
#[derive(Debug)]
pub(super) struct Sglang;

impl Sglang {
    /// The client's body with a room; a client's own room is overwritten, because two of one number crash both schedulers
    /// (sgl-project/sglang#40125).
    fn ask(body: &Body<'_>, leg: &Leg<'_>) -> Ask {
        let host = serde_json::Value::from(leg.bootstrap.host.as_str()).to_string();
        let port = leg.bootstrap.port.to_string();
        let count = prompts(body) * replies(body);
        let is_batch = count > 1 || body.raw("prompt").is_some_and(is_list);
        let each = |one: &dyn Fn(usize) -> String| match is_batch {
            false => one(0),
            true => format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(",")),
        };
        let room = |n: usize| ((leg.room + n as u64) & (u64::MAX >> 1)).to_string();
        let set = [
            ("bootstrap_host", each(&|_| host.clone())),
            ("bootstrap_port", each(&|_| port.clone())),
            ("bootstrap_room", each(&room)),
        ];
        Ask {
            body: Some(body.edited(&set, &[])),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        }
    }
}

/// Whether a prompt is a list of texts or of token lists.
fn is_list(raw: &str) -> bool {
    let inner = raw.strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['"', '[']))
}

impl Dialect for Sglang {
    fn name(&self) -> &'static str {
        "sglang"
    }

    fn order(&self) -> Order {
        Order::Both
    }

    fn check(&self, body: &Body<'_>) -> Result<(), Unsupported> {
        prompt_only(body)
    }

    fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask> {
        Some(Self::ask(body, leg))
    }

    fn handover(&self, _: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        Ok(None)
    }

    fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, _: Option<&Handover>) -> Ask {
        Self::ask(body, leg)
    }

    fn release(&self) -> Release {
        Release::CloseBoth
    }

    fn lease(&self) -> Lease {
        Lease {
            seconds: 300,
            setting: "SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
        }
    }
}
