//! Measures the limit for a split: `COPY` reads the source's rows once, and each row is piped to the target whose
//! number is in its first column.

use super::database::Database;
use super::raw;
use anyhow::{Context, bail};
use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin};

/// The length of the header of COPY's binary format: the signature, the flags and the length of the empty extension.
const HEADER: usize = 19;
/// The end marker after the last row, in place of the number of columns of a row.
const END: i16 = -1;

/// Copies the rows of every table to the targets. `part` is an SQL expression for the number of a row's target, null if
/// the row is not copied.
pub(crate) fn copy(source: &Database, targets: &[Database], part: &str) -> anyhow::Result<()> {
    raw::run_concurrently(raw::TABLES.map(str::to_owned).into(), |table| {
        let out = format!(
            "copy (select * from (select {part} part, * from only {table}) t where part is not null) \
             to stdout (format binary)"
        );
        copy_table(source, targets, &out, &table)
    })
}

/// Copies the rows of one table. `out` is the `COPY` statement for the source.
fn copy_table(
    source: &Database,
    targets: &[Database],
    out: &str,
    table: &str,
) -> anyhow::Result<()> {
    let mut producer = source.start_output(out)?;
    let rows = producer.stdout.take().context("no output")?;
    let into = format!("copy {table} from stdin (format binary)");
    let consumers = targets.iter().map(|target| target.start_input(&into));
    let mut consumers: Vec<Child> = consumers.collect::<anyhow::Result<_>>()?;
    let inputs = consumers.iter_mut().map(|consumer| {
        let input: Option<ChildStdin> = consumer.stdin.take();
        anyhow::Ok(BufWriter::new(input.context("no input")?))
    });
    let inputs: Vec<_> = inputs.collect::<anyhow::Result<_>>()?;
    route(BufReader::new(rows), inputs)?;
    consumers.push(producer);
    for mut process in consumers {
        let ended = process.wait()?;
        if !ended.success() {
            bail!("routing {table}: {ended}");
        }
    }
    Ok(())
}

/// Writes each row of a binary COPY stream to the output whose number is in the first column (four bytes). This column
/// is removed.
fn route(mut from: impl Read, mut to: Vec<impl Write>) -> anyhow::Result<()> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    for target in &mut to {
        target.write_all(&header)?;
    }
    let mut value = Vec::new();
    loop {
        let columns = i16::from_be_bytes(read_bytes(&mut from)?);
        if columns == END {
            break;
        }
        let _: [u8; 4] = read_bytes(&mut from)?;
        let part = usize::try_from(i32::from_be_bytes(read_bytes(&mut from)?))?;
        let target = to.get_mut(part).context("no such target")?;
        target.write_all(&(columns - 1).to_be_bytes())?;
        for _ in 1..columns {
            let length: [u8; 4] = read_bytes(&mut from)?;
            target.write_all(&length)?;
            // A null has a length of -1 and no bytes.
            value.resize(usize::try_from(i32::from_be_bytes(length)).unwrap_or(0), 0);
            from.read_exact(&mut value)?;
            target.write_all(&value)?;
        }
    }
    for mut target in to {
        target.write_all(&END.to_be_bytes())?;
        target.flush()?;
    }
    Ok(())
}

/// Reads `N` bytes.
fn read_bytes<const N: usize>(from: &mut impl Read) -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = i16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in values {
            let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap());
            row.extend(length.to_be_bytes());
            row.extend(value.unwrap_or_default());
        }
        row
    }

    #[test]
    fn each_row_is_written_to_the_output_that_its_first_column_names() {
        let (head, end) = (vec![7; HEADER], END.to_be_bytes().to_vec());
        let rows = [
            row(&[Some(&[0, 0, 0, 1]), Some(b"one"), None]),
            row(&[Some(&[0, 0, 0, 0]), Some(b""), Some(b"nought")]),
        ];
        let all = [head.clone(), rows.concat(), end.clone()].concat();
        let mut to = [Vec::new(), Vec::new()];
        route(all.as_slice(), to.iter_mut().collect()).unwrap();
        let nought = row(&[Some(b""), Some(b"nought")]);
        let one = row(&[Some(b"one"), None]);
        assert_eq!(to[0], [head.clone(), nought, end.clone()].concat());
        assert_eq!(to[1], [head, one, end].concat());
    }
}
