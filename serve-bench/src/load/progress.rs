//! How far the load is: a bar on a terminal, drawn anew a few times a second; nothing elsewhere. It runs on the thread that keeps the
//! record, never on the load's.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use program::Progress;
use record::ServeRequest;

/// How often a bar is drawn anew while nothing ends.
pub(super) const REDRAW: Duration = Duration::from_millis(250);

/// Progress over the measured requests.
pub(super) struct LoadProgress<'a> {
    /// `None` where nothing is to be shown.
    progress: Option<Progress<'a>>,
    /// When the measured part began.
    pub(super) began: Option<Instant>,
    done: usize,
    failed: usize,
    tokens: u64,
}

impl<'a> LoadProgress<'a> {
    /// Before the first of so many requests, 0 where only a time ends the run; nothing is shown where it is quiet.
    pub(super) fn new(total: usize, is_quiet: bool, say: &'a dyn Fn(&str)) -> Self {
        let is_shown = !is_quiet && std::io::stderr().is_terminal();
        Self {
            progress: is_shown.then(|| Progress::new(total, say)),
            began: None,
            done: 0,
            failed: 0,
            tokens: 0,
        }
    }

    /// A request ended.
    pub(super) fn add(&mut self, request: &ServeRequest) {
        self.done += 1;
        match request.error {
            Some(_) => self.failed += 1,
            None => self.tokens += u64::from(request.output_tokens.unwrap_or(0)),
        }
        if let Some(progress) = &mut self.progress {
            progress.end();
        }
        self.draw();
    }

    /// Draws a bar anew, where there is one.
    pub(super) fn draw(&mut self) {
        let (Some(progress), Some(began)) = (&mut self.progress, self.began) else {
            return;
        };
        let seconds = began.elapsed().as_secs_f64().max(1e-3);
        let requests = self.done as f64 / seconds;
        let tokens = self.tokens as f64 / seconds;
        let text = format!(
            "{requests:.2} req/s, {tokens:.0} tok/s, {} failed",
            self.failed
        );
        progress.begin("", &text);
    }
}
