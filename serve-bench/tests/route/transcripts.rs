//! What engines get over the wire, byte by byte, and what the client gets back.

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
    };
    (seen, port)
}

#[test]
fn mooncake_names_engine_and_transfer_and_is_found_by_itself() {
    for dialect in ["mooncake", "auto"] {
        let (seen, port) = exchange(dialect);
        let prefill = seen.prefill.unwrap();
        let begins = format!(
            r#"{SHORT},"kv_transfer_params":{{"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":""#
        );
        let id = prefill
            .strip_prefix(&begins)
            .unwrap()
            .strip_suffix("\"}}")
            .unwrap();
        assert!(id.starts_with("xfer-") && id.len() == 37, "{id}");
        let params = format!(
            r#"{{"do_remote_decode":false,"do_remote_prefill":true,"remote_bootstrap_addr":"http://127.0.0.1:{port}","remote_engine_id":"e1","transfer_id":"{id}"}}"#
        );
        let decode: serde_json::Value = serde_json::from_str(&seen.decode).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&params).unwrap();
        assert_eq!(decode["kv_transfer_params"], expected);
        assert!(
            seen.decode
                .starts_with(&format!("{KEPT},\"kv_transfer_params\":"))
        );
    }
}
