//! Where the numbers of tokens begin, so that no other cell gives the same ones and a company can take its own along.

use sqlx::{AssertSqlSafe, Executor};

use crate::kernel::crypto::sha256;
use crate::kernel::database::{CellName, Pool};

/// `None`: with 1, in the only cell of most deployments.
fn first_number(cell: &CellName) -> Option<i64> {
    let digest = sha256(cell.as_str());
    let place = digest[..8].try_into().map(u64::from_be_bytes).expect("a digest has 32 bytes") >> 23;
    // 2⁴⁰ places with room for four million numbers each. A cell that needs more goes on into places that are hardly ever taken.
    (*cell != CellName::main()).then_some(i64::try_from((place & ((1 << 40) - 1)) << 22).expect("it has 62 bits") + 1)
}

/// Lets the numbers of tokens begin in the place of the cell, if they have not got so far. Changing the column locks the table, so nobody signs
/// in meanwhile and no number is given twice.
pub async fn number_tokens_of(pool: &Pool, cell: &CellName) -> Result<(), sqlx::Error> {
    let Some(first) = first_number(cell) else { return Ok(()) };
    let next: i64 = sqlx::query_scalar!("select last_value from customer_tokens_id_seq").fetch_one(pool).await?;
    if next >= first {
        return Ok(());
    }
    let restart = format!(
        "do $$ begin
             alter table customer_tokens alter column id set start with {first};
             if (select last_value from customer_tokens_id_seq) < {first} then
                 alter table customer_tokens alter column id restart;
             end if;
         end $$"
    );
    pool.execute(AssertSqlSafe(restart)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_give_different_numbers() {
        assert_eq!(first_number(&CellName::main()), None);
        let mut places: Vec<_> = (0..1_000).map(|number| first_number(&format!("cell_{number}").parse().unwrap()).unwrap()).collect();
        places.sort_unstable();
        assert!(places[0] > 0 && places.windows(2).all(|pair| pair[1] - pair[0] >= 1 << 22), "{places:?}");
    }
}
