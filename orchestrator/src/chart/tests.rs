//! What a chart draws, in coordinates and in words.

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn frame(to: i64) -> ChartFrame {
    ChartFrame {
        from: at(0),
        to: at(to),
        marks: vec![(at(to / 2), "verify".to_owned())],
    }
}

fn lag(runs: Vec<ChartRun>) -> Chart {
    let line = ChartLine { name: "lag", runs };
    Chart::of("Lag", ChartQuantity::Millis, &[line], &frame(10)).unwrap()
}

#[test]
fn a_line_lies_between_its_axes() {
    let chart = lag(vec![vec![(at(0), 0.0), (at(5), 4.0), (at(10), 1.0)]]);
    assert_eq!(chart.lines[0].path, "M52.0 142.0L340.0 18.0L628.0 111.0");
    let labels: Vec<&str> = chart.grid.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(labels, ["0", "1", "2", "3", "4"]);
    assert_eq!(chart.unit, "ms");
    assert_eq!(chart.summary, "Lag: lag at most 4 ms, 1 ms at the end.");
    assert_eq!(chart.rows.len(), 3);
    let html = chart.render().unwrap();
    assert!(html.contains("<path class=\"line l0\""), "{html}");
    assert!(html.contains(">began: verify at 08:00:05<"), "{html}");
}

#[test]
fn nothing_is_drawn_where_nothing_was_measured() {
    let chart = lag(vec![
        vec![(at(0), 1.0), (at(2), 2.0)],
        vec![(at(8), 4.0), (at(10), 3.0)],
    ]);
    let path = "M52.0 111.0L167.2 80.0M512.8 18.0L628.0 49.0";
    assert_eq!(chart.lines[0].path, path);
    assert!(chart.summary.ends_with("not measured once in between."));
    let gaps: Vec<&ChartRow> = chart
        .rows
        .iter()
        .filter(|row| row.cells.is_empty())
        .collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].time, "08:00:02 to 08:00:08");
    let html = chart.render().unwrap();
    assert!(html.contains("not measured"), "{html}");
}

#[test]
fn a_single_point_is_a_dot() {
    assert_eq!(lag(vec![vec![(at(5), 2.0)]]).lines[0].path, "M340.0 18.0h0");
}

#[test]
fn a_line_without_points_gives_no_chart() {
    let line = ChartLine {
        name: "lag",
        runs: Vec::new(),
    };
    assert!(Chart::of("Lag", ChartQuantity::Millis, &[line], &frame(10)).is_none());
}

#[test]
fn labels_at_the_edges_are_not_cut() {
    let times = placed_times(&frame(10));
    assert_eq!(times.first().unwrap().anchor, "start");
    assert_eq!(times.last().unwrap().anchor, "end");
}

#[test]
fn thinning_out_keeps_the_highest_points() {
    let points: Vec<_> = (0..10_000)
        .map(|second| (at(second), if second == 777 { 9.0 } else { 1.0 }))
        .collect();
    let line = ChartLine {
        name: "lag",
        runs: vec![points.clone()],
    };
    let remaining: Vec<_> = thin_out(&points, group_size(&line, MAX_POINTS)).collect();
    assert!(remaining.len() <= MAX_POINTS);
    assert!(remaining.iter().any(|(_, value)| *value == 9.0));
}
