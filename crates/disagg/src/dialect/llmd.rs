//! llm-d's sidecar before a decode engine: choosing a prefill engine is one header, the sidecar does the rest.

use super::shape::{Ask, Dialect, Handover, Lease, Leg, Order, Release, Unsupported};
use crate::Body;

/// The row.
#[derive(Debug)]
pub(super) struct LlmD;

impl Dialect for LlmD {
    fn name(&self) -> &'static str {
        "llm-d"
    }

    fn order(&self) -> Order {
        Order::DecodeOnly
    }

    fn prefill(&self, _: &Body<'_>, _: &Leg<'_>) -> Option<Ask> {
        None
    }

    fn handover(&self, _: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        Ok(None)
    }

    fn decode(&self, _: &Body<'_>, leg: &Leg<'_>, _: Option<&Handover>) -> Ask {
        Ask {
            body: None,
            headers: vec![
                ("x-request-id", leg.request_id.to_owned()),
                ("x-prefiller-host-port", leg.prefill.to_owned()),
            ],
        }
    }

    fn release(&self) -> Release {
        Release::Sidecar
    }

    fn lease(&self) -> Lease {
        Lease {
            seconds: 30,
            setting: "kv_lease_duration",
        }
    }
}
