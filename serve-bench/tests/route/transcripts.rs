//! What engines get over the wire, byte by byte, and what the client gets back.

use serde_json::Value;

use super::mock::{Act, Engine, Log, Then};
use super::router::{BODY, Router};

/// As vLLM 0.33 replies; an unknown member is handed on, too.
const HANDED: &str = r#"{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[7, 8]],"remote_engine_id":"e1","remote_host":"h","remote_port":5600,"new_in_034":1.50}"#;

/// The client's body as it is sent on, without its last brace.
const KEPT: &str =
    r#"{"model":"m","prompt":"a b c","max_tokens":16,"stream":true,"x_own": [1.50, "y"]"#;

/// The same for a prefill engine that is asked for one token.
const SHORT: &str =
    r#"{"model":"m","prompt":"a b c","max_tokens":1,"stream":false,"x_own": [1.50, "y"]"#;

struct Seen {
    prefill: Option<String>,
    decode: String,
    prefiller: Option<String>,
}

fn exchange(dialect: &str) -> (Seen, u16) {
    let log = Log::default();
    let prefill = Engine::start("P", &log, |_| {
        Act::Reply(
            200,
            format!(r#"{{"usage":{{"prompt_tokens":3}},"kv_transfer_params":{HANDED}}}"#),
        )
    });
    let decode = Engine::start("D", &log, |_| Act::Stream(3, Then::End));
    let port = prefill.port;
    let router = Router::start(&[
        format!("--prefill=http://127.0.0.1:{port}#{port}"),
        format!("--decode=http://127.0.0.1:{}/v1/", decode.port),
        format!("--dialect={dialect}"),
    ]);
    let reply = router.reply(BODY);
    assert_eq!(reply.status, 200, "{dialect}: {reply:?}");
    assert!(reply.head.contains("x-engine: d"), "{reply:?}");
    for part in ["{\"token\":0}", "{\"token\":2}", "data: [DONE]"] {
        assert!(reply.body.contains(part), "{dialect}: {reply:?}");
    }
    let rows = router.end();
    assert_eq!(rows[0]["outcome"], "done");
    assert_eq!(rows[0]["kv"], "taken");
    for call in prefill.calls().iter().chain(&decode.calls()) {
        assert_eq!(call.path, "/v1/completions?x=1");
        assert_eq!(call.header("authorization"), Some("Bearer secret"));
        assert_eq!(call.header("x-own"), Some("kept"));
        assert_eq!(call.header("x-request-id"), Some("r1"));
    }
    let d = decode.calls();
    let seen = Seen {
        prefill: prefill.calls().first().map(|call| call.body.clone()),
        decode: d[0].body.clone(),
        prefiller: d[0].header("x-prefiller-host-port").map(str::to_owned),
    };
    (seen, port)
}

#[test]
fn each_protocol_reaches_both_engines_with_the_clients_own_words() {
    for dialect in ["nixl", "push", "mooncake-0.13"] {
        let (seen, _) = exchange(dialect);
        let asked = seen.prefill.unwrap();
        assert!(asked.starts_with(&format!("{SHORT},\"kv_transfer_params\":")));
        let handed = seen.decode.strip_prefix(KEPT).unwrap();
        assert!(handed.starts_with(",\"kv_transfer_params\":{"), "{handed}");
        // What is unknown is handed on by who pulls, and the blocks are no matter of who pushes.
        assert_eq!(handed.contains("\"new_in_034\":1.50"), dialect == "nixl");
        assert_eq!(handed.contains("[[7, 8]]"), dialect == "nixl");
    }
    // Mooncake is found by its bootstrap server, which tells the engine's name.
    for dialect in ["mooncake", "auto"] {
        let (seen, port) = exchange(dialect);
        let of = |body: &str| -> Value {
            let body: Value = serde_json::from_str(body).unwrap();
            body["kv_transfer_params"].clone()
        };
        let (prefill, decode) = (of(&seen.prefill.unwrap()), of(&seen.decode));
        assert_eq!(prefill["transfer_id"], decode["transfer_id"]);
        assert_eq!(decode["remote_engine_id"], "e1");
        let bootstrap = format!("http://127.0.0.1:{port}");
        assert_eq!(decode["remote_bootstrap_addr"], bootstrap);
    }
    let (seen, port) = exchange("sglang");
    let begins =
        format!(r#"{KEPT},"bootstrap_host":"127.0.0.1","bootstrap_port":{port},"bootstrap_room":"#);
    assert!(seen.decode.starts_with(&begins), "{}", seen.decode);
    assert_eq!(seen.prefill.unwrap(), seen.decode);
    let (seen, port) = exchange("llm-d");
    assert_eq!((seen.decode.as_str(), seen.prefill), (BODY, None));
    assert_eq!(seen.prefiller.unwrap(), format!("127.0.0.1:{port}"));
}
