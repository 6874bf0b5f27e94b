//! hiprtc, which AMD's library exports too. It takes a source with kernels of C names and makes a code object that names them;
//! what a kernel does, the driver knows by its name. No GPU is needed.
#![expect(unsafe_code, reason = "exports C functions under their vendor's names")]

use crate::abi::{Handle, Image, Out, OutText, Text, Texts};
use softbox::{Failure, Kernel, Outcome};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `hiprtcResult`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct Result(c_int);

impl Result {
    const SUCCESS: Self = Self(0);
    const INVALID_INPUT: Self = Self(3);
    const INVALID_PROGRAM: Self = Self(4);
    const COMPILATION: Self = Self(6);
    const INTERNAL: Self = Self(11);
}

/// Code and name (hiprtc.h).
const NAMES: &[(Result, &CStr)] = &[
    (Result::SUCCESS, c"HIPRTC_SUCCESS"),
    (Result::INVALID_INPUT, c"HIPRTC_ERROR_INVALID_INPUT"),
    (Result::INVALID_PROGRAM, c"HIPRTC_ERROR_INVALID_PROGRAM"),
    (Result::COMPILATION, c"HIPRTC_ERROR_COMPILATION"),
    (Result::INTERNAL, c"HIPRTC_ERROR_INTERNAL_ERROR"),
];

/// Architectures that code is made for; the first where none is asked for.
const ARCHITECTURES: &[&str] = &[
    "gfx1201", "gfx1200", "gfx1100", "gfx1101", "gfx1102", "gfx950", "gfx942", "gfx90a",
];

/// Options that name the architecture.
const ARCHITECTURE_OPTIONS: &[&str] = &["--offload-arch=", "--gpu-architecture="];

/// How a code object of this library begins: no loader of real ones takes it for its own.
const MAGIC: &[u8] = b"\x7fELF tplens soft code object\n";

/// What a code object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeObject {
    pub(crate) architecture: String,
    pub(crate) kernels: Vec<String>,
}

impl CodeObject {
    /// Reads an image; nothing where it is not one of this library.
    pub(crate) fn read(image: Image) -> Outcome<Option<Self>> {
        let text = image.after(MAGIC)?;
        Ok(text.and_then(|text| {
            let mut lines = text.lines().map(str::to_owned);
            Some(Self {
                architecture: lines.next()?,
                kernels: lines.collect(),
            })
        }))
    }

    /// The image, with its ending NUL.
    fn image(&self) -> Vec<u8> {
        let mut image = MAGIC.to_vec();
        for line in std::iter::once(&self.architecture).chain(&self.kernels) {
            image.extend(line.bytes());
            image.push(b'\n');
        }
        image.push(0);
        image
    }
}

/// A program, and what its last compilation left.
struct Program {
    source: String,
    name: String,
    code: Option<Vec<u8>>,
    log: String,
}

/// Programs by handle, and how many there were.
static PROGRAMS: Mutex<(usize, BTreeMap<usize, Program>)> = Mutex::new((0, BTreeMap::new()));

/// Program handles are these numbers as pointers.
const PROGRAM_HANDLES: usize = 0x7000_0000_0000;

fn programs() -> MutexGuard<'static, (usize, BTreeMap<usize, Program>)> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the body of an export. The calls on parameters refuse with a code of the runtime: here it is an invalid input.
fn call(body: impl FnOnce() -> std::result::Result<(), Fault>) -> Result {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Result::SUCCESS,
        Ok(Err(Fault(result))) => result,
        Err(_) => Result::INTERNAL,
    }
}

/// Why a call fails.
struct Fault(Result);

impl From<Failure> for Fault {
    fn from(_: Failure) -> Self {
        Self(Result::INVALID_INPUT)
    }
}

/// Does something with a program.
fn on_program(
    program: Handle,
    body: impl FnOnce(&mut Program) -> std::result::Result<(), Fault>,
) -> Result {
    call(|| match programs().1.get_mut(&program.number()) {
        Some(program) => body(program),
        None => Err(Fault(Result::INVALID_PROGRAM)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: Result) -> *const c_char {
    let row = NAMES.iter().find(|row| row.0 == result);
    row.map_or(c"Invalid HIPRTC error code", |row| row.1)
        .as_ptr()
}

/// Headers are taken and not looked at.
#[unsafe(no_mangle)]
extern "C" fn hiprtcCreateProgram(
    program: Out<Handle>,
    source: Text,
    name: Text,
    headers: c_int,
    texts: Texts,
    names: Texts,
) -> Result {
    call(|| {
        program.present()?;
        texts.read(headers)?;
        names.read(headers)?;
        let new = Program {
            source: source.read()?,
            // A program need not have a name.
            name: name.read().unwrap_or_else(|_| "CompileSource".to_owned()),
            code: None,
            log: String::new(),
        };
        let mut programs = programs();
        programs.0 += 1;
        let handle = PROGRAM_HANDLES + programs.0 * 16;
        programs.1.insert(handle, new);
        Ok(program.put(Handle::at(handle))?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcDestroyProgram(program: Out<Handle>) -> Result {
    call(|| {
        let handle = program.get()?;
        match programs().1.remove(&handle.number()) {
            Some(_) => Ok(program.put(Handle::NULL)?),
            None => Err(Fault(Result::INVALID_PROGRAM)),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcCompileProgram(program: Handle, count: c_int, options: Texts) -> Result {
    on_program(program, |program| {
        let options = options.read(count)?;
        match compile(&program.source, &options) {
            Ok(object) => {
                program.code = Some(object.image());
                program.log.clear();
                Ok(())
            }
            Err(line) => {
                program.code = None;
                program.log = format!("{}: {line}\n1 error generated.\n", program.name);
                Err(Fault(Result::COMPILATION))
            }
        }
    })
}

/// Other options than the architecture are taken and change nothing.
fn compile(source: &str, options: &[String]) -> std::result::Result<CodeObject, String> {
    let asked = options.iter().rev().find_map(|option| {
        ARCHITECTURE_OPTIONS
            .iter()
            .find_map(|name| option.strip_prefix(name))
    });
    let architecture = asked.unwrap_or(ARCHITECTURES[0]);
    if !ARCHITECTURES.contains(&architecture) {
        return Err(format!(
            "error: unsupported HIP gpu architecture: {architecture}"
        ));
    }
    // It is no compiler: what is declared as a kernel that the driver knows is taken for one.
    let names = source.split("void ").skip(1);
    let names = names.filter_map(|rest| Some(rest.split_once('(')?.0.trim()));
    let known = names.filter(|name| Kernel::parameters(name).is_some());
    let kernels: Vec<String> = known.map(str::to_owned).collect();
    if kernels.is_empty() || !source.contains("extern \"C\"") {
        return Err("error: no kernel with a C name; declare it extern \"C\"".to_owned());
    }
    Ok(CodeObject {
        architecture: architecture.to_owned(),
        kernels,
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetCodeSize(program: Handle, bytes: Out<usize>) -> Result {
    on_program(program, |program| {
        let code = program
            .code
            .as_ref()
            .ok_or(Fault(Result::INVALID_PROGRAM))?;
        Ok(bytes.put(code.len())?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetCode(program: Handle, into: OutText) -> Result {
    on_program(program, |program| {
        let code = program
            .code
            .as_ref()
            .ok_or(Fault(Result::INVALID_PROGRAM))?;
        Ok(into.put_bytes(code)?)
    })
}

/// The size with the ending NUL.
#[unsafe(no_mangle)]
extern "C" fn hiprtcGetProgramLogSize(program: Handle, bytes: Out<usize>) -> Result {
    on_program(program, |program| Ok(bytes.put(program.log.len() + 1)?))
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetProgramLog(program: Handle, into: OutText) -> Result {
    on_program(program, |program| {
        let text = [program.log.as_bytes(), b"\0"].concat();
        Ok(into.put_bytes(&text)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_says_what_it_was_made_of() {
        let object = compile(
            "extern \"C\" __global__ void tplens_copy() {}",
            &["-O3".to_owned(), "--offload-arch=gfx942".to_owned()],
        )
        .expect("compiles");
        assert_eq!(object.architecture, "gfx942");
        let image = object.image();
        // What every loader looks at first, and the NUL that this one ends at.
        assert!(image.starts_with(b"\x7fELF") && image.ends_with(b"tplens_copy\n\0"));
    }

    #[test]
    fn what_cannot_be_compiled_is_said() {
        let kernel = "extern \"C\" __global__ void tplens_copy() {}";
        let error =
            |source, option: &str| compile(source, &[option.to_owned()]).expect_err("fails");
        assert!(error(kernel, "--offload-arch=gfx9999").contains("gfx9999"));
        assert!(error("__global__ void tplens_copy() {}", "-O3").contains("extern \"C\""));
    }
}
