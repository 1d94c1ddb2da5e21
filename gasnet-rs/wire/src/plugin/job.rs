//! The parts of a job that a conduit or a program on the other side may use: the exchange, the overseer,
//! and the parameters of their start.
#![expect(unsafe_code, reason = "calls across a C border; see the parent module")]

use super::{ABI, Bytes, ConduitTable, Entry, Object, Sayer, Take, answer, check, export, hear};
use crate::boot::{Exchange, HostFile, Overseer, ToMonitor};
use crate::conduit::{Conduit, OpenContext};
use crate::{Boot, Config, Error, Gathered, OneThread, RankId, Threading};
use core::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

/// An [`Exchange`], lent.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ExchangeTable {
    object: *const c_void,
    /// With a function that handles messages, and its object, it serves while it waits.
    all_gather:
        unsafe extern "C" fn(*const c_void, Bytes, Option<Serve>, Object, Take, Object, *const Sayer) -> i64,
}

/// Handles messages; returns how many.
type Serve = unsafe extern "C" fn(Object) -> usize;

/// The object of a [`Serve`].
struct Server(Object);

// SAFETY: behind it is a `&(dyn Fn() -> usize + Sync)`, by `ImportedExchange`.
unsafe impl Sync for Server {}

impl Server {
    /// # Safety
    /// 1. The object is that of the function (owed by the caller).
    unsafe fn call(&self, serve: Serve) -> usize {
        // SAFETY: (1).
        unsafe { serve(self.0) }
    }
}

impl ExchangeTable {
    /// A table that serves as long as what it borrows.
    pub fn of(exchange: &&dyn Exchange) -> ExchangeTable {
        unsafe extern "C" fn all_gather(
            object: *const c_void,
            mine: Bytes,
            serve: Option<Serve>,
            server: Object,
            take: Take,
            cookie: Object,
            sayer: *const Sayer,
        ) -> i64 {
            // SAFETY: the object is the borrowed reference; the rest is lent for this call.
            unsafe {
                let exchange = *object.cast::<&dyn Exchange>();
                let server = Server(server);
                let all = match serve {
                    Some(serve) => exchange.all_gather_serving(mine.get(), &|| server.call(serve)),
                    None => exchange.all_gather_shared(mine.get()),
                };
                let gathered = all.map(|all| {
                    for (rank, bytes) in all.parts().enumerate() {
                        take(cookie, rank as u32, Bytes::of(bytes));
                    }
                    0
                });
                answer(gathered, sayer)
            }
        }
        ExchangeTable { object: (&raw const *exchange).cast(), all_gather }
    }

    /// The exchange behind the table.
    ///
    /// # Safety
    /// 1. The objects that the table borrows outlive the result (owed by the caller).
    pub unsafe fn import(self) -> Box<dyn Exchange> {
        Box::new(ImportedExchange(self))
    }
}

struct ImportedExchange(ExchangeTable);

// SAFETY: an `&dyn Exchange` is Send and Sync.
unsafe impl Send for ImportedExchange {}
// SAFETY: as above.
unsafe impl Sync for ImportedExchange {}

impl ImportedExchange {
    fn gather(&self, mine: &[u8], serve: Option<Serve>, server: Object) -> Result<Vec<Vec<u8>>, Error> {
        unsafe extern "C" fn take(cookie: Object, rank: u32, bytes: Bytes) {
            // SAFETY: the cookie is the list below; the bytes are lent for this call.
            let (all, bytes) = unsafe { (&mut *cookie.cast::<Vec<Vec<u8>>>(), bytes.get()) };
            all.resize(all.len().max(rank as usize + 1), Vec::new());
            all[rank as usize] = bytes.to_vec();
        }
        let mut all: Vec<Vec<u8>> = Vec::new();
        let cookie = (&raw mut all).cast();
        // SAFETY: the table's function and object; all else outlives the call.
        hear(|sayer| unsafe {
            (self.0.all_gather)(self.0.object, Bytes::of(mine), serve, server, take, cookie, sayer)
        })?;
        Ok(all)
    }
}

impl Exchange for ImportedExchange {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.gather(mine, None, core::ptr::null_mut())
    }

    fn all_gather_serving(
        &self,
        mine: &[u8],
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Arc<Gathered>, Error> {
        unsafe extern "C" fn call(server: Object) -> usize {
            // SAFETY: the object is the reference below, which outlives the exchange.
            unsafe { (*server.cast::<&(dyn Fn() -> usize + Sync)>())() }
        }
        let server = (&raw const serve).cast_mut().cast();
        self.gather(mine, Some(call), server).map(|all| Arc::new(Gathered::new(all)))
    }
}

/// An [`Overseer`], lent.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OverseerTable {
    object: *const c_void,
    takes_turns: u32,
    hear: unsafe extern "C" fn(*const c_void, Bytes),
    leave: unsafe extern "C" fn(*const c_void, i32),
}

impl OverseerTable {
    /// A table that serves as long as what it borrows.
    pub fn of(overseer: &&dyn Overseer) -> OverseerTable {
        unsafe extern "C" fn hear(object: *const c_void, packet: Bytes) {
            // SAFETY: the object is the borrowed reference; the packet is lent for this call.
            unsafe {
                if let Some(said) = ToMonitor::decode(packet.get()) {
                    (*object.cast::<&dyn Overseer>()).hear(&said);
                }
            }
        }
        unsafe extern "C" fn leave(object: *const c_void, code: i32) {
            // SAFETY: as above.
            unsafe { (*object.cast::<&dyn Overseer>()).leave(code) }
        }
        let takes_turns = overseer.takes_turns().into();
        OverseerTable { object: (&raw const *overseer).cast(), takes_turns, hear, leave }
    }

    /// The overseer behind the table.
    ///
    /// # Safety
    /// 1. The objects that the table borrows outlive the result (owed by the caller).
    pub unsafe fn import(self) -> Box<dyn Overseer> {
        Box::new(ImportedOverseer(self))
    }
}

struct ImportedOverseer(OverseerTable);

// SAFETY: an `&dyn Overseer` is Send and Sync.
unsafe impl Send for ImportedOverseer {}
// SAFETY: as above.
unsafe impl Sync for ImportedOverseer {}

impl Overseer for ImportedOverseer {
    fn hear(&self, said: &ToMonitor) {
        // SAFETY: the table's function and object.
        unsafe { (self.0.hear)(self.0.object, Bytes::of(&said.encode())) }
    }

    fn takes_turns(&self) -> bool {
        self.0.takes_turns != 0
    }

    fn leave(&self, code: i32) -> ! {
        // SAFETY: as above.
        unsafe { (self.0.leave)(self.0.object, code) }
        unreachable!("an overseer's leave does not return")
    }
}

/// The parameters with which a conduit opens itself, lent for the call.
#[repr(C)]
#[derive(Debug)]
pub struct OpenTable {
    abi: u32,
    bytes: u32,
    rank: u32,
    size: u32,
    one_thread: u32,
    shm: i32,
    shm_offset: u64,
    host: *const u32,
    hosts: usize,
    neighbours: *const u32,
    neighbour_count: usize,
    exchange: ExchangeTable,
}

impl OpenTable {
    /// Runs `open` in the loader's process with this context as a table.
    ///
    /// # Errors
    /// The mistake that the plugin reports, or another version of the interface.
    ///
    /// # Safety
    /// 1. `entry` is the [`ENTRY`](super::ENTRY) of a plugin whose code stays loaded (owed by the caller).
    pub unsafe fn call(cx: &OpenContext<'_>, entry: Entry) -> Result<Option<Box<dyn Conduit>>, Error> {
        let exchange = cx.exchange();
        let table = OpenTable {
            abi: ABI,
            bytes: size_of::<OpenTable>() as u32,
            rank: cx.rank.0,
            size: cx.size,
            one_thread: match cx.threading {
                Threading::Parallel => 0,
                Threading::Serial(promise) => 1 + u32::from(promise.is_always_the_same()),
            },
            shm: cx.shm.as_raw_fd(),
            shm_offset: cx.shm_offset,
            host: cx.host.as_ptr(),
            hosts: cx.host.len(),
            neighbours: cx.neighbours.as_ptr(),
            neighbour_count: cx.neighbours.len(),
            exchange: ExchangeTable::of(&exchange),
        };
        let mut opened = core::mem::MaybeUninit::<ConduitTable>::uninit();
        // SAFETY: (1); all that is passed outlives the call.
        let got = hear(|sayer| i64::from(unsafe { entry(&table, opened.as_mut_ptr(), sayer) }))?;
        if got == 0 {
            return Ok(None);
        }
        // SAFETY: (1): an entry that answers 1 has written the table, from `export`.
        unsafe { opened.assume_init().import() }.map(Some)
    }
}

/// The plugin's half of [`OpenTable::call`], for [`export_conduit!`](crate::export_conduit). The settings are
/// read from the environment, which both halves share.
///
/// # Safety
/// 1. The arguments are those of an [`Entry`], as [`OpenTable::call`] passes them (owed by the caller).
pub unsafe fn enter(
    cx: *const OpenTable,
    out: *mut ConduitTable,
    sayer: *const Sayer,
    open: impl FnOnce(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>,
) -> i32 {
    let opened = || {
        // SAFETY: (1); a table of another version begins with the same two words.
        let (abi, bytes) = unsafe { ((*cx).abi, (*cx).bytes) };
        check("the program", abi, bytes, size_of::<OpenTable>())?;
        let config = Config::from_env()?;
        // SAFETY: (1): the arrays have these lengths, and the descriptor is open.
        let (cx, host, neighbours, shm) = unsafe {
            let cx = &*cx;
            let list =
                |at: *const u32, len| if len == 0 { &[][..] } else { core::slice::from_raw_parts(at, len) };
            (
                cx,
                list(cx.host, cx.hosts),
                list(cx.neighbours, cx.neighbour_count),
                BorrowedFd::borrow_raw(cx.shm),
            )
        };
        let threading = match cx.one_thread {
            0 => Threading::Parallel,
            // SAFETY: (1): the promise was made on the other side.
            1 => Threading::Serial(unsafe { OneThread::promise() }),
            // SAFETY: as above.
            _ => Threading::Serial(unsafe { OneThread::always_the_same() }),
        };
        // SAFETY: (1): it serves for this call, and so does the context.
        let exchange = unsafe { cx.exchange.import() };
        open(&OpenContext {
            rank: RankId(cx.rank),
            size: cx.size,
            config: &config,
            threading,
            shm,
            shm_offset: cx.shm_offset,
            host,
            neighbours,
            exchange: &*exchange,
        })
    };
    let result = opened().map(|conduit| match conduit {
        Some(conduit) => {
            // SAFETY: (1).
            unsafe { out.write(export(conduit)) };
            1
        }
        None => 0,
    });
    // SAFETY: (1).
    unsafe { answer(result, sayer) as i32 }
}

/// A job's rank that was made by somebody else, for a program that is a shared object of its own: what its
/// [`Boot`] will say, and its conduit. Lent for as long as the program runs, but for the conduit, which is
/// given away.
#[repr(C)]
#[derive(Debug)]
pub struct EmbedTable {
    abi: u32,
    bytes: u32,
    rank: u32,
    size: u32,
    shm: i32,
    segments: i32,
    job_id: u64,
    exchange: ExchangeTable,
    overseer: OverseerTable,
    conduit: ConduitTable,
}

// SAFETY: what its parts point to may be used from any thread: a conduit, an exchange and an overseer are
// Send and Sync.
unsafe impl Send for EmbedTable {}
// SAFETY: as above.
unsafe impl Sync for EmbedTable {}

impl EmbedTable {
    /// A rank that is a host of its own, behind `conduit`. The memory files are duplicated by
    /// [`EmbedTable::accept`].
    pub fn new(
        boot: &Boot,
        exchange: &&dyn Exchange,
        overseer: &&dyn Overseer,
        conduit: Box<dyn Conduit>,
    ) -> EmbedTable {
        // The boot has it as long as it is not closed, which a rank that is embedded does not do.
        let number = |file: &HostFile| file.file().map_or(-1, |file| file.as_raw_fd());
        EmbedTable {
            abi: ABI,
            bytes: size_of::<EmbedTable>() as u32,
            rank: boot.rank,
            size: boot.size,
            shm: number(&boot.shm),
            segments: number(&boot.segments),
            job_id: boot.job_id,
            exchange: ExchangeTable::of(exchange),
            overseer: OverseerTable::of(overseer),
            conduit: export(conduit),
        }
    }

    /// The rank's start and its conduit, on the program's side.
    ///
    /// # Safety
    /// 1. Made by [`EmbedTable::new`] of this or another copy of this crate; what it borrows outlives the
    ///    rank; accepted once (owed by the caller).
    ///
    /// # Errors
    /// Another version of the interface, or no descriptors left.
    pub unsafe fn accept(&self) -> Result<(Boot, Box<dyn Conduit>), Error> {
        check("the loader of this program", self.abi, self.bytes, size_of::<EmbedTable>())?;
        let file = |fd| {
            // SAFETY: (1): open.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            fd.try_clone_to_owned().map_err(|e| Error::job(format!("duplicating a memory file: {e}")))
        };
        // SAFETY: (1).
        let (exchange, overseer, conduit) =
            unsafe { (self.exchange.import(), self.overseer.import(), self.conduit.import()?) };
        let boot = Boot {
            rank: self.rank,
            size: self.size,
            host_ranks: vec![self.rank],
            exchange: Some(exchange),
            shm: file(self.shm)?.into(),
            segments: file(self.segments)?.into(),
            link: None,
            overseer: Some(overseer),
            job_id: self.job_id,
        };
        Ok((boot, conduit))
    }
}
