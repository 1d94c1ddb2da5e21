// error: E0308
// says: mismatched types: expected `&u32`, found `&u64`
//! A reply answers with the type that was asked for.
pub fn case(reply: pgas::Reply<u32>) {
    #[cfg(not(fixed))]
    reply.answer(&1u64);
    #[cfg(fixed)]
    reply.answer(&1u32);
}
