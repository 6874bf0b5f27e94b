//! How many tokens a text has: its words, or what a tokenizer of this machine makes of it.

/// Counts tokens.
pub(super) struct Counter {
    #[cfg(feature = "tokenizers")]
    tokenizer: Option<tokenizers::Tokenizer>,
    /// A tokenizer was named and cannot be used.
    unused: Option<String>,
}

impl Counter {
    /// By the tokenizer that was named, where this program was built to read one.
    ///
    /// # Errors
    /// In words: the file is no tokenizer.
    #[cfg(feature = "tokenizers")]
    pub(super) fn of(named: Option<&str>) -> Result<Self, String> {
        use std::path::Path;

        let Some(named) = named else {
            return Ok(Self {
                tokenizer: None,
                unused: None,
            });
        };
        let path = match Path::new(named) {
            folder if folder.is_dir() => folder.join("tokenizer.json"),
            file => file.to_owned(),
        };
        if !path.is_file() {
            // A name of a hub, as vLLM's command lines have it: nothing is downloaded.
            return Ok(Self {
                tokenizer: None,
                unused: Some(format!(
                    "--tokenizer {named} is not used: it is no file here; lengths are counted in words"
                )),
            });
        }
        let tokenizer = tokenizers::Tokenizer::from_file(&path)
            .map_err(|error| format!("--tokenizer {}: {error}", path.display()))?;
        Ok(Self {
            tokenizer: Some(tokenizer),
            unused: None,
        })
    }

    /// By words: this program was built without tokenizers.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "tokenizers"))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "with the feature `tokenizers` a file may be wrong"
    )]
    pub(super) fn of(named: Option<&str>) -> Result<Self, String> {
        let unused = named.map(|named| {
            format!(
                "--tokenizer {named} is not used: this program was built without it (--features tokenizers); lengths are counted \
                 in words, and the server's counts are recorded"
            )
        });
        Ok(Self { unused })
    }

    /// What to say about a tokenizer that was named.
    pub(super) fn note(&self) -> Option<String> {
        self.unused.clone()
    }

    /// The tokens of a text.
    pub(super) fn count(&self, text: &str) -> u32 {
        #[cfg(feature = "tokenizers")]
        if let Some(encoded) = self
            .tokenizer
            .as_ref()
            .and_then(|tokenizer| tokenizer.encode(text, false).ok())
        {
            return u32::try_from(encoded.len()).unwrap_or(u32::MAX);
        }
        u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
    }
}
