//! vLLM's MooncakeConnector: with a bootstrap server and both engines at once (from about 0.20), and as it was from 0.11 to 0.13.

use super::shape::{Ask, Dialect, Handover, Lease, Leg, Order, Release, Unsupported, one_token};
use crate::Body;

/// How long a prefill engine keeps what nobody fetched (vllm-project/vllm#50425: also when the decode engine's client is gone).
const LEASE: Lease = Lease {
    seconds: 480,
    setting: "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT",
};

/// Matched by a transfer id; the decode engine needs the prefill engine's name.
#[derive(Debug)]
pub(super) struct Mooncake;

impl Dialect for Mooncake {
    fn name(&self) -> &'static str {
        "mooncake"
    }

    fn order(&self) -> Order {
        Order::Both
    }

    fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask> {
        let params = format!(
            r#"{{"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":"{}"}}"#,
            leg.transfer_id
        );
        Some(Ask {
            body: Some(one_token(body, &[("kv_transfer_params", params)])),
            headers: vec![
                ("x-request-id", leg.request_id.to_owned()),
                ("x-data-parallel-rank", "0".to_owned()),
            ],
        })
    }

    fn handover(&self, _: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        Ok(None)
    }

    fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, _: Option<&Handover>) -> Ask {
        let params = serde_json::json!({
            "do_remote_decode": false,
            "do_remote_prefill": true,
            "remote_bootstrap_addr": format!("http://{}:{}", leg.bootstrap.host, leg.bootstrap.port),
            "remote_engine_id": leg.bootstrap.engine_id,
            "transfer_id": leg.transfer_id,
        });
        Ask {
            body: Some(body.edited(&[("kv_transfer_params", params.to_string())], &[])),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        }
    }

    fn release(&self) -> Release {
        Release::LeaseOnly
    }

    fn lease(&self) -> Lease {
        LEASE
    }

    fn needs_engine_id(&self) -> bool {
        true
    }
}

/// Matched by `X-Request-Id`; the decode engine is told the prefill engine's host and side-channel port.
#[derive(Debug)]
pub(super) struct Mooncake013;

impl Dialect for Mooncake013 {
    fn name(&self) -> &'static str {
        "mooncake-0.13"
    }

    fn order(&self) -> Order {
        Order::Both
    }

    fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask> {
        let params = r#"{"do_remote_decode":true,"do_remote_prefill":false}"#.to_owned();
        Some(Ask {
            body: Some(one_token(body, &[("kv_transfer_params", params)])),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        })
    }

    fn handover(&self, _: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        Ok(None)
    }

    fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, _: Option<&Handover>) -> Ask {
        let params = serde_json::json!({
            "do_remote_decode": false,
            "do_remote_prefill": true,
            "remote_host": leg.bootstrap.host,
            "remote_port": leg.bootstrap.port,
        });
        Ask {
            body: Some(body.edited(&[("kv_transfer_params", params.to_string())], &[])),
            headers: vec![("x-request-id", leg.request_id.to_owned())],
        }
    }

    fn release(&self) -> Release {
        Release::LeaseOnly
    }

    fn lease(&self) -> Lease {
        LEASE
    }
}
