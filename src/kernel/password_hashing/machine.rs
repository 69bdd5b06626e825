//! What hashing asks of the system: to let everybody else go first, and memory in large pages. Only Linux is asked, and may refuse.

use argon2::Block;

/// From now on whoever wakes up has the processor of the calling thread at once. Among equals it would keep it for some milliseconds, which
/// is longer than most answers take.
///
/// A small share stays its own whoever else is busy, so that every hash ends. A thread that runs only when nobody else wants to (Linux's
/// idle policy) has next to none: beside a few programs that compute all the time a hash takes longer than a request may.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::be_the_least_urgent() {
        tracing::debug!(%error, "hashing competes with everything else");
    }
}

/// So many blocks of 1 KiB. A hash jumps all over them, and finds its way faster through few large pages than through thousands of small
/// ones.
pub(super) fn room_for(blocks: usize) -> Vec<Block> {
    let mut memory = Vec::with_capacity(blocks);
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::ask_for_large_pages(memory.spare_capacity_mut()) {
        tracing::debug!(%error, "hashing goes without large pages");
    }
    memory.resize_with(blocks, Block::default);
    memory
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_void;
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr::NonNull;
    use std::time::Duration;

    use argon2::Block;
    use nix::sys::mman::{MmapAdvise, madvise};

    /// A low priority: a thirtieth of what one other thread gets that wants the processor all the time.
    const NICE: i32 = 15;
    /// How long the thread would stay on the processor at a time, the longest there is. Linux (from 6.12 on) lets whoever wakes up and wants it
    /// for less take its place; before, the priority alone does.
    const SLICE: Duration = Duration::from_millis(100);

    pub(super) fn be_the_least_urgent() -> io::Result<()> {
        let wanted = libc::sched_attr {
            size: size_of::<libc::sched_attr>().try_into().expect("it has a few dozen bytes"),
            sched_policy: libc::SCHED_BATCH.cast_unsigned(),
            sched_flags: 0,
            sched_nice: NICE,
            sched_priority: 0,
            sched_runtime: SLICE.as_nanos().try_into().expect("a tenth of a second has few nanoseconds"),
            sched_deadline: 0,
            sched_period: 0,
        };
        let (this_thread, no_flags): (libc::pid_t, libc::c_uint) = (0, 0);
        #[expect(unsafe_code, reason = "the system reads as many bytes as the structure says it has, and keeps none")]
        let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, &raw const wanted, no_flags) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn ask_for_large_pages(memory: &mut [MaybeUninit<Block>]) -> io::Result<()> {
        // Advice is given for whole pages, which no system has larger.
        const PAGE: usize = 64 * 1024;
        let begin = memory.as_mut_ptr().cast::<c_void>();
        let before_first_page = begin.align_offset(PAGE);
        let Some(pages) = size_of_val(memory).checked_sub(before_first_page).map(|size| size / PAGE * PAGE) else { return Ok(()) };
        let Some(first) = NonNull::new(begin.wrapping_byte_add(before_first_page)) else { return Ok(()) };
        #[expect(unsafe_code, reason = "advice about memory that is ours, which leaves what is in it as it is")]
        let advised = unsafe { madvise(first, pages, MmapAdvise::MADV_HUGEPAGE) };
        Ok(advised?)
    }
}
