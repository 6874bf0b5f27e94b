//! What the parser cannot check: flags that do not go together, and runs that no record can hold.

use program::outputs::{check_file, check_folder};
use record::Arrivals;

use super::refused::refused;
use super::{Args, Backend, DatasetName, Endpoint};
use crate::load::budget;

impl Args {
    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// In words.
    pub(in crate::load) fn check(&self) -> Result<(), String> {
        self.foreign.check()?;
        self.check_together(&self.traffic.arrivals()?)?;
        self.check_size()?;
        self.check_files()
    }

    fn check_together(&self, arrivals: &Arrivals) -> Result<(), String> {
        let (data, name) = (&self.data, self.data.dataset_name);
        let is_chat = self.endpoint() == Endpoint::Chat;
        let is_closed = matches!(arrivals, Arrivals::ClosedLoop);
        let is_random = matches!(name, DatasetName::Random | DatasetName::RandomIds);
        // Several replies in one stream have no times of their own.
        let extra = self.extra_body.as_ref().filter(|_| !self.no_stream);
        let is_several = |name| extra.and_then(|body| body.get(name)?.as_u64()) > Some(1);
        refused(&[
            (
                self.backend == Some(Backend::OpenaiChat) && !is_chat,
                "--backend openai-chat asks /v1/chat/completions; leave --endpoint out, or use --backend openai",
            ),
            (
                is_chat && data.has_ids(),
                "--dataset-name random-ids goes with --endpoint completions: chat takes text only",
            ),
            (
                data.multi_turn && (name != DatasetName::Sharegpt || !is_chat),
                "--multi-turn goes with --dataset-name sharegpt and --endpoint chat",
            ),
            (
                data.multi_turn && !is_closed,
                "--multi-turn is a closed loop of conversations; give --max-concurrency and no --request-rate",
            ),
            (
                name == DatasetName::Trace && (self.traffic.is_paced() || is_closed),
                "a trace has its own instants; leave --request-rate and --max-concurrency out",
            ),
            (
                is_random && data.dataset_path.is_some(),
                "random prompts come from no file; leave --dataset-path out, or name what it holds with --dataset-name",
            ),
            (
                !is_random && data.dataset_path.is_none(),
                "this --dataset-name is read from a file; name it with --dataset-path",
            ),
            (
                is_several("n") || is_several("best_of"),
                "--extra-body: n or best_of above 1 asks for several replies in one stream, where no time between tokens is that of one \
                 reply; leave it out and raise --num-prompts, or use --no-stream",
            ),
        ])
    }

    /// Whether the instants of all chunks fit into a record. Lengths of files are looked at when they are read.
    fn check_size(&self) -> Result<(), String> {
        let requests = self.traffic.asked().unwrap_or(0);
        let tokens = u64::from(requests) * u64::from(self.data.random_output());
        budget::check(requests, tokens, !self.no_stream)
    }

    fn check_files(&self) -> Result<(), String> {
        let results = &self.results;
        results.outputs.check()?;
        // It is made in the folder, and without one it is a place of its own.
        let file = results.result_filename.as_ref();
        let file = file.filter(|_| results.save_result && results.result_dir.is_none());
        let files = [
            ("--request-csv", results.request_csv.as_ref()),
            ("--html", results.html.as_ref()),
            ("--result-filename", file),
        ];
        for (flag, path) in files {
            path.map_or(Ok(()), |path| check_file(flag, path))?;
        }
        let folder = results.result_dir.as_ref().filter(|_| results.save_result);
        folder.map_or(Ok(()), |folder| check_folder("--result-dir", folder))
    }
}
