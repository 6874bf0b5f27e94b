//! What is under way: a bar on a terminal, a line per group of points elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use record::control::replaced;

/// Progress over the points of a run.
pub struct Progress<'a> {
    bar: Option<ProgressBar>,
    say: &'a dyn Fn(&str),
    group: String,
    total: usize,
    done: usize,
}

impl<'a> Progress<'a> {
    /// A bar where standard error is a terminal; lines through `say` elsewhere.
    pub fn new(total: usize, say: &'a dyn Fn(&str)) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} left, {wide_msg}");
            let bar = ProgressBar::new(total as u64);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self {
            bar,
            say,
            group: String::new(),
            total,
            done: 0,
        }
    }

    /// A point begins; the first of a group has a line of its own where there is no bar.
    pub fn begin(&mut self, group: &str, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(replaced(&format!("{group} {what}"))),
            None if group != self.group => {
                (self.say)(&format!("[{}/{}] {group}", self.done + 1, self.total));
            }
            None => {}
        }
        group.clone_into(&mut self.group);
    }

    /// A point ended.
    pub fn end(&mut self) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Something worth a line.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| (self.say)(text)),
            None => (self.say)(text),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
