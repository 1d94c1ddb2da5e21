//! How calls become records, and records calls.
//!
//! A call takes a pointer to a function. A function or a closure that captures nothing converts to one; a
//! closure that captures something does not, even if it has no bytes. For each kind of receiver ([`On`])
//! and each list of argument and result types there is one service. A record brings the name of the
//! function to that service; the name is valid for this service only.
//!
//! A record's body is
//! ```text
//! 0   number of the object; 0 where there is none      4   the function, by its distance into the executable
//! 8   its signature
//! 16  the arguments
//! ```
#![expect(unsafe_code, reason = "says which types are pointers to functions")]

use crate::args::{Args, Data};
use crate::body::{self, answer};
use crate::pending::Pending;
use crate::reply::Reply;
use crate::trace::span;
use crate::world::World;
use core::future::poll_fn;
use core::marker::PhantomData;
use core::panic::Location;
use core::pin::pin;
use core::task::Poll;
use gasnet::RankId;
use gasnet_rpc::{Apply, Incoming, Named, Payload, Serve, Short, Source, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes before the arguments.
const HEAD: usize = 16;

/// The receiver of a remote function: its first arguments, and how they are found on the rank that runs it.
pub(crate) trait On<A: Args> {
    /// The arguments before those of the caller: the world, or the world and an object.
    type First<'f>;
    /// The values in the message: the caller's arguments, and the data that the receiver is found by.
    type Sent: Args;

    /// Applies a function to what has come.
    fn apply<U>(
        world: World,
        object: u32,
        sent: <Self::Sent as Args>::Of<'_>,
        f: impl for<'f, 'a> FnOnce(Self::First<'f>, A::Of<'a>) -> U,
    ) -> U;
}

impl<A: Args> On<A> for World {
    type First<'f> = World;
    type Sent = A;

    #[inline]
    fn apply<U>(
        world: World,
        _: u32,
        sent: A::Of<'_>,
        f: impl for<'f, 'a> FnOnce(World, A::Of<'a>) -> U,
    ) -> U {
        f(world, sent)
    }
}

/// Functions of this crate that look for the object themselves.
pub(crate) struct Numbered;

impl<A: Args> On<A> for Numbered {
    type First<'f> = (World, u32);
    type Sent = A;

    #[inline]
    fn apply<U>(
        world: World,
        object: u32,
        sent: A::Of<'_>,
        f: impl for<'f, 'a> FnOnce((World, u32), A::Of<'a>) -> U,
    ) -> U {
        f((world, object), sent)
    }
}

/// The words of a body before the arguments.
#[inline]
fn head(object: u32, function: Named) -> [u64; 2] {
    [u64::from(function.distance) << 32 | u64::from(object), function.signature]
}

/// Writes a body, and gives it on.
#[track_caller]
fn with_body<B: Args, T>(
    object: u32,
    function: Named,
    sent: &B,
    send: impl FnOnce(&mut Vec<u8>, Vec<Arc<dyn Source>>) -> T,
) -> T {
    let write = |body: &mut Vec<u8>| {
        body.extend_from_slice(bytemuck::bytes_of(&head(object, function)));
        sent.write(body)
    };
    match body::write(write, send) {
        Ok(value) => value,
        Err(why) => panic!("arguments of a remote call: {why}"),
    }
}

/// A body whose arguments are a number.
#[inline]
fn short<B: Args>(object: u32, function: Named, sent: &B) -> Option<Short> {
    let (word, len) = sent.scalar()?.word();
    let [first, second] = head(object, function);
    Some(Short::of_words([first, second, word], HEAD + len))
}

/// A call as it has arrived at a service.
struct Came<'a, S: Apply, B: Args> {
    world: World,
    function: S::Function,
    object: u32,
    sent: B::Of<'a>,
}

/// Takes a body apart. Called in a service: names in the arguments mean objects of the service's world.
#[inline]
fn came<'a, S: Apply, B: Args>(incoming: &mut Incoming<'a>) -> Result<Came<'a, S, B>, String> {
    let (head, sent) = incoming.body.split_at_checked(HEAD).ok_or("a call without its function")?;
    let [first, signature]: [u64; 2] = bytemuck::pod_read_unaligned(head);
    let named = Named { distance: (first >> 32) as u32, signature };
    let function = incoming.function::<S>(named).ok_or("a function that no rank has named so")?;
    let payloads: Vec<Payload> = core::mem::take(&mut incoming.payloads);
    let sent = body::read(payloads, || B::read(sent))?;
    Ok(Came { world: World::of(incoming.engine), function, object: first as u32, sent })
}

/// A call that has to be answered, and its reply. `None` if the arguments cannot be read: the caller has
/// been told.
#[inline]
fn asked<'a, S: Apply, B: Args>(incoming: &mut Incoming<'a>) -> Option<(gasnet_rpc::Reply, Came<'a, S, B>)> {
    let reply = incoming.reply.take()?;
    match came(incoming) {
        Ok(came) => Some((reply, came)),
        Err(why) => {
            reply.unreadable(&why);
            None
        }
    }
}

/// Calls a service whose answer is a result of this type.
#[track_caller]
fn start<S: Apply, B: Args, R: Data>(
    world: World,
    rank: u32,
    object: u32,
    function: S::Function,
    sent: &B,
) -> Pending<R> {
    let made = Location::caller();
    let (service, function) = world.0.engine.name::<S>(function);
    if let Some(body) = short(object, function, sent) {
        return Pending::new(world, world.0.engine.call_short(RankId(rank), service, &body).made_at(made));
    }
    let call = |body: &mut Vec<u8>, payloads| world.0.engine.call(RankId(rank), service, body, payloads);
    Pending::new(world, with_body(object, function, sent, call).made_at(made))
}

macro_rules! span_of {
    ($incoming:ident) => {
        span!(
            "serve",
            rank = $incoming.engine.rank().id().0,
            from = $incoming.from.0,
            service = core::any::type_name::<Self>()
        )
    };
}

/// Calls a function without a result.
struct Send<O: ?Sized, A>(PhantomData<(A, *const O)>);

impl<O: On<A>, A: Args> Serve for Send<O, A> {
    fn serve(mut incoming: Incoming<'_>) {
        span_of!(incoming);
        match came::<Self, O::Sent>(&mut incoming) {
            Ok(came) => O::apply(came.world, came.object, came.sent, came.function),
            Err(why) => World::of(incoming.engine).abort(&format!("rank {} has sent {why}", incoming.from)),
        }
    }
}

// SAFETY: `Function` is a function pointer; `serve` passes what comes to no other service.
unsafe impl<O: On<A>, A: Args> Apply for Send<O, A> {
    type Function = for<'f, 'a> fn(O::First<'f>, A::Of<'a>);
}

#[track_caller]
pub(crate) fn send<O: On<A>, A: Args>(
    world: World,
    rank: u32,
    object: u32,
    f: for<'f, 'a> fn(O::First<'f>, A::Of<'a>),
    sent: &O::Sent,
) {
    let (service, function) = world.0.engine.name::<Send<O, A>>(f);
    with_body(object, function, sent, |body, payloads| {
        world.0.engine.send(RankId(rank), service, body, payloads);
    });
}

/// [`send`] that never waits: the record is queued, whatever is under way.
pub(crate) fn queue<A: Data>(world: World, rank: u32, f: fn(World, A), args: &A) {
    gasnet_rpc::Engine::without_waiting(|| send::<World, A>(world, rank, 0, f, args));
}

/// Calls a function, and answers with its result.
struct Call<O: ?Sized, A, R>(PhantomData<(A, R, *const O)>);

impl<O: On<A>, A: Args, R: Data> Serve for Call<O, A, R> {
    fn serve(mut incoming: Incoming<'_>) {
        span_of!(incoming);
        let Some((reply, came)) = asked::<Self, O::Sent>(&mut incoming) else { return };
        let call = || O::apply(came.world, came.object, came.sent, came.function);
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => answer(reply, &result),
            Err(panic) => reply.panicked(panic_text(&*panic)),
        }
    }
}

// SAFETY: `Function` is a function pointer; `serve` passes what comes to no other service.
unsafe impl<O: On<A>, A: Args, R: Data> Apply for Call<O, A, R> {
    type Function = for<'f, 'a> fn(O::First<'f>, A::Of<'a>) -> R;
}

#[track_caller]
pub(crate) fn call<O: On<A>, A: Args, R: Data>(
    world: World,
    rank: u32,
    object: u32,
    f: for<'f, 'a> fn(O::First<'f>, A::Of<'a>) -> R,
    sent: &O::Sent,
) -> Pending<R> {
    start::<Call<O, A, R>, O::Sent, R>(world, rank, object, f, sent)
}

/// Calls a function that is given the reply.
struct Ask<O: ?Sized, A, R>(PhantomData<(A, R, *const O)>);

impl<O: On<A>, A: Args, R: Data> Serve for Ask<O, A, R> {
    fn serve(mut incoming: Incoming<'_>) {
        span_of!(incoming);
        let Some((reply, came)) = asked::<Self, O::Sent>(&mut incoming) else { return };
        let Came { world, function, object, sent } = came;
        // The reply went with the call: if that panics, it is dropped, and says so.
        let reply = Reply::new(reply);
        let call = || O::apply(world, object, sent, |first, args| function(first, reply, args));
        drop(catch_unwind(AssertUnwindSafe(call)));
    }
}

// SAFETY: `Function` is a function pointer; `serve` passes what comes to no other service.
unsafe impl<O: On<A>, A: Args, R: Data> Apply for Ask<O, A, R> {
    type Function = for<'f, 'a> fn(O::First<'f>, Reply<R>, A::Of<'a>);
}

#[track_caller]
pub(crate) fn ask<O: On<A>, A: Args, R: Data>(
    world: World,
    rank: u32,
    object: u32,
    f: for<'f, 'a> fn(O::First<'f>, Reply<R>, A::Of<'a>),
    sent: &O::Sent,
) -> Pending<R> {
    start::<Ask<O, A, R>, O::Sent, R>(world, rank, object, f, sent)
}

/// The result of a future, or its panic.
async fn caught<R>(future: impl Future<Output = R>) -> std::thread::Result<R> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// Starts a task with what a function makes, and answers with what comes of it.
struct CallAsync<O: ?Sized, A, R, T>(PhantomData<(A, R, T, *const O)>);

impl<O: On<A>, A: Data, R: Data, T> Serve for CallAsync<O, A, R, T>
where
    T: Future<Output = R> + core::marker::Send + 'static,
{
    fn serve(mut incoming: Incoming<'_>) {
        span_of!(incoming);
        let Some((reply, came)) = asked::<Self, O::Sent>(&mut incoming) else { return };
        let call = || O::apply(came.world, came.object, came.sent, came.function);
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(task) => incoming.engine.spawn(async move {
                match caught(task).await {
                    Ok(result) => answer(reply, &result),
                    Err(panic) => reply.panicked(panic_text(&*panic)),
                }
            }),
            Err(panic) => reply.panicked(panic_text(&*panic)),
        }
    }
}

// SAFETY: `Function` is a function pointer; `serve` passes what comes to no other service.
unsafe impl<O: On<A>, A: Data, R: Data, T> Apply for CallAsync<O, A, R, T>
where
    T: Future<Output = R> + core::marker::Send + 'static,
{
    type Function = for<'f> fn(O::First<'f>, A) -> T;
}

#[track_caller]
pub(crate) fn call_async<O: On<A>, A: Data, R: Data, T>(
    world: World,
    rank: u32,
    object: u32,
    f: for<'f> fn(O::First<'f>, A) -> T,
    sent: &O::Sent,
) -> Pending<R>
where
    T: Future<Output = R> + core::marker::Send + 'static,
{
    start::<CallAsync<O, A, R, T>, O::Sent, R>(world, rank, object, f, sent)
}
