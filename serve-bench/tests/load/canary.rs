//! A key, secret headers and an address with a password are in no file and in no output, whatever the server says.
//!
//! Every secret has `canary` in it, and nothing else has. It is looked for in all bytes that were printed and in all files of the
//! test's folder, as it is, and as base64 would hold it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::load::common::Scratch;
use crate::load::mock::{
    Asked, Manner, Mock, Step, end, event, good, head, part, send, text, whole,
};

/// A key with what is written differently in URLs and in base64.
const KEY: &str = "sk/canary+8=K9";

/// `canary` in base64, for each place in a group of three bytes (coreutils: `printf canary | base64`, with `x`, `xx` before it).
const NEEDLES: [&str; 4] = ["canary", "Y2FuYXJ5", "NhbmFye", "jYW5hcn"];

/// What a server may do to a key that it repeats: as it is, as in a URL, and in base64 with none to two bytes before it. The base64
/// is coreutils' of `sk/canary+8=K9`, `xsk/canary+8=K9` and `xxsk/canary+8=K9`.
const ECHOES: [&str; 5] = [
    KEY,
    "sk%2Fcanary%2B8%3DK9",
    "c2svY2FuYXJ5Kzg9Szk=",
    "eHNrL2NhbmFyeSs4PUs5",
    "eHhzay9jYW5hcnkrOD1LOQ==",
];

/// The same words as an error of the whole reply, within a stream, and as something that is no reply.
fn failing(asked: &Asked) -> Vec<Step> {
    let said = ECHOES.join(" ");
    let error = format!(r#"{{"error":{{"message":"no such key: {said}"}}}}"#);
    // 240 letters are shown of a server's words; this cuts the key in two.
    let cut = format!("{}{KEY}", "x".repeat(230));
    match asked.number % 7 {
        0 => vec![whole("401 Unauthorized", &error)],
        1 => vec![head(), part(text("a")), part(event(&error)), end()],
        2 => vec![whole("500 Internal Server Error", &said)],
        3 => vec![head(), part(format!("{said}\n\n")), end()],
        4 => vec![send(&format!("{said}\r\n\r\n")), Step::Close],
        5 => vec![whole("502 Bad Gateway", &cut)],
        _ => {
            let chunk = format!(
                r#"{{"model":"{KEY}","choices":[{{"index":0,"text":"a","finish_reason":"stop"}}]}}"#
            );
            vec![head(), part(event(&chunk)), part("data: [DONE]\n\n"), end()]
        }
    }
}

fn key_file(scratch: &Scratch) -> String {
    // Outside of the folder that is searched, but for the folder of results.
    let folder = scratch.join("keys");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file.display().to_string()
}

/// Runs a command as talkative as it gets, and looks through all that it leaves.
#[track_caller]
fn search(scratch: &Scratch, command: &mut Command, codes: &[i32]) -> Output {
    let output = command
        .env("THE_VALUE", KEY)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .env("SSLKEYLOGFILE", scratch.join("tls-keys"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(codes.contains(&output.status.code().unwrap()), "{told}");
    assert_without("standard output", &output.stdout);
    assert_without("standard error", &output.stderr);
    let keys = scratch.join("keys");
    let mut files = 0;
    let mut folders = vec![scratch.join(".")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend(Some(path).filter(|path| path.file_name() != keys.file_name()));
            } else {
                assert_without(&path.display().to_string(), &std::fs::read(&path).unwrap());
                files += 1;
            }
        }
    }
    assert!(
        files > 0 || codes == [2],
        "nothing was left to look at: {told}"
    );
    output
}

#[track_caller]
fn assert_without(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for needle in NEEDLES {
        if let Some(at) = text.find(needle) {
            let mut before = (0..=at.saturating_sub(200)).rev();
            let from = before.find(|at| text.is_char_boundary(*at)).unwrap();
            panic!("{needle} in {what}: ...{}", &text[from..at + needle.len()]);
        }
    }
}

/// All files that a run can write.
const FILES: [&str; 8] = [
    "--json",
    "j.json",
    "--save-result",
    "--save-detailed",
    "--html",
    "r.html",
    "--csv",
    "c.csv",
];

const SECRETS: [&str; 5] = [
    "--header",
    "Authorization: Bearer canary-in-a-header",
    "X-Session=canary-of-a-session",
    "--extra-body",
    r#"{"api_key": "canary-in-a-body", "inner": {"auth_token": "canary-within"}}"#,
];

#[test]
fn the_key_is_in_no_output_of_runs_that_succeed_or_fail() {
    let good = Mock::playing(|_| good());
    let bad = Mock::playing(failing);
    // A reply that stands, and one that says who asked, come from a server that repeats what it was sent.
    let all = |asked: &Asked| {
        let said = format!("{:?} {}", asked.headers, asked.body);
        vec![whole("400 Bad Request", &said)]
    };
    let mirror = Mock::playing(all);
    let scratch = Scratch::new();
    let file = key_file(&scratch);
    for (number, (mock, codes)) in [(&good, [0]), (&bad, [3]), (&mirror, [3])]
        .iter()
        .enumerate()
    {
        for (way, key) in [["--api-key-env", "THE_VALUE"], ["--api-key-file", &file]]
            .iter()
            .enumerate()
        {
            for format in ["table", "vllm"] {
                let out = format!("out-{number}-{way}-{format}");
                let mut command = scratch.program(&["run", "--base-url", &mock.url, "--out", &out]);
                command
                    .args([
                        "--num-prompts",
                        "7",
                        "--max-concurrency",
                        "1",
                        "--num-warmups",
                        "0",
                    ])
                    .args(["--random-input-len", "8", "--random-output-len", "2"])
                    .args(["--format", format])
                    .args(key)
                    .args(SECRETS)
                    .args(FILES);
                search(&scratch, &mut command, codes);
                let mut show = scratch.program(&["show", &out]);
                search(&scratch, &mut show, &[0, 3]);
            }
        }
    }
    let asked = &good.asked()[0];
    assert!(
        asked.headers["authorization"].contains("canary"),
        "it was not sent"
    );
    assert_eq!(asked.body["api_key"], "canary-in-a-body");
    assert_eq!(asked.headers["x-session"], "canary-of-a-session");
}

#[test]
fn the_key_is_in_no_output_where_a_server_says_it_of_itself() {
    let mock = Mock::start(Manner {
        models: Some(r#"{"data":[{"id":"sk/canary+8=K9","owned_by":"c2svY2FuYXJ5Kzg9Szk="}]}"#),
        version: Some(r#"{"version":"sk%2Fcanary%2B8%3DK9"}"#),
        header: "server: sk/canary+8=K9\r\n",
        ..Manner::of(failing)
    });
    let scratch = Scratch::new();
    let more = ["--api-key-env", "THE_VALUE", "--warmups", "2"];
    let mut command = scratch.load(&mock.url, &more);
    search(&scratch, command.args(FILES), &[3]);
}

#[test]
fn an_address_with_a_password_is_refused_and_not_repeated() {
    let scratch = Scratch::new();
    for url in [
        "http://user:canary@127.0.0.1:1",
        "https://canary@127.0.0.1:1/v1",
        "user:canary@127.0.0.1",
        "http://user:canary word@h",
    ] {
        search(&scratch, &mut scratch.load(url, &[]), &[2]);
    }
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let file = key_file(&scratch);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let output = search(
        &scratch,
        &mut scratch.load(&mock.url, &["--api-key-file", &file]),
        &[2],
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("has mode 640") && told.contains("chmod 600"),
        "{told}"
    );
    assert!(mock.asked().is_empty());
}

#[test]
fn the_key_is_in_no_file_of_a_search_or_a_sweep() {
    for mock in [Mock::playing(|_| good()), Mock::playing(failing)] {
        let scratch = Scratch::new();
        let file = key_file(&scratch);
        let mut slo = scratch.program(&["slo", "--slo", "max_ttft<=60s", "--out", "slo"]);
        slo.args(["--search", "concurrency", "--start", "1", "--runs", "2"])
            .args(["--json", "slo.json", "--", "--base-url", &mock.url])
            .args(["--random-input-len", "8", "--random-output-len", "2"])
            .args(["--num-warmups", "0", "--api-key-env", "THE_VALUE"])
            .args(SECRETS);
        search(&scratch, &mut slo, &[0, 3]);
        assert!(Path::new(&scratch.join("slo/settings.json")).exists());
        let plan = format!(
            r#"
schema = 1
name = "{{config}}_{{model}}_{{n}}"

[server]
command = ["serve"]
base_url = "{}"

[load]
flags = ["--num-warmups", "0", "--api-key-file", "{file}"]

[[matrix]]
configs = ["A"]
models = ["m"]
tp = [1]
inputs = [8]
outputs = [2]
num_prompts = "1..2"
"#,
            mock.url
        );
        std::fs::write(scratch.join("plan.toml"), plan).unwrap();
        let mut sweep = scratch.program(&["sweep", "plan.toml", "--out", "sweep"]);
        search(&scratch, &mut sweep, &[0, 3]);
        assert!(Path::new(&scratch.join("sweep/cells/A_m_1.log")).exists());
    }
}
