//! Descriptors: posted, and taken when they are done.
#![expect(unsafe_code, reason = "exported to C by name; reads and writes descriptors of C")]

use crate::handle::{Handle, HandleKind};
use crate::results::{DESCRIPTOR_ERROR, INVALID_PARAMETER, NOT_DONE, Return, SUCCESS, answer, code};
use crate::state::owner;
use crate::types::{Out, limit};
use core::ffi::c_ulong;
use gasnet_via::{
    Completed, Descriptor, Done, MAX_SEGMENTS, MemoryId, Nic, Operation, PeerMemory, Polled, Report, Segment,
    ViId, ViaError,
};
use std::sync::Arc;

/// `VIP_CONTROL_SEGMENT`. Other segments follow.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Control {
    next: u64,
    next_handle: u32,
    segments: u16,
    control: u16,
    reserved: u32,
    immediate: u32,
    length: u32,
    status: u32,
}

/// `VIP_ADDRESS_SEGMENT` and `VIP_DATA_SEGMENT`: the one has no length.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct DescriptorSegment {
    at: u64,
    memory: u32,
    len: u32,
}

const ALIGNMENT: usize = 64;
const OPERATION: u16 = 3;
const IMMEDIATE: u16 = 4;
const FENCE: u16 = 8;
const STATUS_DONE: u32 = 1;
const STATUS_IMMEDIATE: u32 = 0x80000;

/// Reads a descriptor of C. `None`: it is malformed.
fn read(at: *mut Control, is_receive: bool) -> Option<Descriptor> {
    if !(at as usize).is_multiple_of(ALIGNMENT) {
        return None;
    }
    // SAFETY: a descriptor of C, which owes that it is one if it is aligned.
    let control = unsafe { at.read() };
    let count = usize::from(control.segments);
    if count > MAX_SEGMENTS + 1 || control.control & !(OPERATION | IMMEDIATE | FENCE) != 0 {
        return None;
    }
    let first = at.wrapping_add(1).cast::<DescriptorSegment>();
    // SAFETY: `count` segments follow, by the rules of the C interface.
    let mut parts = (0..count).map(|i| unsafe { first.add(i).read() });
    let mut remote = || parts.next().map(|p| PeerMemory { memory: MemoryId::of(p.memory), at: p.at });
    let operation = match control.control & OPERATION {
        0 => Operation::Message,
        1 if !is_receive => Operation::Write(remote()?),
        2 if !is_receive => Operation::Read(remote()?),
        _ => return None,
    };
    let segments: Vec<Segment> =
        parts.map(|p| Segment { memory: MemoryId::of(p.memory), at: p.at, len: p.len }).collect();
    let total: u64 = segments.iter().map(|s| u64::from(s.len)).sum();
    if segments.len() > MAX_SEGMENTS || !is_receive && total != control.length.into() {
        return None;
    }
    let immediate = (control.control & IMMEDIATE != 0 && !is_receive).then_some(control.immediate);
    let fence = control.control & FENCE != 0;
    let cookie = at.expose_provenance() as u64;
    Some(Descriptor { operation, immediate, fence, cookie, ..Descriptor::message(segments) })
}

fn post(vi: Handle, at: *mut Control, memory: u32, is_receive: bool) -> Result<(), Return> {
    let (nic, number) = owner(vi, HandleKind::Vi)?;
    let vi = ViId::of(number);
    if at.is_null() {
        return Err(INVALID_PARAMETER);
    }
    let Some(work) = read(at, is_receive) else {
        nic.report(vi, Report::Descriptor(at as u64)).map_err(code)?;
        return Err(INVALID_PARAMETER);
    };
    let segments = work.segments.len() + usize::from(work.operation != Operation::Message);
    let len = (size_of::<Control>() + segments * size_of::<DescriptorSegment>()) as u32;
    let own = Some(Segment { memory: MemoryId::of(memory), at: at as u64, len });
    // SAFETY: a descriptor of C, which has not handed it to us before.
    unsafe { (&raw mut (*at).status).write(0) };
    let work = Descriptor { own, ..work };
    let posted = if is_receive { nic.post_receive(vi, work) } else { nic.post_send(vi, work) };
    posted.map_err(code)
}

/// Fills in a descriptor that is done, and says how it went.
pub fn finish(done: &Completed) -> (*mut Control, Return) {
    let at: *mut Control = std::ptr::with_exposed_provenance_mut(done.cookie as usize);
    let operation: u32 = match done.done {
        Done::Send => 0,
        Done::Receive => 1,
        Done::Write => 2,
        Done::RemoteWrite => 3,
        Done::Read => 4,
    };
    let immediate = if done.immediate.is_some() { STATUS_IMMEDIATE } else { 0 };
    let status = STATUS_DONE | done.errors.bits() | operation << 16 | immediate;
    // SAFETY: the descriptor of C that was posted, which is nobody else's until it is given back.
    unsafe {
        if let (Some(number), Done::Receive | Done::RemoteWrite) = (done.immediate, done.done) {
            (&raw mut (*at).immediate).write(number);
        }
        (&raw mut (*at).length).write(done.len);
        (&raw mut (*at).status).write(status);
    }
    (at, if done.errors.is_none() { SUCCESS } else { DESCRIPTOR_ERROR })
}

/// Hands over the descriptor that a look or a wait has found.
fn take(
    vi: Handle,
    out: &Out<*mut Control>,
    look: impl FnOnce(&Arc<Nic>, ViId) -> Result<Polled, ViaError>,
) -> Return {
    answer(|| {
        let (nic, number) = owner(vi, HandleKind::Vi)?;
        out.check()?;
        out.set(std::ptr::null_mut());
        let done = match look(&nic, ViId::of(number)) {
            Ok(Polled::Done(done)) => done,
            Ok(Polled::NotDone) => return Err(NOT_DONE),
            Ok(Polled::Empty) => return Err(DESCRIPTOR_ERROR),
            Err(error) => return Err(code(error)),
        };
        let (at, result) = finish(&done);
        out.set(at);
        if result == SUCCESS { Ok(()) } else { Err(result) }
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipPostSend(vi: Handle, at: *mut Control, memory: u32) -> Return {
    answer(|| post(vi, at, memory, false))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipPostRecv(vi: Handle, at: *mut Control, memory: u32) -> Return {
    answer(|| post(vi, at, memory, true))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipSendDone(vi: Handle, out: Out<*mut Control>) -> Return {
    take(vi, &out, |nic, vi| nic.send_done(vi))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipRecvDone(vi: Handle, out: Out<*mut Control>) -> Return {
    take(vi, &out, |nic, vi| nic.receive_done(vi))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipSendWait(vi: Handle, timeout: c_ulong, out: Out<*mut Control>) -> Return {
    take(vi, &out, |nic, vi| nic.wait_send(vi, limit(timeout)).map(Polled::Done))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipRecvWait(vi: Handle, timeout: c_ulong, out: Out<*mut Control>) -> Return {
    take(vi, &out, |nic, vi| nic.wait_receive(vi, limit(timeout)).map(Polled::Done))
}
