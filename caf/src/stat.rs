//! Why statements fail: codes of `stat=`, and texts.

use std::ffi::c_int;

/// Values of `stat=`.
pub mod code {
    use std::ffi::c_int;

    /// Any other error: an image that does not exist, sizes that differ.
    pub const OTHER: c_int = 1;
    /// `STAT_LOCKED`: the lock is held by this image.
    pub const LOCKED: c_int = 1;
    /// `STAT_LOCKED_OTHER_IMAGE`: the lock is held by another image.
    pub const LOCKED_OTHER_IMAGE: c_int = 2;
    /// `sync images` with an image named twice.
    pub const DUPLICATE_IMAGE: c_int = 3;
    /// There is not so much memory: `LIBERROR_ALLOCATION` of the compiler's library.
    pub const ALLOCATION: c_int = 5014;
    /// `STAT_STOPPED_IMAGE`: an image that takes part has stopped.
    pub const STOPPED_IMAGE: c_int = 6000;
    /// `STAT_FAILED_IMAGE`: an image that takes part has failed.
    pub const FAILED_IMAGE: c_int = 6001;
}

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The value for `stat=`; not 0, unless the compiler's module has 0 for it.
    pub code: c_int,
    /// The text for `errmsg=`, or for the message of error termination.
    pub text: String,
    /// Whether all images of the current team find the same: one of them says it.
    pub shared: bool,
}

impl Failure {
    /// With [`code::OTHER`].
    pub fn other(text: impl Into<String>) -> Failure {
        Failure::new(code::OTHER, text)
    }

    /// With any code.
    pub fn new(code: c_int, text: impl Into<String>) -> Failure {
        Failure { code, text: text.into(), shared: false }
    }

    /// Whether it is that an image has stopped or failed.
    pub fn is_of_gone(&self) -> bool {
        [code::STOPPED_IMAGE, code::FAILED_IMAGE].contains(&self.code)
    }

    /// Of a collective statement that fails on all images of the current team.
    pub fn shared(self) -> Failure {
        Failure { shared: true, ..self }
    }
}
