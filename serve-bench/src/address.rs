//! Addresses of servers on command lines.

use std::fmt;

use reqwest::Url;

/// A server's address.
#[derive(Debug, Clone)]
pub(crate) struct Address(pub(crate) Url);

impl Address {
    /// The `http://` or `https://` address that a flag has, without what must not be recorded.
    ///
    /// # Errors
    /// In words, which do not repeat the text: it may hold a password.
    pub(crate) fn parse(flag: &str, text: &str) -> Result<Self, String> {
        let looks = format!("{flag} is not an address such as http://127.0.0.1:8000");
        let url: Url = text.parse().map_err(|error| format!("{looks} ({error})"))?;
        if !url.has_host() || !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{looks}: it needs http:// or https:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(format!(
                "{flag} holds credentials or a query, which would be recorded; leave them out, or use --api-key-env or --api-key-file"
            ));
        }
        Ok(Self(url))
    }

    /// A path below what stands before `/v1`.
    pub(crate) fn path(&self, path: &str) -> String {
        let own = self.0.path().trim_end_matches('/');
        format!(
            "{}{path}",
            own.strip_suffix("/v1").unwrap_or(own).trim_end_matches('/')
        )
    }

    /// The host, an IPv6 address without its brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_matches(['[', ']'])
    }

    /// The port, also where it is the usual one.
    pub(crate) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        format!("{host}:{}", self.port())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, prefix) = (self.0.scheme(), self.path(""));
        write!(f, "{scheme}://{}{prefix}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_and_without_v1() {
        for (text, shown, path) in [
            (
                "http://127.0.0.1:8000",
                "http://127.0.0.1:8000",
                "/v1/models",
            ),
            ("http://box:8000/v1/", "http://box:8000", "/v1/models"),
            ("http://box/a/b/v1", "http://box:80/a/b", "/a/b/v1/models"),
            ("http://[::1]:1/", "http://[::1]:1", "/v1/models"),
            ("https://box/v1", "https://box:443", "/v1/models"),
        ] {
            let base = Address::parse("--base-url", text).unwrap();
            assert_eq!(base.to_string(), shown);
            assert_eq!(base.path("/v1/models"), path);
        }
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_refused_without_its_secret() {
        for (text, says) in [
            ("box:8000", "needs http://"),
            ("https://user:canary@box", "credentials"),
            ("http://user:canary@box", "credentials"),
            ("http://box/?key=canary", "query"),
            ("http://", "not an address"),
            ("http://box:99999", "port"),
            ("ftp://canary/", "needs http://"),
        ] {
            let refusal = Address::parse("--base-url", text).unwrap_err();
            assert!(refusal.contains(says), "{text}: {refusal}");
            assert!(!refusal.contains("canary"), "{refusal}");
        }
    }
}
