//! Descriptors: memory files, pipes, sockets, events; reading and writing.

#![expect(unsafe_code, reason = "close_range, and descriptors that a launcher names by number")]

use std::cmp::Reverse;
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

#[cfg(miri)]
use crate::stand_in::{fallocate, fcntl_dupfd_cloexec, memfd_create, pread, pwrite};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fs::{FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SeekFrom};
#[cfg(not(miri))]
use rustix::fs::{fallocate, memfd_create};
use rustix::io::Errno;
#[cfg(not(miri))]
use rustix::io::{fcntl_dupfd_cloexec, pread, pwrite};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage};
use rustix::pipe::PipeFlags;

/// An anonymous memory file of length 0.
pub fn memory_file(name: &str) -> io::Result<OwnedFd> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?)
}

/// Makes a file at least `len` bytes long. It never becomes shorter, even if another process extends it at
/// the same time.
pub fn grow(fd: BorrowedFd<'_>, len: u64) -> io::Result<()> {
    match len.checked_sub(1) {
        None => Ok(()),
        // Allocating the last byte extends the file, and never truncates or overwrites it.
        Some(last) => Ok(fallocate(fd, FallocateFlags::empty(), last, 1)?),
    }
}

/// The parts of a range of a memory file that have pages, as offsets of the file; all others are zero. A
/// system that does not say so has the whole range.
pub fn used_parts(fd: BorrowedFd<'_>, range: Range<u64>) -> Vec<Range<u64>> {
    let (mut parts, mut from) = (Vec::new(), range.start);
    while from < range.end {
        // Nothing else uses this descriptor's position: memory files are read and written at offsets.
        let begin = match rustix::fs::seek(fd, SeekFrom::Data(from)) {
            Ok(at) => at,
            Err(Errno::NXIO) => break,
            Err(_) => from,
        };
        if begin >= range.end {
            break;
        }
        let end = rustix::fs::seek(fd, SeekFrom::Hole(begin)).unwrap_or(range.end).min(range.end);
        parts.push(begin..end);
        from = end;
    }
    parts
}

/// Gives the pages of a range of a memory file back to the system: its bytes are zero then. A system that
/// cannot do so keeps them.
pub fn give_back(fd: BorrowedFd<'_>, range: Range<u64>) {
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = fallocate(fd, how, range.start, range.end.saturating_sub(range.start));
}

/// Makes sure that a file has room for `len` bytes from `offset` on: a mapping of them can be written.
pub fn allocate(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    Ok(fallocate(fd, FallocateFlags::empty(), offset, len)?)
}

/// A pipe: (read end, write end).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

/// A pair of connected sockets that keep packet boundaries.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (domain, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(rustix::net::socketpair(domain, kind, SocketFlags::CLOEXEC, None)?)
}

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
    /// Writing that fails with [`io::ErrorKind::WouldBlock`] instead of waiting.
    WriteNonblocking,
}

/// Opens an existing file.
pub fn open(path: &str, access: Access) -> io::Result<OwnedFd> {
    let flags = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
        Access::WriteNonblocking => OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
    };
    Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?)
}

/// Makes reads and writes of the open file behind `fd` fail instead of waiting.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Takes over a descriptor number that was inherited through `exec`, and marks it close-on-exec.
///
/// Fails if no such descriptor is open, and for a standard one.
///
/// # Safety
/// 1. The process that opened the descriptor left it to this process for this call; no other part of the
///    process has it or takes it over (owed by the caller).
pub unsafe fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    if fd <= 2 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: setting a descriptor flag touches no memory; a closed number yields EBADF.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open (checked above), and ours by obligation 1.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a descriptor survive the next `exec` of this process, or of one that was forked from it.
pub(crate) fn keep_through_exec(fd: c_int) -> io::Result<()> {
    // SAFETY: sets a flag of a descriptor; a closed number yields EBADF.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A second descriptor for the same open file, above the standard ones.
pub fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(fd, 3)?)
}

/// A standard descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    /// 0.
    Input,
    /// 1.
    Output,
    /// 2.
    Error,
}

impl Standard {
    /// Borrows the descriptor.
    pub fn fd(self) -> BorrowedFd<'static> {
        match self {
            Standard::Input => rustix::stdio::stdin(),
            Standard::Output => rustix::stdio::stdout(),
            Standard::Error => rustix::stdio::stderr(),
        }
    }

    /// Replaces it by another file, which programs started from here inherit.
    pub fn redirect(self, to: BorrowedFd<'_>) -> io::Result<()> {
        Ok(match self {
            Standard::Input => rustix::stdio::dup2_stdin(to),
            Standard::Output => rustix::stdio::dup2_stdout(to),
            Standard::Error => rustix::stdio::dup2_stderr(to),
        }?)
    }
}

/// Opens `/dev/null` on every closed standard descriptor, so that no later descriptor gets that number.
pub fn ensure_standard_descriptors() {
    for fd in 0..3 {
        // SAFETY: plain calls on descriptor numbers; `open` gets a NUL-terminated literal.
        unsafe {
            if libc::fcntl(fd, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
}

/// Marks all descriptors above the standard ones close-on-exec: programs started from here do not inherit the
/// descriptors that this one inherited.
pub fn keep_descriptors_private() {
    // SAFETY: sets a flag of descriptors. A kernel without this call leaves them as they are, which does no
    // harm.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Closes descriptors, with one call for each run of consecutive numbers.
pub fn close_all(all: impl Iterator<Item = OwnedFd>) {
    let mut all: Vec<OwnedFd> = all.collect();
    all.sort_unstable_by_key(|fd| Reverse(fd.as_raw_fd()));
    while let Some(first) = all.pop() {
        let mut run = vec![first];
        while let Some(next) = all.pop_if(|fd| fd.as_raw_fd() == run[0].as_raw_fd() + run.len() as RawFd) {
            run.push(next);
        }
        let (first, last) = (run[0].as_raw_fd() as u32, run[0].as_raw_fd() as u32 + run.len() as u32 - 1);
        // SAFETY: a plain call; all descriptors from the first to the last are ours, and nobody else's.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0u32) } == 0 {
            // They are closed. (If the kernel has no such call, dropping `run` closes them.)
            run.into_iter().for_each(std::mem::forget);
        }
    }
}

/// Closes all descriptors of the calling thread's table that are not in `keep`. With `own_table` the thread
/// gets a copy of the process's table first, and the others' table stays unchanged. If the system refuses,
/// nothing changes.
///
/// # Safety
/// 1. Everything that uses this table from now on uses only descriptors in `keep` (owed by the caller).
pub unsafe fn close_others(keep: &[BorrowedFd<'_>], own_table: bool) {
    let mut keep: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    keep.sort_unstable();
    // A number above all descriptors.
    keep.push(1 << 31);
    let (mut from, mut flags) = (0, if own_table { libc::CLOSE_RANGE_UNSHARE } else { 0 });
    for fd in keep {
        if fd > from {
            // SAFETY: the first call makes the copy, if one is wanted; nobody uses the closed descriptors, by
            // obligation 1.
            if unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, flags) } != 0 {
                return;
            }
            flags = 0;
        }
        from = fd + 1;
    }
}

/// Reads.
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(fd, buffer)?)
}

/// Writes.
pub fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(fd, bytes)?)
}

/// Reads from a file at this offset, exactly as many bytes as `bytes` has.
pub fn read_at(fd: BorrowedFd<'_>, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let wanted = bytes.len();
    if pread(fd, bytes, offset)? == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Writes all bytes into a memory file at this offset; the file grows as needed.
pub fn write_at(fd: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
    // A memory file accepts everything or fails.
    if pwrite(fd, bytes, offset)? == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Sends on a socket without ever blocking and without raising `SIGPIPE`.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
}

/// Sends a packet, waiting for room.
pub fn send_waiting(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    rustix::io::retry_on_intr(|| rustix::net::send(fd, bytes, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one packet without blocking; `Ok(None)` if there is none, `Ok(Some(0))` at the end.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT) {
        Ok((n, _)) => Ok(Some(n)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Waits for one packet; 0 at the end.
pub fn receive_waiting(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let received = rustix::io::retry_on_intr(|| rustix::net::recv(fd, &mut *buffer, RecvFlags::empty()));
    Ok(received?.0)
}

/// [`send`], and gives the receiver a descriptor of each of these files.
pub fn send_files(fd: BorrowedFd<'_>, bytes: &[u8], files: &[OwnedFd]) -> io::Result<usize> {
    let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    Ok(rustix::net::sendmsg(fd, &[io::IoSlice::new(bytes)], &mut control, flags)?)
}

/// Most files that go with a packet.
pub const MAX_FILES: usize = 4;

/// [`receive_waiting`], with the files that were sent with the packet. They are not inherited by programs
/// that this process starts.
pub fn receive_files(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut place = [io::IoSliceMut::new(buffer)];
        match rustix::net::recvmsg(fd, &mut place, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => {
                let files = control.drain().filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(files) => Some(files),
                    _ => None,
                });
                let files = files.flatten().collect();
                return Ok((received.bytes, files));
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Lets [`receive_from`] learn who has sent a packet that is received from this socket. Of packets that were
/// sent before it does not.
pub fn learn_senders(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_passcred(fd, true)?)
}

/// [`receive`], with the process that has sent the packet, as it is numbered here; `None` if that is unknown,
/// or of a process that has no number here.
pub fn receive_from(
    fd: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<libc::pid_t>)>> {
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut place = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero headers are valid, and are filled in before use.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&mut place, 1);
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: buffer and control block are borrowed until the call returns, and have the stated lengths.
    let n = match unsafe { libc::recvmsg(fd.as_raw_fd(), &mut header, flags) } {
        -1 => match io::Error::last_os_error() {
            e if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(None);
            }
            e => return Err(e),
        },
        n => n as usize,
    };
    // SAFETY: the kernel has filled the control block in, as the header says.
    let sender = unsafe {
        libc::CMSG_FIRSTHDR(&header)
            .as_ref()
            .filter(|c| (c.cmsg_level, c.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_CREDENTIALS))
            .map(|c| libc::CMSG_DATA(c).cast::<libc::ucred>().read_unaligned().pid)
    };
    Ok(Some((n, sender.filter(|pid| *pid > 0))))
}

/// The kind of file behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// Device and inode: equal for two descriptors of the same file.
    pub identity: (u64, u64),
    /// Whether it is a terminal.
    pub terminal: bool,
    /// Whether it is a pipe or FIFO.
    pub pipe: bool,
    /// Whether it is a socket.
    pub socket: bool,
}

/// Finds out the kind of file behind `fd`; `None` if `fd` is closed.
pub fn file_kind(fd: BorrowedFd<'_>) -> Option<FileKind> {
    let stat = rustix::fs::fstat(fd).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    Some(FileKind {
        identity: (stat.st_dev, stat.st_ino),
        terminal: rustix::termios::isatty(fd),
        pipe: kind == FileType::Fifo,
        socket: kind == FileType::Socket,
    })
}

/// A descriptor that is readable from [`ring`](Bell::ring) to [`clear`](Bell::clear); neither call waits.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A bell that has not been rung.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable.
    pub fn ring(&self) {
        // If the counter is full, it is already readable.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    pub fn clear(&self) {
        // If the counter is empty, it is already unreadable.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Bell> for OwnedFd {
    fn from(bell: Bell) -> OwnedFd {
        bell.0
    }
}

/// A descriptor that is readable when one of two is.
#[derive(Debug)]
pub struct Either(OwnedFd);

impl Either {
    /// Combines these two; both must stay open.
    pub fn new(fds: [BorrowedFd<'_>; 2]) -> io::Result<Either> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for fd in fds {
            epoll::add(&set, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Either(set))
    }
}

impl AsFd for Either {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::wait_readable;
    use std::time::Duration;

    #[test]
    fn a_bell_rings_until_it_is_cleared_and_either_hears_it() {
        let (a, b) = (Bell::new().unwrap(), Bell::new().unwrap());
        let either = Either::new([a.as_fd(), b.as_fd()]).unwrap();
        let rings = |fd: BorrowedFd<'_>| wait_readable(fd, Duration::ZERO);
        assert!(!rings(either.as_fd()));
        b.ring();
        b.ring();
        assert!(rings(b.as_fd()) && rings(either.as_fd()) && !rings(a.as_fd()));
        b.clear();
        b.clear();
        assert!(!rings(either.as_fd()));
    }

    #[test]
    fn memory_files_grow_and_never_shrink() {
        let file = memory_file("test").unwrap();
        grow(file.as_fd(), 0).unwrap();
        grow(file.as_fd(), 100).unwrap();
        grow(file.as_fd(), 10).unwrap();
        write_at(file.as_fd(), 90, b"0123456789").unwrap();
        let mut back = [0; 10];
        read_at(file.as_fd(), 90, &mut back).unwrap();
        assert_eq!(&back, b"0123456789");
        assert!(read_at(file.as_fd(), 91, &mut back).is_err(), "that would be beyond its end");
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks for holes")]
    fn files_know_where_they_have_pages() {
        let (file, page) = (memory_file("test").unwrap(), 4096);
        grow(file.as_fd(), 100 * page).unwrap();
        let pages = |part: Range<u64>| (part.start / page, part.end / page);
        let used = |range| used_parts(file.as_fd(), range).into_iter().map(pages).collect::<Vec<_>>();
        assert_eq!(used(0..300 * page), []);
        for at in [3 * page + 5, 4 * page, 9 * page] {
            write_at(file.as_fd(), at, &[1]).unwrap();
        }
        assert_eq!(used(0..99 * page), [(3, 5), (9, 10)]);
        assert_eq!(used(4 * page..9 * page), [(4, 5)]);
        give_back(file.as_fd(), 4 * page..50 * page);
        assert_eq!(used(0..99 * page), [(3, 4)]);
    }

    #[test]
    fn packets_keep_their_boundaries() {
        let (a, b) = packet_pair().unwrap();
        let mut buffer = [0; 8];
        assert_eq!(receive(b.as_fd(), &mut buffer).unwrap(), None);
        assert_eq!(send(a.as_fd(), b"abc").unwrap(), 3);
        send_waiting(a.as_fd(), b"de").unwrap();
        assert_eq!(receive(b.as_fd(), &mut buffer).unwrap(), Some(3));
        assert_eq!(receive_waiting(b.as_fd(), &mut buffer).unwrap(), 2);
        drop(a);
        assert_eq!(receive(b.as_fd(), &mut buffer).unwrap(), Some(0));
    }

    #[test]
    fn standard_descriptors_are_not_adopted() {
        for fd in [-1, 2, i32::MAX] {
            // SAFETY: none of these numbers is taken over: two are refused, and the third is not open.
            assert!(unsafe { adopt(fd) }.is_err());
        }
    }

    #[test]
    fn many_are_closed_at_once() {
        let (a, b) = pipe().unwrap();
        let copies: Vec<OwnedFd> = (0..20).map(|_| duplicate(b.as_fd()).unwrap()).collect();
        drop(b);
        close_all(copies.into_iter());
        assert_eq!(read(a.as_fd(), &mut [0]).unwrap(), 0, "a writer is left");
    }
}
