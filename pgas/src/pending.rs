//! A result that has not come yet.

use crate::args::{Args, Data};
use crate::trace::span;
use crate::world::World;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use gasnet::RankId;
use gasnet_rpc::{Answered, Call, CallError};

/// The result of a remote call that may still be running. It is a future, of any executor, and can be waited
/// for. Where an executor of another crate awaits one, the rank has a thread from then on that serves beside
/// the program ([`World::serve_by_threads`]), unless it had one before. Dropped, it is not waited for, and
/// what comes is dropped: references in it are returned.
#[derive(Debug)]
#[must_use = "the result comes later: wait for it, or send the function instead of calling it"]
pub struct Pending<R> {
    world: World,
    /// `None` once it is dropped.
    call: Option<Call>,
    /// Reads what has come, and drops it, if dropping does anything.
    discard: Option<fn(World, Answered)>,
    result: PhantomData<fn() -> R>,
}

impl<R> Drop for Pending<R> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(discard), Some(call)) = (self.discard, self.call.take()) {
            let world = self.world;
            abandon(world, call, discard);
        }
    }
}

/// What nobody waits for any more has come, or comes later.
#[cold]
fn abandon(world: World, mut call: Call, discard: fn(World, Answered)) {
    if !call.is_done() {
        // As a task, so that ranks do not settle before.
        return world.spawn(async move {
            if let Ok(came) = call.await {
                discard(world, came);
            }
        });
    }
    if let Some(Ok(came)) = call.take() {
        discard(world, came);
    }
}

fn read<R: Data>(world: World, mut came: Answered) -> Result<R, String> {
    let payloads = core::mem::take(&mut came.payloads);
    world.read(payloads, || <R as Args>::read(came.bytes()))
}

impl<R: Data> Pending<R> {
    pub(crate) fn new(world: World, call: Call) -> Pending<R> {
        let discard: fn(World, Answered) = |world, came| drop(read::<R>(world, came));
        let discard = core::mem::needs_drop::<R>().then_some(discard);
        Pending { world, call: Some(call), discard, result: PhantomData }
    }

    /// The call, which is there until this is dropped.
    fn call(&mut self) -> &mut Call {
        self.call.as_mut().unwrap_or_else(|| unreachable!("a call that was dropped"))
    }

    /// Waits, and serves calls meanwhile.
    ///
    /// # Panics
    /// Where there is no result ([`Pending::result`] returns the error instead); and in a remote function,
    /// which must not wait.
    #[track_caller]
    pub fn wait(self) -> R {
        match self.result() {
            Ok(result) => result,
            Err(e) => panic!("{e}"),
        }
    }

    /// Waits, and serves calls meanwhile.
    ///
    /// # Errors
    /// The function has panicked, has dropped its [`Reply`](crate::Reply), or what was sent cannot be read.
    ///
    /// # Panics
    /// In a remote function, which must not wait.
    #[track_caller]
    pub fn result(mut self) -> Result<R, CallError> {
        let (engine, call) = (self.world.0.engine, self.call());
        let to = call.to();
        span!("wait", rank = engine.rank().id().0, to = to.0);
        engine.wait_for("the result of a remote call", Some(to), || call.is_done());
        // Nothing else takes it: this has the call for itself.
        let outcome = call.take().unwrap_or(Err(CallError::Abandoned { rank: to }));
        self.read(to, outcome?)
    }

    /// Whether the result is here. Makes progress.
    pub fn is_ready(&self) -> bool {
        let is_done = || self.call.as_ref().is_some_and(Call::is_done);
        is_done() || {
            self.world.progress();
            is_done()
        }
    }

    fn read(&self, from: RankId, came: Answered) -> Result<R, CallError> {
        read(self.world, came).map_err(|message| CallError::Codec { rank: from, message })
    }
}

impl<R: Data> Future for Pending<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.call();
        let to = call.to();
        match Pin::new(call).poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome.and_then(|came| self.read(to, came))),
            Poll::Pending => {
                self.world.0.engine.is_awaited();
                Poll::Pending
            }
        }
    }
}

/// The results of a function that was called on several ranks: see [`Team::call`](crate::Team::call).
#[derive(Debug)]
#[must_use = "the results come later: wait for them, or send the function instead of calling it"]
pub struct PendingAll<R> {
    /// By member; `None` once `results` has its result.
    pending: Vec<Option<Pending<R>>>,
    results: Vec<Option<Result<R, CallError>>>,
}

impl<R: Data> PendingAll<R> {
    pub(crate) fn new(pending: Vec<Pending<R>>) -> PendingAll<R> {
        let results = pending.iter().map(|_| None).collect();
        PendingAll { pending: pending.into_iter().map(Some).collect(), results }
    }

    /// Waits for all, and serves calls meanwhile.
    ///
    /// # Panics
    /// Where one has no result, and as [`Pending::wait`].
    #[track_caller]
    pub fn wait(self) -> Vec<R> {
        self.results().into_iter().map(|result| result.unwrap_or_else(|e| panic!("{e}"))).collect()
    }

    /// Waits for all, and serves calls meanwhile; an error where one has no result.
    ///
    /// # Panics
    /// As [`Pending::result`].
    #[track_caller]
    pub fn results(self) -> Vec<Result<R, CallError>> {
        self.pending.into_iter().flatten().map(Pending::result).collect()
    }
}

/// Nothing in it refers to anything else in it.
impl<R> Unpin for PendingAll<R> {}

impl<R: Data> Future for PendingAll<R> {
    type Output = Vec<Result<R, CallError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let PendingAll { pending, results } = &mut *self;
        for (pending, result) in pending.iter_mut().zip(results.iter_mut()) {
            if let Some(Poll::Ready(came)) = pending.as_mut().map(|pending| Pin::new(pending).poll(cx)) {
                *result = Some(came);
                *pending = None;
            }
        }
        if pending.iter().any(Option::is_some) {
            return Poll::Pending;
        }
        Poll::Ready(core::mem::take(results).into_iter().flatten().collect())
    }
}
