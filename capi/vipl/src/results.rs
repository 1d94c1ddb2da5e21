//! Codes that calls return.

use core::ffi::c_uint;
use gasnet_via::ViaError;

/// `VIP_RETURN`.
pub type Return = c_uint;

pub const SUCCESS: Return = 0;
pub const NOT_DONE: Return = 1;
pub const INVALID_PARAMETER: Return = 2;
pub const ERROR_RESOURCE: Return = 3;
const TIMEOUT: Return = 4;
const REJECT: Return = 5;
pub const INVALID_RELIABILITY_LEVEL: Return = 6;
pub const INVALID_MTU: Return = 7;
pub const INVALID_QOS: Return = 8;
pub const INVALID_PTAG: Return = 9;
const INVALID_RDMAREAD: Return = 10;
pub const DESCRIPTOR_ERROR: Return = 11;
pub const INVALID_STATE: Return = 12;
pub const ERROR_NAMESERVICE: Return = 13;
const NO_MATCH: Return = 14;
pub const ERROR_NOT_SUPPORTED: Return = 16;
const NOT_REACHABLE: Return = 15;

/// The code of an error, for C.
pub fn code(error: ViaError) -> Return {
    match error {
        ViaError::Resource(_) | ViaError::WouldBlock => ERROR_RESOURCE,
        ViaError::Timeout => TIMEOUT,
        ViaError::Rejected => REJECT,
        ViaError::NoMatch => NO_MATCH,
        ViaError::Reliability => INVALID_RELIABILITY_LEVEL,
        ViaError::TransferSize => INVALID_MTU,
        ViaError::Qos => INVALID_QOS,
        ViaError::Tag => INVALID_PTAG,
        ViaError::RdmaRead => INVALID_RDMAREAD,
        ViaError::State(_) | ViaError::Reports => INVALID_STATE,
        ViaError::Empty => DESCRIPTOR_ERROR,
        ViaError::Gone => NOT_REACHABLE,
        _ => INVALID_PARAMETER,
    }
}

/// The result of a call.
pub fn answer(call: impl FnOnce() -> Result<(), Return>) -> Return {
    call().err().unwrap_or(SUCCESS)
}
