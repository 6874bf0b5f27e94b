//! What the parser cannot check: flags that do not go together, and runs that no record can hold.

use program::outputs::check_file;
use record::Arrivals;

use super::{Args, Backend, DatasetName, Endpoint};
use crate::load::budget;

impl Args {
    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// In words.
    pub(in crate::load) fn check(&self) -> Result<(), String> {
        self.foreign.check()?;
        self.traffic.arrivals()?;
        self.check_endpoint()?;
        self.check_data()?;
        self.check_body()?;
        self.check_size()?;
        self.check_files()
    }

    fn check_endpoint(&self) -> Result<(), String> {
        let chat = self.endpoint() == Endpoint::Chat;
        if self.backend == Some(Backend::OpenaiChat) && !chat {
            return Err(
                "--backend openai-chat asks /v1/chat/completions; leave --endpoint out, or use --backend openai"
                    .to_owned(),
            );
        }
        if chat && self.data.has_ids() {
            return Err(
                "--dataset-name random-ids goes with --endpoint completions: chat takes text only"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn check_data(&self) -> Result<(), String> {
        let name = self.data.dataset_name;
        if self.data.multi_turn
            && (name != DatasetName::Sharegpt || self.endpoint() != Endpoint::Chat)
        {
            return Err(
                "--multi-turn goes with --dataset-name sharegpt and --endpoint chat".to_owned(),
            );
        }
        let is_closed = matches!(self.traffic.arrivals()?, Arrivals::ClosedLoop);
        if self.data.multi_turn && !is_closed {
            return Err(
                "--multi-turn is a closed loop of conversations; give --max-concurrency and no --request-rate"
                    .to_owned(),
            );
        }
        if name == DatasetName::Trace && (self.traffic.is_paced() || is_closed) {
            return Err(
                "a trace has its own instants; leave --request-rate and --max-concurrency out"
                    .to_owned(),
            );
        }
        match (&self.data.dataset_path, name) {
            (Some(_), DatasetName::Random | DatasetName::RandomIds) => Err(
                "random prompts come from no file; leave --dataset-path out, or name what it holds with --dataset-name"
                    .to_owned(),
            ),
            (None, DatasetName::Sharegpt | DatasetName::Custom | DatasetName::Trace) => Err(
                "this --dataset-name is read from a file; name it with --dataset-path".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Several replies in one stream have no times of their own.
    fn check_body(&self) -> Result<(), String> {
        let extra = self.extra_body.as_ref().filter(|_| !self.no_stream);
        let is_several = |name: &&str| {
            let value = extra.and_then(|body| body.get(*name));
            value.and_then(serde_json::Value::as_u64) > Some(1)
        };
        match ["n", "best_of"].into_iter().find(is_several) {
            Some(name) => Err(format!(
                "--extra-body: {name} above 1 asks for several replies in one stream, where no time between tokens is that of one \
                 reply; leave it out and raise --num-prompts, or use --no-stream"
            )),
            None => Ok(()),
        }
    }

    /// Whether the instants of all chunks fit into a record. Lengths of files are looked at when they are read.
    fn check_size(&self) -> Result<(), String> {
        let tokens = self.data.random_output();
        let Some(requests) = self.traffic.asked() else {
            return Ok(());
        };
        let tokens = u64::from(requests) * u64::from(tokens);
        budget::check(requests, tokens, !self.no_stream)
    }

    fn check_files(&self) -> Result<(), String> {
        let results = &self.results;
        results.outputs.check()?;
        let files = [
            ("--request-csv", &results.request_csv),
            ("--html", &results.html),
        ];
        for (flag, path) in files {
            if let Some(path) = path {
                check_file(flag, path)?;
            }
        }
        if results.save_detailed && !results.save_result {
            return Err(
                "--save-detailed says what the saved file holds; give --save-result, too"
                    .to_owned(),
            );
        }
        match (&results.result_dir, &results.result_filename) {
            _ if !results.save_result => {}
            (Some(folder), _) => program::outputs::check_folder("--result-dir", folder)?,
            (None, Some(file)) => check_file("--result-filename", file)?,
            (None, None) => {}
        }
        Ok(())
    }
}
