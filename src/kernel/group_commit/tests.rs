use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use tokio::sync::watch;

use super::*;
use crate::kernel::group_commit::queue::{MAX_GROUP_BYTES, MAX_WAITING, MAX_WAITING_BYTES};

/// Squares numbers slowly; fails every group that contains a seven.
fn squares(groups: &Arc<AtomicUsize>) -> GroupCommit<i32, i32> {
    let groups = Arc::clone(groups);
    GroupCommit::new(Lifecycle::default(), 10, move |items: Vec<i32>| {
        groups.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::task::yield_now().await;
            if items.contains(&7) { Err(sqlx::Error::RowNotFound) } else { Ok(items.iter().map(|item| item * item).collect()) }
        }
    })
}

#[tokio::test]
async fn items_that_arrive_during_a_write_form_one_batch_with_individual_results() {
    let groups = Arc::default();
    let squares = squares(&groups);
    let written = join_all((100..125).map(|number| squares.write(number, 1))).await;
    let written: Vec<_> = written.into_iter().map(Result::unwrap).collect();
    assert_eq!(written, (100..125).map(|number| number * number).collect::<Vec<_>>());
    assert_eq!(groups.load(Ordering::Relaxed), 3, "groups of ten at most");
    assert_eq!(squares.write(3, 1).await.unwrap(), 9);
    assert_eq!(groups.load(Ordering::Relaxed), 4);
}

/// When a group began and ended: its numbers, and whether it began.
type Log = Arc<Mutex<Vec<(Vec<i32>, bool)>>>;

/// Writes groups of at most two numbers. Numbers with the same last digit have the same key.
fn two_at_a_time(log: &Log) -> GroupCommit<i32, i32> {
    let log = Arc::clone(log);
    let key = |number: &i32| u64::from(number.unsigned_abs() % 10);
    GroupCommit::two_at_a_time(Lifecycle::default(), 2, key, move |items: Vec<i32>| {
        let log = Arc::clone(&log);
        async move {
            log.lock().unwrap().push((items.clone(), true));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            log.lock().unwrap().push((items.clone(), false));
            Ok(items)
        }
    })
}

#[tokio::test]
async fn two_groups_are_written_at_a_time_and_items_with_the_same_key_in_their_order() {
    let log = Log::default();
    let numbers = two_at_a_time(&log);
    let given: Vec<_> = (0..10).flat_map(|tens| [1, 2, 3].map(|digit| 10 * tens + digit)).collect();
    let written = join_all(given.iter().map(|number| numbers.write(*number, 1))).await;
    assert_eq!(written.into_iter().map(Result::unwrap).collect::<Vec<_>>(), given);
    let (mut open, mut begun, mut most) = (Vec::<Vec<i32>>::new(), Vec::<i32>::new(), 0);
    for (group, begins) in log.lock().unwrap().iter() {
        open.retain(|other| other != group);
        if *begins {
            let is_free = |number: &i32| open.iter().flatten().all(|other| other % 10 != number % 10);
            assert!(group.iter().all(is_free), "{group:?} beside {open:?}");
            open.push(group.clone());
            begun.extend(group);
        }
        most = most.max(open.len());
    }
    assert_eq!(most, 2, "groups at a time");
    for digit in 1..=3 {
        assert!(begun.iter().filter(|number| *number % 10 == digit).is_sorted(), "{begun:?}");
    }
}

#[tokio::test]
async fn an_item_that_comes_alone_is_written_at_once_and_one_behind_a_larger_group_waits_for_others() {
    let log = Log::default();
    let numbers = two_at_a_time(&log);
    // Whether the writer has taken the number the first time that it ran.
    let is_taken_at_once = async |number: i32| {
        let mut writing = Box::pin(numbers.write(number, 1));
        assert!(futures::poll!(&mut writing).is_pending());
        tokio::task::yield_now().await;
        let is_taken = log.lock().unwrap().iter().any(|(group, _)| group.contains(&number));
        writing.await.unwrap();
        is_taken
    };
    assert!(is_taken_at_once(1).await);
    assert!(is_taken_at_once(2).await);
    join_all([3, 4].map(|number| numbers.write(number, 1))).await;
    // The writer looks once more for callers, and ends.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!is_taken_at_once(5).await);
    assert!(is_taken_at_once(6).await);
}

#[tokio::test]
async fn an_item_that_cannot_be_written_does_not_affect_others() {
    let squares = squares(&Arc::default());
    let written = join_all((5..10).map(|number| squares.write(number, 1))).await;
    let written: Vec<_> = written.into_iter().map(Result::ok).collect();
    assert_eq!(written, [Some(25), Some(36), None, Some(64), Some(81)]);
}

#[tokio::test]
async fn after_a_panic_later_items_are_written() {
    let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
        assert!(!items.contains(&7), "a seven");
        Ok(items)
    });
    assert!(numbers.write(7, 1).await.is_err());
    assert_eq!(numbers.write(8, 1).await.unwrap(), 8);
}

#[tokio::test]
async fn after_a_panic_over_a_single_item_the_next_items_are_written() {
    let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
        tokio::task::yield_now().await;
        assert!(items != [7], "a seven");
        if items.contains(&7) { Err(sqlx::Error::RowNotFound) } else { Ok(items) }
    });
    let written = join_all([1, 7, 6, 7].map(|number| numbers.write(number, 1))).await;
    assert!(written.iter().any(Result::is_err));
    assert_eq!(numbers.write(8, 1).await.unwrap(), 8);
}

/// The numbers that were written.
type Written = Arc<Mutex<Vec<i32>>>;

/// Writes nothing before it is told to.
fn held_back() -> (GroupCommit<i32, i32>, watch::Sender<bool>, Written) {
    let (go, written) = (watch::Sender::new(false), Written::default());
    let (going, log) = (go.clone(), Arc::clone(&written));
    let numbers = GroupCommit::new(Lifecycle::default(), 2, move |items: Vec<i32>| {
        let (mut going, log) = (going.subscribe(), Arc::clone(&log));
        async move {
            going.wait_for(|go| *go).await.unwrap();
            log.lock().unwrap().extend(&items);
            Ok(items)
        }
    });
    (numbers, go, written)
}

#[tokio::test]
async fn what_is_being_written_is_written_without_its_caller_and_what_waits_is_not() {
    let (numbers, go, written) = held_back();
    let mut callers: Vec<_> = (1..=6).map(|number| Box::pin(numbers.write(number, 1))).collect();
    for caller in &mut callers {
        assert!(futures::poll!(caller).is_pending());
    }
    tokio::task::yield_now().await;
    // The first group is 1 and 2. The callers of 2, 3 and 4 go away.
    callers.drain(1..4);
    go.send_replace(true);
    assert_eq!(join_all(callers).await.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [1, 5, 6]);
    assert_eq!(*written.lock().unwrap(), [1, 2, 5, 6]);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_at_once_and_who_goes_away_makes_room() {
    let (numbers, go, written) = held_back();
    let add = |number, size| Box::pin(numbers.write(number, size));
    let mut callers: Vec<_> = (0..MAX_WAITING + 2).map(|_| add(1, 1)).collect();
    for (place, caller) in callers.iter_mut().enumerate() {
        assert!(futures::poll!(caller).is_pending());
        if place == 1 {
            // These two are being written.
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(add(1, 1).await.unwrap_err().code(), ProblemCode::Overloaded);
    callers.truncate(MAX_WAITING + 1);
    assert!(futures::poll!(&mut add(1, 1)).is_pending());
    drop(callers);
    let mut large = add(5, MAX_WAITING_BYTES);
    assert!(futures::poll!(&mut large).is_pending());
    assert_eq!(add(6, 1).await.unwrap_err().code(), ProblemCode::Overloaded);
    go.send_replace(true);
    assert_eq!(large.await.unwrap(), 5);
    assert_eq!(add(6, 1).await.unwrap(), 6);
    assert_eq!(*written.lock().unwrap(), [1, 1, 5, 6]);
}

#[tokio::test]
async fn large_items_make_small_groups() {
    let groups = Arc::default();
    let squares = squares(&groups);
    let sizes = [1, MAX_GROUP_BYTES, 2 * MAX_GROUP_BYTES, 1, 1, MAX_GROUP_BYTES - 2, 1];
    let written = join_all((1..).zip(sizes).map(|(number, size)| squares.write(10 * number, size))).await;
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(groups.load(Ordering::Relaxed), 5, "1, 2, 3, 4 to 6, and 7");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_longer_than_their_patience() {
    let (numbers, go, written) = held_back();
    let beginning = tokio::time::Instant::now();
    let (first, second, third) = tokio::join!(
        async {
            let written = numbers.write(1, 1).await;
            assert!(beginning.elapsed() > PATIENCE, "a group that is being written is waited for");
            written
        },
        async {
            tokio::task::yield_now().await;
            let refused = numbers.write(2, 1).await;
            assert_eq!(beginning.elapsed().as_secs(), PATIENCE.as_secs());
            refused
        },
        async {
            tokio::time::sleep(PATIENCE * 2).await;
            go.send_replace(true);
            numbers.write(3, 1).await
        },
    );
    assert_eq!((first.unwrap(), second.unwrap_err().code(), third.unwrap()), (1, ProblemCode::DatabaseUnavailable, 3));
    assert_eq!(*written.lock().unwrap(), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn who_has_waited_for_too_long_in_a_queue_that_goes_on_is_told_that_it_is_long() {
    let slow = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
        tokio::time::sleep(PATIENCE * 2 / 3).await;
        Ok(items)
    });
    let written = join_all((0..30).map(|number| slow.write(number, 1))).await;
    assert!(written[..20].iter().all(Result::is_ok));
    assert!(written[20..].iter().all(|written| written.as_ref().is_err_and(|refused| refused.code() == ProblemCode::Overloaded)));
}
