//! The name service, and the list of ranks.
#![expect(unsafe_code, reason = "exported to C by name; reads and writes texts of C")]

use crate::handle::Handle;
use crate::results::{
    ERROR_NAMESERVICE, ERROR_NOT_SUPPORTED, ERROR_RESOURCE, INVALID_PARAMETER, Return, answer, code,
};
use crate::state::{names_started, nic, provider};
use crate::types::{HOST_BYTES, In, NetAddress, Out};
use core::ffi::{CStr, c_char, c_ulong};
use gasnet_via::{Address, Nic};
use std::sync::OnceLock;

/// A text of C, which owes that it ends with NUL; `None`: a null pointer.
fn text(at: *const c_char) -> Option<String> {
    if at.is_null() {
        return None;
    }
    // SAFETY: as C owes.
    Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipNSInit(handle: Handle, name: *const c_char) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        if let Some(name) = text(name) {
            nic.publish(name).map_err(code)?;
        }
        provider()?.start_names(handle, true);
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipNSShutdown(handle: Handle) -> Return {
    answer(|| {
        let nic = started(handle)?;
        nic.unpublish();
        provider()?.start_names(handle, false);
        Ok(())
    })
}

/// A NIC whose name service was started.
fn started(handle: Handle) -> Result<std::sync::Arc<Nic>, Return> {
    let nic = nic(handle)?;
    if names_started(handle) { Ok(nic) } else { Err(ERROR_NAMESERVICE) }
}

/// The rank that has a name as the one of this index.
fn find(nic: &Nic, name: &str, index: c_ulong) -> Option<u32> {
    let size = nic.agent().rank().size();
    if let Some(number) = name.strip_prefix("rank-") {
        return number.parse().ok().filter(|rank| *rank < size && index == 0);
    }
    let names = nic.names_of(0..size);
    let mut known = names.iter().filter(|(_, names)| names.iter().any(|n| n == name)).map(|(rank, _)| *rank);
    known.nth(usize::try_from(index).ok()?)
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipNSGetHostByName(
    handle: Handle,
    name: *const c_char,
    out: NetAddress,
    index: c_ulong,
) -> Return {
    answer(|| {
        let nic = started(handle)?;
        out.check()?;
        let name = text(name).ok_or(INVALID_PARAMETER)?;
        let rank = find(&nic, &name, index).ok_or(ERROR_NAMESERVICE)?;
        out.set(&Address::new(rank, *b""));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipNSGetHostByAddr(
    handle: Handle,
    address: NetAddress,
    name: *mut c_char,
    len: Out<c_ulong>,
) -> Return {
    answer(|| {
        let (nic, rank) = (started(handle)?, address.get()?.rank);
        let room = In::of(&len).get()?;
        if name.is_null() {
            return Err(INVALID_PARAMETER);
        }
        if rank >= nic.agent().rank().size() {
            return Err(ERROR_NAMESERVICE);
        }
        let known = nic.names_of(rank..rank + 1).remove(&rank).unwrap_or_default();
        let text = known.into_iter().next().unwrap_or_else(|| format!("rank-{rank}"));
        len.set(text.len() as c_ulong + 1);
        if (room as usize) <= text.len() {
            return Err(ERROR_RESOURCE);
        }
        // SAFETY: the caller's buffer has room for this many octets, by the rules of the C interface.
        unsafe {
            name.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
            name.add(text.len()).write(0);
        }
        Ok(())
    })
}

/// `VIP_AUTODISCOVERY_LIST`.
#[derive(Debug)]
#[repr(C)]
pub struct Autodiscovery {
    hops: c_ulong,
    addresses: *const u16,
    count: c_ulong,
}

const AUTODISCOVERY: c_ulong = 1;

/// The addresses of all ranks, for as long as the process.
fn all_ranks(nic: &Nic) -> *const u16 {
    static ALL: OnceLock<Vec<u16>> = OnceLock::new();
    let words = |rank: u32| {
        let [a, b, c, d] = rank.to_ne_bytes();
        [HOST_BYTES as u16, 0, u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d])]
    };
    ALL.get_or_init(|| (0..nic.agent().rank().size()).flat_map(words).collect()).as_ptr()
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipQuerySystemManagementInfo(
    handle: Handle,
    kind: c_ulong,
    out: Out<Autodiscovery>,
) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        if kind != AUTODISCOVERY {
            return Err(ERROR_NOT_SUPPORTED);
        }
        out.check()?;
        let count = nic.agent().rank().size().into();
        out.set(Autodiscovery { hops: 1, addresses: all_ranks(&nic), count });
        Ok(())
    })
}
