//! A result that has not come yet.
//!
//! Every result can be waited for with `.wait()` or awaited with `.await`; both give the same.

use crate::args::{Args, Data};
use crate::trace::span;
use crate::world::World;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use gasnet::RankId;
use gasnet_rpc::{Answered, Call, CallError};

/// The result of a remote call that may still be running. It can be waited for, and awaited in any executor:
/// [`Pending::wait`] and `.await` both give the result, and panic where there is none. [`Pending::result`]
/// has an error for that, and can be waited for and awaited, too.
///
/// Where an executor of another crate awaits one, the rank has a thread from then on that serves beside the
/// program ([`World::serve_by_threads`]), unless it had one before. Dropped, it is not waited for, and what
/// comes is dropped: references in it are returned.
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

/// Drops a result that nobody waits for any more, now or when it arrives.
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

    /// Waits, and serves calls meanwhile. An `async` function awaits instead, which gives the same.
    ///
    /// # Panics
    /// Where there is no result; and in a remote function, which must not wait.
    #[track_caller]
    pub fn wait(self) -> R {
        match self.outcome() {
            Ok(result) => result,
            Err(e) => panic!("{e}"),
        }
    }

    /// The result, or why there is none: the function has panicked or has dropped its
    /// [`Reply`](crate::Reply), what was sent cannot be read, or the rank has left. It is waited for by
    /// [`PendingResult::wait`], or awaited.
    pub fn result(self) -> PendingResult<R> {
        PendingResult(self)
    }

    #[track_caller]
    fn outcome(mut self) -> Result<R, CallError> {
        let (engine, call) = (self.world.0.engine, self.call());
        let to = call.to();
        span!("wait", rank = engine.rank().id().0, to = to.0);
        engine.wait_for("the result of a remote call", Some(to), || call.is_done());
        // Nothing else takes it: this has the call for itself.
        let outcome = call.take().unwrap_or(Err(CallError::Abandoned { rank: to }));
        self.read(to, outcome?)
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Result<R, CallError>> {
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

/// The result, as [`Pending::wait`] gives it; it panics where there is none.
impl<R: Data> Future for Pending<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        self.poll_outcome(cx).map(|outcome| outcome.unwrap_or_else(|e| panic!("{e}")))
    }
}

/// The result of a remote call, or why there is none: see [`Pending::result`]. [`PendingResult::wait`] and
/// `.await` give the same.
#[derive(Debug)]
#[must_use = "the result comes later: wait for it, or await it"]
pub struct PendingResult<R>(Pending<R>);

impl<R: Data> PendingResult<R> {
    /// Waits, and serves calls meanwhile.
    ///
    /// # Errors
    /// There is no result.
    ///
    /// # Panics
    /// In a remote function, which must not wait.
    #[track_caller]
    pub fn wait(self) -> Result<R, CallError> {
        self.0.outcome()
    }

    /// As [`Pending::is_ready`].
    pub fn is_ready(&self) -> bool {
        self.0.is_ready()
    }
}

impl<R: Data> Future for PendingResult<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_outcome(cx)
    }
}

/// The results of a function that was called on several ranks: see [`Team::call`](crate::Team::call). As with
/// [`Pending`], `.wait()` and `.await` give the same.
#[derive(Debug)]
#[must_use = "the results come later: wait for them, or send the function instead of calling it"]
pub struct PendingAll<R>(PendingResults<R>);

impl<R: Data> PendingAll<R> {
    pub(crate) fn new(pending: Vec<Pending<R>>) -> PendingAll<R> {
        let came = pending.iter().map(|_| None).collect();
        PendingAll(PendingResults { pending: pending.into_iter().map(Some).collect(), came })
    }

    /// Waits for all, and serves calls meanwhile.
    ///
    /// # Panics
    /// Where one has no result, and as [`Pending::wait`].
    #[track_caller]
    pub fn wait(self) -> Vec<R> {
        all_of(self.0.wait())
    }

    /// The results, with an error where one has none. They are waited for by [`PendingResults::wait`], or
    /// awaited.
    pub fn results(self) -> PendingResults<R> {
        self.0
    }
}

#[track_caller]
fn all_of<R>(results: Vec<Result<R, CallError>>) -> Vec<R> {
    results.into_iter().map(|result| result.unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// The results, as [`PendingAll::wait`] gives them; it panics where there is none.
impl<R: Data> Future for PendingAll<R> {
    type Output = Vec<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<R>> {
        Pin::new(&mut self.0).poll(cx).map(all_of)
    }
}

/// The results of a function that was called on several ranks, or why there are none: see
/// [`PendingAll::results`]. [`PendingResults::wait`] and `.await` give the same.
#[derive(Debug)]
#[must_use = "the results come later: wait for them, or await them"]
pub struct PendingResults<R> {
    /// By member; `None` once it has come.
    pending: Vec<Option<Pending<R>>>,
    came: Vec<Option<Result<R, CallError>>>,
}

impl<R: Data> PendingResults<R> {
    /// Waits for all, and serves calls meanwhile.
    ///
    /// # Panics
    /// As [`PendingResult::wait`].
    #[track_caller]
    pub fn wait(self) -> Vec<Result<R, CallError>> {
        let mut all = Vec::with_capacity(self.pending.len());
        for (pending, came) in self.pending.into_iter().zip(self.came) {
            all.extend(came.or_else(|| pending.map(Pending::outcome)));
        }
        all
    }
}

/// Nothing in it refers to anything else in it.
impl<R> Unpin for PendingResults<R> {}

impl<R: Data> Future for PendingResults<R> {
    type Output = Vec<Result<R, CallError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let PendingResults { pending, came } = &mut *self;
        for (pending, came) in pending.iter_mut().zip(came.iter_mut()) {
            if let Some(Poll::Ready(result)) = pending.as_mut().map(|pending| pending.poll_outcome(cx)) {
                *came = Some(result);
                *pending = None;
            }
        }
        if pending.iter().any(Option::is_some) {
            return Poll::Pending;
        }
        Poll::Ready(core::mem::take(came).into_iter().flatten().collect())
    }
}
