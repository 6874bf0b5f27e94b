//! Addresses of servers on command lines.

use reqwest::Url;

/// The `http://` or `https://` address that a flag has, without what must not be recorded.
///
/// # Errors
/// In words, which do not repeat the text: it may hold a password.
pub(crate) fn checked(flag: &str, text: &str) -> Result<Url, String> {
    let looks = format!("{flag} is not an address such as http://127.0.0.1:8000");
    let url: Url = text.parse().map_err(|error| format!("{looks} ({error})"))?;
    if !url.has_host() || !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{looks}: it needs http:// or https:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(format!(
            "{flag} holds credentials or a query, which would be recorded; leave them out, or use --api-key-env, --api-key-file or --header"
        ));
    }
    Ok(url)
}
