//! The job of the process, the owners of handles, and the end.
#![expect(unsafe_code, reason = "registers an exit hook")]

use crate::handle::{Handle, HandleKind};
use crate::results::{ERROR_RESOURCE, INVALID_PARAMETER, Return};
use core::ffi::{c_int, c_void};
use gasnet::Threading;
use gasnet_via::{Agent, Nic};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

unsafe extern "C" {
    fn on_exit(hook: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The provider of the process.
pub struct Provider {
    pub agent: &'static Agent,
    /// The NICs that NICs, VIs, completion queues and connections belong to.
    owners: RwLock<HashMap<Handle, Arc<Nic>>>,
    /// NICs whose name service was started.
    names: Mutex<HashSet<Handle>>,
}

static PROVIDER: OnceLock<Provider> = OnceLock::new();

/// Bytes of the segment that the job has and VIs do not use.
const SEGMENT_BYTES: usize = 1 << 16;

/// The provider; the first call joins the job.
pub fn start() -> Result<&'static Provider, Return> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(provider) = PROVIDER.get() {
        return Ok(provider);
    }
    let join = || {
        let rank = gasnet_conduits::init(&Default::default(), Threading::Parallel)?;
        rank.attach(SEGMENT_BYTES.min(rank.segments().max_global()), None)?;
        Agent::start(rank)
    };
    let agent = join().map_err(|error| {
        eprintln!("gasnet: VipOpenNic: {error}");
        ERROR_RESOURCE
    })?;
    // SAFETY: the hook takes no argument and lives for ever.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    Ok(PROVIDER.get_or_init(|| Provider { agent, owners: RwLock::default(), names: Mutex::default() }))
}

/// The connections of a process that exits end; the job goes on.
extern "C" fn at_exit(code: c_int, _: *mut c_void) {
    let Some(provider) = PROVIDER.get() else { return };
    let rank = provider.agent.rank();
    if !rank.is_own_process() {
        return;
    }
    provider.agent.stop_calls();
    // SAFETY: flushes all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let nics: Vec<Arc<Nic>> = provider.write().values().cloned().collect();
    nics.iter().for_each(|nic| nic.close());
    rank.done(code);
}

/// The provider of a process that has opened a NIC.
pub fn provider() -> Result<&'static Provider, Return> {
    PROVIDER.get().ok_or(INVALID_PARAMETER)
}

impl Provider {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<Handle, Arc<Nic>>> {
        self.owners.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new handle of a NIC's object.
    pub fn enter(&self, kind: HandleKind, number: u32, nic: &Arc<Nic>) -> Handle {
        let handle = Handle::new(kind, number);
        self.write().insert(handle, Arc::clone(nic));
        handle
    }

    /// The name service of a NIC begins or ends.
    pub fn start_names(&self, nic: Handle, start: bool) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if start {
            names.insert(nic)
        } else {
            names.remove(&nic)
        };
    }

    pub fn forget(&self, handle: Handle) {
        self.write().remove(&handle);
    }

    /// Forgets all that a NIC has.
    pub fn forget_all(&self, nic: &Arc<Nic>) {
        self.write().retain(|_, owner| !Arc::ptr_eq(owner, nic));
    }
}

/// The number behind a handle of this kind, and its NIC.
pub fn owner(handle: Handle, kind: HandleKind) -> Result<(Arc<Nic>, u32), Return> {
    let number = handle.number(kind)?;
    let owners = provider()?.owners.read().unwrap_or_else(PoisonError::into_inner);
    owners.get(&handle).map(|nic| (Arc::clone(nic), number)).ok_or(INVALID_PARAMETER)
}

/// The NIC of a handle.
pub fn nic(handle: Handle) -> Result<Arc<Nic>, Return> {
    owner(handle, HandleKind::Nic).map(|(nic, _)| nic)
}

/// Whether the name service of a NIC was started.
pub fn names_started(handle: Handle) -> bool {
    let has = |p: &Provider| p.names.lock().unwrap_or_else(PoisonError::into_inner).contains(&handle);
    PROVIDER.get().is_some_and(has)
}
