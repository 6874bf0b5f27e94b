//! Loading a library with NCCL's interface, and the calls that need no communicator.
#![expect(unsafe_code, reason = "C ABI of NCCL and its kin")]

use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::slice;

use super::super::places::candidates;
use super::super::symbols::{Code, Functions, Id};
use super::super::table::{Proof, Table};
use crate::error::{DeviceError, Result};
use crate::library::{Function, file_of, first_of, text};

type SoftBox = unsafe extern "C" fn() -> *const c_char;

/// A loaded library, which stays loaded for the life of the process: it has threads of its own.
pub(in crate::ccl) struct Library {
    /// The vendor's row.
    pub(in crate::ccl) table: &'static Table,
    /// Its functions.
    pub(in crate::ccl) functions: Functions,
    /// In this project's simulated libraries only.
    soft_box: Option<SoftBox>,
}

impl Library {
    /// Loads the first of the files to try that is the vendor's; see [`candidates`].
    pub(in crate::ccl) fn load(
        table: &'static Table,
        path: Option<&Path>,
    ) -> Result<&'static Self> {
        let missing = |looked: String| DeviceError::LibraryMissing {
            library: table.library,
            looked,
            next: table.install,
        };
        let mut said = Vec::new();
        for candidate in candidates(table, path).map_err(missing)? {
            let shown = candidate.display().to_string();
            match first_of(slice::from_ref(&candidate)) {
                Ok(library) => match is_the_vendors(table, &library) {
                    Ok(()) => return Ok(Self::of(table, library)),
                    Err(why) => said.push(format!("{shown}: {why}")),
                },
                Err(words) => said.extend(words),
            }
        }
        Err(missing(said.join("; ")))
    }

    fn of(table: &'static Table, library: libloading::Library) -> &'static Self {
        // SAFETY: nccl.h and rccl.h declare the functions of these names with these types from 2.4 on, as far as a version has
        // them, and MCCL (by the open projects that call it) under its prefix too. The library is forgotten below and so
        // never unloaded.
        let functions = unsafe { Functions::of(&library, &table.names) };
        // SAFETY: only our simulated libraries export this name, and with this type.
        let soft_box = unsafe { library.get::<SoftBox>("tplens_soft_box") };
        // A library that forwards to another one has the name too, and answers null where that is none of ours.
        let soft_box = soft_box.ok().map(|marker| *marker).filter(|marker| {
            // SAFETY: as it declares: it takes nothing.
            !unsafe { marker() }.is_null()
        });
        std::mem::forget(library);
        Box::leak(Box::new(Self {
            table,
            functions,
            soft_box,
        }))
    }

    /// A function, or the error that it is missing.
    pub(in crate::ccl) fn need<F: Copy>(&self, function: &Function<F>) -> Result<F> {
        function.call.ok_or(DeviceError::SymbolMissing {
            library: self.table.library,
            symbol: function.name,
        })
    }

    /// The version as the library codes it.
    pub(in crate::ccl) fn version(&self) -> Result<u32> {
        let function = &self.functions.get_version;
        let call = self.need(function)?;
        let mut version = 0;
        // SAFETY: nccl.h: `ncclGetVersion(int *)` writes one int.
        let code = unsafe { call(&raw mut version) };
        self.check(function.name, code)?;
        Ok(u32::try_from(version).unwrap_or(0))
    }

    /// The file that the loader took.
    pub(in crate::ccl) fn file(&self) -> Option<PathBuf> {
        let function = self.functions.get_version.call?;
        file_of(function as *const c_void)
    }

    /// The name of the simulated machine, where this is a simulated library.
    pub(in crate::ccl) fn soft_box(&self) -> Option<String> {
        let marker = self.soft_box?;
        // SAFETY: only our simulated libraries export it; it takes nothing and returns a static string or null.
        let name = unsafe { marker() };
        // SAFETY: as it returned it.
        unsafe { text(name) }
    }

    /// A new id.
    pub(in crate::ccl) fn unique_id(&self) -> Result<[u8; 128]> {
        let function = &self.functions.get_unique_id;
        let call = self.need(function)?;
        let mut id = Id([0; 128]);
        // SAFETY: nccl.h: `ncclGetUniqueId(ncclUniqueId *)` writes 128 bytes.
        let code = unsafe { call(&raw mut id) };
        self.check(function.name, code)?;
        Ok(id.0)
    }

    /// The error of a call's answer, with what the library said last.
    pub(in crate::ccl) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == Code::SUCCESS || code == Code::IN_PROGRESS {
            return Ok(());
        }
        let mut name = self
            .meaning(code)
            .unwrap_or_else(|| "an unknown error".to_owned());
        if let Some(last) = self.last_error().filter(|last| !last.trim().is_empty()) {
            name = format!("{name}: {}", last.trim());
        }
        Err(DeviceError::Vendor {
            call,
            code: i64::from(code.0),
            name,
        })
    }

    fn meaning(&self, code: Code) -> Option<String> {
        let call = self.functions.error_string.call?;
        // SAFETY: nccl.h: `ncclGetErrorString(ncclResult_t)` returns a constant, for numbers that it does not know too.
        let meaning = unsafe { call(code) };
        // SAFETY: as it returned it.
        unsafe { text(meaning) }
    }

    /// What the library said last of an error in this process, in words.
    fn last_error(&self) -> Option<String> {
        let call = self.functions.last_error.call?;
        // SAFETY: nccl.h: `ncclGetLastError(ncclComm_t)` returns text of the library's own; the communicator is not used and
        // may be null ("comm is currently unused and can be set to NULL").
        let said = unsafe { call(ptr::null_mut()) };
        // SAFETY: NUL-terminated text of the library, or null; it is copied at once.
        unsafe { text(said) }
    }
}

/// Says why a library is not the vendor's, where another vendor's has the same file name.
fn is_the_vendors(table: &Table, library: &libloading::Library) -> std::result::Result<(), String> {
    let Some(Proof { symbol, neighbour }) = table.proof else {
        return Ok(());
    };
    let address = |name: &str| {
        // SAFETY: the address is taken as a plain pointer, never called or read.
        let found = unsafe { library.get::<*const c_void>(name) };
        found.ok().map(|found| *found)
    };
    if address(symbol).is_some() {
        return Ok(());
    }
    let file = address(table.names.get_version).and_then(file_of);
    let folder = file.as_deref().and_then(Path::parent);
    if folder.is_some_and(|folder| folder.join(neighbour).is_file()) {
        return Ok(());
    }
    let (has, interface) = (table.names.get_version, table.interface);
    Err(if file.is_none() {
        format!("it has no symbol {has}, so it is no {interface}")
    } else {
        format!(
            "it has no symbol {symbol} and no {neighbour} lies beside it, so it is another vendor's and not {interface}"
        )
    })
}
