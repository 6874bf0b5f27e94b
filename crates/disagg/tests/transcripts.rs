//! What each protocol sends for one and the same request, as literal bytes.

use disagg::{Body, Bootstrap, DIALECTS, Leg, Order, Unsupported, by_name};

const CLIENT: &str = r#"{"model":"m","prompt":"a b c","max_tokens":16,"min_tokens":3,"stream":true,"stream_options":{"include_usage":true},"x_own": [1.50, "y"],"temperature":0}"#;

/// The client's body where only one token is wanted and nothing is streamed.
macro_rules! one_token {
    ($params:literal) => {
        concat!(
            r#"{"model":"m","prompt":"a b c","max_tokens":1,"stream":false,"x_own": [1.50, "y"],"temperature":0,"kv_transfer_params":"#,
            $params,
            "}"
        )
    };
}

/// The client's body and something behind it.
macro_rules! with {
    ($more:literal) => {
        concat!(
            r#"{"model":"m","prompt":"a b c","max_tokens":16,"min_tokens":3,"stream":true,"stream_options":{"include_usage":true},"x_own": [1.50, "y"],"temperature":0,"#,
            $more,
            "}"
        )
    };
}

/// Name, reply of the prefill engine, what it was asked, what the decode engine is asked.
type Row<'a> = (&'a str, Option<String>, Option<&'a str>, Option<&'a str>);

/// As vLLM 0.33 replies.
const PULLED: &str = r#"{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1,2]],"remote_engine_id":"e1","remote_request_id":"cmpl-r1-0","remote_host":"10.0.0.1","remote_port":5600,"tp_size":8,"remote_registration_generation":3,"transfer_mode":"pull"}"#;

fn reply(params: &str) -> String {
    format!(
        r#"{{"id":"cmpl-1","choices":[],"usage":{{"prompt_tokens":3}},"kv_transfer_params":{params}}}"#
    )
}

#[test]
fn each_protocol_changes_named_members_only() {
    let pushed = PULLED.replace("pull", "push");
    let push = with!(
        r#""kv_transfer_params":{"do_remote_prefill":true,"do_remote_decode":false,"remote_engine_id":"e1","remote_request_id":"cmpl-r1-0","remote_host":"10.0.0.1","remote_port":5600,"tp_size":8}"#
    );
    let nixl = one_token!(
        r#"{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}"#
    );
    let pull = with!(
        r#""kv_transfer_params":{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1,2]],"remote_engine_id":"e1","remote_request_id":"cmpl-r1-0","remote_host":"10.0.0.1","remote_port":5600,"tp_size":8,"remote_registration_generation":3,"transfer_mode":"pull"}"#
    );
    let bootstrapped = with!(r#""bootstrap_host":"p1","bootstrap_port":8998,"bootstrap_room":77"#);
    let rows: [Row<'_>; 7] = [
        ("nixl", Some(reply(PULLED)), Some(nixl), Some(pull)),
        ("nixl", Some(reply(&pushed)), Some(nixl), Some(push)),
        ("push", Some(reply(PULLED)), Some(nixl), Some(push)),
        (
            "mooncake",
            None,
            Some(one_token!(
                r#"{"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":"xfer-5"}"#
            )),
            Some(with!(
                r#""kv_transfer_params":{"do_remote_decode":false,"do_remote_prefill":true,"remote_bootstrap_addr":"http://p1:8998","remote_engine_id":"e1","transfer_id":"xfer-5"}"#
            )),
        ),
        (
            "mooncake-0.13",
            None,
            Some(one_token!(
                r#"{"do_remote_decode":true,"do_remote_prefill":false}"#
            )),
            Some(with!(
                r#""kv_transfer_params":{"do_remote_decode":false,"do_remote_prefill":true,"remote_host":"p1","remote_port":8998}"#
            )),
        ),
        ("sglang", None, Some(bootstrapped), Some(bootstrapped)),
        ("llm-d", None, None, None),
    ];
    let bootstrap = Bootstrap {
        host: "p1".to_owned(),
        port: 8998,
        engine_id: Some("e1".to_owned()),
    };
    let leg = Leg {
        request_id: "r1",
        transfer_id: "xfer-5",
        room: 77,
        prefill: "p1:8100",
        bootstrap: &bootstrap,
    };
    let body = Body::read(CLIENT.as_bytes()).unwrap();
    for (name, reply, prefill, decode) in rows {
        let row = by_name(name).unwrap();
        assert_eq!(row.check(&body), Ok(()));
        let asked = row.prefill(&body, &leg);
        assert_eq!(
            asked.as_ref().and_then(|ask| ask.body.as_deref()),
            prefill,
            "{name}"
        );
        let reply = reply
            .as_ref()
            .map(|text| Body::read(text.as_bytes()).unwrap());
        let handover = reply.and_then(|reply| row.handover(&reply).unwrap());
        assert_eq!(
            handover.is_some(),
            row.order == Order::PrefillFirst,
            "{name}"
        );
        let asks = row.decode(&body, &leg, handover.as_ref());
        assert_eq!(asks.body.as_deref(), decode, "{name}");
        assert_eq!(asks.headers[0], ("x-request-id", "r1".to_owned()));
        if let Some(handover) = handover {
            assert_eq!(handover.prompt_tokens, Some(3));
        }
    }
    let header = by_name("llm-d").unwrap().decode(&body, &leg, None).headers;
    assert_eq!(header[1], ("x-prefiller-host-port", "p1:8100".to_owned()));
}

#[test]
fn a_prefill_engine_that_hands_over_nothing_is_an_error() {
    for name in ["nixl", "push"] {
        let row = by_name(name).unwrap();
        for text in [r#"{"choices":[]}"#, r#"{"kv_transfer_params":null}"#] {
            let reply = Body::read(text.as_bytes()).unwrap();
            assert_eq!(row.handover(&reply), Err(Unsupported::NoHandover), "{name}");
        }
    }
}

#[test]
fn what_one_hand_over_cannot_serve_is_refused() {
    for row in &DIALECTS {
        let asked = |text: &str| row.check(&Body::read(text.as_bytes()).unwrap());
        let is_batched = row.name == "sglang";
        assert_eq!(asked(r#"{"prompt":[1,2,3],"n":1}"#), Ok(()));
        assert_eq!(
            asked(r#"{"prompt":"a","n":2}"#).is_ok(),
            is_batched,
            "{row:?}"
        );
        assert_eq!(
            asked(r#"{"prompt":["a","b"]}"#).is_ok(),
            is_batched,
            "{row:?}"
        );
        assert_eq!(
            asked(r#"{"prompt":"a","echo":true}"#),
            Err(Unsupported::PromptLogprobs)
        );
    }
    let bootstrap = Bootstrap {
        host: "p1".to_owned(),
        port: 8998,
        engine_id: None,
    };
    let leg = Leg {
        request_id: "r",
        transfer_id: "t",
        room: 7,
        prefill: "p1:1",
        bootstrap: &bootstrap,
    };
    let text = r#"{"prompt":["a","b"],"bootstrap_room":1}"#;
    let ask = by_name("sglang")
        .unwrap()
        .prefill(&Body::read(text.as_bytes()).unwrap(), &leg);
    let sent = ask.and_then(|ask| ask.body).unwrap();
    assert_eq!(
        sent,
        r#"{"prompt":["a","b"],"bootstrap_room":[7,8],"bootstrap_host":["p1","p1"],"bootstrap_port":[8998,8998]}"#
    );
}
