// error: E0599
// says: no method named `clone` found for struct `Reply<R>` in the current scope
//! There is one answer, so there is one reply.
pub fn case(reply: pgas::Reply<u32>) {
    #[cfg(not(fixed))]
    reply.clone().answer(&1);
    #[cfg(fixed)]
    reply.answer(&1);
}
