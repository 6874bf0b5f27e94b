//! Folders, runs of the program, and what they leave.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use record::{Payload, Record, RequestErrorKind, Serve, load};

/// A folder for one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("serve-bench-load-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The program, to be run in this folder.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = built::named("serve-bench");
        command
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env_remove("TPLENS_SIM_FOLDER");
        command
    }

    /// Two requests of two tokens, one after the other and without warm-up, unless `more` says otherwise.
    pub(crate) fn load(&self, url: &str, more: &[&str]) -> Command {
        let mut arguments = vec!["run", "--base-url", url, "--out", "out"];
        let defaults = [
            ("--concurrency", "1"),
            ("--requests", "2"),
            ("--warmups", "0"),
            ("--input-tokens", "8"),
            ("--output-tokens", "2"),
        ];
        for (flag, value) in defaults {
            if !more.contains(&flag) {
                arguments.extend([flag, value]);
            }
        }
        arguments.extend(more);
        self.program(&arguments)
    }

    /// Runs a load to its end.
    pub(crate) fn run(&self, url: &str, more: &[&str]) -> Ran {
        Ran::of(self.load(url, more).output().unwrap(), &self.join("out"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A run that ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The record, where one was made.
    pub(crate) record: Option<Record>,
}

impl Ran {
    pub(crate) fn of(output: Output, folder: &Path) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let record = folder.exists().then(|| load(folder).unwrap());
        if let Some(record) = &record {
            // The file is what the journal adds up to.
            assert_eq!(record, &load(&folder.join("record.json")).unwrap());
        }
        Self {
            code: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            record,
        }
    }

    #[track_caller]
    pub(crate) fn record(&self) -> &Record {
        match &self.record {
            Some(record) => record,
            None => panic!("no record: {}", self.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn serve(&self) -> &Serve {
        match &self.record().payload {
            Payload::Serve(serve) => serve,
            other => panic!("{}", other.kind()),
        }
    }

    /// The kinds of failure, one entry a request in the order of their ends.
    #[track_caller]
    pub(crate) fn kinds(&self) -> Vec<Option<RequestErrorKind>> {
        let kind = |request: &record::ServeRequest| request.error.as_ref().map(|error| error.kind);
        self.serve().requests.iter().map(kind).collect()
    }

    /// The caveats, in words.
    #[track_caller]
    pub(crate) fn caveats(&self) -> String {
        let words = self.serve().caveats.iter().map(ToString::to_string);
        words.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.stdout);
        self
    }
}
