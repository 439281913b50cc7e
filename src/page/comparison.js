// The page of a comparison: verdicts by cell, what changed and by how much, the table.

// The cells with what the page picks and sorts by.
function comparedRows(comparison) {
  const has = name => varies([...comparison.cells, ...comparison.new_cells], name);
  return comparison.cells.map((cell, index) => ({...cell, index, dtype: cell.output_dtype,
    geometry: [cell.shape.join('x'), cell.stack, has('blocksize') && `block ${cell.blocksize}`,
      has('nested') && (cell.nested ? 'nested' : 'plain')].filter(Boolean).join(' ')}));
}
// By verdict, and those of one verdict by the size of their change.
const urgentFirst = (rows, urgency) => sorted(
  sorted(rows, row => -Math.abs(row.change?.relative ?? 0)), row => urgency.indexOf(row.verdict));

function verdictCell(rows, urgency) {
  const urgent = urgentFirst(rows, urgency);
  const [worst] = urgent;
  const counts = [...groups(urgent, row => row.verdict)].map(([verdict, part]) =>
    `${part.length} ${verdict}`);
  const change = worst.change && el('small', {}, percent(worst.change.relative));
  return el('td', {class: worst.verdict.toLowerCase()}, link({row: worst.index}, {},
    el('strong', {}, worst.verdict, change),
    worst.verdict !== 'SAME' && el('span', {}, swatch(worst.variant)),
    el('small', {}, counts.join(', '))));
}

function changes(rows, comparison, urgency) {
  const changed = urgentFirst(rows.filter(row => row.change), urgency);
  const news = changed.filter(row => row.verdict !== 'SAME').length;
  const [shown, more] = first(changed, Math.min(Math.max(news, 5), 60), 'changes');
  const reach = Math.max(2 * comparison.threshold,
    ...shown.flatMap(row => [row.change.relative, ...row.change.interval].map(Math.abs)));
  const place = change => 0.5 + change / reach / 2;
  const grid = () => [upright('grid', 0.5),
    ...[-1, 1].map(sign => upright('one', place(sign * comparison.threshold)))];
  const what = CELL.filter(name => varies(rows, name));
  const line = ({change, ...row}) => track(
    [link({row: row.index}, {}, swatch(row.variant)), el('small', {}, cellName(row, what))],
    strip(grid(), stroke('whisker', ...change.interval.map(place)),
      stroke(`point ${row.verdict.toLowerCase()}`, place(change.relative), place(change.relative))),
    [el('b', {}, percent(change.relative)), ` ${row.verdict}`]);
  return shown.length > 0 && section('changes', 'Changes', `Of ${comparison.metric}, with the `
    + 'interval. Dashed: the threshold. The most urgent first.',
  tracks('long', shown.map(line), [percent(-reach), '0', percent(reach)]), more);
}

const SHOWN = {time, speedup: ratio, energy: value => scaled(value, 'J'), fraction_of_copy: share};
const comparedColumns = (rows, metric) => [['variant', row => row.variant, swatch],
  ['verdict', row => row.verdict, verdictWord], ...cellColumns(rows),
  ['base', row => row.base?.value, SHOWN[metric]], ['new', row => row.new?.value, SHOWN[metric]],
  ['change', row => row.change?.relative, percent],
  ['interval', row => row.change && interval(row.change.interval, percent)],
  ['runs', row => row.new?.runs], ['samples', row => row.new?.samples],
  ['why', row => row.reason]];

function comparisonHeader(comparison, urgency) {
  const {metric, threshold, run_noise: noise, median_change: shift, gate} = comparison;
  const counts = urgency.filter(verdict => comparison.counts[verdict] > 0)
    .map(verdict => `${comparison.counts[verdict]} ${verdict}`);
  const side = (name, reports) => `${name}: ` + reports.map(report => [report.name,
    report.started_at, report.git_commit?.slice(0, 8)].filter(known).join(', ')).join('; ');
  const list = values => values.join(', ') || 'nothing';
  const differences = comparison.differences.map(each =>
    `${each.matters && !each.allowed ? 'Not comparable' : 'Differs'}: ${each.name}: `
    + `base ${list(each.base)}, new ${list(each.new)}`);
  return header(comparison.comparable ? counts.join(', ') || 'No cell compared' : 'Not comparable',
    `${comparison.device}: ${metric} of the new reports against the base`
      + (known(shift) ? `, ${percent(shift)} in the median` : ''),
    [side('base', comparison.base), side('new', comparison.new),
      `threshold ${share(threshold)}, run-to-run noise ${share(noise.relative)} (${noise.origin})`],
    [gate && gateText(gate), ...differences,
      ...comparison.faults.map(fault => `Fault: ${fault}`)]);
}

function comparisonPage(comparison) {
  const urgency = Object.keys(comparison.counts).filter(name => name !== 'measured');
  const all = comparedRows(comparison);
  const rows = all.filter(passes);
  const news = comparison.new_cells.length;
  return [comparisonHeader(comparison, urgency), rows.length > 0 && section('answer', 'Verdicts',
    'The most urgent of each cell, and how many variants have which.',
    matrices(rows, part => verdictCell(part, urgency))),
  all.length > 0 && filters(all), rows.length > 0 && [changes(rows, comparison, urgency),
    section('rows', 'Cells', '', sheet('rows', urgentFirst(rows, urgency),
      comparedColumns(rows, comparison.metric)))],
  news > 0 && el('p', {}, `${count(news, 'cell')} not in the base.`)];
}
