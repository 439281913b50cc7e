// The page of a fleet: who is slow or failed and why, ranking, heat map, one unit, tables.

const VERDICTS = ['FAILED', 'SLOW', 'UNSURE', 'OK'];
const standsOut = unit => VERDICTS.slice(0, 3).includes(unit.verdict);
const isWrong = unit => VERDICTS.slice(0, 2).includes(unit.verdict);
// Those that stand out, then the slowest of the others.
const remarkable = units => sorted(units, unit => (standsOut(unit) ? 0 : 1));
const unitName = unit => [link({unit: unit.index}, {title: unit.id},
  unit.id.startsWith('GPU-') ? unit.id.slice(0, 12) : unit.id), el('small', {}, unit.host)];

// Why a unit failed or is slow, as far as its report tells.
function whyOf(unit) {
  const deviations = [[unit.deviation, ''], [unit.memory_deviation, ' in memory-bound cells'],
    [unit.other_deviation, ' in the other cells']].filter(([value]) => known(value));
  const [most, where] = sorted(deviations, ([value]) => -value)[0] ?? [0, ''];
  return [!unit.complete && 'its run did not end',
    unit.failed > 0 && `${count(unit.failed, 'measurement')} wrong or impossible`,
    most > unit.group.threshold && `${percent(most)} against the median unit${where}`,
    unit.slow_cells > 0 && `slow in ${unit.slow_cells} of ${count(unit.cells, 'cell')}`,
    unit.cause && `likely cause: ${unit.cause}`].filter(Boolean).join(', ');
}

// An axis of deviations, the median in the middle; `most` is what has to find room.
function axisOf(group, most) {
  const reach = Math.min(1, Math.max(0.05, 1.5 * group.threshold, 1.1 * Math.max(0, ...most)));
  const place = deviation => 0.5 + deviation / reach / 2;
  return {place, ends: [percent(-reach), 'median', percent(reach)],
    grid: () => [upright('grid', 0.5), upright('one', place(group.threshold))],
    dot: (kind, deviation) => stroke(`point ${kind}`, place(deviation), place(deviation))};
}

function unitRanking(group, units) {
  const [shown, more] = first(remarkable(units), 60, 'ranked');
  const {place, ends, grid, dot} = axisOf(group, shown.map(unit => unit.deviation ?? 0));
  const line = unit => track(unitName(unit), strip(grid(),
    unit.deviation_ci95 && stroke('whisker', ...unit.deviation_ci95.map(place)),
    known(unit.deviation) && dot(unit.verdict.toLowerCase(), unit.deviation)),
  [known(unit.deviation) ? el('b', {}, percent(unit.deviation)) : 'no time',
    standsOut(unit) && ` ${unit.verdict}`]);
  return section('ranking', 'Ranking', 'How much longer a unit takes than the median unit: the '
    + 'median over its cells, with its 95 % interval. Dashed: the threshold of '
    + `${share(group.threshold)}.`, tracks('', shown.map(line), ends), more);
}

// Shades of a heat map, to both sides, as fractions of the threshold.
const SHADES = [1 / 6, 1 / 3, 2 / 3, 1];
function shadeOf(deviation, threshold) {
  const steps = SHADES.filter(shade => Math.abs(deviation) >= shade * threshold).length;
  return steps === 0 ? 'even' : `${deviation < 0 ? 'faster' : 'slower'}${steps}`;
}
function legendOf(threshold) {
  const deviations = [...SHADES.map(shade => -shade).reverse(), 0, ...SHADES];
  return el('p', {class: 'legend'}, deviations.map(each => el('span', {},
    el('i', {class: shadeOf(each * threshold, threshold)}),
    each === 0 ? `within ${share(SHADES[0] * threshold)}` : percent(each * threshold))));
}
// Neighbours of one shade are one stroke.
function heatStrip(unit, order, threshold) {
  const marks = [];
  order.forEach((cell, i) => {
    if (!known(unit.deviations[cell])) return;
    const shade = shadeOf(unit.deviations[cell], threshold);
    const last = marks.at(-1);
    if (last?.shade === shade && last.to === i) last.to = i + 1;
    else marks.push({shade, from: i, to: i + 1});
  });
  return strip(marks.map(({shade, from, to}) =>
    stroke(shade, from / order.length, to / order.length)));
}
function heatMap(group, units) {
  const places = group.cells.map((_, i) => i).filter(i => group.cells[i].units > 1);
  const order = sorted(places, i => ['memory', 'other', 'unknown'].indexOf(group.cells[i].bound));
  const bound = order.filter(i => group.cells[i].bound === 'memory').length;
  const [shown, more] = first(remarkable(units), 200, 'heated');
  const line = unit => track(unitName(unit), heatStrip(unit, order, group.threshold),
    standsOut(unit) && unit.verdict);
  return section('heat', 'Heat map', 'A line for each unit and a column for each of '
    + `${count(order.length, 'cell')}: the ${bound} that the memory binds, then the others.`,
  legendOf(group.threshold), tracks('heat', shown.map(line)), more);
}

function oneUnit(units) {
  const unit = units[state.get('unit')] ?? remarkable(units)[0];
  const {group} = unit;
  const cells = group.cells.map((cell, i) => ({...cell, deviation: unit.deviations[i]}))
    .filter(cell => known(cell.deviation));
  const {place, ends, grid, dot} = axisOf(group, cells.map(cell => cell.deviation));
  const range = ({lowest_s, highest_s, median_s}) =>
    stroke('whisker', place(lowest_s / median_s - 1), place(highest_s / median_s - 1));
  const line = cell => track(cell.name, strip(grid(), range(cell),
    stroke('half', place(-cell.mad), place(cell.mad)),
    dot(cell.deviation > group.threshold ? 'slow' : 'ok', cell.deviation)),
  percent(cell.deviation));
  const select = el('select', {'data-key': 'unit', 'aria-label': 'unit',
    onchange: event => go({unit: event.target.value})}, remarkable(units).map(each =>
    option(each.index, each === unit, `${each.id} ${each.host}: ${each.verdict}`)));
  return section('unit', 'One unit', '', el('p', {}, select),
    el('p', {}, [unit.verdict, whyOf(unit)].filter(Boolean).join(': ')),
    el('p', {class: 'faint'}, 'In each cell the thin line is the range of all units, the thick '
      + 'one holds the middle half of them, and the point is this unit.'),
    tracks('long', cells.map(line), ends));
}

const unitColumns = () => [['unit', unit => unit.id], ['host', unit => unit.host],
  ['verdict', unit => unit.verdict, verdictWord], ['deviation', unit => unit.deviation, percent],
  ['z', unit => unit.z, fixed(1)], ['memory', unit => unit.memory_deviation, percent],
  ['other', unit => unit.other_deviation, percent], ['slow cells', unit => unit.slow_cells],
  ['cells', unit => unit.cells], ['clock', unit => unit.clock_deviation, percent],
  ['temperature', unit => unit.temperature_c, fixed(0, 1, ' C')],
  ['power', unit => unit.power_w, fixed(0, 1, ' W')], ['throttled', unit => unit.throttled, share],
  ['why', unit => (isWrong(unit) ? whyOf(unit) : undefined)], ['report', unit => unit.report]];
const fleetCellColumns = () => [['cell', cell => cell.name], ['bound by', cell => cell.bound],
  ['units', cell => cell.units], ['median', cell => cell.median_s, time],
  ['MAD', cell => cell.mad, fixed(2, 100, ' %')], ['spread', cell => cell.spread, share],
  ['lowest', cell => cell.lowest_s, time], ['of', cell => cell.lowest_unit],
  ['highest', cell => cell.highest_s, time], ['of ', cell => cell.highest_unit]];

function rankingHeader(ranking, units) {
  const verdicts = groups(units, unit => unit.verdict);
  const counts = VERDICTS.filter(verdict => verdicts.has(verdict))
    .map(verdict => `${verdicts.get(verdict).length} ${verdict}`);
  if (verdicts.has('none')) counts.push(`${verdicts.get('none').length} without a verdict`);
  const devices = ranking.groups.flatMap(group => group.facts)
    .filter(fact => fact.name === 'device').map(fact => fact.value);
  const dates = units.map(unit => unit.started_at).filter(known).sort();
  const left = (what, reports) => reports.map(each => `${what}: ${each.report}: ${each.reason}`);
  const bad = sorted(units.filter(isWrong), unit => VERDICTS.indexOf(unit.verdict));
  return header(counts.join(', ') || 'No unit',
    `${unique(devices).join(', ')}: ${count(units.length, 'unit')}`,
    [`${unique([dates[0], dates.at(-1)]).join(' to ')}, nf4bench ${ranking.tool_version}`,
      ...ranking.groups.map(factsOf)],
    [ranking.gate && gateText(ranking.gate), ...bad.map(unit => [
      el('b', {class: 'bad'}, unit.verdict), ' ', link({unit: unit.index}, {}, unit.id),
      ` ${unit.host}: ${whyOf(unit)}`]), ...ranking.missing.map(name => `missing: ${name}`),
    ...left('refused', ranking.refused), ...left('not read', ranking.unread),
    ...left('replaced', ranking.replaced)]);
}
const factsOf = group => group.facts.filter(fact => fact.name !== 'device')
  .map(fact => `${fact.name.replaceAll('_', ' ')} ${fact.value}`).join(', ');

function rankingPage(ranking) {
  const units = ranking.groups.flatMap(group => group.units.map(unit => ({...unit, group})))
    .map((unit, index) => ({...unit, index}));
  const cells = ranking.groups.flatMap(group => group.cells).filter(cell => cell.units > 1);
  return [rankingHeader(ranking, units), ranking.groups.map(group => {
    const own = units.filter(unit => unit.group === group);
    const about = ranking.groups.length > 1 && el('h2', {}, factsOf(group));
    return [about, unitRanking(group, own), heatMap(group, own)];
  }), units.length > 0 && [oneUnit(units),
    section('units', 'Units', '', sheet('units', units, unitColumns())),
    section('cells', 'Cells', '', sheet('cells', cells, fleetCellColumns()))]];
}
