//! Loading a vendor's library, and the calls that need no device.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::codes::{at_open, failure};
use super::super::places;
use super::super::symbols::{Code, DriverFunctions, Functions, Handle};
use super::super::table::{Table, Version};
use crate::error::{DeviceError, Result};
use crate::library::{Function, file_of, first_of, text, until_nul};
use crate::nodes::Nodes;

/// The type of the call that gives the time between two events.
type Elapsed = unsafe extern "C" fn(*mut f32, Handle, Handle) -> Code;

type SoftBox = unsafe extern "C" fn() -> *const c_char;

/// The serial of the next library; 0 is none.
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// A loaded library, which stays loaded for the life of the process.
pub(in crate::runtime) struct Library {
    /// The vendor's row.
    pub(in crate::runtime) table: &'static Table,
    /// Its functions.
    pub(in crate::runtime) functions: Functions,
    /// Those of a driver that has contexts.
    pub(in crate::runtime) driver: Option<DriverFunctions>,
    /// The library itself, for the compiler that some releases have in it.
    pub(in crate::runtime) raw: libloading::Library,
    /// Told apart by threads that remember their current device.
    pub(in crate::runtime) serial: u64,
    /// In this project's simulated library only.
    soft_box: Option<SoftBox>,
    /// Whose nodes host memory is on.
    pub(in crate::runtime) nodes: Nodes,
}

impl Library {
    /// Loads the vendor's library and sees that it has what nothing works without.
    pub(in crate::runtime) fn load(table: &'static Table) -> Result<&'static Self> {
        let library = first_of(&places::candidates(table)).map_err(|said| missing(table, &said))?;
        // SAFETY: hip_runtime_api.h declares the functions of these names with these types from ROCm 5.2 to 7.x,
        // mc_runtime_api.h (by the open projects that call it) under its prefix too; a library that answers by that name
        // and is another one is the user's to keep out of the path. It is leaked below and so never unloaded.
        let functions = unsafe { Functions::of(&library, &table.names) };
        let driver = table.driver.as_ref().map(|names| {
            // SAFETY: as above; cuda.h declares these.
            unsafe { DriverFunctions::of(&library, names) }
        });
        // SAFETY: only our simulated libraries export this name, and with this type.
        let soft_box = unsafe { library.get::<SoftBox>("tplens_soft_box") };
        let soft_box = soft_box.ok().map(|marker| *marker);
        // SAFETY: the address is taken as a plain pointer; only our simulated libraries export what is asked for.
        let address = |name: &[u8]| unsafe { library.get::<*const c_void>(name) }.ok();
        let nodes = Nodes::of(|name| address(name).map(|address| *address));
        let library: &'static Self = Box::leak(Box::new(Self {
            table,
            functions,
            driver,
            raw: library,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            soft_box,
            nodes,
        }));
        library.has_what_it_takes()?;
        library.initialise()?;
        Ok(library)
    }

    /// Starts a driver that is to be started.
    fn initialise(&self) -> Result<()> {
        let Some(driver) = &self.driver else {
            return Ok(());
        };
        // SAFETY: cuda.h: `cuInit(unsigned int)`; flags must be 0, and calling it again is no error.
        let code = unsafe { self.need(&driver.init)?(0) };
        at_open(self.table, driver.init.name, code, || self.name_of(code))
    }

    /// Everything else may be missing: without these there is no copy and no time.
    fn has_what_it_takes(&self) -> Result<()> {
        let all = &self.functions;
        self.need(&all.device_count)?;
        self.need(&all.alloc)?;
        self.need(&all.free)?;
        self.need(&all.stream_create)?;
        self.need(&all.stream_destroy)?;
        self.need(&all.stream_synchronize)?;
        self.need(&all.event_create)?;
        self.need(&all.event_record)?;
        let Some(driver) = &self.driver else {
            self.need(&all.set_device)?;
            self.need(&all.copy)?;
            return self.need(&all.event_elapsed).map(drop);
        };
        self.need(&driver.device)?;
        self.need(&driver.retain)?;
        self.need(&driver.set_current)?;
        self.need(&driver.copy_to_device)?;
        self.need(&driver.copy_to_host)?;
        self.need(&driver.copy_within)?;
        self.elapsed().map(drop)
    }

    /// The call that gives the time between two events, and its name.
    pub(in crate::runtime) fn elapsed(&self) -> Result<(&'static str, Elapsed)> {
        let own = &self.functions.event_elapsed;
        let older = self.driver.as_ref().map(|driver| &driver.event_elapsed);
        let function = older.filter(|_| own.call.is_none()).unwrap_or(own);
        Ok((function.name, self.need(function)?))
    }

    /// A function, or the error that it is missing.
    pub(in crate::runtime) fn need<F: Copy>(&self, function: &Function<F>) -> Result<F> {
        function.call.ok_or(DeviceError::SymbolMissing {
            library: self.table.library,
            symbol: function.name,
        })
    }

    /// The name of the simulated machine, where this is a simulated library.
    pub(in crate::runtime) fn soft_box(&self) -> Option<String> {
        let marker = self.soft_box?;
        // SAFETY: the marker takes nothing and returns a static string or null.
        let name = unsafe { marker() };
        // SAFETY: as it returned it; it is neither freed nor written.
        unsafe { text(name) }
    }

    /// The file that the loader took.
    pub(in crate::runtime) fn file(&self) -> Option<PathBuf> {
        let function = self.functions.alloc.call?;
        file_of(function as *const c_void)
    }

    /// The version as `HIP 6.4.43484`, where it is reported.
    pub(in crate::runtime) fn version(&self) -> Option<String> {
        let number = match self.table.version {
            Version::Decimal => decimal(self.version_number()?),
            Version::Thousands => {
                let version = self.version_number()?;
                format!("{}.{}", version / 1000, version % 1000 / 10)
            }
            Version::File(name) => {
                // The library lies in the folder `lib` of its installation.
                let file = self.file()?;
                let folder = file.parent()?.parent()?;
                in_file(&std::fs::read_to_string(folder.join(name)).ok()?)?.to_owned()
            }
        };
        Some(format!("{} {number}", self.table.interface))
    }

    fn version_number(&self) -> Option<c_int> {
        let call = self.functions.runtime_version.call?;
        let mut version = 0;
        // SAFETY: hip_runtime_api.h: `hipRuntimeGetVersion(int *)` writes one int; cuda.h: so does `cuDriverGetVersion`.
        let code = unsafe { call(&raw mut version) };
        (code == Code::SUCCESS).then_some(version)
    }

    /// Number of devices that this process sees.
    pub(in crate::runtime) fn device_count(&self) -> Result<usize> {
        let call = self.need(&self.functions.device_count)?;
        let mut count = 0;
        // SAFETY: hip_runtime_api.h: `hipGetDeviceCount(int *)` writes one int.
        let code = unsafe { call(&raw mut count) };
        let name = self.functions.device_count.name;
        at_open(self.table, name, code, || self.name_of(code))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The vendor's name of a device.
    pub(in crate::runtime) fn device_name(&self, device: c_int) -> Result<String> {
        let function = &self.functions.device_name;
        let call = self.need(function)?;
        let mut name = [0u8; 256];
        // SAFETY: hip_runtime_api.h: `hipDeviceGetName(char *, int len, hipDevice_t)` writes at most `len` bytes; there are
        // 256, and a hipDevice_t is the device's number.
        let code = unsafe { call(name.as_mut_ptr().cast(), 256, device) };
        self.check(function.name, code).map(|()| until_nul(&name))
    }

    /// The PCI address as the library prints it.
    pub(in crate::runtime) fn device_pci(&self, device: c_int) -> Option<String> {
        let call = self.functions.device_pci.call?;
        let mut address = [0u8; 64];
        // SAFETY: hip_runtime_api.h: `hipDeviceGetPCIBusId(char *, int len, int)` writes at most `len` bytes; there are 64.
        let code = unsafe { call(address.as_mut_ptr().cast(), 64, device) };
        (code == Code::SUCCESS).then(|| until_nul(&address))
    }

    /// The 16 bytes of the UUID.
    pub(in crate::runtime) fn device_uuid(&self, device: c_int) -> Option<[u8; 16]> {
        let call = self.functions.device_uuid.call?;
        let mut uuid = [0; 16];
        // SAFETY: hip_runtime_api.h: `hipDeviceGetUuid(hipUUID *, hipDevice_t)` writes 16 bytes.
        let code = unsafe { call(&raw mut uuid, device) };
        (code == Code::SUCCESS).then_some(uuid)
    }

    /// Memory in bytes.
    pub(in crate::runtime) fn device_memory(&self, device: c_int) -> Option<u64> {
        let call = self.functions.device_memory.call?;
        let mut bytes = 0;
        // SAFETY: hip_runtime_api.h: `hipDeviceTotalMem(size_t *, hipDevice_t)` writes one size_t.
        let code = unsafe { call(&raw mut bytes, device) };
        (code == Code::SUCCESS).then_some(bytes as u64)
    }

    /// An attribute that is more than 0; `None` where the library does not know it.
    pub(in crate::runtime) fn device_attribute(&self, device: c_int, number: u32) -> Option<u32> {
        let call = self.functions.device_attribute.call?;
        let mut value = 0;
        // SAFETY: hip_runtime_api.h: `hipDeviceGetAttribute(int *, hipDeviceAttribute_t, int)` writes one int; a number
        // that the library does not know is an error code.
        let code = unsafe { call(&raw mut value, number, device) };
        let value = u32::try_from(value).ok().filter(|value| *value > 0);
        value.filter(|_| code == Code::SUCCESS)
    }

    /// The library's name of a code.
    fn name_of(&self, code: Code) -> String {
        let written = self.driver.as_ref().and_then(|driver| {
            let call = driver.error_name.call?;
            let mut name = std::ptr::null();
            // SAFETY: cuda.h: `cuGetErrorName(CUresult, const char **)` writes one pointer, null for a code it does not know.
            let code = unsafe { call(code, &raw mut name) };
            // SAFETY: a constant of the library, or null.
            (code == Code::SUCCESS).then(|| unsafe { text(name) })?
        });
        let function = [&self.functions.error_name, &self.functions.error_string];
        let name = function.into_iter().find_map(|function| {
            let call = function.call?;
            // SAFETY: hip_runtime_api.h: `hipGetErrorName(hipError_t)` and `hipGetErrorString` return a constant, for
            // numbers that they do not know too.
            let name = unsafe { call(code) };
            // SAFETY: as it was returned.
            unsafe { text(name) }
        });
        let name = written.or(name);
        name.unwrap_or_else(|| "an unknown error".to_owned())
    }

    /// The error of a call's answer.
    pub(in crate::runtime) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == Code::SUCCESS {
            return Ok(());
        }
        Err(failure(self.table, call, code, self.name_of(code)))
    }

    /// The same for a call that takes memory.
    pub(in crate::runtime) fn check_memory(
        &self,
        call: &'static str,
        code: Code,
        bytes: usize,
        what: &str,
    ) -> Result<()> {
        if code == Code::OUT_OF_MEMORY {
            return Err(DeviceError::OutOfMemory {
                bytes,
                what: what.to_owned(),
            });
        }
        self.check(call, code)
    }
}

/// The error of a library that did not load: a file that is there and lacks something is told from files that are not there.
fn missing(table: &Table, said: &[String]) -> DeviceError {
    // Where the file itself is missing, the loader says so right after its name; else the name of what is missing stands
    // there.
    let is_there =
        |words: &&String| words.split(": ").nth(1) != Some("cannot open shared object file");
    let mut looked = places::looked(table);
    for words in said.iter().filter(is_there) {
        looked.push_str("; but ");
        looked.push_str(words);
    }
    DeviceError::LibraryMissing {
        library: table.library,
        looked,
        next: table.install,
    }
}

/// The version in a number of major * 10^7 + minor * 10^5 + patch.
fn decimal(version: c_int) -> String {
    let (major, minor) = (version / 10_000_000, version / 100_000 % 100);
    format!("{major}.{minor}.{}", version % 100_000)
}

/// The version in a file that holds a line `Version:x`.
fn in_file(text: &str) -> Option<&str> {
    let lines = text.lines();
    let version = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case("version"));
    version
        .map(|(_, version)| version.trim())
        .filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_their_vendors_write_them() {
        // What hipRuntimeGetVersion of Debian's 5.2.3 and 6.4.3 answers.
        assert_eq!(decimal(50_221_153), "5.2.21153");
        assert_eq!(decimal(60_443_484), "6.4.43484");
        assert_eq!(in_file("Version:3.2.1.10\n"), Some("3.2.1.10"));
        assert_eq!(in_file("nothing\nversion :\n"), None);
    }
}
