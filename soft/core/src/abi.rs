//! What simulated libraries take from C callers: types whose methods are safe, because what a header makes a caller promise of a
//! parameter stands at the parameter's type. Values of them come from C callers alone, by the signatures of exports.
#![expect(
    unsafe_code,
    reason = "reads and writes through the pointers of C callers"
)]

use crate::{Code, Outcome};
use std::ffi::{CStr, c_char, c_void};

/// A handle that a library gave out, or an address, or anything else. Nothing is read or written there by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(*mut c_void);

impl Handle {
    /// The null pointer.
    pub const NULL: Self = Self(std::ptr::null_mut());

    /// A number as a pointer.
    #[must_use]
    pub fn at(number: usize) -> Self {
        Self(number as *mut c_void)
    }

    /// The pointer as a number.
    #[must_use]
    pub fn number(self) -> usize {
        self.0 as usize
    }

    /// Whether it is the null pointer.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// A place for an answer. The caller's promise: null, or valid for writing one `T`, whatever is there.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Refuses null before anything is done.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn present(&self) -> Outcome<()> {
        match self.0.is_null() {
            true => Err(Code::INVALID_VALUE.into()),
            false => Ok(()),
        }
    }

    /// Writes the answer, refusing null.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn put(&self, value: T) -> Outcome<()> {
        self.present()?;
        // SAFETY: not null, and this type states the rest.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// A place with something in it that the call changes. The caller's promise: null, or valid for reading and writing one `T`, or as many
/// of them behind each other as the call says.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct InOut<T>(*mut T);

impl<T: Copy> InOut<T> {
    /// What is there; null is refused.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn get(&self) -> Outcome<T> {
        Out(self.0).present()?;
        // SAFETY: not null, and this type states the rest.
        Ok(unsafe { self.0.read() })
    }

    /// Writes the answer, refusing null.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn put(&self, value: T) -> Outcome<()> {
        Out(self.0).put(value)
    }

    /// The place of one of several.
    #[must_use]
    pub fn at(&self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }
}

/// A place for a text or for bytes. The caller's promise: null, or valid for writing as many bytes as the call says.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct OutText(*mut c_char);

impl OutText {
    /// Writes text with its ending NUL, refusing null and too little room.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn put(&self, room: usize, text: &str) -> Outcome<()> {
        if room <= text.len() {
            return Err(Code::INVALID_VALUE.into());
        }
        self.put_bytes(&[text.as_bytes(), b"\0"].concat())
    }

    /// Writes bytes for which the caller asked the size before, refusing null.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn put_bytes(&self, bytes: &[u8]) -> Outcome<()> {
        Out(self.0).present()?;
        // SAFETY: not null, and this type states that so many bytes may be written; they are not the caller's memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast::<u8>(), bytes.len()) };
        Ok(())
    }
}

/// A caller's text. The caller's promise: null, or ending in NUL and unchanged during the call.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// A copy of the text; null and what is no UTF-8 are refused.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn read(self) -> Outcome<String> {
        Out(self.0.cast_mut()).present()?;
        // SAFETY: not null, and this type states the rest.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_str().map_err(|_| Code::INVALID_VALUE)?.to_owned())
    }
}

/// A caller's list of things. The caller's promise: null, or valid for reading as many of them as the call says.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct List<T>(*const T);

impl<T: Copy> List<T> {
    /// So many of them; null is refused where there shall be any.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`].
    pub fn read(self, count: usize) -> Outcome<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        Out(self.0.cast_mut()).present()?;
        // SAFETY: not null, and this type states that so many are there.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) }.to_vec())
    }
}
