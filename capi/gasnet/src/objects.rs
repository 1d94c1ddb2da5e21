//! The objects of GASNet-EX, and the handles by which C knows them.
//!
//! **Objects.** Clients, endpoints, teams, segments, memory kinds and atomic domains are known to C by a
//! pointer to an [`Object`]: a mark that says of which kind it is and whether it lives, the client's own
//! pointer (CData), and the Rust value. Objects are made by [`Object::make`] and given up by
//! [`Object::destroy`]. Their memory is never unmapped, but used again for objects of the same kind, so the
//! mark of a handle that was once good can always be read: a destroyed object, or one of another kind, is a
//! message and not a crash. Under `GASNET_CHECK=1` a word that never was a handle is one, too.
//!
//! **Pairs of endpoints.** `gex_TM_Pair` makes no object: the handle itself holds the numbers of both
//! endpoints, and its lowest bit is set, which no pointer to an object has ([`Tm`]).

#![expect(unsafe_code, reason = "follows the handles that C passes")]

use gasnet_sys::mutex::lock;
use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::fatal::die;
use crate::{abi, state};

/// Addresses of destroyed objects of one kind, to be used again.
pub type Spare = Mutex<Vec<usize>>;

/// A kind of object that C has handles of.
pub trait ObjectKind: Send + Sync + Sized + 'static {
    /// The kind's name in messages.
    const NAME: &'static str;
    /// The name in C of its invalid handle.
    const INVALID: &'static str;
    /// The mark of living objects of this kind; each kind has another.
    const MARK: u32;
    /// Its destroyed objects.
    fn spare() -> &'static Spare;
}

/// The mark of destroyed objects, of any kind.
const DEAD: u32 = 0x4445_4144;

/// The object behind a handle.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Object<T: ObjectKind> {
    mark: AtomicU32,
    cdata: AtomicPtr<c_void>,
    value: AtomicPtr<T>,
}

/// Addresses of all objects that ever were.
static KNOWN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

impl<T: ObjectKind> Object<T> {
    /// A new object.
    pub fn make(value: T) -> &'static Object<T> {
        let value = Box::into_raw(Box::new(value));
        let spare = lock(T::spare()).pop();
        let object: &'static Object<T> = match spare {
            // SAFETY: objects of this kind are leaked; this one is destroyed, and nobody else has taken it.
            Some(address) => unsafe { &*(address as *const Object<T>) },
            None => Box::leak(Box::new(Object {
                mark: AtomicU32::new(DEAD),
                cdata: AtomicPtr::default(),
                value: AtomicPtr::default(),
            })),
        };
        lock(&KNOWN).insert(std::ptr::from_ref(object) as usize);
        object.cdata.store(std::ptr::null_mut(), Ordering::Relaxed);
        object.value.store(value, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `resolve`: whoever sees the mark sees the value.
        object.mark.store(T::MARK, Ordering::Release);
        object
    }

    /// The handle for C.
    pub fn handle(&self) -> *const Object<T> {
        self
    }

    /// The value of the object.
    ///
    /// # Safety
    /// 1. The object is not destroyed as long as the result is used (owed by the client, which may not
    ///    destroy what it uses).
    pub unsafe fn get(&self) -> &T {
        // SAFETY: set by `make`; (1).
        unsafe { &*self.value.load(Ordering::Relaxed) }
    }

    /// Destroys the object, and returns its value.
    ///
    /// # Safety
    /// 1. Nobody uses it, or anything got from it, any more (owed by the client, whose object it is).
    pub unsafe fn destroy(&self, call: &str) -> T {
        // ORDER: Acquire; pairs with Release in `make`. Of two threads that destroy an object only one goes
        // on.
        if self.mark.compare_exchange(T::MARK, DEAD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            die(&format!("{call}: the {} was destroyed before", T::NAME));
        }
        // SAFETY: set by `make` to a box; (1).
        let value = unsafe { Box::from_raw(self.value.swap(std::ptr::null_mut(), Ordering::Relaxed)) };
        lock(T::spare()).push(std::ptr::from_ref(self) as usize);
        *value
    }

    /// Replaces the value, for another world. What was got of the old one stays what it was.
    pub fn renew(&self, value: T) {
        self.value.store(Box::into_raw(Box::new(value)), Ordering::Relaxed);
    }

    /// The client's own pointer.
    pub fn cdata(&self) -> *mut c_void {
        // ORDER: Acquire; pairs with Release in `set_cdata`: what the pointer leads to is visible.
        self.cdata.load(Ordering::Acquire)
    }

    /// Sets the client's own pointer.
    pub fn set_cdata(&self, value: *const c_void) {
        // ORDER: Release; pairs with Acquire in `cdata`.
        self.cdata.store(value.cast_mut(), Ordering::Release);
    }
}

/// The object that a handle names, or the end of the job with a message.
///
/// # Safety
/// 1. `handle` is a word that this library gave out, or an invalid handle (owed by the caller; under
///    `GASNET_CHECK=1`: any word).
#[inline]
pub unsafe fn object<T: ObjectKind>(call: &str, handle: *const Object<T>) -> &'static Object<T> {
    if !handle.is_null()
        && handle.is_aligned()
        && (!abi::check() || lock(&KNOWN).contains(&(handle as usize)))
    {
        // SAFETY: (1): objects are leaked, and all begin alike.
        let object = unsafe { &*handle };
        // ORDER: Acquire; pairs with Release in `make`.
        if object.mark.load(Ordering::Acquire) == T::MARK {
            return object;
        }
    }
    bad_handle(call, T::NAME, T::INVALID, handle.cast())
}

#[cold]
fn bad_handle(call: &str, name: &str, invalid: &str, handle: *const c_void) -> ! {
    if handle.is_null() {
        die(&format!("{call}: the {name} is {invalid}"));
    }
    die(&format!("{call}: {handle:p} is no {name}, or one that was destroyed"))
}

/// The value of the object that a handle names.
///
/// # Safety
/// As [`object`] and [`Object::get`].
#[inline]
pub unsafe fn resolve<'a, T: ObjectKind>(call: &str, handle: *const Object<T>) -> &'a T {
    // SAFETY: owed by the caller.
    unsafe { object(call, handle).get() }
}

/// The kind of an object, and the functions by which C keeps a pointer of its own with it.
#[macro_export]
#[doc(hidden)]
macro_rules! ex_kind {
    ($type:ty, $name:literal, $invalid:literal, $mark:literal, $set:ident, $query:ident) => {
        impl $crate::objects::ObjectKind for $type {
            const NAME: &'static str = $name;
            const INVALID: &'static str = $invalid;
            const MARK: u32 = u32::from_le_bytes(*$mark);
            fn spare() -> &'static $crate::objects::Spare {
                static SPARE: $crate::objects::Spare = $crate::objects::Spare::new(Vec::new());
                &SPARE
            }
        }

        /// Keeps a pointer of the client's own with the object.
        ///
        /// # Safety
        /// `handle` names an object of this kind.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            handle: *const $crate::objects::Object<$type>,
            value: *const std::ffi::c_void,
        ) {
            // SAFETY: the caller's promise.
            unsafe { $crate::objects::object(stringify!($set), handle) }.set_cdata(value);
        }

        /// The pointer that the client keeps with the object; at first it is null.
        ///
        /// # Safety
        /// `handle` names an object of this kind.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $query(
            handle: *const $crate::objects::Object<$type>,
        ) -> *mut std::ffi::c_void {
            // SAFETY: the caller's promise.
            unsafe { $crate::objects::object(stringify!($query), handle) }.cdata()
        }
    };
}

/// The meaning of a `gex_TM_t`: a team, or a pair of a local endpoint and the number of a remote one.
#[derive(Debug)]
pub enum Tm {
    /// A team.
    Team(&'static Object<Team>),
    /// A pair: ranks are ranks of the job.
    Pair {
        /// Number of the endpoint of this process.
        local: u16,
        /// Number of the endpoint of the other.
        remote: u16,
    },
}

/// The lowest bit of pairs; objects are aligned.
const PAIR: usize = 1;

impl Tm {
    /// The handle of a pair: equal for equal numbers, and no team's.
    pub fn pair(local: u16, remote: u16) -> *const Object<Team> {
        ((usize::from(local) << 16 | usize::from(remote)) << 1 | PAIR) as *const Object<Team>
    }

    /// The team or pair that a handle names.
    ///
    /// # Safety
    /// 1. As [`object`].
    #[inline]
    pub unsafe fn of(call: &str, handle: *const Object<Team>) -> Tm {
        let word = handle as usize;
        if word & PAIR != 0 {
            return Tm::Pair { local: (word >> 17) as u16, remote: (word >> 1) as u16 };
        }
        // SAFETY: (1).
        Tm::Team(unsafe { object(call, handle) })
    }

    /// Whether it is a pair, and not of primordial endpoints.
    pub fn is_other_pair(&self) -> bool {
        matches!(self, Tm::Pair { local, remote } if (*local, *remote) != (0, 0))
    }

    /// The number of ranks that it names.
    ///
    /// # Safety
    /// 1. As [`Object::get`], of the team.
    pub unsafe fn size(&self) -> u32 {
        match self {
            // SAFETY: (1).
            Tm::Team(team) => unsafe { team.get() }.size,
            Tm::Pair { .. } => abi::size(),
        }
    }

    /// The rank in the job of a rank of the team, or the end of the job with a message.
    ///
    /// # Safety
    /// 1. As [`Object::get`], of the team.
    #[inline]
    pub unsafe fn jobrank(&self, call: &str, rank: u32) -> u32 {
        // SAFETY: (1), both.
        if rank >= unsafe { self.size() } {
            // SAFETY: (1).
            no_rank(call, rank, unsafe { self.size() });
        }
        match self {
            // SAFETY: (1).
            Tm::Team(team) => match &unsafe { team.get() }.members {
                Some(members) => members[rank as usize],
                None => rank,
            },
            Tm::Pair { .. } => rank,
        }
    }
}

#[cold]
fn no_rank(call: &str, rank: u32, size: u32) -> ! {
    die(&format!("{call}: there is no rank {rank}: the team has {size} ranks, numbered from 0"))
}

/// The client may use GASNet-1's calls.
pub const USES_GASNET1: u32 = 1;
/// The client starts the library's progress threads itself.
pub const DEFER_THREADS: u32 = 1 << 1;
/// The client was started by `gasnet_init`.
pub const LEGACY: u32 = 1 << 31;

/// A client: the program.
#[derive(Debug)]
pub struct Client {
    /// The name that the program gave when it started the client.
    pub name: CString,
    /// The flags that it was started with.
    pub flags: u32,
}
ex_kind!(Client, "client", "GEX_CLIENT_INVALID", b"clie", gex_Client_SetCData, gex_Client_QueryCData);

/// An endpoint of this process.
#[derive(Debug)]
pub struct Ep {
    /// Its number in the process; 0 is the primordial one.
    pub index: u16,
    /// Its capabilities (`GEX_EP_CAPABILITY_*`).
    pub capabilities: u32,
    /// The flags that it was made with.
    pub flags: u32,
    /// Its segment, or null.
    pub segment: AtomicPtr<Object<Segment>>,
}
ex_kind!(Ep, "endpoint", "GEX_EP_INVALID", b"endp", gex_EP_SetCData, gex_EP_QueryCData);

/// All capabilities of an endpoint.
pub const CAPABILITY_ALL: u32 = 31;

/// A team.
#[derive(Debug)]
pub struct Team {
    /// This process's rank in it.
    pub rank: u32,
    /// How many ranks it has.
    pub size: u32,
    /// Its members' ranks in the job; `None` for the team of all ranks, in order.
    pub members: Option<Box<[u32]>>,
    /// The flags that it was made with.
    pub flags: u32,
    /// Scratch memory that the client has lent it: address and bytes.
    pub scratch: Option<(usize, usize)>,
    /// The core's team.
    pub team: gasnet::Team,
}
ex_kind!(Team, "team", "GEX_TM_INVALID", b"team", gex_TM_SetCData, gex_TM_QueryCData);

/// The objects that every client has.
#[derive(Debug)]
pub struct Primordial {
    /// The client.
    pub client: &'static Object<Client>,
    /// Endpoint 0.
    pub ep: &'static Object<Ep>,
    /// The team of all ranks.
    pub team: &'static Object<Team>,
}

static PRIMORDIAL: OnceLock<Primordial> = OnceLock::new();

/// Sets the objects that every client has, once.
pub fn set_primordial(make: impl FnOnce() -> Primordial) -> &'static Primordial {
    PRIMORDIAL.get_or_init(make)
}

/// The objects that every client has; a call that needs them before the client is initialised ends the
/// program with a message.
pub fn primordial(call: &str) -> &'static Primordial {
    let _ = state::state(call);
    PRIMORDIAL.get().unwrap_or_else(|| die(&format!("{call} was called before gex_Client_Init")))
}

/// Ends what the client has made in a world that is over: from now on its use is an error. `kept` are the
/// primordial objects. What the client, or a call under way, has got of the others stays readable.
pub fn end_world(kept: &Primordial) {
    let kept = [kept.client.handle() as usize, kept.ep.handle() as usize, kept.team.handle() as usize];
    for address in lock(&KNOWN).iter().filter(|address| !kept.contains(address)) {
        // SAFETY: objects are leaked, and all begin alike.
        let object = unsafe { &*(*address as *const Object<Client>) };
        object.mark.store(DEAD, Ordering::Relaxed);
    }
}

/// A segment.
#[derive(Debug)]
pub struct Segment {
    /// The address of its first byte in this process.
    pub address: usize,
    /// Its length in bytes.
    pub size: usize,
    /// The flags that it was made with.
    pub flags: u32,
    /// The region through which others reach it, if the client made it; `None` if it was attached.
    pub region: Option<gasnet::Region<'static>>,
    /// How many endpoints are bound to it.
    pub bound: AtomicU32,
}
ex_kind!(Segment, "segment", "GEX_SEGMENT_INVALID", b"segm", gex_Segment_SetCData, gex_Segment_QueryCData);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    pub struct Thing(pub u32);
    ex_kind!(Thing, "thing", "THING_INVALID", b"thin", test_thing_set, test_thing_query);

    #[test]
    fn objects_live_until_destroyed_and_their_memory_is_used_again() {
        let first = Object::make(Thing(1));
        first.set_cdata(std::ptr::from_ref(&KNOWN).cast());
        // SAFETY: it lives.
        assert_eq!(unsafe { resolve("test", first.handle()) }.0, 1);
        // SAFETY: nobody else knows it.
        assert_eq!(unsafe { first.destroy("test") }.0, 1);
        assert_eq!(first.mark.load(Ordering::Relaxed), DEAD);
        let second = Object::make(Thing(2));
        assert!(std::ptr::eq(first, second) && second.cdata().is_null());
        // SAFETY: it lives.
        assert_eq!(unsafe { second.get() }.0, 2);
    }

    #[test]
    fn pairs_are_no_teams_and_hold_both_numbers() {
        for (local, remote) in [(0, 0), (1, 0), (0, 1), (32, 31), (u16::MAX, u16::MAX)] {
            let handle = Tm::pair(local, remote);
            assert!(!handle.is_null() && !handle.is_aligned());
            // SAFETY: made by `pair`.
            match unsafe { Tm::of("test", handle) } {
                Tm::Pair { local: l, remote: r } => assert_eq!((l, r), (local, remote)),
                Tm::Team(_) => panic!("a pair is taken for a team"),
            }
        }
    }
}
