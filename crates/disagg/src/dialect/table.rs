//! The protocols between a router and the engines, as rows of one table.
//!
//! vLLM's NixlConnector is after vLLM 0.10 to 0.33: the decode engine pulls, or (`NixlPushConnector`) registers and the prefill engine
//! writes; the prefill engine's reply names its blocks, and says by `transfer_mode` who moves them. Its MooncakeConnector has a bootstrap
//! server and both engines at once from about 0.20, and was matched by `X-Request-Id` from 0.11 to 0.13. SGLang's bootstrap, after 0.4 to
//! 0.5.23, sends the same body to both at once, matched by a room. Before llm-d's sidecar choosing a prefill engine is one header.

use serde_json::json;

use super::asks::{handed, is_list, one_reply, one_token, prompt_only, prompts, pushed, replies};
use super::shape::{Ask, Handover, Leg, Order, Release, Unsupported};
use crate::Body;

/// How long a prefill engine keeps what nobody fetched (vllm-project/vllm#50425: also when the decode engine's client is gone).
/// `VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT` sets it.
const MOONCAKE_LEASE_S: u32 = 480;

/// vLLM's of 0.33, `kv_lease_duration`; before it `VLLM_NIXL_ABORT_REQUEST_TIMEOUT`, 480 s.
const NIXL_LEASE_S: u32 = 30;

/// What a prefill engine of the NIXL connector is told: keep the blocks, somebody will fetch them.
const KEEP: &str = r#"{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}"#;

/// What asks and hand-overs look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Pushes whatever the reply says, or as it says.
    Nixl {
        pushes: bool,
    },
    /// Matched by a transfer id; the decode engine needs the prefill engine's name.
    Mooncake,
    /// Matched by `X-Request-Id`; the decode engine is told the prefill engine's host and side-channel port.
    Mooncake013,
    Sglang,
    LlmD,
}

/// The protocol of one kind of engine.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name on the command line.
    pub name: &'static str,
    /// Who is asked when.
    pub order: Order,
    /// How a prefill engine's blocks are given back where no decode engine took them.
    pub release: Release,
    /// How long a prefill engine keeps blocks that nobody fetches.
    pub lease_s: u32,
    kind: Kind,
}

/// The rows, in the order of the help.
pub static DIALECTS: [Dialect; 6] = [
    Dialect {
        name: "nixl",
        order: Order::PrefillFirst,
        release: Release::ThroughDecode,
        lease_s: NIXL_LEASE_S,
        kind: Kind::Nixl { pushes: false },
    },
    Dialect {
        name: "push",
        order: Order::PrefillFirst,
        release: Release::ThroughDecode,
        lease_s: NIXL_LEASE_S,
        kind: Kind::Nixl { pushes: true },
    },
    Dialect {
        name: "mooncake",
        order: Order::Both,
        release: Release::LeaseOnly,
        lease_s: MOONCAKE_LEASE_S,
        kind: Kind::Mooncake,
    },
    Dialect {
        name: "mooncake-0.13",
        order: Order::Both,
        release: Release::LeaseOnly,
        lease_s: MOONCAKE_LEASE_S,
        kind: Kind::Mooncake013,
    },
    Dialect {
        name: "sglang",
        order: Order::Both,
        release: Release::CloseBoth,
        // SGLANG_DISAGGREGATION_WAITING_TIMEOUT.
        lease_s: 300,
        kind: Kind::Sglang,
    },
    Dialect {
        name: "llm-d",
        order: Order::DecodeOnly,
        release: Release::Sidecar,
        lease_s: NIXL_LEASE_S,
        kind: Kind::LlmD,
    },
];

/// A row by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|row| row.name == name)
}

impl Dialect {
    /// Whether a request can be split at all.
    ///
    /// # Errors
    /// It asks for several replies or prompts and the protocol hands over one, or for what only a prefill engine knows.
    pub fn check(&self, body: &Body<'_>) -> Result<(), Unsupported> {
        match self.kind {
            Kind::Sglang => prompt_only(body),
            _ => one_reply(body),
        }
    }

    /// Whether a request needs the engine's name, which its bootstrap server tells.
    #[must_use]
    pub fn needs_engine_id(&self) -> bool {
        self.kind == Kind::Mooncake
    }

    /// What a prefill engine is asked; `None` where the router does not ask it.
    #[must_use]
    pub fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask> {
        let keep = r#""do_remote_decode":true,"do_remote_prefill":false"#;
        let params = match self.kind {
            Kind::LlmD => return None,
            Kind::Sglang => return Some(of_room(body, leg)),
            Kind::Nixl { .. } => KEEP.to_owned(),
            Kind::Mooncake => format!(r#"{{{keep},"transfer_id":"{}"}}"#, leg.transfer_id),
            Kind::Mooncake013 => format!("{{{keep}}}"),
        };
        let short = one_token(body, &[("kv_transfer_params", params)]);
        let mut ask = leg.ask(Some(short));
        if self.kind == Kind::Mooncake {
            ask.headers.push(("x-data-parallel-rank", "0".to_owned()));
        }
        Some(ask)
    }

    /// What a prefill engine's reply hands over; `None` where it is not the reply that does. `Err` where it should and does not: a
    /// decode engine would prefill without a word (vllm-project/vllm#26896).
    ///
    /// # Errors
    /// The reply holds nothing to hand over.
    pub fn handover(&self, reply: &Body<'_>) -> Result<Option<Handover>, Unsupported> {
        match self.kind {
            Kind::Nixl { pushes } => pushed(handed(reply)?, pushes).map(Some),
            _ => Ok(None),
        }
    }

    /// What a decode engine is asked.
    #[must_use]
    pub fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, handover: Option<&Handover>) -> Ask {
        let at = leg.bootstrap;
        let params = match self.kind {
            Kind::LlmD => {
                let mut ask = leg.ask(None);
                let prefill = leg.prefill.to_owned();
                ask.headers.push(("x-prefiller-host-port", prefill));
                return ask;
            }
            Kind::Sglang => return of_room(body, leg),
            Kind::Nixl { .. } => handover.map(|handover| handover.params.clone()),
            Kind::Mooncake => {
                let params = json!({
                    "do_remote_decode": false,
                    "do_remote_prefill": true,
                    "remote_bootstrap_addr": format!("http://{}:{}", at.host, at.port),
                    "remote_engine_id": at.engine_id,
                    "transfer_id": leg.transfer_id,
                });
                Some(params.to_string())
            }
            Kind::Mooncake013 => {
                let params = json!({
                    "do_remote_decode": false,
                    "do_remote_prefill": true,
                    "remote_host": at.host,
                    "remote_port": at.port,
                });
                Some(params.to_string())
            }
        };
        let params = params.map(|params| ("kv_transfer_params", params));
        leg.ask(Some(body.edited(params.as_slice(), &[])))
    }

    /// What a decode engine is asked to take blocks that nobody wants any more: one token, whose end frees both engines' blocks. It is
    /// not closed before, because what dies between two schedulers frees nothing.
    #[must_use]
    pub fn release_ask(&self, body: &Body<'_>, leg: &Leg<'_>, handover: &Handover) -> Option<Ask> {
        if self.release != Release::ThroughDecode {
            return None;
        }
        let short = one_token(body, &[]);
        let short = Body::read(short.as_bytes()).ok()?;
        Some(self.decode(&short, leg, Some(handover)))
    }
}

impl Leg<'_> {
    /// A request with this body under the client's id.
    fn ask(&self, body: Option<String>) -> Ask {
        Ask {
            body,
            headers: vec![("x-request-id", self.request_id.to_owned())],
        }
    }
}

/// The client's body with a room of SGLang's; a client's own room is overwritten, because two of one number crash both schedulers
/// (sgl-project/sglang#40125).
fn of_room(body: &Body<'_>, leg: &Leg<'_>) -> Ask {
    let host = json!(leg.bootstrap.host).to_string();
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
    leg.ask(Some(body.edited(&set, &[])))
}
