// The page of a report: the fastest in each cell, curves, one cell, tables.

// The measurements with what the page picks and sorts by.
function reportRows(report) {
  const tensors = report.tensors.map(tensor => ({...tensor, shape: tensor.shape.join('x')}));
  const has = name => varies(tensors, name);
  const names = tensors.map(({shape, stack, blocksize, nested, name}) => [shape,
    stack && [stack.part, stack.activation, `top ${stack.top_k}`].filter(Boolean).join(' '),
    has('blocksize') && `block ${blocksize}`, has('nested') && (nested ? 'nested' : 'plain'),
    name !== shape && name].filter(Boolean).join(' '));
  const isAlone = name => names.indexOf(name) === names.lastIndexOf(name);
  const byId = new Map(tensors.map((tensor, i) => [tensor.id,
    {...tensor, title: isAlone(names[i]) ? names[i] : `${names[i]} ${tensor.id}`}]));
  return report.measurements.map((m, index) => {
    const isTimed = m.status === 'passed' && m.time_s?.median > 0;
    return {...m, index, tensor: byId.get(m.tensor),
      geometry: byId.get(m.tensor)?.title ?? m.tensor, dtype: m.output_dtype,
      time: isTimed ? m.time_s.median : undefined, ratio: m.speedup?.ratio,
      interval: m.speedup?.ci95};
  });
}
// All tensors together, as one more geometry: each median was known to the precision of the run.
function modelRows(report, rows) {
  const references = rows.filter(row => row.reference_line).map(row => row.variant);
  const isModel = report.tensors.some(tensor => tensor.multiplicity > 1);
  const ends = [1 - report.settings.precision, 1 + report.settings.precision];
  return report.summary.variants.filter(each => known(each.model_time_s)).map(each => ({...each,
    geometry: isModel ? 'whole model' : 'all tensors', dtype: each.output_dtype,
    time: each.model_time_s, ratio: each.model_speedup,
    interval: known(each.model_speedup) ? ends.map(end => end * each.model_speedup) : undefined,
    reference_line: references.includes(each.variant)}));
}

// The fastest of some rows and its equals: those whose paired ratios may be as great.
function fastest(rows) {
  const timed = sorted(rows.filter(row => row.time && !row.reference_line), row => row.time);
  return timed.filter(row => row === timed[0] || (row.interval && timed[0].interval
    && row.interval[1] >= timed[0].interval[0]));
}
// In how many cells each variant is among the fastest; being the very fastest counts a little more.
// Of equals the one that is so most often comes first: else noise would draw patterns.
function countWins(rows) {
  const wins = new Map();
  for (const part of groups(rows, row => cellName(row)).values()) {
    fastest(part).forEach(({variant}, i) =>
      wins.set(variant, (wins.get(variant) ?? 0) + (i === 0 ? 1.001 : 1)));
  }
  return wins;
}
const ranked = (rows, wins) => sorted(fastest(rows), row => -(wins.get(row.variant) ?? 0));

function answer(rows, wins) {
  const cells = [...groups(rows, row => cellName(row)).values()].map(part => ranked(part, wins)[0]);
  const leaders = [...groups(cells.filter(Boolean), row => row.variant)];
  leaders.sort((a, b) => b[1].length - a[1].length);
  const sentence = leaders.slice(0, 3).map(([name, won], i) => {
    const ratios = won.map(row => row.ratio).filter(known).sort((a, b) => a - b);
    const range = unique([ratios[0], ratios.at(-1)].filter(known).map(ratio)).join(' to ');
    const baselines = unique(won.map(row => row.speedup?.baseline).filter(known));
    const baseline = baselines.length === 1 ? baselines[0] : 'the baseline';
    if (i) return ['; ', el('b', {}, name), ` in ${won.length}`, range && ` (${range})`];
    return [el('b', {}, name), ' is the fastest', cells.length > 1 && ', alone or with equals, in '
      + `${won.length} of ${cells.length} cells`, range && `, ${range} as fast as ${baseline}`];
  });
  return leaders.length > 0 && el('p', {class: 'answer'}, sentence,
    leaders.length > 3 ? '; others elsewhere.' : '.');
}
function fastestCell(rows, wins) {
  const [best, ...equals] = ranked(rows, wins);
  const {index} = rows[0];
  if (!best) return el('td', {class: 'failed'}, unique(rows.map(row => row.status)).join(', '));
  const content = [el('span', {}, swatch(best.variant)),
    el('strong', {}, known(best.ratio) && ratio(best.ratio), el('small', {}, time(best.time))),
    equals.length > 0 && el('small', {}, `or ${equals.map(row => row.variant).join(', ')}`)];
  return el('td', {'--h': look(best.variant).hue},
    known(index) ? link({cell: index}, {'data-key': `cell ${index}`}, content) : content);
}

const elements = (value, isTick) => {
  const power = Math.min(Math.floor(Math.log2(value) / 10), 4);
  const prefix = ['', ' Ki', ' Mi', ' Gi', ' Ti'][power];
  return Number((value / 1024 ** power).toPrecision(3)) + prefix + (isTick ? '' : ' elements');
};
function curves(report, rows, strong) {
  const timed = rows.filter(row => row.time && row.tensor);
  const panel = (part, name, over, x, y, options) => {
    const points = part.map(row => ({x: x(row), y: y(row), variant: row.variant, index: row.index}))
      .filter(point => point.x > 0 && point.y > 0);
    return varies(points, 'x') && chart({caption: `${name}: ${over}`, points, strong, ...options});
  };
  const inTime = {isLog: true, yText: (value, isTick) => scaled(value, 's', isTick ? 2 : 4)};
  const rates = [['copy', report.ceilings.copy_bytes_per_s],
    ['peak', report.device.peak_bytes_per_s]].filter(([, rate]) => rate > 0);
  const overTokens = (name, part) => {
    const xText = (value, isTick) => (isTick ? value : count(value, 'token'));
    return [panel(part, name, 'time over tokens', row => row.tokens, row => row.time,
      {xText, ...inTime}),
    panel(part, name, '% of the roof over tokens', row => row.tokens, row => row.fraction_of_roof,
      {xText, levels: [['roof', 1]], yText: fixed(0, 100, ' %')})];
  };
  const overSize = (name, part) => [
    panel(part, name, 'GB/s over elements', row => row.tensor.elements, row => row.bytes_per_s,
      {xText: elements, levels: rates, yText: fixed(0, 1e-9)}),
    panel(part, name, 'time over elements', row => row.tensor.elements, row => row.time,
      {xText: elements, ...inTime})];
  const without = name => CELL.filter(each => each !== name);
  const charts = (part, name) => groups(part, row => cellName(row, without(name)));
  const products = charts(timed.filter(row => row.tokens), 'tokens');
  const others = charts(timed.filter(row => !row.tokens), 'geometry');
  const panels = [...[...products].map(pair => overTokens(...pair)),
    ...[...others].map(pair => overSize(...pair))].filter(pair => pair.some(Boolean));
  const [shown, more] = first(panels, 6, 'panels');
  return panels.length > 0 && section('curves', 'Curves', 'In full colour: what is the fastest '
    + 'somewhere, and the baseline. The roof is what a copy and a large product on this device '
    + 'allow. Each point leads to its row.', el('div', {class: 'charts'}, shown), more);
}

// What each variant does in a second over what it does with a byte of its traffic with the memory, as
// counters tell: the roof is what that traffic and the arithmetic allow.
function roofline(report, rows, strong) {
  const copy = report.ceilings.copy_bytes_per_s;
  const points = rows.filter(row => row.time && known(row.counters?.dram_bytes_read)
    && known(row.counters.dram_bytes_written)).map(row => {
    const work = row.flops || row.tensor.elements;
    const {dram_bytes_read: read, dram_bytes_written: written} = row.counters;
    return {x: work / (read + written), y: work / row.time, variant: row.variant, index: row.index};
  }).filter(point => Number.isFinite(point.x));
  if (!(copy > 0) || points.length === 0) return false;
  const {flops, dtype} = rows[0];
  const peak = (flops && report.ceilings.flops_per_s?.[dtype]) || Infinity;
  const xs = points.map(point => point.x);
  const [low, knee, high] = [Math.min(...xs) / 2, peak / copy, 2 * Math.max(...xs)];
  const corners = low < knee && knee < high ? [low, knee, high] : [low, high];
  const what = flops ? 'FLOP' : 'elements';
  return el('div', {class: 'charts'}, chart({points, isLog: true,
    caption: `Roofline: ${what} a second over ${what} a byte of traffic with the memory`,
    roof: corners.map(x => [x, Math.min(x * copy, peak)]), strong,
    xText: value => value.toPrecision(3),
    yText: (value, isTick) => (isTick ? scaled(value, '', 2) : scaled(value, `${what}/s`))}));
}

const BINS = 61;  // odd: the median lies in the middle of one
function histogram(row, reach) {
  const bins = new Array(BINS).fill(0);
  for (const sample of row.samples_s) {
    const place = Math.floor(BINS * (0.5 + (sample / row.time - 1) / reach / 2));
    if (place in bins) ++bins[place];
  }
  const most = Math.max(...bins);
  return strip(bins.map((number, i) =>
    number > 0 && upright('bin', (i + 0.5) / BINS, 20 - 18 * number / most)));
}
function oneCell(report, all, rows, strong) {
  const cells = groups(rows, row => cellName(row));
  const picked = all[state.get('cell')];
  const name = picked && cells.has(cellName(picked)) ? cellName(picked) : [...cells.keys()][0];
  const part = sorted(cells.get(name), row => row.time);
  const timed = part.filter(row => row.time);
  const hasSamples = timed.some(row => row.samples_s.length > 0);
  const most = Math.max(1, ...timed.map(row => row.interval?.[1] ?? row.ratio ?? 0));
  const reach = Math.max(0.005, ...timed.map(({time_s: {median, p05, p95}}) =>
    1.4 * Math.max(p95 / median - 1, 1 - p05 / median)));
  const line = row => track(link({row: row.index}, {}, swatch(row.variant)), [
    strip(upright('one', 1 / most),
      known(row.ratio) && stroke('bar', 0, row.ratio / most, {'--h': look(row.variant).hue}),
      row.interval && stroke('whisker', row.interval[0] / most, row.interval[1] / most)),
    hasSamples && (row.time ? histogram(row, reach) : strip())],
  row.time ? [el('b', {}, known(row.ratio) && ratio(row.ratio)), ` ${time(row.time)}`]
    : `${row.status}: ${row.reason ?? ''}`);
  const select = el('select', {'data-key': 'cell', 'aria-label': 'cell',
    onchange: event => go({cell: event.target.value})},
  [...cells].map(([each, [row]]) => option(row.index, each === name, each)));
  return section('cell', 'One cell', '', el('p', {}, select), el('p', {class: 'faint'},
    'Speed relative to the baseline, with its 95 % interval; the dashed rule is at 1.',
    hasSamples && ` Right: samples around their median, +/- ${(100 * reach).toPrecision(2)} %.`),
  tracks('', part.map(line)), part.filter(row => row.counters?.judgement).map(row =>
    el('p', {}, swatch(row.variant), `: ${row.counters.judgement}`)), roofline(report, part, strong));
}

const cellColumns = rows => CELL.filter(name => varies(rows, name))
  .map(name => [name, row => row[name],
    value => (name === 'geometry' ? titled(value) : SHORT[value] ?? value)]);
const modelColumns = rows => [['variant', row => row.variant, swatch],
  ...cellColumns(rows).filter(([name]) => name !== 'geometry'), ['time', row => row.time, time],
  ['speedup', row => row.ratio, ratio], ['geometric mean', row => row.speedup?.geomean, ratio],
  ['least', row => row.speedup?.min, ratio], ['most', row => row.speedup?.max, ratio],
  ['tokens/s', row => row.tokens_per_s, fixed(0)],
  ['energy', row => row.model_energy_j, value => scaled(value, 'J')], ['cells', row => row.cells]];

const halfWidth = ({time: median, time_s: {ci95}}) => ci95 && (ci95[1] - ci95[0]) / 2 / median;
// As the tables of the program say it.
function judged(row) {
  if (!row.time) return `${row.status}: ${row.reason ?? ''}`;
  if (row.verification?.accuracy?.class === 'unseen-weights') return 'unjudged';
  if (row.load?.disturbed) return 'busy machine';
  if (!known(halfWidth(row))) return 'few samples';
  return halfWidth(row) > 0.05 ? 'wide spread' : row.status;
}
const rowColumns = rows => [['variant', row => row.variant, swatch], ...cellColumns(rows),
  ['median', row => row.time, time], ['speedup', row => row.ratio, ratio],
  ['95 % interval', row => row.interval && interval(row.interval, fixed(2))],
  ['+/- %', row => row.time && halfWidth(row), fixed(2, 100)],
  ['p95', row => row.time && row.time_s.p95, time],
  ['GB/s', row => row.bytes_per_s / 1e9 || undefined, digits],
  ['TFLOP/s', row => row.flops_per_s / 1e12 || undefined, digits],
  ['% copy', row => row.fraction_of_copy, fixed(1, 100)],
  ['% roof', row => row.fraction_of_roof, fixed(1, 100)], ['bound by', row => row.roof_limit],
  ['% stream', row => row.fraction_of_stream, fixed(1, 100)],
  ['rms error', row => row.verification?.accuracy?.rms_error, value => value.toExponential(1)],
  ['energy', row => row.energy?.joules, value => scaled(value, 'J')],
  ['limited by', row => row.counters?.kernels > 0 ? row.counters.limit : undefined,
    (value, row) => el('span', {title: row.counters.judgement}, value)],
  ['throttled', row => row.throttled_samples || undefined],
  ['samples', row => row.time && (row.sample_digest?.count ?? row.samples_s.length)],
  ['status', judged, value => (value === 'passed' ? value : el('span', {class: 'bad'}, value))]];

function problemsOf(report, rows) {
  const untimed = groups(rows.filter(row => !row.time), row => row.status);
  const counts = [...untimed].map(([status, part]) => `${part.length} ${status}`).join(', ');
  const failures = [...untimed].filter(([status]) => status !== 'skipped').map(([status, part]) =>
    `${count(part.length, 'measurement')} ${status}: `
    + `${unique(part.map(row => row.variant)).join(', ')}. ${part[0].reason ?? ''}`);
  const nothing = counts ? `No measurement has a time: ${counts}.` : 'Nothing was measured.';
  return [!report.complete && 'Incomplete: the run did not finish. This is what it had measured.',
    !rows.some(row => row.time) && nothing, ...failures, ...report.warnings];
}

function reportHeader(report, rows, baselines) {
  const {tool} = report;
  const operations = unique(rows.map(row => row.operation)).join(' and ');
  return header(report.device.name, [operations && `NF4 ${operations}`,
    count(rows.length, 'measurement'), baselines.length > 0 && `baseline ${baselines.join(', ')}`]
    .filter(Boolean).join(', '),
  [[report.started_at, `nf4bench ${tool.version}`, known(tool.git_commit)
    && `commit ${tool.git_commit.slice(0, 8)}${tool.git_dirty ? ' (changed)' : ''}`,
  tool.build_type, tool.compiler].filter(Boolean).join(', ')], problemsOf(report, rows));
}

function reportPage(report) {
  const all = reportRows(report);
  const rows = all.filter(passes);
  const models = modelRows(report, all).filter(passes);
  const wins = countWins(rows);
  const baselines = unique(all.map(row => row.speedup?.baseline).filter(known));
  const leaders = [...groups(rows, row => cellName(row)).values()]
    .map(part => ranked(part, wins)[0]?.variant);
  const strong = new Set([...leaders, ...baselines, ...state.getAll('variant')]);
  const isTimed = rows.some(row => row.time);
  return [reportHeader(report, all, baselines), answer(rows, wins),
    isTimed && section('answer', 'The fastest', 'Its speed relative to the baseline, and its '
      + 'time. A cell leads to all variants in it.',
    matrices(varies(all, 'geometry') ? [...rows, ...models] : rows,
      part => fastestCell(part, wins))),
    all.length > 0 && filters(all), isTimed && curves(report, rows, strong),
    rows.length > 0 && [oneCell(report, all, rows, strong), models.length > 0 && section('model',
      models[0].geometry === 'whole model' ? 'Whole model' : 'All tensors',
      'Each median times the number of tensors of its geometry, summed.',
      sheet('model', models, modelColumns(models), 30)),
    section('rows', 'Measurements', '', sheet('rows', rows, rowColumns(rows)))],
    section('facts', 'How it was measured', '',
      facts('Settings', {...report.settings, command: report.command}),
      facts('Device', report.device), facts('Ceilings', {...report.ceilings, stream: undefined}),
      facts('Host', report.host), facts('Build', report.tool))];
}
