//! System calls for the hashing threads: a low scheduling priority and huge pages. Linux only; failures are tolerated.

use argon2::Block;

/// Lets any thread that becomes runnable preempt the calling thread immediately. With the default policy the calling thread would
/// keep the processor for some milliseconds, which is longer than most responses take.
///
/// The thread keeps a small share of the processor under load, so that every hash finishes. Linux's idle policy gives next to none:
/// beside a few busy processes a hash would take longer than a request may.
pub(super) fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::lower_priority() {
        tracing::debug!(%error, "the priority of a hashing thread could not be lowered");
    }
}

/// Allocates `blocks` blocks of 1 KiB, in huge pages if possible. A hash accesses them randomly, which is faster with few large
/// pages than with thousands of small ones.
pub(super) fn allocate(blocks: usize) -> Vec<Block> {
    let mut memory = Vec::with_capacity(blocks);
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::advise_huge_pages(memory.spare_capacity_mut()) {
        tracing::debug!(%error, "huge pages for hashing are not available");
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

    /// A low priority: about a thirtieth of the processor time of a busy thread with the default priority.
    const NICE: i32 = 15;
    /// The requested time slice, the longest that Linux allows. From version 6.12 on, Linux lets a thread with a shorter slice
    /// preempt this one as soon as it becomes runnable. On older versions only the priority has an effect.
    const SLICE: Duration = Duration::from_millis(100);

    pub(super) fn lower_priority() -> io::Result<()> {
        let wanted = libc::sched_attr {
            size: size_of::<libc::sched_attr>().try_into().expect("the size of the structure fits into 32 bits"),
            sched_policy: libc::SCHED_BATCH.cast_unsigned(),
            sched_flags: 0,
            sched_nice: NICE,
            sched_priority: 0,
            sched_runtime: SLICE.as_nanos().try_into().expect("a tenth of a second in nanoseconds fits into 64 bits"),
            sched_deadline: 0,
            sched_period: 0,
        };
        let (this_thread, no_flags): (libc::pid_t, libc::c_uint) = (0, 0);
        #[expect(unsafe_code, reason = "the system call reads exactly the declared size of the structure and keeps no pointer to it")]
        let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, &raw const wanted, no_flags) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn advise_huge_pages(memory: &mut [MaybeUninit<Block>]) -> io::Result<()> {
        // The advice applies to whole pages; 64 KiB is the largest base page size of any system.
        const PAGE: usize = 64 * 1024;
        let begin = memory.as_mut_ptr().cast::<c_void>();
        let before_first_page = begin.align_offset(PAGE);
        let Some(pages) = size_of_val(memory).checked_sub(before_first_page).map(|size| size / PAGE * PAGE) else { return Ok(()) };
        let Some(first) = NonNull::new(begin.wrapping_byte_add(before_first_page)) else { return Ok(()) };
        #[expect(unsafe_code, reason = "the advice covers memory that is owned here, and does not change its contents")]
        let advised = unsafe { madvise(first, pages, MmapAdvise::MADV_HUGEPAGE) };
        Ok(advised?)
    }
}
