// error: E0382
// says: use of moved value
//! A call is answered once.
pub fn case(reply: pgas::Reply<u32>) {
    reply.answer(&1);
    #[cfg(not(fixed))]
    reply.answer(&2);
}
