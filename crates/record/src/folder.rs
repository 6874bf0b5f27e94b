//! The result folder: a journal that is the truth, and a record that is rebuilt from it.
//!
//! Files are written whole or not at all: to a new file beside the target, flushed to the disk, then
//! renamed over it, and the folder flushed. A journal line is on the disk before its writer goes on, or, where lines come by the
//! thousand, within about a second: a killed program loses nothing by that, only a machine that loses its power does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::envelope::{Line, Record};
use super::error::RecordError;
use crate::private;

/// Bytes of a journal that lines which come by the thousand take at most; the rest of 256 MiB is for what sums them up.
pub const JOURNAL_ROOM: u64 = 240 << 20;

/// A record above this is written without blanks: with them it may be eight times as large, and more than is read.
const MAX_PRETTY_BYTES: usize = 32 << 20;

/// Lines that may come soon are flushed this often.
const FLUSHED: Duration = Duration::from_secs(1);

/// Why a result could not be kept or read.
#[derive(Debug, Error)]
pub enum FolderError {
    /// A file operation failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// What was tried, such as `cannot write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder holds another run's journal or record.
    #[error("{0} holds a result already; choose another folder with --out, or read it with `show`")]
    Taken(PathBuf),
    /// A folder without anything of ours.
    #[error(
        "{0} is a folder without a record.json or journal.jsonl; name a result's file, or the folder that a program of ours wrote"
    )]
    NoRecord(PathBuf),
    /// One more line would make a journal that no reader takes; it is not written.
    #[error("{0} is full: no more than 256 MiB can be read back")]
    Full(PathBuf),
    /// The content is no record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record could not be turned into JSON.
    #[error("cannot encode {what}: {source}")]
    Encode {
        /// What.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io {
        doing,
        path,
        source,
    }
}

/// A folder that holds one run.
#[derive(Debug, Clone)]
pub struct ResultFolder {
    path: PathBuf,
}

impl ResultFolder {
    /// Makes the folder (mode 0700) for a new run.
    ///
    /// # Errors
    /// It cannot be made or written, or holds a journal or a record already.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        private::make_folders(path).map_err(io_error("cannot make the folder", path))?;
        let folder = Self {
            path: path.to_owned(),
        };
        if Self::is_taken(path) {
            return Err(FolderError::Taken(path.to_owned()));
        }
        Ok(folder)
    }

    /// Whether a folder holds a run already; a record stands alone where only it was copied there.
    #[must_use]
    pub fn is_taken(path: &Path) -> bool {
        let folder = Self {
            path: path.to_owned(),
        };
        // A link to nowhere is somebody's, too.
        [folder.journal_path(), folder.record_path()]
            .iter()
            .any(|file| file.symlink_metadata().is_ok())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the journal is.
    #[must_use]
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Where the record is.
    #[must_use]
    pub fn record_path(&self) -> PathBuf {
        self.path.join("record.json")
    }

    /// Begins the journal.
    ///
    /// # Errors
    /// The file exists or cannot be made.
    pub fn begin_journal(&self) -> Result<Journal, FolderError> {
        let path = self.journal_path();
        let file = private::append_new(&path).map_err(io_error("cannot begin", &path))?;
        sync_folder(&self.path)?;
        Ok(Journal {
            path,
            file,
            flushed: Instant::now(),
            bytes: 0,
        })
    }

    /// Rebuilds the record from the journal and writes it.
    ///
    /// # Errors
    /// The journal cannot be read, or the record not written.
    pub fn write_record(&self) -> Result<Record, FolderError> {
        let record = load(&self.journal_path())?;
        let json = record_json(&record).map_err(|source| FolderError::Encode {
            what: "the record",
            source,
        })?;
        write_whole(&self.record_path(), &json)?;
        Ok(record)
    }
}

/// An append-only file of lines.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    flushed: Instant,
    /// Bytes of all whole lines.
    bytes: u64,
}

impl Journal {
    /// Appends one line and flushes it to the disk.
    ///
    /// # Errors
    /// The line cannot be written or flushed: the disk is full or failing, or the journal would be too large to be read.
    pub fn append(&mut self, line: &Line) -> Result<(), FolderError> {
        self.write(line, bounded::RECORD)?;
        self.flush()
    }

    /// Appends one line and leaves it to the system, but for a flush each second.
    ///
    /// # Errors
    /// As for `append`.
    pub fn append_soon(&mut self, line: &Line) -> Result<(), FolderError> {
        self.write(line, JOURNAL_ROOM)?;
        if self.flushed.elapsed() < FLUSHED {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), FolderError> {
        let flushed = self.file.sync_data();
        self.flushed = Instant::now();
        flushed.map_err(io_error("cannot flush", &self.path))
    }

    /// Writes a line, where the journal holds no more than `room` bytes with it.
    fn write(&mut self, line: &Line, room: u64) -> Result<(), FolderError> {
        let mut text = serde_json::to_vec(line).map_err(|source| FolderError::Encode {
            what: "a journal line",
            source,
        })?;
        text.push(b'\n');
        let bytes = self.bytes + text.len() as u64;
        if bytes > room {
            return Err(FolderError::Full(self.path.clone()));
        }
        if let Err(source) = self.file.write_all(&text) {
            // Half a line must not stand before a later one; where it cannot be cut off, it is the last.
            drop(self.file.set_len(self.bytes));
            return Err(io_error("cannot append to", &self.path)(source));
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// A record as a file holds it: laid out for people unless it is large.
///
/// # Errors
/// It cannot be encoded.
pub fn record_json(record: &Record) -> serde_json::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    if json.len() > MAX_PRETTY_BYTES {
        return Ok(json);
    }
    drop(json);
    serde_json::to_vec_pretty(record)
}

/// Loads a record from a record file, a journal, or a result folder (its journal first).
///
/// # Errors
/// Nothing readable is there, or it is no record.
pub fn load(path: &Path) -> Result<Record, FolderError> {
    let file = if path.is_dir() {
        let journal = path.join("journal.jsonl");
        if journal.exists() {
            journal
        } else {
            let record = path.join("record.json");
            if !record.exists() {
                return Err(FolderError::NoRecord(path.to_owned()));
            }
            record
        }
    } else {
        path.to_owned()
    };
    let text = read_text(&file, bounded::RECORD)?;
    let origin = file.display().to_string();
    let is_journal = file
        .extension()
        .is_some_and(|extension| extension == "jsonl");
    Ok(if is_journal {
        Record::from_journal(&text, &origin)?
    } else {
        Record::from_json(&text, &origin)?
    })
}

/// A file as text; what is no UTF-8 in it is marked.
pub fn read_text(path: &Path, most: u64) -> Result<String, FolderError> {
    // A journal torn inside a character still gives its whole lines.
    bounded::read(path, most)
        .and_then(bounded::decoded_lossy)
        .map_err(io_error("cannot read", path))
}

/// Writes a file whole or not at all: new file, flush, rename, flush of the folder.
///
/// # Errors
/// Any step fails; then an older file of that name is as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    // A device such as /dev/full or /dev/stdout is written to, not replaced.
    if path.exists() && !path.is_file() {
        let mut file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(io_error("cannot open", path))?;
        return file
            .write_all(bytes)
            .and_then(|()| file.flush())
            .map_err(io_error("cannot write", path));
    }
    let new = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = private::create(&new)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if let Err(source) = written {
        // The half-written file is of no use to anybody; that it cannot be removed changes nothing.
        drop(fs::remove_file(&new));
        return Err(FolderError::Io {
            doing: "cannot write",
            path: path.to_owned(),
            source,
        });
    }
    sync_folder(&folder)
}

fn sync_folder(folder: &Path) -> Result<(), FolderError> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(io_error("cannot flush the folder", folder))
}

#[cfg(test)]
mod tests {
    use crate::{Growing, Header, Payload, Provenance, SCHEMA, Serve, ServeEvent, ServeRequest};

    use super::*;

    #[test]
    fn a_journal_that_no_reader_takes_is_not_written() {
        let path = std::env::temp_dir().join(format!("tplens-full-{}", std::process::id()));
        let folder = ResultFolder::create(&path).unwrap();
        let mut journal = folder.begin_journal().unwrap();
        let line = Line::End {
            status: crate::Status::Complete,
            exit_code: 0,
        };
        journal.append(&line).unwrap();
        let one = journal.bytes;
        let full = |written| matches!(written, Err(FolderError::Full(_)));
        // The last line of many that fits, and one behind it; what sums up has its own room, up to what is read.
        journal.bytes = JOURNAL_ROOM - one;
        journal.append_soon(&line).unwrap();
        assert!(full(journal.append_soon(&line)));
        journal.append(&line).unwrap();
        journal.bytes = bounded::RECORD - one;
        journal.append(&line).unwrap();
        assert!(full(journal.append(&line)));
        // Four lines, and nothing of the two that were refused.
        let length = fs::metadata(folder.journal_path()).unwrap().len();
        fs::remove_dir_all(&path).unwrap();
        assert_eq!(length, 4 * one);
    }

    #[test]
    fn every_journal_that_can_be_written_is_read_back() {
        let request = |chunks: usize| ServeRequest {
            sent_ms: 1.0,
            ended_ms: 1e9,
            token_chunks_ms: vec![12_345_678.901_234; chunks],
            chunk_tokens: vec![1; chunks],
            ..ServeRequest::default()
        };
        let line = |chunks| {
            Serve::line(ServeEvent::Request {
                request: Box::new(request(chunks)),
            })
        };
        let lined = |chunks| serde_json::to_string(&line(chunks)).unwrap() + "\n";
        let path = std::env::temp_dir().join(format!("tplens-many-{}", std::process::id()));
        let folder = ResultFolder::create(&path).unwrap();
        let header = Line::Header {
            header: Box::new(Header {
                schema: SCHEMA,
                program: "serve-bench".to_owned(),
                version: "0".to_owned(),
                simulated: None,
                provenance: Provenance::default(),
            }),
        };
        let many = 150_000;
        let text = serde_json::to_string(&header).unwrap() + "\n" + &lined(0).repeat(many);
        fs::write(folder.journal_path(), text).unwrap();
        let record = folder.write_record();
        let again = load(&folder.record_path());
        fs::remove_dir_all(&path).unwrap();
        for record in [record.unwrap(), again.unwrap()] {
            let Payload::Serve(serve) = record.payload else {
                panic!("{}", record.payload.kind());
            };
            assert_eq!(serve.requests.len(), many);
        }
    }

    #[test]
    fn a_record_or_a_journal_alone_takes_a_folder() {
        for file in ["record.json", "journal.jsonl"] {
            let path =
                std::env::temp_dir().join(format!("tplens-taken-{}-{file}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("notes"), "of the user").unwrap();
            assert!(ResultFolder::create(&path).is_ok());
            fs::write(path.join(file), "kept").unwrap();
            assert!(matches!(
                ResultFolder::create(&path),
                Err(FolderError::Taken(_))
            ));
            assert_eq!(fs::read_to_string(path.join(file)).unwrap(), "kept");
            fs::remove_dir_all(path).unwrap();
        }
    }
}
