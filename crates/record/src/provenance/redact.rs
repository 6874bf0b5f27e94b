//! Arguments without secrets: what a name, a header, a URL or the look of a word says to be one is replaced.
//!
//! Where it is not known where a secret ends, as in a line for a shell, the rest of the argument goes with it.

/// What stands for what was left out.
const REDACTED: &str = "<redacted>";

/// Fragments of names whose values are never recorded, allowed or not.
const SECRET: [&str; 8] = [
    "TOKEN", "KEY", "SECRET", "PASS", "CRED", "AUTH", "COOKIE", "PWD",
];

/// Words of a header after which a secret follows.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// Flags of curl and others whose value is a name and a password, `NAME:PASSWORD`.
const ACCOUNTS: [&str; 4] = ["-u", "-U", "--user", "--proxy-user"];

/// How tokens of well-known services begin, and the fewest letters of one.
const BEGINNINGS: [&str; 9] = [
    "hf_",
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "nvapi-",
    "eyJ",
];
const SHORTEST: usize = 20;

/// Whether a variable or flag of this name may hold a secret, so that its value must not be recorded.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    // A tokenizer is a file or a mode.
    let upper = name.to_ascii_uppercase().replace("TOKENIZER", "");
    // `PAT`, a personal access token, stands in `PATH` too.
    let mut words = upper.split(['-', '_', '.']);
    SECRET.iter().any(|fragment| upper.contains(fragment)) || words.any(|word| word == "PAT")
}

/// Whether the value of a flag, variable or header must not be recorded. Names that count tokens, such as `--output-tokens 128`, hold
/// none.
fn hides(name: &str, value: &str) -> bool {
    if ACCOUNTS.contains(&name) {
        let is_name = value.contains(|c: char| c.is_ascii_alphabetic());
        return is_name && value.contains(':');
    }
    let counts = name.to_ascii_lowercase().ends_with("tokens");
    let is_count = counts && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_secret(name) && !is_count
}

/// The arguments without what may be a secret, which `<redacted>` stands for.
///
/// The value of a flag or a header may be an argument of its own. Within one, `NAME=value`, `Name: value`, `--name value` and what
/// follows `Bearer` are found wherever they stand, and so are names and passwords before the host of a URL.
#[must_use]
pub fn redacted_arguments(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut before = String::new();
    let mut in_list = false;
    let mut redact = |argument: String| {
        let announced = std::mem::replace(&mut before, argument);
        // A flag may take several, as vLLM's `--api-key` does.
        in_list = (in_list && !before.starts_with('-')) || announces(&announced, &before);
        if in_list {
            return REDACTED.to_owned();
        }
        let argument = without_accounts(&before);
        match secret_value(&argument) {
            Some(at) => format!("{}{REDACTED}", &argument[..at]),
            None => without_tokens(&argument),
        }
    };
    arguments.into_iter().map(&mut redact).collect()
}

/// Whether an argument says that the next one is a secret: a flag, `Authorization:`, `Bearer`.
fn announces(argument: &str, next: &str) -> bool {
    let argument = argument.trim_end();
    let last = argument.split_whitespace().last().unwrap_or_default();
    if SCHEMES
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(last))
    {
        return true;
    }
    match argument.strip_suffix(':') {
        Some(header) => hides(last_name(header), next),
        None => argument.starts_with('-') && !argument.contains('=') && hides(last, next),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// The name at the end of a text, without quotes and spaces behind it.
fn last_name(text: &str) -> &str {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "\"'\\+]".contains(c));
    &text[text.trim_end_matches(is_of_name).len()..]
}

/// Where the first value begins that must not be recorded.
fn secret_value(argument: &str) -> Option<usize> {
    let begins = |&(at, c): &(usize, char)| {
        let (before, behind) = (&argument[..at], &argument[at + c.len_utf8()..]);
        let value = behind.split_whitespace().next().unwrap_or_default();
        let value = value.trim_matches(|c: char| "\"'\\,;}])".contains(c));
        match c {
            '=' | ':' => hides(last_name(before), value),
            c if c.is_whitespace() => {
                let word = before.trim_end_matches(is_of_name).len();
                let name = &before[word..];
                let is_scheme = SCHEMES[0].eq_ignore_ascii_case(name) && !value.is_empty();
                is_scheme || (name.starts_with('-') && hides(name, value))
            }
            _ => false,
        }
    };
    let (at, c) = argument.char_indices().find(begins)?;
    let behind = &argument[at + c.len_utf8()..];
    Some(argument.len() - behind.trim_start().len())
}

/// The argument without names and passwords before a host: `http://NAME:PASSWORD@HOST`, `NAME:PASSWORD@HOST`.
fn without_accounts(argument: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "\"'".contains(c);
    argument
        .split_inclusive(ends)
        .map(without_account)
        .collect()
}

fn without_account(word: &str) -> String {
    let mut kept = String::new();
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (scheme, behind) = rest.split_at(at + "://".len());
        kept.push_str(scheme);
        // Up to the next URL of a list.
        let next = behind.find("://").unwrap_or(behind.len());
        let own = match behind[..next].rfind(',') {
            Some(comma) if next < behind.len() => &behind[..comma],
            _ => &behind[..next],
        };
        let end = own.find(['/', '?', '#']).unwrap_or(own.len());
        let authority = &own[..end];
        // A password may hold what ends an authority: what stands behind the colon is then no port.
        let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        let account = match authority.rfind('@') {
            Some(at) => Some(at),
            None if is_port || authority.starts_with('[') => None,
            None => own.rfind('@'),
        };
        rest = match account {
            Some(at) => {
                kept.push_str(REDACTED);
                &behind[at..]
            }
            None => {
                kept.push_str(authority);
                &behind[end..]
            }
        };
    }
    let account = rest.rfind('@').filter(|_| kept.is_empty());
    let colon = account.and_then(|at| rest[..at].find(':'));
    match (account, colon) {
        // An image of a container by its digest.
        (Some(at), Some(colon)) if !rest[at..].starts_with("@sha") => {
            format!("{}{REDACTED}{}", &rest[..=colon], &rest[at..])
        }
        _ => kept + rest,
    }
}

/// The argument without words that look like tokens of well-known services.
fn without_tokens(argument: &str) -> String {
    let is_token = |word: &str| {
        word.len() >= SHORTEST
            && word.contains(|c: char| c.is_ascii_digit())
            && BEGINNINGS
                .iter()
                .any(|beginning| word.starts_with(beginning))
    };
    let pieces = argument.split_inclusive(|c| !is_of_name(c));
    pieces
        .map(|piece| {
            let word = piece.trim_end_matches(|c| !is_of_name(c));
            match is_token(word) {
                true => format!("{REDACTED}{}", &piece[word.len()..]),
                false => piece.to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_flags_are_redacted() {
        let arguments = [
            "p",
            "--api-key",
            "canary",
            "--gpus",
            "0,1",
            "--token=canary",
        ]
        .map(str::to_owned);
        assert!(!redacted_arguments(arguments).join(" ").contains("canary"));
        // Flags that count tokens hold no secret.
        let counts = ["--output-tokens", "128", "--input-tokens=8"].map(str::to_owned);
        assert_eq!(redacted_arguments(counts.clone()), counts);
    }

    #[test]
    fn assignments_to_secret_names_are_redacted_wherever_they_stand() {
        let arguments = [
            "env",
            "HF_TOKEN+=canary",
            "python -c os.environ['HF_TOKEN']='canary'",
            "--hf-pat=canary",
            "MYSQL_PWD=canary",
            "HF_TOKEN=canary",
            "VLLM_API_KEY=canary=1",
            "db_password=canary",
            "AWS_SECRET_ACCESS=canary",
            "GOOGLE_CREDENTIALS=canary",
            "--env=HF_TOKEN=canary",
            "-eHF_TOKEN=canary",
            "export HF_TOKEN='canary canary'; vllm serve m --api-key canary",
            "http://host/v1?api_key=canary",
            "CUDA_VISIBLE_DEVICES=0,1",
            "--port=80",
            "max_tokens=16",
        ]
        .map(str::to_owned);
        let kept = redacted_arguments(arguments);
        assert!(!kept.join(" ").contains("canary"), "{kept:?}");
        // Names stay, and so does what is no secret.
        assert_eq!(kept[5], "HF_TOKEN=<redacted>");
        assert_eq!(kept[12], "export HF_TOKEN=<redacted>");
        assert_eq!(
            kept[14..],
            ["CUDA_VISIBLE_DEVICES=0,1", "--port=80", "max_tokens=16"]
        );
    }

    #[test]
    fn headers_accounts_and_tokens_are_redacted_wherever_they_stand() {
        for (argument, kept) in [
            ("Authorization: Bearer canary", "Authorization: <redacted>"),
            ("authorization:canary", "authorization:<redacted>"),
            ("X-Api-Key: canary canary", "X-Api-Key: <redacted>"),
            ("Cookie: a=canary", "Cookie: <redacted>"),
            ("-HX-Auth: canary", "-HX-Auth: <redacted>"),
            ("curl -H 'Bearer canary' h", "curl -H 'Bearer <redacted>"),
            (
                "vllm serve m --api-key canary",
                "vllm serve m --api-key <redacted>",
            ),
            (r#"{"api_key": "canary"}"#, r#"{"api_key": <redacted>"#),
            ("http://u:canary@h:80/v1", "http://<redacted>@h:80/v1"),
            ("--proxy=https://canary@h", "--proxy=https://<redacted>@h"),
            (
                "a http://h/ 'ftp://u:can/ary@h' b",
                "a http://h/ 'ftp://<redacted>@h' b",
            ),
            ("http://h,http://u:canary@h", "http://h,http://<redacted>@h"),
            ("--proxy=u:canary@h:80", "--proxy=u:<redacted>@h:80"),
            ("curl -u u:canary http://h", "curl -u <redacted>"),
            ("login hf_canarycanary012345678 x", "login <redacted> x"),
        ] {
            let found = redacted_arguments([argument.to_owned()]);
            assert!(
                !found[0].contains("canary") && !found[0].contains("can/ary"),
                "{found:?}"
            );
            assert_eq!(found, [kept], "{argument}");
        }
        // In arguments of their own.
        let apart = [
            "-H",
            "Authorization:",
            "Bearer",
            "canary",
            "-u",
            "u:canary",
            "-token",
            "canary",
            "--api-key",
            "canary",
            "canary",
            "--port",
            "80",
        ];
        let found = redacted_arguments(apart.map(str::to_owned));
        assert!(!found.join(" ").contains("canary"), "{found:?}");
        assert!(
            found.ends_with(&["--port", "80"].map(str::to_owned)),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_no_secret_stays_whole() {
        let arguments = [
            "http://127.0.0.1:8000/v1/completions",
            "http://[::1]:80/a@b",
            "vllm/vllm-openai:v0.10@sha256:0123456789abcdef0123",
            "--tokenizer",
            "Qwen/Qwen3-32B",
            "-u",
            "1000:1000",
            "sh -c 'serve --max-num-batched-tokens 2048 --port 80'",
            r#"{"max_tokens": 16}"#,
            "sys: NCCL_P2P_LEVEL=SYS",
            "0000:21:00.0,0000:61:00.0",
        ]
        .map(str::to_owned);
        assert_eq!(redacted_arguments(arguments.clone()), arguments);
    }
}
