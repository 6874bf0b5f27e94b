//! NIXL's C interface: `nixl_capi_*` of `src/bindings/rust/wrapper.h` in github.com/ai-dynamo/nixl, whose version 1.5 was run.
//!
//! An agent with the UCX backend and one piece of host memory that is registered with it. The library is never unloaded, because it
//! has threads of its own. Which device and transport UCX takes is decided by its own variables.
#![expect(
    unsafe_code,
    reason = "calls of a library that is loaded at run time, and memory that it writes"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::error::Error as _;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use libloading::Library;

/// Any of the header's handles, which are pointers to types of its own.
type Handle = *mut c_void;

/// `NIXL_CAPI_IN_PROG`; 0 is success and less than 0 an error.
const IN_PROGRESS: c_int = 1;

/// `NIXL_CAPI_MEM_DRAM`.
const DRAM: c_int = 0;

/// Where memory begins: a page, as an engine's blocks do.
const PAGE: usize = 4096;

/// A transfer that takes longer hangs.
const HANG: Duration = Duration::from_secs(60);

/// The functions that are used, without the `nixl_capi_` of their names.
macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($name: {
                        let name = concat!("nixl_capi_", stringify!($name));
                        // SAFETY: the type is the header's; the library is never unloaded.
                        let function = unsafe { library.get(name) }?;
                        *function
                    },)*
                })
            }
        }
    };
}

// Earlier versions take a third word, whether a list is sorted; later ones do not look at it.
functions! {
    create_agent(*const c_char, *mut Handle);
    destroy_agent(Handle);
    create_params(*mut Handle);
    destroy_params(Handle);
    create_backend(Handle, *const c_char, Handle, *mut Handle);
    destroy_backend(Handle);
    create_opt_args(*mut Handle);
    opt_args_set_skip_desc_merge(Handle, bool);
    destroy_opt_args(Handle);
    create_reg_dlist(c_int, *mut Handle, bool);
    reg_dlist_add_desc(Handle, usize, usize, u64, *const c_void, usize);
    destroy_reg_dlist(Handle);
    register_mem(Handle, Handle, Handle);
    deregister_mem(Handle, Handle, Handle);
    get_local_md(Handle, *mut *mut c_void, *mut usize);
    load_remote_md(Handle, *const c_void, usize, *mut *mut c_char);
    create_xfer_dlist(c_int, *mut Handle, bool);
    xfer_dlist_add_desc(Handle, usize, usize, u64);
    destroy_xfer_dlist(Handle);
    prep_xfer_dlist(Handle, *const c_char, Handle, *mut Handle, Handle);
    release_xfer_dlist_handle(Handle, Handle);
    make_xfer_req(Handle, c_int, Handle, *const c_int, usize, Handle, *const c_int, usize, *mut Handle, Handle);
    post_xfer_req(Handle, Handle, Handle);
    get_xfer_status(Handle, Handle);
    release_xfer_req(Handle, Handle);
    destroy_xfer_req(Handle);
}

/// A function's name and what it gave: `call!(functions.create_agent(...))`.
macro_rules! call {
    ($functions:ident.$name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the arguments are of the header's types; handles are ones that the library made and that were not destroyed, and
        // what pointers lead to lives through the call. Strings and lists are copied (wrapper.cpp).
        let status = unsafe { ($functions.$name)($($argument),*) };
        match status {
            0 | IN_PROGRESS => Ok(status),
            _ => Err(io::Error::other(format!(
                concat!("nixl_capi_", stringify!($name), ": status {}"), status
            ))),
        }
    }};
}

/// An agent, and the memory that is registered with it.
pub(super) struct Agent {
    functions: Functions,
    agent: Handle,
    backend: Handle,
    options: Handle,
    registered: Handle,
    memory: *mut u8,
    layout: Layout,
    /// The other end's name and where its memory begins.
    other: Option<(CString, usize)>,
    /// Whether no transfer of this agent is under way, nor broke off.
    is_idle: bool,
}

// SAFETY: wrapper.h binds no handle to a thread; an agent is used by one thread at a time, because its methods take `&mut self`.
unsafe impl Send for Agent {}

impl Agent {
    /// Loads the first of these libraries that loads, and registers so many bytes.
    ///
    /// # Errors
    /// None loads, one lacks a function, or NIXL refuses.
    pub(super) fn open(libraries: &[PathBuf], name: &str, bytes: usize) -> io::Result<Self> {
        let functions = load(libraries)?;
        let layout = Layout::from_size_align(bytes.max(1), PAGE).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty; freed in `drop`.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        let mut new = Self {
            functions,
            agent: null_mut(),
            backend: null_mut(),
            options: null_mut(),
            registered: null_mut(),
            memory,
            layout,
            other: None,
            is_idle: true,
        };
        new.register(&CString::new(name)?)?;
        Ok(new)
    }

    fn register(&mut self, name: &CStr) -> io::Result<()> {
        let functions = &self.functions;
        call!(functions.create_agent(name.as_ptr(), &raw mut self.agent))?;
        let (mut none, ucx) = (null_mut(), c"UCX".as_ptr());
        call!(functions.create_params(&raw mut none))?;
        call!(functions.create_backend(self.agent, ucx, none, &raw mut self.backend))?;
        call!(functions.destroy_params(none))?;
        call!(functions.create_opt_args(&raw mut self.options))?;
        // Pieces stay pieces, though they lie beside each other here.
        call!(functions.opt_args_set_skip_desc_merge(self.options, true))?;
        let (address, size) = (self.memory.addr(), self.layout.size());
        let mut list = null_mut();
        call!(functions.create_reg_dlist(DRAM, &raw mut list, false))?;
        call!(functions.reg_dlist_add_desc(list, address, size, 0, null(), 0))?;
        call!(functions.register_mem(self.agent, list, null_mut()))?;
        self.registered = list;
        Ok(())
    }

    /// The registered memory. The other end reads and writes it between its request and its next word: what this gives must not be held then.
    pub(super) fn memory(&mut self) -> &mut [u8] {
        // SAFETY: allocated in `open` with this size and zeroed; `&mut self` keeps other slices of it away.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.layout.size()) }
    }

    /// Where the memory begins, and what another agent loads to reach it.
    ///
    /// # Errors
    /// NIXL refuses.
    pub(super) fn metadata(&self) -> io::Result<(usize, Vec<u8>)> {
        let functions = &self.functions;
        let (mut data, mut length) = (null_mut(), 0);
        call!(functions.get_local_md(self.agent, &raw mut data, &raw mut length))?;
        // SAFETY: get_local_md gave so many bytes.
        let metadata = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec();
        // SAFETY: get_local_md took it from malloc for its caller, and it was copied.
        unsafe { nix::libc::free(data) };
        Ok((self.memory.addr(), metadata))
    }

    /// Loads what another agent gave.
    ///
    /// # Errors
    /// NIXL refuses, such as for an agent without a common transport.
    pub(super) fn meet(&mut self, address: usize, metadata: &[u8]) -> io::Result<()> {
        let functions = &self.functions;
        let (data, mut name) = (metadata.as_ptr().cast(), null_mut());
        call!(functions.load_remote_md(self.agent, data, metadata.len(), &raw mut name))?;
        // SAFETY: load_remote_md gave a string.
        let copy = unsafe { CStr::from_ptr(name) }.to_owned();
        // SAFETY: load_remote_md took it from malloc for its caller, and it was copied.
        unsafe { nix::libc::free(name.cast()) };
        self.other = Some((copy, address));
        Ok(())
    }

    /// Reads or writes pieces at the begin of both memories, and gives the seconds from making the request until all is there: what an
    /// engine does for each prompt. Lists are made before, as an engine makes them once.
    ///
    /// # Errors
    /// NIXL refuses, or a transfer hangs; this agent is then of no more use, and what was made for the transfer stays.
    pub(super) fn transfer(
        &mut self,
        is_read: bool,
        piece: usize,
        pieces: usize,
    ) -> io::Result<f64> {
        let functions = &self.functions;
        let other = self.other.as_ref();
        let (name, address) = other.ok_or_else(|| io::Error::other("no agent was met"))?;
        self.is_idle = false;
        let here = self.prepared(c"", self.memory.addr(), piece, pieces)?;
        let there = self.prepared(name, *address, piece, pieces)?;
        let last = c_int::try_from(pieces).map_err(io::Error::other)?;
        let indices: Vec<c_int> = (0..last).collect();
        let (way, at, mut job) = (c_int::from(!is_read), indices.as_ptr(), null_mut());
        let (agent, options) = (self.agent, self.options);
        let begun = Instant::now();
        let (request, n) = (&raw mut job, pieces);
        call!(functions.make_xfer_req(agent, way, here, at, n, there, at, n, request, options))?;
        let mut status = call!(functions.post_xfer_req(agent, job, null_mut()))?;
        while status == IN_PROGRESS {
            std::thread::yield_now();
            status = call!(functions.get_xfer_status(agent, job))?;
            if begun.elapsed() > HANG {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        call!(functions.release_xfer_req(agent, job))?;
        call!(functions.destroy_xfer_req(job))?;
        call!(functions.release_xfer_dlist_handle(agent, here))?;
        call!(functions.release_xfer_dlist_handle(agent, there))?;
        self.is_idle = true;
        Ok(seconds)
    }

    /// A prepared list of pieces of an agent's memory; the empty name is this agent's.
    fn prepared(
        &self,
        name: &CStr,
        address: usize,
        piece: usize,
        pieces: usize,
    ) -> io::Result<Handle> {
        let functions = &self.functions;
        let (mut list, mut prepared) = (null_mut(), null_mut());
        call!(functions.create_xfer_dlist(DRAM, &raw mut list, false))?;
        for index in 0..pieces {
            call!(functions.xfer_dlist_add_desc(list, address + index * piece, piece, 0))?;
        }
        let (name, none) = (name.as_ptr(), null_mut());
        call!(functions.prep_xfer_dlist(self.agent, name, list, &raw mut prepared, none))?;
        call!(functions.destroy_xfer_dlist(list))?;
        Ok(prepared)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !self.is_idle {
            // A device may still write to the memory.
            return;
        }
        let functions = &self.functions;
        // Null is refused with a status, and nothing can be done about any.
        let _ = call!(functions.deregister_mem(self.agent, self.registered, null_mut()));
        let _ = call!(functions.destroy_reg_dlist(self.registered));
        let _ = call!(functions.destroy_opt_args(self.options));
        let _ = call!(functions.destroy_agent(self.agent));
        let _ = call!(functions.destroy_backend(self.backend));
        // SAFETY: allocated in `open` with this layout; the agent that had it registered is gone.
        unsafe { dealloc(self.memory, self.layout) };
    }
}

/// The functions of the first library that loads.
fn load(libraries: &[PathBuf]) -> io::Result<Functions> {
    let mut said = Vec::new();
    for file in libraries {
        // SAFETY: loading runs constructors of a library that the user, the loader's path or Python's names.
        match unsafe { Library::new(file) } {
            Ok(library) => {
                // Never unloaded: an agent's threads may outlive it.
                let library: &'static Library = Box::leak(Box::new(library));
                return Functions::of(library).map_err(io::Error::other);
            }
            Err(error) => said.extend(error.source().map(ToString::to_string)),
        }
    }
    let said = said.join("; ");
    let error = format!("no NIXL here ({said}); `pip install nixl`, or name its library by --nixl");
    Err(io::Error::new(io::ErrorKind::NotFound, error))
}
