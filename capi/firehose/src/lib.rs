//! The C library `libfirehose_c`: local pins under a budget, as `include/firehose.h` describes them.
//!
//! A pool is a [`Front`] of one node: without peers there are no firehoses, and only the bucket table with
//! its victim FIFO is left. Nothing unwinds into C: a panic would be a bug, and ends the process.

#![expect(unsafe_code, reason = "functions that are called from C")]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use firehose::{
    Change, Config, ConfigError, Firehose, Front, Hold, HoldError, LocalOnly, Notices, Notifier, PinError,
    Registrar, Run, StartError,
};
use firehose_live::{MappingMonitor, Mlock, Watched};

// From errno.h, the same on all Linux systems.
const EPERM: c_int = 1;
const ECHILD: c_int = 10;
const EAGAIN: c_int = 11;
const ENOMEM: c_int = 12;
const EFAULT: c_int = 14;
const EINVAL: c_int = 22;

/// The layout of `firehose_config_t`.
#[repr(C)]
pub struct CConfig {
    bucket_bytes: usize,
    budget_bytes: usize,
    pin: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int>,
    unpin: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize)>,
    context: *mut c_void,
    watch: c_int,
}

/// The layout of `firehose_usage_t`.
#[repr(C)]
pub struct CUsage {
    pinned_bytes: u64,
    peak_bytes: u64,
    idle_bytes: u64,
    pins: u64,
    unpins: u64,
    reused: u64,
}

/// The caller's functions, or `mlock`.
struct Caller {
    pin: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int>,
    unpin: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize)>,
    context: *mut c_void,
    bucket_bytes: u64,
}

// SAFETY: the header says that any thread calls the functions.
unsafe impl Send for Caller {}
// SAFETY: the header says that several threads call them at once.
unsafe impl Sync for Caller {}

impl Caller {
    fn range(&self, run: Run) -> (*mut c_void, usize) {
        ((run.first * self.bucket_bytes) as *mut c_void, (run.count * self.bucket_bytes) as usize)
    }
}

impl Registrar for Caller {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        let Some(pin) = self.pin else { return Mlock { bucket_bytes: self.bucket_bytes }.pin(run) };
        let (addr, len) = self.range(run);
        // SAFETY: the caller's own function with its own context, as the header promises to call it.
        Some(match unsafe { pin(self.context, addr, len) } {
            0 => Ok(()),
            EFAULT => Err(PinError::Unmapped),
            error => Err(PinError::System(error)),
        })
    }

    fn unpin(&self, run: Run) -> Option<()> {
        let Some(unpin) = self.unpin else { return Mlock { bucket_bytes: self.bucket_bytes }.unpin(run) };
        let (addr, len) = self.range(run);
        // SAFETY: as above.
        unsafe { unpin(self.context, addr, len) };
        Some(())
    }
}

/// Pins, and watches what is pinned if that was asked for.
enum Pinner {
    Plain(Caller),
    Watched(Watched<Caller>),
}

impl Registrar for Pinner {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        match self {
            Pinner::Plain(caller) => caller.pin(run),
            Pinner::Watched(watched) => watched.pin(run),
        }
    }

    fn unpin(&self, run: Run) -> Option<()> {
        match self {
            Pinner::Plain(caller) => caller.unpin(run),
            Pinner::Watched(watched) => watched.unpin(run),
        }
    }
}

/// A pool.
pub struct Pool {
    front: Front<LocalOnly<Pinner>, Arc<dyn Notifier + Send + Sync>>,
}

/// Converts an error to an error number.
fn number(error: HoldError) -> c_int {
    match error {
        HoldError::Start(StartError::Child) => ECHILD,
        HoldError::Start(StartError::TooMuch { .. }) => ENOMEM,
        HoldError::Start(_) => EINVAL,
        HoldError::Failed(failure) => match failure.error {
            PinError::Unmapped => EFAULT,
            PinError::Limit => EPERM,
            PinError::System(error) => error,
        },
    }
}

fn open(config: &CConfig) -> Result<Pool, c_int> {
    // One function without the other cannot be intended.
    if config.pin.is_some() != config.unpin.is_some() {
        return Err(EINVAL);
    }
    let bucket_bytes = if config.bucket_bytes == 0 { 4096 } else { config.bucket_bytes as u64 };
    if bucket_bytes < 4096 {
        return Err(EINVAL);
    }
    let settings =
        Config { bucket_bytes, m_bytes: 0, victim_bytes: config.budget_bytes as u64, ..Config::default() };
    let firehose = Firehose::new(settings).map_err(|error: ConfigError| match error {
        ConfigError::TooLittleVictim { .. } => ENOMEM,
        _ => EINVAL,
    })?;
    let CConfig { pin, unpin, context, .. } = *config;
    let caller = Caller { pin, unpin, context, bucket_bytes };
    let (pinner, notifier): (Pinner, Arc<dyn Notifier + Send + Sync>) = if config.watch != 0 {
        let monitor = MappingMonitor::start().map_err(|error| error.raw_os_error().unwrap_or(EINVAL))?;
        let monitor = Arc::new(monitor);
        let watched = Watched { monitor: Arc::clone(&monitor), registrar: caller, bucket_bytes };
        (Pinner::Watched(watched), monitor)
    } else {
        (Pinner::Plain(caller), Arc::new(Notices::default()))
    };
    Ok(Pool { front: Front::new(firehose, LocalOnly(pinner), notifier) })
}

/// See the header.
///
/// # Safety
/// Both pointers must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_open(config: *const CConfig, pool: *mut *mut Pool) -> c_int {
    // SAFETY: the caller's promise.
    match open(unsafe { &*config }) {
        Ok(opened) => {
            // SAFETY: as above.
            unsafe { pool.write(Box::into_raw(Box::new(opened))) };
            0
        }
        Err(error) => error,
    }
}

/// See the header.
///
/// # Safety
/// The pool must come from `firehose_open`, and is gone afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_close(pool: *mut Pool) {
    // SAFETY: the caller's promise.
    let pool = unsafe { Box::from_raw(pool) };
    pool.front.changed(Change::All);
}

/// Hands a hold to C.
fn give(held: Hold, hold: *mut *mut Hold) -> c_int {
    // SAFETY: callers of the C functions promise that it is valid.
    unsafe { hold.write(Box::into_raw(Box::new(held))) };
    0
}

/// See the header.
///
/// # Safety
/// The pointers must be valid. The memory is not touched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_hold(
    pool: *mut Pool,
    addr: *const c_void,
    len: usize,
    hold: *mut *mut Hold,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { &*pool }.front.hold(addr as u64, len as u64) {
        Ok(held) => give(held, hold),
        Err(error) => number(error),
    }
}

/// See the header.
///
/// # Safety
/// The pointers must be valid. The memory is not touched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_try_hold(
    pool: *mut Pool,
    addr: *const c_void,
    len: usize,
    hold: *mut *mut Hold,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { &*pool }.front.try_hold(addr as u64, len as u64) {
        Ok(Some(held)) => give(held, hold),
        Ok(None) => EAGAIN,
        Err(error) => number(error),
    }
}

/// See the header.
///
/// # Safety
/// The pointers must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_is_current(pool: *mut Pool, hold: *const Hold) -> c_int {
    // SAFETY: the caller's promise.
    let (pool, hold) = unsafe { (&*pool, &*hold) };
    pool.front.is_current(hold).into()
}

/// See the header.
///
/// # Safety
/// The hold must come from this pool, and is gone afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_release(pool: *mut Pool, hold: *mut Hold) {
    // SAFETY: the caller's promise.
    let (pool, hold) = unsafe { (&*pool, Box::from_raw(hold)) };
    pool.front.release(*hold);
}

/// See the header.
///
/// # Safety
/// The pool must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_changed(pool: *mut Pool, addr: *const c_void, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { &*pool }.front.changed(Change::Unmapped { addr: addr as u64, len: len as u64 });
}

/// See the header.
///
/// # Safety
/// The pointers must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firehose_usage(pool: *mut Pool, usage: *mut CUsage) {
    // SAFETY: the caller's promise.
    let pool = unsafe { &*pool };
    let (now, stats) = (pool.front.usage(), pool.front.stats());
    let filled = CUsage {
        pinned_bytes: now.pinned_bytes,
        peak_bytes: now.peak_bytes,
        idle_bytes: now.victim_bytes,
        pins: stats.pins,
        unpins: stats.unpins,
        reused: stats.revived,
    };
    // SAFETY: as above.
    unsafe { usage.write(filled) };
}
