//! hiprtc, which AMD's library exports too. It takes a source with kernels of C names and makes a code object that names them;
//! what a kernel does, the driver knows by its name. No GPU is needed.
#![expect(unsafe_code, reason = "exports C functions under their vendor's names")]

use crate::abi::Image;
use softbox::abi::{Handle, InOut, List, Out, OutText, Text};
use softbox::{Failure, Kernel, Outcome};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// `hiprtcResult`.
type Result = c_int;

const INVALID_INPUT: Result = 3;
const INVALID_PROGRAM: Result = 4;
const COMPILATION: Result = 6;
const INTERNAL: Result = 11;

/// Code and name (hiprtc.h).
const NAMES: &[(Result, &CStr)] = &[
    (0, c"HIPRTC_SUCCESS"),
    (INVALID_INPUT, c"HIPRTC_ERROR_INVALID_INPUT"),
    (INVALID_PROGRAM, c"HIPRTC_ERROR_INVALID_PROGRAM"),
    (COMPILATION, c"HIPRTC_ERROR_COMPILATION"),
    (INTERNAL, c"HIPRTC_ERROR_INTERNAL_ERROR"),
];

/// Architectures that code is made for; the first where none is asked for.
const ARCHITECTURES: &[&str] = &[
    "gfx1201", "gfx1200", "gfx1100", "gfx1101", "gfx1102", "gfx950", "gfx942", "gfx90a",
];

/// How a code object of this library begins: no loader of real ones takes it for its own.
const MAGIC: &[u8] = b"\x7fELF tplens soft code object\n";

/// What a code object says: lines of text behind [`MAGIC`], with an ending NUL.
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

    fn image(&self) -> Vec<u8> {
        let text = format!("{}\n{}\n\0", self.architecture, self.kernels.join("\n"));
        [MAGIC, text.as_bytes()].concat()
    }
}

/// A program, and what its last compilation left.
#[derive(Default)]
struct Program {
    source: String,
    name: String,
    code: Option<Vec<u8>>,
    log: String,
}

/// Programs by handle.
type Programs = BTreeMap<usize, Program>;

/// The handle of the last program: no address of the rest.
static LAST_PROGRAM: AtomicUsize = AtomicUsize::new(0x7000_0000_0000);

/// Runs the body of an export on the programs that there are.
fn call(body: impl FnOnce(&mut Programs) -> std::result::Result<(), Refused>) -> Result {
    static PROGRAMS: Mutex<Programs> = Mutex::new(Programs::new());
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    match catch_unwind(AssertUnwindSafe(|| body(&mut programs))) {
        Ok(Ok(())) => 0,
        Ok(Err(Refused(result))) => result,
        Err(_) => INTERNAL,
    }
}

/// Why a call fails. The calls on parameters refuse with a code of the runtime: here it is an invalid input.
struct Refused(Result);

impl From<Failure> for Refused {
    fn from(_: Failure) -> Self {
        Self(INVALID_INPUT)
    }
}

/// Does something with a program.
fn on_program(
    program: Handle,
    body: impl FnOnce(&mut Program) -> std::result::Result<(), Refused>,
) -> Result {
    call(|programs| match programs.get_mut(&program.number()) {
        Some(program) => body(program),
        None => Err(Refused(INVALID_PROGRAM)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: Result) -> *const c_char {
    let row = NAMES.iter().find(|row| row.0 == result);
    row.map_or(c"Invalid HIPRTC error code", |row| row.1)
        .as_ptr()
}

/// A program need not have a name. Headers are not looked at.
#[unsafe(no_mangle)]
extern "C" fn hiprtcCreateProgram(
    program: Out<Handle>,
    source: Text,
    name: Text,
    _headers: c_int,
    _texts: List<Text>,
    _names: List<Text>,
) -> Result {
    call(|programs| {
        let new = Program {
            source: source.read()?,
            name: name.read().unwrap_or_else(|_| "CompileSource".to_owned()),
            ..Program::default()
        };
        // No number comes twice: one that was destroyed is none.
        let handle = LAST_PROGRAM.fetch_add(16, Ordering::Relaxed) + 16;
        program.put(Handle::at(handle))?;
        programs.insert(handle, new);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcDestroyProgram(program: InOut<Handle>) -> Result {
    call(|programs| match programs.remove(&program.get()?.number()) {
        Some(_) => Ok(program.put(Handle::NULL)?),
        None => Err(Refused(INVALID_PROGRAM)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcCompileProgram(program: Handle, count: c_int, options: List<Text>) -> Result {
    on_program(program, |program| {
        let count = usize::try_from(count).map_err(|_| Refused(INVALID_INPUT))?;
        let options = options.read(count)?.into_iter().map(Text::read);
        let compiled = compile(&program.source, &options.collect::<Outcome<Vec<String>>>()?);
        program.code = compiled.as_ref().ok().map(CodeObject::image);
        program.log = match &compiled {
            Ok(_) => String::new(),
            Err(line) => format!("{}: {line}\n1 error generated.\n", program.name),
        };
        compiled.map(drop).map_err(|_| Refused(COMPILATION))
    })
}

/// Other options than the architecture are taken and change nothing.
fn compile(source: &str, options: &[String]) -> std::result::Result<CodeObject, String> {
    let names = ["--offload-arch=", "--gpu-architecture="];
    let asked = options
        .iter()
        .rev()
        .find_map(|option| names.iter().find_map(|name| option.strip_prefix(name)));
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
        let code = program.code.as_ref().ok_or(Refused(INVALID_PROGRAM))?;
        Ok(bytes.put(code.len())?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetCode(program: Handle, into: OutText) -> Result {
    on_program(program, |program| {
        let code = program.code.as_ref().ok_or(Refused(INVALID_PROGRAM))?;
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
        Ok(into.put(program.log.len() + 1, &program.log)?)
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
