//! libfabric's declarations, and its inline functions, which call through the objects' tables.
//!
//! # Safety
//! Every function here has the requirements of its namesake in libfabric's manual: live objects, and memory
//! that stays valid while an operation uses it.
#![expect(unsafe_code, reason = "calls C")]

#[expect(clippy::all, non_camel_case_types, dead_code, unsafe_op_in_unsafe_fn, reason = "made by a tool")]
mod declarations {
    include!(concat!(env!("OUT_DIR"), "/libfabric.rs"));
}

pub(crate) use declarations::*;

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// The version of the interface: the oldest that is enough, for which this was written.
pub(crate) const API_VERSION: u32 = 1 << 16 | 17;
/// Any address.
pub(crate) const ANY_ADDRESS: fi_addr_t = fi_addr_t::MAX;
/// Nothing is there, or there is no room: try again.
pub(crate) const AGAIN: isize = -(FI_EAGAIN as isize);

/// The message of an error code.
pub(crate) fn words(code: isize) -> String {
    // SAFETY: any number has a text, which is static.
    unsafe { CStr::from_ptr(fi_strerror(code.unsigned_abs() as c_int)) }.to_string_lossy().into_owned()
}

/// Turns the result of a call into an error with a message.
pub(crate) fn check(what: &str, code: isize) -> Result<isize, String> {
    if code >= 0 { Ok(code) } else { Err(format!("{what}: {}", words(code))) }
}

/// Calls an entry of an object's table; the table may lack it.
macro_rules! call {
    ($object:expr, $table:ident . $entry:ident ( $($argument:expr),* )) => {
        match (*(*$object).$table).$entry {
            Some(function) => function($($argument),*) as isize,
            None => -(FI_ENOSYS as isize),
        }
    };
}

/// Calls an entry of the table that all objects have.
macro_rules! common {
    ($object:expr, $entry:ident ( $($argument:expr),* )) => {
        match (*(*$object).fid.ops).$entry {
            Some(function) => function(&raw mut (*$object).fid, $($argument),*) as isize,
            None => -(FI_ENOSYS as isize),
        }
    };
}

pub(crate) unsafe fn domain(fabric: *mut fid_fabric, info: *mut fi_info, to: &mut *mut fid_domain) -> isize {
    // SAFETY: owed by the caller, here and below.
    unsafe { call!(fabric, ops.domain(fabric, info, to, ptr::null_mut())) }
}

pub(crate) unsafe fn av_open(domain: *mut fid_domain, attr: &mut fi_av_attr, to: &mut *mut fid_av) -> isize {
    // SAFETY: as above.
    unsafe { call!(domain, ops.av_open(domain, attr, to, ptr::null_mut())) }
}

pub(crate) unsafe fn cq_open(domain: *mut fid_domain, attr: &mut fi_cq_attr, to: &mut *mut fid_cq) -> isize {
    // SAFETY: as above.
    unsafe { call!(domain, ops.cq_open(domain, attr, to, ptr::null_mut())) }
}

pub(crate) unsafe fn counter_open(
    domain: *mut fid_domain,
    attr: &mut fi_cntr_attr,
    to: &mut *mut fid_cntr,
) -> isize {
    // SAFETY: as above.
    unsafe { call!(domain, ops.cntr_open(domain, attr, to, ptr::null_mut())) }
}

/// The value of a counter. Makes progress.
pub(crate) unsafe fn counter_read(counter: *mut fid_cntr) -> u64 {
    // SAFETY: as above.
    unsafe { (*(*counter).ops).read.map_or(0, |read| read(counter)) }
}

pub(crate) unsafe fn endpoint(domain: *mut fid_domain, info: *mut fi_info, to: &mut *mut fid_ep) -> isize {
    // SAFETY: as above.
    unsafe { call!(domain, ops.endpoint(domain, info, to, ptr::null_mut())) }
}

pub(crate) unsafe fn ep_bind(ep: *mut fid_ep, to: *mut fid, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe { common!(ep, bind(to, flags)) }
}

pub(crate) unsafe fn enable(ep: *mut fid_ep) -> isize {
    // SAFETY: as above.
    unsafe { common!(ep, control(FI_ENABLE as c_int, ptr::null_mut())) }
}

/// Sets the smallest room for which a receive of several messages stays posted. Returns whether it is set
/// now.
pub(crate) unsafe fn set_least_room(ep: *mut fid_ep, bytes: usize) -> bool {
    // SAFETY: as above; the values are read and written at once.
    unsafe {
        let (level, name) = (FI_OPT_ENDPOINT as c_int, FI_OPT_MIN_MULTI_RECV as c_int);
        let (own, mut is, mut len) = (&raw mut (*ep).fid, 0usize, size_of::<usize>());
        let set = call!(ep, ops.setopt(own, level, name, (&raw const bytes).cast(), len));
        set >= 0
            && call!(ep, ops.getopt(own, level, name, (&raw mut is).cast(), &mut len)) >= 0
            && is == bytes
    }
}

pub(crate) unsafe fn name(ep: *mut fid_ep, to: *mut u8, len: &mut usize) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, cm.getname(&raw mut (*ep).fid, to.cast(), len)) }
}

pub(crate) unsafe fn av_insert(
    av: *mut fid_av,
    addresses: &[u8],
    count: usize,
    to: &mut [fi_addr_t],
) -> isize {
    // SAFETY: as above.
    unsafe {
        call!(av, ops.insert(av, addresses.as_ptr().cast(), count, to.as_mut_ptr(), 0, ptr::null_mut()))
    }
}

pub(crate) unsafe fn wait_descriptor(cq: *mut fid_cq, to: &mut c_int) -> isize {
    // SAFETY: as above.
    unsafe { common!(cq, control(FI_GETWAIT as c_int, ptr::from_mut(to).cast())) }
}

pub(crate) unsafe fn try_wait(fabric: *mut fid_fabric, cq: *mut fid_cq) -> isize {
    // SAFETY: as above.
    unsafe {
        let mut one: *mut fid = &raw mut (*cq).fid;
        call!(fabric, ops.trywait(fabric, &mut one, 1))
    }
}

pub(crate) unsafe fn cq_read(cq: *mut fid_cq, to: *mut fi_cq_data_entry, count: usize) -> isize {
    // SAFETY: as above.
    unsafe { call!(cq, ops.read(cq, to.cast(), count)) }
}

pub(crate) unsafe fn cq_read_error(cq: *mut fid_cq, to: &mut fi_cq_err_entry) -> isize {
    // SAFETY: as above.
    unsafe { call!(cq, ops.readerr(cq, to, 0)) }
}

/// The provider's own message for an error.
pub(crate) unsafe fn cq_words(cq: *mut fid_cq, error: &fi_cq_err_entry) -> String {
    let mut text = [0u8; 256];
    // SAFETY: as above; the answer is null, static, or in `text`.
    unsafe {
        let Some(strerror) = (*(*cq).ops).strerror else { return String::new() };
        let said = strerror(cq, error.prov_errno, error.err_data, text.as_mut_ptr().cast(), text.len() - 1);
        if said.is_null() { String::new() } else { CStr::from_ptr(said).to_string_lossy().into_owned() }
    }
}

pub(crate) unsafe fn receive(ep: *mut fid_ep, message: &fi_msg, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, msg.recvmsg(ep, message, flags)) }
}

pub(crate) unsafe fn send(ep: *mut fid_ep, message: &fi_msg, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, msg.sendmsg(ep, message, flags)) }
}

pub(crate) unsafe fn inject(ep: *mut fid_ep, at: *const u8, len: usize, to: fi_addr_t) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, msg.inject(ep, at.cast(), len, to)) }
}

pub(crate) unsafe fn write(ep: *mut fid_ep, message: &fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, rma.writemsg(ep, message, flags)) }
}

pub(crate) unsafe fn read(ep: *mut fid_ep, message: &fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as above.
    unsafe { call!(ep, rma.readmsg(ep, message, flags)) }
}

pub(crate) unsafe fn mr_register(
    domain: *mut fid_domain,
    at: *const u8,
    len: usize,
    access: u64,
    key: u64,
    to: &mut *mut fid_mr,
) -> isize {
    // SAFETY: as above.
    unsafe {
        let own = &raw mut (*domain).fid;
        call!(domain, mr.reg(own, at.cast(), len, access, 0, key, 0, to, ptr::null_mut()))
    }
}

/// Binds a region to an endpoint and enables it, for providers that require that.
pub(crate) unsafe fn mr_enable(mr: *mut fid_mr, ep: *mut fid_ep) -> isize {
    // SAFETY: as above.
    unsafe {
        let bound = common!(mr, bind(&raw mut (*ep).fid, 0));
        if bound < 0 { bound } else { common!(mr, control(FI_ENABLE as c_int, ptr::null_mut())) }
    }
}

pub(crate) unsafe fn mr_raw_key(mr: *mut fid_mr, base: &mut u64, key: &mut [u8], len: &mut usize) -> isize {
    let mut attr = fi_mr_raw_attr { flags: 0, base_addr: base, raw_key: key.as_mut_ptr(), key_size: len };
    // SAFETY: as above.
    unsafe { common!(mr, control(FI_GET_RAW_MR as c_int, (&raw mut attr).cast())) }
}

pub(crate) unsafe fn mr_map_raw(domain: *mut fid_domain, base: u64, raw: &mut [u8], key: &mut u64) -> isize {
    let mut map =
        fi_mr_map_raw { flags: 0, base_addr: base, raw_key: raw.as_mut_ptr(), key_size: raw.len(), key };
    // SAFETY: as above.
    unsafe { common!(domain, control(FI_MAP_RAW_MR as c_int, (&raw mut map).cast())) }
}

/// Closes any object.
pub(crate) unsafe fn close(object: *mut fid) -> isize {
    // SAFETY: as above.
    unsafe {
        match (*(*object).ops).close {
            Some(function) => function(object) as isize,
            None => 0,
        }
    }
}

/// Atomics, by the tables that they use.
pub(crate) mod atomics {
    use super::*;

    pub(crate) unsafe fn is_fetch_valid(ep: *mut fid_ep, word: fi_datatype, op: fi_op) -> bool {
        let mut count = 0usize;
        // SAFETY: as above.
        unsafe { call!(ep, atomic.readwritevalid(ep, word, op, &mut count)) == 0 && count > 0 }
    }

    pub(crate) unsafe fn is_compare_valid(ep: *mut fid_ep, word: fi_datatype, op: fi_op) -> bool {
        let mut count = 0usize;
        // SAFETY: as above.
        unsafe { call!(ep, atomic.compwritevalid(ep, word, op, &mut count)) == 0 && count > 0 }
    }

    /// The target of an atomic operation, and the operation.
    pub(crate) struct Target {
        pub(crate) to: fi_addr_t,
        pub(crate) at: u64,
        pub(crate) key: u64,
        pub(crate) word: fi_datatype,
        pub(crate) op: fi_op,
    }

    pub(crate) unsafe fn fetch(
        ep: *mut fid_ep,
        t: &Target,
        operand: *const u64,
        result: *mut u64,
        desc: *mut c_void,
        context: *mut c_void,
    ) -> isize {
        // SAFETY: as above.
        unsafe {
            let (a, r) = (operand.cast(), result.cast());
            call!(ep, atomic.readwrite(ep, a, 1, desc, r, desc, t.to, t.at, t.key, t.word, t.op, context))
        }
    }

    pub(crate) unsafe fn compare(
        ep: *mut fid_ep,
        t: &Target,
        operand: *const u64,
        expected: *const u64,
        result: *mut u64,
        desc: *mut c_void,
        context: *mut c_void,
    ) -> isize {
        // SAFETY: as above.
        unsafe {
            let (a, e, r) = (operand.cast(), expected.cast(), result.cast());
            call!(
                ep,
                atomic.compwrite(ep, a, 1, desc, e, desc, r, desc, t.to, t.at, t.key, t.word, t.op, context)
            )
        }
    }
}
