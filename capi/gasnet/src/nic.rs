//! `gasnet_nic_*`: [`gasnet::sync`] and [`gasnet_clan`] for C. A handle is a box of the object; each function
//! is the method of that name.

#![expect(unsafe_code, reason = "exported to C by name; objects are boxes that the caller holds")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::AsRawFd;

use gasnet::sync::{McsLock, Monitor, NicAtomics, Semaphore, WaitQueue};
use gasnet::{Error, GlobalPtr, Rank, RankId};
use gasnet_clan::{
    Access, Channel, EventQueue, EventSource, Notification, Receiver, Sender, Trips, Tripwire, Watch,
};

use crate::fatal::die;
use crate::info::{BAD_ARG, OK};
use crate::{abi, context, state};

type Static<T> = *mut T;

fn rank(call: &'static str) -> &'static Rank {
    let state = state::attached(call);
    context::unrestricted(state, call);
    state.rank.now()
}

fn node(call: &str, node: u32) -> RankId {
    if node >= abi::size() {
        die(&format!("{call}: there is no node {node}; the job has {} nodes", abi::size()));
    }
    RankId(node)
}

fn boxed<T>(made: Result<T, Error>) -> *mut T {
    made.map_or(std::ptr::null_mut(), |object| Box::into_raw(Box::new(object)))
}

fn code<T>(done: Result<T, Error>) -> c_int {
    if done.is_ok() { OK } else { BAD_ARG }
}

/// The object of a handle.
///
/// # Safety
/// `handle` is null or comes from the function that makes these objects, and no other thread uses it.
unsafe fn object<'a, T>(call: &str, handle: *mut T) -> &'a mut T {
    // SAFETY: the caller's promise.
    match unsafe { handle.as_mut() } {
        Some(object) => object,
        None => die(&format!("{call}: a null handle")),
    }
}

/// Memory of the caller as a slice.
///
/// # Safety
/// `p` is valid for `n` bytes.
unsafe fn bytes<'a>(p: *const c_void, n: usize) -> &'a [u8] {
    if n == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(p.cast(), n) }
}

/// `gasnet_nic_attach`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_nic_attach(offset: usize, size: usize) -> c_int {
    let rank = rank("gasnet_nic_attach");
    // The objects are at the same offsets of all segments.
    let least = rank.table().entries().iter().map(|entry| entry.size).min().unwrap_or(0);
    let fits = offset.checked_add(size).is_some_and(|end| end <= least);
    if !fits || !offset.is_multiple_of(64) || !size.is_multiple_of(64) {
        return BAD_ARG;
    }
    rank.segments().allocate_from(offset as u64..(offset + size) as u64);
    OK
}

/// Functions `name(handle, ...)` that are methods.
macro_rules! methods {
    ($object:ty: $($name:ident($this:ident $(, $arg:ident: $ty:ty)*) $(-> $out:ty)? = $body:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The handle comes from the function that makes these objects; buffers are valid for their sizes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(handle: Static<$object> $(, $arg: $ty)*) $(-> $out)? {
            rank(stringify!($name));
            // SAFETY: the caller's promise.
            let $this = unsafe { object(stringify!($name), handle) };
            $body
        }
    )*};
}

/// Functions that make and destroy objects.
macro_rules! made {
    ($($object:ty: $create:ident($rank:ident $(, $arg:ident: $ty:ty)*) = $body:expr, $destroy:ident;)*) => {$(
        #[doc = concat!("`", stringify!($create), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $create($($arg: $ty),*) -> Static<$object> {
            let $rank = rank(stringify!($create));
            boxed($body)
        }

        #[doc = concat!("`", stringify!($destroy), "`.")]
        ///
        /// # Safety
        /// The handle is null or comes from the function that makes these objects, and is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $destroy(handle: Static<$object>) {
            if !handle.is_null() {
                // SAFETY: the caller's promise.
                drop(unsafe { Box::from_raw(handle) });
            }
        }
    )*};
}

/// A channel with its messages' length.
#[derive(Debug)]
pub struct Ends {
    channel: Channel<'static, u8>,
}

impl Ends {
    fn sender(&mut self, call: &str) -> &mut Sender<'static, u8> {
        match &mut self.channel {
            Channel::Sender(sender) => sender,
            _ => die(&format!("{call}: this node is not the one that sends")),
        }
    }
    fn receiver(&mut self, call: &str) -> &mut Receiver<'static, u8> {
        match &mut self.channel {
            Channel::Receiver(receiver) => receiver,
            _ => die(&format!("{call}: this node is not the one that receives")),
        }
    }
}

made! {
    McsLock<'static>: gasnet_nic_lock_create(r, home: u32) = McsLock::new(r, node("gasnet_nic_lock_create", home)),
        gasnet_nic_lock_destroy;
    WaitQueue<'static>: gasnet_nic_queue_create(r, home: u32) = WaitQueue::new(r, node("gasnet_nic_queue_create", home)),
        gasnet_nic_queue_destroy;
    Semaphore<'static>: gasnet_nic_sem_create(r, home: u32, value: u32) =
        Semaphore::new(r, node("gasnet_nic_sem_create", home), value), gasnet_nic_sem_destroy;
    Monitor<'static>: gasnet_nic_monitor_create(r, home: u32) = Monitor::new(r, node("gasnet_nic_monitor_create", home)),
        gasnet_nic_monitor_destroy;
    Ends: gasnet_nic_channel_create(r, from: u32, to: u32, slots: u32, nbytes: usize) = {
        const CALL: &str = "gasnet_nic_channel_create";
        Channel::new(r, node(CALL, from), node(CALL, to), slots, nbytes).map(|channel| Ends { channel })
    }, gasnet_nic_channel_destroy;
    Notification<'static>: gasnet_nic_notify_create(r, events: u32, places: u32) = Notification::new(r, events, places),
        gasnet_nic_notify_destroy;
    EventQueue<'static>: gasnet_nic_events_create(r, sources: u32) = EventQueue::new(r, sources),
        gasnet_nic_events_destroy;
    Watch<'static>: gasnet_nic_watch_create(r, nbytes: u64, wires: u32) = Watch::new(r, nbytes, wires),
        gasnet_nic_watch_destroy;
}

methods! { McsLock<'static>:
    gasnet_nic_lock_acquire(lock) = lock.acquire();
    gasnet_nic_lock_try(lock) -> c_int = lock.try_acquire().into();
    gasnet_nic_lock_release(lock) = lock.release();
}

methods! { WaitQueue<'static>:
    gasnet_nic_queue_insert(queue) = queue.insert();
    gasnet_nic_queue_wait(queue) = queue.wait();
    gasnet_nic_queue_signal(queue) -> c_int = queue.signal().into();
    gasnet_nic_queue_broadcast(queue) -> u32 = queue.broadcast();
}

methods! { Semaphore<'static>:
    gasnet_nic_sem_wait(sem) = sem.wait();
    gasnet_nic_sem_try(sem) -> c_int = sem.try_wait().into();
    gasnet_nic_sem_signal(sem) -> c_int = code(sem.signal());
    gasnet_nic_sem_value(sem) -> u32 = sem.value();
}

methods! { Monitor<'static>:
    gasnet_nic_monitor_enter(monitor) = monitor.enter();
    gasnet_nic_monitor_leave(monitor) = monitor.leave();
    gasnet_nic_monitor_wait(monitor) = monitor.wait();
    gasnet_nic_monitor_wait_for(monitor, condition: Static<WaitQueue<'static>>) =
        // SAFETY: the caller's promise.
        monitor.wait_for(unsafe { object("gasnet_nic_monitor_wait_for", condition) });
    gasnet_nic_monitor_signal(monitor) -> c_int = monitor.signal().into();
    gasnet_nic_monitor_broadcast(monitor) -> u32 = monitor.broadcast();
}

methods! { Ends:
    gasnet_nic_channel_ready(ends) -> c_int = match &ends.channel {
        Channel::Sender(sender) => sender.has_room().into(),
        Channel::Receiver(receiver) => receiver.is_ready().into(),
        Channel::Other => 0,
    };
    gasnet_nic_channel_send(ends, message: *const c_void) = {
        const CALL: &str = "gasnet_nic_channel_send";
        let sender = ends.sender(CALL);
        // SAFETY: the caller's promise.
        let message = unsafe { bytes(message, sender.message_len()) };
        if let Err(e) = sender.send(message) {
            die(&format!("{CALL}: {e}"));
        }
    };
    gasnet_nic_channel_receive(ends) -> *const c_void = {
        const CALL: &str = "gasnet_nic_channel_receive";
        let at = ends.receiver(CALL).receive();
        own(CALL, at)
    };
}

/// The address in this process of a place in its own segment.
fn own(call: &'static str, at: GlobalPtr<u8>) -> *const c_void {
    let rank = rank(call);
    let base = rank.table().get(at.rank()).map_or(std::ptr::null_mut(), |own| own.local);
    base.wrapping_add(at.offset() as usize).cast_const().cast()
}

methods! { Notification<'static>:
    gasnet_nic_notify(notes, to: u32, number: u32) -> c_int =
        code(notes.notify(node("gasnet_nic_notify", to), number));
    gasnet_nic_put_notify(notes, to: u32, dst: *mut c_void, src: *const c_void, n: usize, number: u32) -> c_int = {
        let to = at("gasnet_nic_put_notify", to, dst);
        // SAFETY: the caller's promise.
        code(notes.put(to, unsafe { bytes(src, n) }, number))
    };
    gasnet_nic_notify_pending(notes, number: u32) -> u64 = notes.pending(number);
    gasnet_nic_notify_take(notes, number: u32) -> c_int = notes.take(number).into();
    gasnet_nic_notify_wait(notes, number: u32) = notes.wait(number);
    gasnet_nic_notify_next(notes, number: *mut u32) -> c_int = match notes.next_one_shot() {
        Some(n) => {
            // SAFETY: the caller's promise.
            unsafe { *number = n };
            1
        }
        None => 0,
    };
    gasnet_nic_notify_arm(notes, number: u32, handler: Option<Handler>, context: *mut c_void) -> c_int = {
        let context = context as usize;
        match handler {
            // SAFETY: the caller's function, with what it is to be given.
            Some(call) => notes.arm(number, move |n| unsafe { call(context as *mut c_void, n) }),
            None => return BAD_ARG,
        }
        OK
    };
    gasnet_nic_notify_disarm(notes, number: u32) = notes.disarm(number);
    gasnet_nic_notify_dispatch(notes) -> u64 = notes.dispatch();
}

/// `gasnet_nic_handler_t`.
type Handler = unsafe extern "C-unwind" fn(context: *mut c_void, number: u32);

/// The place of an address in a node's segment.
fn at<T>(call: &'static str, to: u32, address: *mut T) -> GlobalPtr<u8> {
    let to = node(call, to);
    let segment = rank(call).table().get(to).map_or(0, |entry| entry.addr);
    let offset = (address as u64).wrapping_sub(segment as u64);
    GlobalPtr::new(to, offset)
}

/// Atomics on a word of a segment, by its address there.
macro_rules! atomics {
    ($($name:ident($this:ident, $word:ident $(, $arg:ident)*) -> $out:ty = $body:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(to: u32, word: *mut u32 $(, $arg: u32)*) -> $out {
            let $this = NicAtomics::new(rank(stringify!($name)));
            let $word = at(stringify!($name), to, word).cast::<u32>();
            $body
        }
    )*};
}

atomics! {
    gasnet_nic_test_and_set(a, word) -> c_int = a.test_and_set(word).into();
    gasnet_nic_incr(a, word) -> u32 = a.incr(word);
    gasnet_nic_decr(a, word) -> u32 = a.decr(word);
    gasnet_nic_swap(a, word, value) -> u32 = a.swap(word, value);
    gasnet_nic_compare_swap(a, word, expected, value) -> u32 = a.compare_swap(word, expected, value);
}

methods! { EventQueue<'static>:
    gasnet_nic_events_attach(queue, cookie: u64) -> Static<EventSource> = boxed(queue.attach(cookie));
    gasnet_nic_events_detach(queue, source: Static<EventSource>) = {
        if source.is_null() {
            die("gasnet_nic_events_detach: a null handle");
        }
        // SAFETY: the caller's promise; made by `gasnet_nic_events_attach`.
        queue.detach(*unsafe { Box::from_raw(source) });
    };
    gasnet_nic_events_get(queue, cookie: *mut u64) -> c_int = match queue.get() {
        None => 0,
        Some(event) => match event.cookie {
            None => -1,
            Some(value) => {
                // SAFETY: the caller's promise.
                unsafe { *cookie = value };
                1
            }
        },
    };
    gasnet_nic_events_wait(queue) = queue.wait();
    gasnet_nic_events_fd(queue) -> c_int = queue.descriptor().map_or(-1, |fd| fd.as_raw_fd());
}

methods! { EventSource:
    gasnet_nic_events_deliver(source) = source.deliver(rank("gasnet_nic_events_deliver"));
}

methods! { Watch<'static>:
    gasnet_nic_watch_memory(watch, of: u32) -> *mut c_void = {
        const CALL: &str = "gasnet_nic_watch_memory";
        let of = node(CALL, of);
        let base = rank(CALL).table().get(of).map_or(0, |entry| entry.addr);
        (base as u64 + watch.memory(of).offset()) as *mut c_void
    };
    gasnet_nic_watch_put(watch, to: u32, place: u64, src: *const c_void, n: usize) -> c_int =
        // SAFETY: the caller's promise.
        code(watch.put(node("gasnet_nic_watch_put", to), place, unsafe { bytes(src, n) }));
    gasnet_nic_put_signal(watch, to: u32, place: u64, src: *const c_void, n: usize, signal_at: u64, signal: u64) -> c_int = {
        let to = node("gasnet_nic_put_signal", to);
        // SAFETY: the caller's promise.
        code(watch.put_signal(to, place, unsafe { bytes(src, n) }, signal_at, signal))
    };
    gasnet_nic_watch_get(watch, from: u32, dst: *mut c_void, place: u64, n: usize) -> c_int = {
        let from = node("gasnet_nic_watch_get", from);
        let into: &mut [u8] = if n == 0 {
            &mut []
        } else {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts_mut(dst.cast(), n) }
        };
        code(watch.get(from, place, into))
    };
    gasnet_nic_tripwire_create(watch, from: u64, to: u64, stride: u64, width: u64, access: c_int) -> Static<Tripwire<'static>> = {
        let access = match access {
            1 => Access::Read,
            2 => Access::Write,
            3 => Access::Any,
            _ => return std::ptr::null_mut(),
        };
        boxed(match stride {
            0 => watch.tripwire(from..to, access),
            _ => watch.strided(from..to, stride, width, access),
        })
    };
}

methods! { Tripwire<'static>:
    gasnet_nic_tripwire_arm(wire, once: c_int) = wire.arm(if once != 0 { Trips::Once } else { Trips::Always });
    gasnet_nic_tripwire_disarm(wire) = wire.disarm();
    gasnet_nic_tripwire_pending(wire) -> u64 = wire.pending();
    gasnet_nic_tripwire_test(wire) -> c_int = wire.test().into();
    gasnet_nic_tripwire_wait(wire) = wire.wait();
    gasnet_nic_tripwire_attach(wire, source: Static<EventSource>) =
        // SAFETY: the caller's promise.
        match unsafe { source.as_ref() } {
            Some(source) => wire.attach(source),
            None => wire.detach(),
        };
    gasnet_nic_tripwire_destroy(wire) = {
        // SAFETY: the caller's promise; made by `gasnet_nic_tripwire_create`.
        drop(unsafe { Box::from_raw(std::ptr::from_mut(wire)) });
    };
}

/// Bytes of a counter's name in [`CCounter`], its end included.
const NAME_BYTES: usize = 56;

/// `gasnet_nic_counter_t`.
#[repr(C)]
#[derive(Debug)]
pub struct CCounter {
    name: [c_char; NAME_BYTES],
    value: u64,
}

/// `gasnet_nic_counters`.
///
/// # Safety
/// `into` is valid for writes of `room` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_nic_counters(into: *mut CCounter, room: usize) -> usize {
    let counters = rank("gasnet_nic_counters").counters();
    for (i, (name, value)) in counters.iter().enumerate().take(room) {
        let mut entry = CCounter { name: [0; NAME_BYTES], value: *value };
        for (to, byte) in entry.name[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
            *to = byte as c_char;
        }
        // SAFETY: the caller's promise.
        unsafe { into.add(i).write(entry) };
    }
    counters.len()
}

/// `gasnet_nic_counter`.
///
/// # Safety
/// `name` is a string; `value` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_nic_counter(name: *const c_char, value: *mut u64) -> c_int {
    let counters = rank("gasnet_nic_counter").counters();
    if name.is_null() || value.is_null() {
        return BAD_ARG;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    match counters.iter().find(|(known, _)| known.as_bytes() == name) {
        Some((_, counted)) => {
            // SAFETY: the caller's promise.
            unsafe { value.write(*counted) };
            OK
        }
        None => BAD_ARG,
    }
}
