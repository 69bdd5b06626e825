//! What hashing asks of the system: to let everybody else go first, and memory in large pages. Only Linux is asked, and may refuse.

use argon2::Block;

/// The calling thread runs, from now on, when no other thread wants to; whoever wakes up takes its place at once. Among equals it would
/// keep the processor for some milliseconds, which is longer than most answers take.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::unix::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id};

        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        if let Err(error) = set_thread_priority_and_policy(thread_native_id(), thread_priority::ThreadPriority::Min, idle) {
            tracing::debug!(?error, "hashing competes with everything else");
        }
    }
}

/// So many blocks of 1 KiB. A hash jumps all over them, and finds its way faster through few large pages than through thousands of small
/// ones.
pub(super) fn room_for(blocks: usize) -> Vec<Block> {
    let mut memory = Vec::with_capacity(blocks);
    #[cfg(target_os = "linux")]
    ask_for_large_pages(memory.spare_capacity_mut());
    memory.resize_with(blocks, Block::default);
    memory
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages(memory: &mut [std::mem::MaybeUninit<Block>]) {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    use nix::sys::mman::{MmapAdvise, madvise};

    // Advice is given for whole pages, which no system has larger.
    const PAGE: usize = 64 * 1024;
    let begin = memory.as_mut_ptr().cast::<c_void>();
    let before_first_page = begin.align_offset(PAGE);
    let Some(pages) = size_of_val(memory).checked_sub(before_first_page).map(|size| size / PAGE * PAGE) else { return };
    let Some(first) = NonNull::new(begin.wrapping_byte_add(before_first_page)) else { return };
    #[expect(unsafe_code, reason = "advice about memory that is ours, which leaves what is in it as it is")]
    let advised = unsafe { madvise(first, pages, MmapAdvise::MADV_HUGEPAGE) };
    if let Err(error) = advised {
        tracing::debug!(%error, "hashing goes without large pages");
    }
}
