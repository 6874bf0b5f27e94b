//! Flags of `vllm bench serve` that have nothing to change here, accepted so that its command lines work.

use clap::Args as ClapArgs;

/// Flags without an effect: no tokenizer of Python is loaded, and requests carry no id.
#[derive(Debug, Clone, ClapArgs)]
pub(in crate::load) struct Foreign {
    #[arg(long, hide = true)]
    trust_remote_code: bool,
    #[arg(long, hide = true)]
    tokenizer_mode: Option<String>,
    #[arg(long, hide = true)]
    skip_tokenizer_init: bool,
    #[arg(long, hide = true)]
    skip_chat_template: bool,
    #[arg(long, hide = true)]
    request_id_prefix: Option<String>,
}

impl Foreign {
    /// Those that were given.
    pub(in crate::load) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--trust-remote-code", self.trust_remote_code),
            ("--tokenizer-mode", self.tokenizer_mode.is_some()),
            ("--skip-tokenizer-init", self.skip_tokenizer_init),
            ("--skip-chat-template", self.skip_chat_template),
            ("--request-id-prefix", self.request_id_prefix.is_some()),
        ]
        .into_iter()
        .filter_map(|(flag, is_given)| is_given.then_some(flag))
    }
}
