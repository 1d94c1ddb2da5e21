//! A result that has not come yet.

use crate::args::{Args, Data};
use crate::trace::span;
use crate::world::World;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use gasnet_rpc::{Answered, Call, CallError};

/// The result of a remote call that may still be running. It is a future, of any executor, and can be waited
/// for.
#[derive(Debug)]
#[must_use = "the result comes later: wait for it, or send the function instead of calling it"]
pub struct Pending<R> {
    world: World,
    call: Call,
    result: PhantomData<fn() -> R>,
}

impl<R: Data> Pending<R> {
    pub(crate) fn new(world: World, call: Call) -> Pending<R> {
        Pending { world, call, result: PhantomData }
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
        let to = self.call.to();
        span!("wait", rank = self.world.rank(), to = to.0);
        self.world.0.engine.wait_for("the result of a remote call", Some(to), || self.call.is_done());
        // Nothing else takes it: this has the call for itself.
        let outcome = self.call.take().unwrap_or(Err(CallError::Abandoned { rank: to }));
        self.read(outcome?)
    }

    /// Whether the result is here. Makes progress.
    pub fn is_ready(&self) -> bool {
        if !self.call.is_done() {
            self.world.progress();
        }
        self.call.is_done()
    }

    fn read(&self, mut came: Answered) -> Result<R, CallError> {
        let payloads = core::mem::take(&mut came.payloads);
        let read = self.world.read(payloads, || <R as Args>::read(came.bytes()));
        read.map_err(|message| CallError::Codec { rank: self.call.to(), message })
    }
}

impl<R: Data> Future for Pending<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.call).poll(cx).map(|outcome| outcome.and_then(|came| self.read(came)))
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
