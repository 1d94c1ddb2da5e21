//! Network interfaces, tags, memory, virtual interfaces and completion queues.
#![expect(unsafe_code, reason = "exported to C by name; registers memory of C")]

use crate::handle::{Handle, HandleKind};
use crate::notify::log_errors;
use crate::results::{INVALID_PARAMETER, NOT_DONE, Return, answer, code};
use crate::state::{self, nic, owner, provider};
use crate::types::{
    self, CMemoryAttributes, CViAttributes, HOST_BYTES, In, NicAttributes, Out, level, limit, tag,
};
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_ushort};
use gasnet_via::{
    CqId, MAX_DISCRIMINATOR, MAX_POSTED, MAX_SEGMENTS, MAX_TRANSFER, MemoryId, Nic, Reliability, ViId,
};
use std::sync::{Arc, OnceLock};

const VERSION: c_ulong = 1;
const NAME: &CStr = c"gasnet-rs";

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipOpenNic(name: In<c_char>, out: Out<Handle>) -> Return {
    answer(|| {
        name.get().and(out.check())?;
        let provider = state::start()?;
        let nic = Arc::new(provider.agent.open());
        log_errors(&nic)?;
        out.set(provider.enter(HandleKind::Nic, nic.id().number(), &nic));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCloseNic(handle: Handle) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        provider()?.forget_all(&nic);
        nic.close();
        Ok(())
    })
}

/// The octets of this rank's address, for as long as the process.
fn own_address(nic: &Nic) -> *const u8 {
    static OWN: OnceLock<[u8; HOST_BYTES]> = OnceLock::new();
    OWN.get_or_init(|| nic.agent().rank().id().0.to_ne_bytes()).as_ptr()
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipQueryNic(handle: Handle, out: Out<NicAttributes>) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        out.check()?;
        let mut name = [0; 64];
        name[..NAME.count_bytes()].copy_from_slice(NAME.to_bytes());
        let reliable = level(Reliability::Delivery) | level(Reliability::Reception);
        let many = c_ulong::from(u32::MAX);
        out.set(NicAttributes {
            name,
            hardware_version: VERSION,
            provider_version: VERSION,
            address_len: HOST_BYTES as u16,
            address: own_address(&nic),
            thread_safe: 1,
            max_discriminator: MAX_DISCRIMINATOR as u16,
            max_register_bytes: c_ulong::MAX,
            max_regions: many,
            max_block_bytes: c_ulong::MAX,
            max_vi: many,
            max_posted: MAX_POSTED as c_ulong,
            max_segments: MAX_SEGMENTS as c_ulong,
            max_cq: many,
            max_cq_entries: many,
            max_transfer: MAX_TRANSFER.into(),
            mtu: gasnet::am::MAX_MEDIUM as c_ulong,
            max_tags: many,
            levels: level(Reliability::Unreliable) | reliable,
            read_levels: reliable,
        });
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCreatePtag(handle: Handle, out: Out<Handle>) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        out.check()?;
        out.set(Handle::new(HandleKind::Tag, nic.create_tag().number()));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipDestroyPtag(handle: Handle, of: Handle) -> Return {
    answer(|| nic(handle)?.destroy_tag(tag(of)?).map_err(code))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipRegisterMem(
    handle: Handle,
    at: *mut u8,
    len: c_ulong,
    attributes: In<CMemoryAttributes>,
    out: Out<u32>,
) -> Return {
    answer(|| {
        let (nic, attributes) = (nic(handle)?, attributes.get()?.checked()?);
        out.check()?;
        if at.is_null() || len == 0 || (at as usize).checked_add(len as usize).is_none() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: memory of C, which owes that it is there until it is deregistered, and which reads what a
        // peer may write only when it was told that it is there.
        let memory = unsafe { nic.register_raw(at, len as usize, attributes) };
        out.set(memory.map_err(code)?.number());
        Ok(())
    })
}

/// Memory by its handle and the address that it was registered by.
fn memory(handle: Handle, at: *mut u8, number: u32) -> Result<(Arc<Nic>, MemoryId), Return> {
    let (nic, memory) = (nic(handle)?, MemoryId::of(number));
    match nic.range_of(memory) {
        Ok(range) if range.start == at as u64 => Ok((nic, memory)),
        _ => Err(INVALID_PARAMETER),
    }
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipDeregisterMem(handle: Handle, at: *mut u8, number: u32) -> Return {
    answer(|| {
        let (nic, memory) = memory(handle, at, number)?;
        nic.deregister(memory).map(drop).map_err(code)
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipQueryMem(
    handle: Handle,
    at: *mut u8,
    number: u32,
    out: Out<CMemoryAttributes>,
) -> Return {
    answer(|| {
        let (nic, memory) = memory(handle, at, number)?;
        out.check()?;
        let (attributes, _) = nic.query_memory(memory).map_err(code)?;
        out.set((&attributes).into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipSetMemAttributes(
    handle: Handle,
    at: *mut u8,
    number: u32,
    attributes: In<CMemoryAttributes>,
) -> Return {
    answer(|| {
        let (nic, memory) = memory(handle, at, number)?;
        nic.change_memory(memory, attributes.get()?.checked()?).map_err(code)
    })
}

/// A completion queue, or none.
fn optional_cq(handle: Handle) -> Result<Option<CqId>, Return> {
    if handle == Handle::NULL { Ok(None) } else { handle.number(HandleKind::Cq).map(|n| Some(CqId::of(n))) }
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCreateVi(
    handle: Handle,
    attributes: In<CViAttributes>,
    send: Handle,
    receive: Handle,
    out: Out<Handle>,
) -> Return {
    answer(|| {
        let (nic, attributes) = (nic(handle)?, attributes.get()?.checked()?);
        out.check()?;
        let vi = nic.create_vi(attributes, optional_cq(send)?, optional_cq(receive)?).map_err(code)?;
        out.set(provider()?.enter(HandleKind::Vi, vi.number(), &nic));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipDestroyVi(handle: Handle) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Vi)?;
        nic.destroy_vi(ViId::of(number)).map_err(code)?;
        provider()?.forget(handle);
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipQueryVi(
    handle: Handle,
    state: Out<c_uint>,
    attributes: Out<CViAttributes>,
    send_empty: Out<c_int>,
    receive_empty: Out<c_int>,
) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Vi)?;
        state.check().and(attributes.check()).and(send_empty.check()).and(receive_empty.check())?;
        let status = nic.query_vi(ViId::of(number)).map_err(code)?;
        state.set(types::state(status.state));
        attributes.set((&status.attributes).into());
        send_empty.set((status.sends == 0).into());
        receive_empty.set((status.receives == 0).into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipSetViAttributes(handle: Handle, attributes: In<CViAttributes>) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Vi)?;
        nic.change_vi(ViId::of(number), attributes.get()?.checked()?).map_err(code)
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCreateCQ(handle: Handle, entries: c_ulong, out: Out<Handle>) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        out.check()?;
        let cq = nic.create_cq(entries as usize).map_err(code)?;
        out.set(provider()?.enter(HandleKind::Cq, cq.number(), &nic));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipDestroyCQ(handle: Handle) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Cq)?;
        nic.destroy_cq(CqId::of(number)).map_err(code)?;
        provider()?.forget(handle);
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipResizeCQ(handle: Handle, entries: c_ulong) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Cq)?;
        nic.resize_cq(CqId::of(number), entries as usize).map_err(code)
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCQDone(handle: Handle, vi: Out<Handle>, is_receive: Out<c_int>) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Cq)?;
        vi.check().and(is_receive.check())?;
        let (of, receive) = nic.cq_done(CqId::of(number)).map_err(code)?.ok_or(NOT_DONE)?;
        vi.set(Handle::new(HandleKind::Vi, of.number()));
        is_receive.set(receive.into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCQWait(
    handle: Handle,
    timeout: c_ulong,
    vi: Out<Handle>,
    is_receive: Out<c_int>,
) -> Return {
    answer(|| {
        let (nic, number) = owner(handle, HandleKind::Cq)?;
        vi.check().and(is_receive.check())?;
        let (of, receive) = nic.wait_cq(CqId::of(number), limit(timeout)).map_err(code)?;
        vi.set(Handle::new(HandleKind::Vi, of.number()));
        is_receive.set(receive.into());
        Ok(())
    })
}

/// `VIP_RELIABILITY_LEVEL` has the size that the header gives it.
const _: () = assert!(size_of::<c_ushort>() == 2);
