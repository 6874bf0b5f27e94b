//! Keeps what is found: on the disk first, then in memory for the tables.

use measure::record::{
    FolderError, Header, Journal, Line, Links, LinksEvent, Payload, Record, ResultFolder, Status,
};

/// The journal of a run and the payload it adds up to.
pub(super) struct Recorder {
    folder: ResultFolder,
    journal: Journal,
    header: Header,
    pub(super) links: Links,
}

impl Recorder {
    /// Begins a run in a folder.
    pub(super) fn begin(folder: ResultFolder, header: Header) -> Result<Self, FolderError> {
        let mut journal = folder.begin_journal()?;
        journal.append(&Line::Header {
            header: Box::new(header.clone()),
        })?;
        Ok(Self {
            folder,
            journal,
            header,
            links: Links::default(),
        })
    }

    /// Adds an event; it is in memory even where the disk refuses.
    pub(super) fn add(&mut self, event: LinksEvent) -> Result<(), FolderError> {
        let line = Line::Links {
            event: Box::new(event.clone()),
        };
        self.links.apply(event);
        self.journal.append(&line)
    }

    /// Ends the run: the last line, and the record rebuilt from the journal.
    ///
    /// The record that is returned is the one in memory; the second value says whether the disk has it, too.
    pub(super) fn end(
        mut self,
        status: Status,
        exit_code: u8,
    ) -> (Record, Result<(), FolderError>) {
        let durable = self
            .journal
            .append(&Line::End {
                status: status.clone(),
                exit_code,
            })
            .and_then(|()| self.folder.write_record().map(drop));
        let payload = Payload::Links(Box::new(self.links));
        (
            Record {
                header: self.header,
                status,
                exit_code,
                payload,
            },
            durable,
        )
    }
}
