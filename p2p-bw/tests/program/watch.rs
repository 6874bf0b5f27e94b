//! Waits for text in files that another process writes, without looking again and again.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::inotify;

use super::common::{SOON, is_ready};

/// Waits for text in the files of a folder.
pub(crate) struct Watch {
    folder: PathBuf,
    changes: OwnedFd,
}

impl Watch {
    /// Begins to watch a folder, which is made where it is missing.
    pub(crate) fn on(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let changes = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        let what = inotify::WatchFlags::MODIFY | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&changes, &folder, what).unwrap();
        Self { folder, changes }
    }

    /// Waits until a file of the folder contains this.
    pub(crate) fn until(&mut self, text: &str) {
        loop {
            let files = std::fs::read_dir(&self.folder).unwrap().flatten();
            let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            if texts.any(|found| found.contains(text)) {
                return;
            }
            assert!(
                is_ready(&self.changes, SOON),
                "no `{text}` in {}",
                self.folder.display()
            );
            let mut events = [std::mem::MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(&self.changes, &mut events);
            while reader.next().is_ok() {}
        }
    }
}
