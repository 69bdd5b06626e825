//! Moving a company from one cell to another ([`crate::companies::moving`]), from whatever step it has come to.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, sleep, sleep_until};

use crate::companies::moving::{self, MoveError};
use crate::companies::{self, Deletion, DeletionError, Stage, Step};
use crate::kernel::clock::Clock;
use crate::kernel::daily_partitions::HousekeepingError;
use crate::kernel::database::{CellName, Connection, MayBeConflict, Pool};
use crate::kernel::ids::CompanyId;
use crate::kernel::ttl_cache::TTL;
use crate::webhooks::{self, LONGEST_ATTEMPT};

/// How often a move looks whether it can go on.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How often everything is copied again because somebody has changed it meanwhile.
const ATTEMPTS: usize = 10;

/// A cell with its database.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is called.
    pub name: CellName,
    /// Its database.
    pub pool: Pool,
}

/// A company on its way from one cell to another.
#[derive(Debug)]
pub struct Move {
    /// The company.
    pub company: CompanyId,
    /// Where it is.
    pub from: Side,
    /// Where it goes.
    pub to: Side,
    /// The clock.
    pub clock: Clock,
}

/// What a move came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// The rows that were copied while requests had to wait.
    pub rows: u64,
    /// The rows of the log, which followed.
    pub log_rows: u64,
    /// Since when requests had to wait. None if that was before this run.
    pub frozen_at: Option<Instant>,
    /// For how long requests had to wait. None if that was before this run.
    pub paused: Option<Duration>,
    /// For how long the log was on its way.
    pub log_took: Duration,
}

/// What going back came to. The company is where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// Nothing of it is in the new cell.
    Entirely,
    /// The new cell is away. What was copied there does not count; going back once more, or moving, deletes it.
    WithoutTheNewCell,
}

/// Why a move did not come to its end. Where the company is, it is served; the same command goes on.
#[derive(Debug, thiserror::Error)]
pub enum Stuck {
    /// It is moving, but elsewhere.
    #[error("the company is on its way to or from {0} already")]
    MovesElsewhere(String),
    /// The cell has a company with this id.
    #[error("the new cell has the company already, and knows of no move")]
    IsThere,
    /// The company is not where it leaves, though it has not left.
    #[error("the old cell does not have the company, and the new cell has a copy of which it is not known whether it is complete")]
    OnlyCopy,
    /// There is nothing to go back to.
    #[error("the company has left, so it cannot stay: run the move to its end, and then move it back")]
    HasLeft,
    /// It does not exist.
    #[error("the company does not exist any more")]
    Gone,
    /// It could not leave. Requests are answered where they were.
    #[error("the company stays where it was")]
    Stays(#[source] Box<Stuck>),
    /// It could not leave, and not go back either.
    #[error("the company waits on its way, because it cannot go back ({unable}): run the command again, or with --undo")]
    Waits {
        /// Why it cannot go back.
        unable: Box<Stuck>,
        /// Why it could not leave.
        #[source]
        why: Box<Stuck>,
    },
    /// What belongs to it could not be copied.
    #[error("the company could not be copied")]
    Copy(#[source] MoveError),
    /// What it has left behind could not follow yet. It is served where it went.
    #[error("the company was moved, and its log could not follow")]
    Log(#[from] MoveError),
    /// A copy that does not count could not be removed.
    #[error("rows that are not needed could not be deleted")]
    Deletion(#[from] DeletionError),
    /// The days of the log could not be prepared in the new cell.
    #[error("the days of the log could not be prepared in the new cell")]
    Days(#[from] HousekeepingError),
    /// A database failed.
    #[error("a database could not be used")]
    Database(#[from] sqlx::Error),
}

impl Move {
    /// Moves the company with its log, or goes on with it. If it cannot leave, it goes back. What it leaves behind is for [`Move::clear`].
    /// `progress` is told what is being done, and how many rows were copied.
    pub async fn run(&self, progress: &mut dyn FnMut(&'static str, u64)) -> Result<Moved, Stuck> {
        let why = match self.go_on(progress).await {
            Err(why @ (Stuck::Copy(_) | Stuck::Days(_) | Stuck::Deletion(_) | Stuck::Database(_))) => why,
            ended => return ended,
        };
        match self.undo().await {
            Ok(_) => Err(Stuck::Stays(Box::new(why))),
            Err(Stuck::HasLeft) => Err(why),
            Err(unable) => Err(Stuck::Waits { unable: Box::new(unable), why: Box::new(why) }),
        }
    }

    async fn go_on(&self, progress: &mut dyn FnMut(&'static str, u64)) -> Result<Moved, Stuck> {
        let (mut source, mut target) = self.connect().await?;
        let mut moved = Moved::default();
        loop {
            let now = self.now();
            match self.steps(&mut source, &mut target).await? {
                (None, None) => {
                    if !companies::company_exists(&mut source, self.company).await? {
                        return Err(Stuck::Gone);
                    }
                    if companies::company_exists(&mut target, self.company).await? {
                        return Err(Stuck::IsThere);
                    }
                    webhooks::prepare_move(&mut source, self.company, self.to.name.as_str(), now).await?;
                }
                (Some(Stage::Preparing), None) => {
                    progress("preparing", 0);
                    self.prepare_days(&mut source).await?;
                    self.rest(&mut source).await?;
                    if webhooks::freeze_for_move(&mut source, self.company, self.now()).await? {
                        moved.frozen_at = Some(Instant::now());
                    }
                }
                (Some(Stage::Leaving), None) => {
                    // By then every instance knows.
                    sleep(2 * TTL.to_std().expect("it is positive")).await;
                    moved.rows = self.transfer(&mut source, &mut target, progress).await.map_err(Stuck::Copy)?;
                }
                (None | Some(Stage::Preparing | Stage::Leaving), Some(Stage::Arriving)) => {
                    self.discard_copy(&mut source, &mut target).await?;
                }
                (Some(Stage::Left), Some(Stage::Arriving)) => {
                    webhooks::arrive(&mut target, self.company, now).await?;
                    moved.paused = moved.frozen_at.map(|since| since.elapsed());
                }
                (Some(Stage::Left), Some(Stage::Arrived)) => {
                    let begun = Instant::now();
                    moved.log_rows = self.send_log(&mut source, &mut target, progress).await?;
                    moved.log_took = begun.elapsed();
                    moving::conclude(&mut target, self.company).await?;
                }
                (Some(Stage::Left), None) => return Ok(moved),
                (None, Some(Stage::Arrived)) => {
                    let is_here = companies::company_exists(&mut source, self.company).await?;
                    match moving::find_step(&mut source, self.company).await? {
                        None if is_here => return Err(Stuck::IsThere),
                        None => {
                            moving::conclude(&mut target, self.company).await?;
                            return Ok(moved);
                        }
                        // It has left since the old cell was looked at.
                        Some(_) => {}
                    }
                }
                _ => return Err(Stuck::MovesElsewhere(self.to.name.to_string())),
            }
        }
    }

    /// Sends what requests have added after the company had left, and deletes what is left of it where it was. That waits until `longest_request` has
    /// passed since requests had to wait: what was admitted before may be written until then.
    pub async fn clear(&self, moved: &Moved, longest_request: Duration, progress: &mut dyn FnMut(&'static str, u64)) -> Result<(), Stuck> {
        sleep_until(moved.frozen_at.unwrap_or_else(Instant::now) + longest_request).await;
        let (mut source, mut target) = self.connect().await?;
        if self.steps(&mut source, &mut target).await? != (Some(Stage::Left), None) {
            return Ok(());
        }
        self.send_log(&mut source, &mut target, progress).await?;
        self.discard(&mut source).await
    }

    /// Goes back, if the company has not left; also while the new cell is away.
    pub async fn undo(&self) -> Result<Undone, Stuck> {
        let mut source = self.from.pool.acquire_patient().await?;
        let asking = async {
            let mut target = self.to.pool.acquire_patient().await?;
            let step = moving::find_step(&mut target, self.company).await?;
            let is_there = companies::company_exists(&mut target, self.company).await?;
            Ok::<_, sqlx::Error>((target, step, is_there))
        };
        // Whoever makes a copy count has done so, or cannot any more, when the step is locked.
        let mut going_back = moving::begin_waiting(&mut source).await?;
        let here = self.step(moving::lock_step(&mut going_back, self.company).await?, &self.to)?;
        let there = asking.await;
        let (copied, is_there) = match &there {
            Ok((_, step, is_there)) => (self.step(step.clone(), &self.from)?, *is_there),
            Err(_) => (None, false),
        };
        let is_here = companies::company_exists(&mut going_back, self.company).await?;
        let counts_there = is_there && copied != Some(Stage::Arriving);
        match (here, copied) {
            (Some(Stage::Preparing | Stage::Leaving), None | Some(Stage::Arriving)) if !counts_there => {
                webhooks::undo_move(&mut going_back, self.company).await?;
            }
            (None, None) if is_here && counts_there => return Err(Stuck::IsThere),
            (None, None | Some(Stage::Arriving)) if is_here => {}
            _ => return Err(Stuck::HasLeft),
        }
        going_back.commit().await?;
        match there {
            Err(_) => Ok(Undone::WithoutTheNewCell),
            Ok((mut target, ..)) if copied.is_some() => Ok(match self.discard_copy(&mut source, &mut target).await {
                Ok(()) => Undone::Entirely,
                Err(_) => Undone::WithoutTheNewCell,
            }),
            Ok(_) => Ok(Undone::Entirely),
        }
    }

    /// Deletes what was copied, which does not count until the company has left. Meanwhile nobody copies anything: the step is locked, or a new one
    /// was begun, which nobody sees.
    async fn discard_copy(&self, source: &mut Connection, target: &mut Connection) -> Result<(), Stuck> {
        let mut held = moving::begin_waiting(source).await?;
        let mut here = moving::lock_step(&mut held, self.company).await?;
        if here.is_none() {
            moving::prepare(&mut held, self.company, self.to.name.as_str(), self.now()).await?;
            here = moving::lock_step(&mut held, self.company).await?;
        }
        match self.step(here, &self.to)? {
            Some(Stage::Preparing | Stage::Leaving) => {}
            Some(_) => return Ok(()),
            None => return Err(Stuck::OnlyCopy),
        }
        if self.step(moving::find_step(target, self.company).await?, &self.from)? == Some(Stage::Arriving) {
            let mut deletion = Deletion::of_move(target, self.company).await?;
            while deletion.next_batch(target).await?.is_some() {
                // Who cannot say so any more does not hold it either.
                moving::lock_step(&mut held, self.company).await?;
            }
        }
        Ok(held.rollback().await?)
    }

    /// Connections of this step. One that has failed is not used again.
    async fn connect(&self) -> Result<(Connection, Connection), sqlx::Error> {
        Ok((self.from.pool.acquire_patient().await?, self.to.pool.acquire_patient().await?))
    }

    /// How far each side is.
    async fn steps(&self, source: &mut Connection, target: &mut Connection) -> Result<(Option<Stage>, Option<Stage>), Stuck> {
        let here = moving::find_step(source, self.company).await?;
        let there = moving::find_step(target, self.company).await?;
        Ok((self.step(here, &self.to)?, self.step(there, &self.from)?))
    }

    /// How far one side is, if it is a step of this move.
    fn step(&self, step: Option<Step>, other: &Side) -> Result<Option<Stage>, Stuck> {
        match step {
            Some(step) if step.cell != other.name.as_str() => Err(Stuck::MovesElsewhere(step.cell)),
            step => Ok(step.map(|step| step.stage)),
        }
    }

    /// Makes the days of the log that the old cell has, so that each row finds its own.
    async fn prepare_days(&self, source: &mut Connection) -> Result<(), Stuck> {
        let mut owner = self.to.pool.owner().acquire_patient().await?;
        Ok(webhooks::create_partitions_as_in(source, &mut owner).await?)
    }

    /// Waits until no attempt is under way. One that does not end in its time is made again where the company goes.
    async fn rest(&self, source: &mut Connection) -> Result<(), sqlx::Error> {
        let until = Instant::now() + LONGEST_ATTEMPT;
        while Instant::now() < until && !webhooks::is_at_rest(source, self.company).await? {
            sleep(LOOK_INTERVAL).await;
        }
        Ok(())
    }

    async fn transfer(
        &self,
        source: &mut Connection,
        target: &mut Connection,
        progress: &mut dyn FnMut(&'static str, u64),
    ) -> Result<u64, MoveError> {
        let mut attempt = 1;
        loop {
            let mut rows = 0;
            let mut copied = |done| {
                rows = done;
                progress("moving", done);
            };
            match moving::transfer(source, target, self.company, self.from.name.as_str(), self.now(), &mut copied).await {
                Ok(()) => return Ok(rows),
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
            // What failed is rolled back with its connection.
            (*source, *target) = self.connect().await?;
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn send_log(
        &self,
        source: &mut Connection,
        target: &mut Connection,
        progress: &mut dyn FnMut(&'static str, u64),
    ) -> Result<u64, MoveError> {
        let (mut sent, mut attempt) = (0, 1);
        loop {
            match moving::send_some(source, target, self.company).await {
                Ok(0) => return Ok(sent),
                Ok(rows) => (sent, attempt) = (sent + rows, 1),
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => {
                    attempt += 1;
                    (*source, *target) = self.connect().await?;
                    sleep(LOOK_INTERVAL).await;
                }
                Err(error) => return Err(error),
            }
            progress("sending the log", sent);
        }
    }

    /// Deletes what is left of a company that is elsewhere.
    async fn discard(&self, source: &mut Connection) -> Result<(), Stuck> {
        let deleting = async {
            let mut deletion = Deletion::of_move(source, self.company).await?;
            while deletion.next_batch(source).await?.is_some() {}
            Ok(())
        };
        match deleting.await {
            // Somebody else has done it.
            Err(DeletionError::NotSuspended) if !companies::company_exists(source, self.company).await? => Ok(()),
            done => Ok(done?),
        }
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }
}
