//! Handlers: of descriptors that are done, of entries of completion queues, of errors.
#![expect(unsafe_code, reason = "exported to C by name; calls functions of C")]

use crate::handle::{Handle, HandleKind};
use crate::results::{INVALID_PARAMETER, Return, answer, code};
use crate::state::{nic, owner};
use crate::work::{Control, finish};
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use gasnet_via::{Completed, CqId, ErrorReport, Nic, Report, ViId};

type OnVi = unsafe extern "C" fn(Context, Handle, Handle, *mut Control);
type OnCq = unsafe extern "C" fn(Context, Handle, Handle, c_int);
type OnError = unsafe extern "C" fn(Context, *mut ErrorDescriptor);

/// The argument that C wants its handler to be given.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Context(*mut c_void);

// SAFETY: the library does not look at it. C owes that its handlers may be called on another thread.
unsafe impl Send for Context {}
// SAFETY: as above; handlers are called one at a time.
unsafe impl Sync for Context {}

/// `VIP_ERROR_DESCRIPTOR`.
#[derive(Debug)]
#[repr(C)]
pub struct ErrorDescriptor {
    nic: Handle,
    vi: Handle,
    cq: Handle,
    descriptor: *mut Control,
    operation: c_ulong,
    resource: c_uint,
    code: c_uint,
}

const RESOURCE_VI: c_uint = 1;
const RESOURCE_DESCRIPTOR: c_uint = 3;

/// The error code of a report.
fn error_code(report: Report) -> c_uint {
    match report {
        Report::Descriptor(_) => 0,
        Report::ConnectionLost => 1,
        Report::ReceiveQueueEmpty => 2,
        Report::Overrun => 3,
        Report::WriteProtection => 4,
        Report::ReadProtection => 7,
    }
}

impl From<ErrorReport> for ErrorDescriptor {
    fn from(of: ErrorReport) -> ErrorDescriptor {
        let (resource, cookie) = match of.report {
            Report::Descriptor(cookie) => (RESOURCE_DESCRIPTOR, cookie),
            _ => (RESOURCE_VI, 0),
        };
        ErrorDescriptor {
            nic: Handle::new(HandleKind::Nic, of.nic.number()),
            vi: Handle::new(HandleKind::Vi, of.vi.number()),
            cq: Handle::NULL,
            descriptor: std::ptr::with_exposed_provenance_mut(cookie as usize),
            operation: 0,
            resource,
            code: error_code(of.report),
        }
    }
}

/// Prints an error that no handler of C wants.
pub fn log(rank: u32, of: ErrorReport) {
    let what = match of.report {
        Report::Descriptor(_) => {
            "a descriptor was refused: it is malformed, or not aligned to 64 bytes, or not \
             in registered memory of the VI's tag"
        }
        Report::ConnectionLost => "the connection was lost, or ended by the peer",
        Report::ReceiveQueueEmpty => "a message came, and no receive was posted",
        Report::Overrun => "a descriptor was posted to a queue that is full",
        Report::WriteProtection => "an RDMA write of the peer was refused: the memory or the VI forbids it",
        Report::ReadProtection => "an RDMA read of the peer was refused: the memory or the VI forbids it",
    };
    eprintln!("gasnet: rank {rank}: VI {}: {what}", of.vi.number());
}

/// Has errors of a NIC logged.
pub fn log_errors(nic: &Nic) -> Result<(), Return> {
    let rank = nic.agent().rank().id().0;
    nic.on_error(move |report| log(rank, report)).map_err(code)
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipErrorCallback(handle: Handle, context: Context, handler: Option<OnError>) -> Return {
    answer(|| {
        let nic = nic(handle)?;
        let Some(handler) = handler else { return log_errors(&nic) };
        let call = move |report: ErrorReport| {
            let mut error = ErrorDescriptor::from(report);
            // SAFETY: C's own function, with its own context.
            unsafe { handler(context, &mut error) }
        };
        nic.on_error(call).map_err(code)
    })
}

fn notify(handle: Handle, context: Context, handler: Option<OnVi>, is_receive: bool) -> Result<(), Return> {
    let (nic, number) = owner(handle, HandleKind::Vi)?;
    let (handler, vi) = (handler.ok_or(INVALID_PARAMETER)?, ViId::of(number));
    let own = Handle::new(HandleKind::Nic, nic.id().number());
    let call = move |done: Completed| {
        let (at, _) = finish(&done);
        // SAFETY: C's own function, with its own context.
        unsafe { handler(context, own, handle, at) }
    };
    if is_receive { nic.notify_receive(vi, call) } else { nic.notify_send(vi, call) }.map_err(code)
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipSendNotify(vi: Handle, context: Context, handler: Option<OnVi>) -> Return {
    answer(|| notify(vi, context, handler, false))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipRecvNotify(vi: Handle, context: Context, handler: Option<OnVi>) -> Return {
    answer(|| notify(vi, context, handler, true))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipCQNotify(cq: Handle, context: Context, handler: Option<OnCq>) -> Return {
    answer(|| {
        let (nic, number) = owner(cq, HandleKind::Cq)?;
        let handler = handler.ok_or(INVALID_PARAMETER)?;
        let own = Handle::new(HandleKind::Nic, nic.id().number());
        let call = move |vi: ViId, is_receive: bool| {
            let vi = Handle::new(HandleKind::Vi, vi.number());
            // SAFETY: C's own function, with its own context.
            unsafe { handler(context, own, vi, is_receive.into()) }
        };
        nic.notify_cq(CqId::of(number), call).map_err(code)
    })
}
