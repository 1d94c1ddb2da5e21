// error: E0451
// says: fields `reply` and `result` of struct `Reply` are private
//! Only a call makes a reply.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = |reply| pgas::Reply::<u32> { reply, result: std::marker::PhantomData };
    #[cfg(fixed)]
    let _ = world.ask(1, |_, reply: pgas::Reply<u32>, ()| reply.answer(&1), ());
}
