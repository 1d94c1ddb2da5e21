//! Memory kinds: where the memory of a segment is. This library has memory of the host, and says so where
//! memory of a device is asked for.

#![expect(unsafe_code, reason = "exported to C by name; reads what the caller asks for")]

use std::ffi::{c_int, c_uint, c_void};

use crate::context;
use crate::fatal::die;
use crate::info::{BAD_ARG, refuse};
use crate::objects::{Client, Object, resolve};
use crate::state;

/// `GEX_MK_HOST`.
pub const HOST: usize = 1;

/// `gex_MK_Class_t`, and what is missing for each that is not the host's.
const CLASSES: [(&str, &str); 4] = [
    ("GEX_MK_CLASS_HOST", ""),
    ("GEX_MK_CLASS_CUDA_UVA", "memory of CUDA devices"),
    ("GEX_MK_CLASS_HIP", "memory of HIP devices"),
    ("GEX_MK_CLASS_ZE", "memory of oneAPI Level Zero devices"),
];

/// The beginning of `gex_MK_Create_args_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Args {
    flags: u64,
    class: c_uint,
}

/// Would make a memory kind, but no kind can be made: the host's is `GEX_MK_HOST`.
///
/// # Safety
/// `client` names a client; `args` points to arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_MK_Create(
    kind: *mut *const c_void,
    client: *const Object<Client>,
    args: *const Args,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_MK_Create";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise, both.
    let (_, args) = unsafe { (resolve(CALL, client), args.as_ref()) };
    let Some(args) = args.filter(|args| !kind.is_null() && flags == 0 && args.flags == 0) else {
        return refuse(BAD_ARG, CALL, "a null pointer, or flags that are not 0");
    };
    match CLASSES.get(args.class as usize) {
        None => refuse(BAD_ARG, CALL, &format!("there is no class of memory {}", args.class)),
        Some((class, "")) => {
            refuse(BAD_ARG, CALL, &format!("{class}: this kind is there already, as GEX_MK_HOST"))
        }
        Some((class, what)) => refuse(
            BAD_ARG,
            CALL,
            &format!(
                "{class}: this library was built without support for {what} (GASNET_HAVE_MK_CLASS_* says which there is): copy data to memory \
                 of the host and use GEX_MK_HOST"
            ),
        ),
    }
}

/// Would destroy a memory kind, but the client can have none that may be destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn gex_MK_Destroy(kind: *const c_void, _flags: u32) {
    const CALL: &str = "gex_MK_Destroy";
    match kind as usize {
        0 => die(&format!("{CALL}: the memory kind is GEX_MK_INVALID")),
        HOST => die(&format!("{CALL}: GEX_MK_HOST cannot be destroyed")),
        _ => die(&format!("{CALL}: {kind:p} is no memory kind")),
    }
}
