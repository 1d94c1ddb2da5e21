//! The right and the duty to answer a call.

use crate::args::Data;
use crate::body;
use crate::world::World;
use core::cell::RefCell;
use core::marker::PhantomData;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The right and the duty to answer one call. It is a value that can be kept, given to a task, or sent on as
/// an argument of another call: whoever has it answers, straight to the rank that asked. Dropped, it tells
/// the caller so, who gets [`CallError::Abandoned`](crate::CallError).
///
/// ```no_run
/// # pgas::run(|world| {
/// // Rank 1 does not know, but knows who does.
/// let answer: u32 = world.ask(1, |world, reply, ()| {
///     world.send(2, |world, reply: pgas::Reply<u32>| reply.answer(&world.rank()), reply);
/// }, ()).wait();
/// assert_eq!(answer, 2);
/// # })
/// ```
#[must_use = "dropped, it tells the caller that there is no answer"]
pub struct Reply<R> {
    /// `None` when it was sent on.
    reply: RefCell<Option<gasnet_rpc::Reply>>,
    result: PhantomData<fn(R)>,
}

/// It is there or sent on, nothing between.
impl<R> std::panic::RefUnwindSafe for Reply<R> {}

impl<R> core::fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.reply.borrow().fmt(f)
    }
}

impl<R: Data> Reply<R> {
    pub(crate) fn new(reply: gasnet_rpc::Reply) -> Reply<R> {
        Reply { reply: RefCell::new(Some(reply)), result: PhantomData }
    }

    /// Answers.
    pub fn answer(self, result: &R) {
        if let Some(reply) = self.reply.take() {
            body::answer(reply, result);
        }
    }

    /// The rank that asked.
    pub fn origin(&self) -> Option<u32> {
        self.reply.borrow().as_ref().map(|reply| reply.origin().0)
    }
}

impl<R> Serialize for Reply<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !body::is_written() {
            return Err(ser::Error::custom("a reply outside a remote call"));
        }
        match self.reply.take() {
            Some(reply) => reply.into_words().serialize(serializer),
            None => Err(ser::Error::custom("a reply can be sent on once")),
        }
    }
}

impl<'de, R> Deserialize<'de> for Reply<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = <[u32; 3]>::deserialize(deserializer)?;
        let world = World::reading().ok_or_else(|| de::Error::custom("a reply outside a remote call"))?;
        let reply = gasnet_rpc::Reply::from_words(world.0.engine, words);
        let reply = reply.ok_or_else(|| de::Error::custom("a reply to no call"))?;
        Ok(Reply { reply: RefCell::new(Some(reply)), result: PhantomData })
    }
}
