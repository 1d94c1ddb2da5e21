//! How calls become records, and records calls.
//!
//! A record's body is the number of the object (0 where there is none), padded to 8 bytes, then the
//! arguments. The service is made of the function that is called, so its type knows how to read them.

use crate::args::{Args, Data};
use crate::body::{self, answer};
use crate::pending::Pending;
use crate::reply::Reply;
use crate::trace::span;
use crate::world::World;
use gasnet::RankId;
use gasnet_rpc::{Incoming, Payload, Service, Short, Source, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes before the arguments.
const HEAD: usize = 8;

/// A function that captures something would be another one there.
const fn captures_nothing<F>() {
    assert!(
        size_of::<F>() == 0,
        "a remote function must not capture anything: pass what it needs as its arguments (a pointer to a function, \
         such as a choice between two, is captured as well: name the function in the call)"
    )
}

/// Writes a body, and gives it on.
#[track_caller]
fn with_body<A: Args, T>(
    object: u32,
    args: &A,
    send: impl FnOnce(&mut Vec<u8>, Vec<Arc<dyn Source>>) -> T,
) -> T {
    let write = |body: &mut Vec<u8>| {
        body.extend_from_slice(&u64::from(object).to_ne_bytes());
        args.write(body)
    };
    match body::write(write, send) {
        Ok(value) => value,
        Err(why) => panic!("arguments of a remote call: {why}"),
    }
}

/// A body whose arguments are a number.
#[inline]
fn short<A: Args>(object: u32, args: &A) -> Option<Short> {
    let (word, len) = args.scalar()?.word();
    Some(Short::of_words([object.into(), word, 0], HEAD + len))
}

/// The object's number and the arguments of a body. Called in a service: names in the arguments mean objects
/// of the service's world.
fn parts<A: Args>(body: &[u8], payloads: Vec<Payload>) -> Result<(u32, A::Of<'_>), String> {
    let (head, args) = body.split_at_checked(HEAD).ok_or("a call without its object")?;
    let object = u64::from_ne_bytes(head.try_into().unwrap_or_default()) as u32;
    Ok((object, body::read(payloads, || A::read(args))?))
}

/// Calls a service whose answer is a result of this type.
#[track_caller]
fn start<A: Args, R: Data>(
    world: World,
    rank: u32,
    service: &'static Service,
    object: u32,
    args: &A,
) -> Pending<R> {
    if let Some(body) = short(object, args) {
        return Pending::new(world, world.0.engine.call_short(RankId(rank), service, &body));
    }
    let call = |body: &mut Vec<u8>, payloads| world.0.engine.call(RankId(rank), service, body, payloads);
    Pending::new(world, with_body(object, args, call))
}

pub(crate) fn send<A: Args, F>(world: World, rank: u32, object: u32, f: F, args: A)
where
    F: for<'a> Fn(World, u32, A::Of<'a>) + Copy + Send + 'static,
{
    const { captures_nothing::<F>() }
    let service = Service::of(move |incoming: Incoming<'_>| {
        let world = World::of(incoming.engine);
        span!("serve", rank = world.rank(), from = incoming.from.0, function = core::any::type_name::<F>());
        match parts::<A>(incoming.body, incoming.payloads) {
            Ok((object, args)) => f(world, object, args),
            Err(why) => world.abort(&format!("rank {} has sent {why}", incoming.from)),
        }
    });
    with_body(object, &args, |body, payloads| world.0.engine.send(RankId(rank), service, body, payloads));
}

/// [`send`] that never waits: the record is queued, whatever is under way.
pub(crate) fn queue<A: Args, F>(world: World, rank: u32, f: F, args: A)
where
    F: for<'a> Fn(World, u32, A::Of<'a>) + Copy + Send + 'static,
{
    gasnet_rpc::Engine::without_waiting(|| send(world, rank, 0, f, args));
}

pub(crate) fn call<A: Args, R: Data, F>(world: World, rank: u32, object: u32, f: F, args: A) -> Pending<R>
where
    F: for<'a> Fn(World, u32, A::Of<'a>) -> R + Copy + Send + 'static,
{
    const { captures_nothing::<F>() }
    let service = Service::of(move |incoming: Incoming<'_>| {
        let world = World::of(incoming.engine);
        span!("serve", rank = world.rank(), from = incoming.from.0, function = core::any::type_name::<F>());
        let Some(reply) = incoming.reply else { return };
        let (object, args) = match parts::<A>(incoming.body, incoming.payloads) {
            Ok(parts) => parts,
            Err(why) => return reply.unreadable(&why),
        };
        match catch_unwind(AssertUnwindSafe(|| f(world, object, args))) {
            Ok(result) => answer(reply, &result),
            Err(panic) => reply.panicked(panic_text(&*panic)),
        }
    });
    start(world, rank, service, object, &args)
}

pub(crate) fn ask<A: Args, R: Data, F>(world: World, rank: u32, object: u32, f: F, args: A) -> Pending<R>
where
    F: for<'a> Fn(World, u32, Reply<R>, A::Of<'a>) + Copy + Send + 'static,
{
    const { captures_nothing::<F>() }
    let service = Service::of(move |incoming: Incoming<'_>| {
        let world = World::of(incoming.engine);
        span!("serve", rank = world.rank(), from = incoming.from.0, function = core::any::type_name::<F>());
        let Some(reply) = incoming.reply else { return };
        match parts::<A>(incoming.body, incoming.payloads) {
            // The reply went with the call: if that panics, it is dropped, and says so.
            Ok((object, args)) => {
                drop(catch_unwind(AssertUnwindSafe(|| f(world, object, Reply::new(reply), args))))
            }
            Err(why) => reply.unreadable(&why),
        }
    });
    start(world, rank, service, object, &args)
}

pub(crate) fn call_async<A: Data, R: Data, T, F>(
    world: World,
    rank: u32,
    object: u32,
    f: F,
    args: A,
) -> Pending<R>
where
    F: Fn(World, u32, A) -> T + Copy + Send + 'static,
    T: Future<Output = R> + Send + 'static,
{
    const { captures_nothing::<F>() }
    let service = Service::of(move |incoming: Incoming<'_>| {
        let world = World::of(incoming.engine);
        span!("serve", rank = world.rank(), from = incoming.from.0, function = core::any::type_name::<F>());
        let Some(reply) = incoming.reply else { return };
        match parts::<A>(incoming.body, incoming.payloads) {
            Ok((object, args)) => {
                // A panic drops the reply with the task, which tells the caller.
                match catch_unwind(AssertUnwindSafe(|| f(world, object, args))) {
                    Ok(task) => world.0.engine.spawn(async move { answer(reply, &task.await) }),
                    Err(panic) => reply.panicked(panic_text(&*panic)),
                }
            }
            Err(why) => reply.unreadable(&why),
        }
    });
    start(world, rank, service, object, &args)
}
