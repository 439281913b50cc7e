// What the pages of a report, a comparison and a fleet share. Strings of the document come from
// strangers: they become text nodes and values of attributes, never markup. What the reader picks
// stands in the fragment of the address, so that a link shows the same.

const data = JSON.parse(document.getElementById('data').textContent);
const known = value => value !== undefined && value !== null && value !== '';
const unique = values => [...new Set(values)];
function groups(items, keyOf) {
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(item);
  }
  return found;
}

// ---- Elements

// What nobody can see, or what turns the order of text around.
const UNSEEN =
  /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
const plain = value => String(value).replace(UNSEEN, '\ufffd');

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('--')) node.style.setProperty(name, value);
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, plain(value));
  }
  const shown = children.flat(Infinity).filter(child => known(child) && child !== false);
  node.append(...shown.map(child => (child instanceof Node ? child : plain(child))));
  return node;
}
const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
const section = (id, heading, about, ...content) =>
  el('section', {id}, el('h2', {}, heading), about && el('p', {class: 'faint'}, about), content);
const header = (heading, about, lines, problems) => el('header', {}, el('h1', {}, heading),
  el('p', {}, about), lines.filter(known).map(line => el('p', {class: 'faint'}, line)),
  problems.filter(Boolean).map(problem => el('p', {class: 'warning'}, problem)));
// Scrolls by itself, also by keyboard, where it is wider than the window.
const wide = (name, content) =>
  el('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': name}, content);
const option = (value, isPicked, text) =>
  el('option', {value, selected: isPicked ? '' : undefined}, text);

// ---- What the reader picked

let state = new URLSearchParams();
function address(changes) {
  const next = new URLSearchParams(state);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of [value].flat().filter(known)) next.append(name, each);
  }
  return `#${next}`;
}
const go = changes => { location.hash = address(changes); };
const link = (changes, attributes, ...children) =>
  el('a', {href: address(changes), ...attributes}, children);
const isPicked = (name, value) => state.get(name) === String(value);

// ---- Numbers

const fixed = (digits, factor = 1, unit = '') => value => (factor * value).toFixed(digits) + unit;
const ratio = value => `${value.toFixed(value < 9.995 ? 2 : 1)}x`;
// Three digits at least.
const digits = value => (value < 100 ? value.toPrecision(3) : value.toFixed(0));
const share = fixed(1, 100, ' %');
const percent = value => `${value > -0.0005 ? '+' : ''}${share(value).replace('-0.0', '0.0')}`;
const interval = (ends, show) => `[${ends.map(show).join(', ')}]`;
const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;
const PREFIXES =
  [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'u']];
function scaled(value, unit, digits = 4) {
  if (value === 0) return `0 ${unit}`;
  const [factor, prefix] =
    PREFIXES.find(([least]) => Math.abs(value) >= 0.9995 * least) ?? [1e-9, 'n'];
  const shown = (value / factor).toPrecision(digits);
  return `${digits < 4 ? Number(shown) : shown} ${prefix}${unit}`;
}
const time = value => scaled(value, 's');

// A member of the document in words; the end of its name says its unit.
const UNITS = {bytes_per_s: 'B/s', flops_per_s: 'FLOP/s', hz: 'Hz', s: 's', w: 'W', bytes: 'B'};
function inWords(name, value) {
  if (!known(value)) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(each => inWords(name, each)).join(' ');
  if (typeof value === 'object') {
    return Object.entries(value).map(([key, each]) => [key, inWords(`${name}_${key}`, each)])
      .filter(([, words]) => words).map(pair => pair.join(' ').replaceAll('_', ' ')).join(', ');
  }
  const unit = Object.keys(UNITS).find(each => name.endsWith(`_${each}`));
  return unit && typeof value === 'number' ? scaled(value, UNITS[unit]) : String(value);
}
const facts = (heading, members) => el('details', {}, el('summary', {}, heading), el('dl', {},
  Object.entries(members).map(([name, value]) => [name, inWords(name, value)])
    .filter(([, words]) => words)
    .map(([name, words]) => [el('dt', {}, name.replaceAll('_', ' ')), el('dd', {}, words)])));

// ---- Variants: colour and mark follow from the name alone

const MARKS = ['M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z', 'M-3.5-3.5h7v7h-7z', 'M0-5 5 0 0 5-5 0z',
  'M0-4.6 4.6 3.6h-9.2z'];
function look(name) {
  let hash = 259848;  // with it the kernels that meet in reports look different
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  hash = (hash ^ (hash >>> 15)) >>> 0;
  return {hue: 15 * (hash % 24), d: MARKS[(hash >>> 8) % 4], isHollow: (hash >>> 10) % 2 === 1};
}
function mark(name, attributes = {}) {
  const {hue, d, isHollow} = look(name);
  return svg('path', {class: isHollow ? 'mark hollow' : 'mark', '--h': hue, d, ...attributes});
}
const verdictWord = verdict => el('span', {class: verdict.toLowerCase()}, verdict);
const gateText = ({passed, reasons}) =>
  `Gate ${passed ? 'passed' : 'failed'}` + (reasons.length > 0 ? `: ${reasons.join(', ')}` : '');
const swatch = name => [svg('svg',
  {class: 'swatch', viewBox: '-6 -6 12 12', 'aria-hidden': 'true'}, mark(name)), name];

// ---- Rows of cells, and which of them are shown

const CELL = ['geometry', 'operation', 'dtype', 'tokens', 'cache', 'launch'];
const PICKS = [...CELL, 'status', 'verdict'];
const SHORT = {float16: 'fp16', bfloat16: 'bf16', float32: 'fp32'};
const inShort = (name, value) =>
  SHORT[value] ?? (name === 'tokens' && known(value) ? count(value, 'token') : value);
const varies = (rows, name) => unique(rows.map(row => row[name])).length > 1;
const cellName = (row, names = CELL) =>
  names.map(name => inShort(name, row[name])).filter(known).join(' ');
const passes = row => PICKS.every(name => !state.has(name) || isPicked(name, row[name]))
  && (!state.has('variant') || state.getAll('variant').includes(row.variant));

function filters(rows) {
  const selects = PICKS.filter(name => varies(rows, name) || state.has(name)).map(name => {
    const values = unique([...rows.map(row => row[name]), state.get(name)]).filter(known);
    return el('label', {}, name, el('select', {'data-key': name,
      onchange: event => go({[name]: event.target.value})}, option('', false, 'all'),
    values.map(value => option(value, isPicked(name, value), inShort(name, value)))));
  });
  const picked = state.getAll('variant');
  const chips = unique(rows.map(row => row.variant)).map(name => {
    const others = picked.filter(each => each !== name);
    const isOn = others.length < picked.length;
    return el('button', {type: 'button', 'data-key': `variant ${name}`, 'aria-pressed': String(isOn),
      onclick: () => go({variant: isOn ? others : [...picked, name]})}, swatch(name));
  });
  const none = Object.fromEntries([...PICKS, 'variant'].map(name => [name, '']));
  const isAny = Object.keys(none).some(name => state.has(name));
  return [el('div', {class: 'filters', role: 'group', 'aria-label': 'What is shown'}, selects,
    isAny && link(none, {'data-key': 'none'}, 'show all')),
  el('div', {class: 'chips', role: 'group', 'aria-label': 'Variants'}, chips)];
}

// ---- Tables

let isPrinting = false;
// The first of `items`, and a link to all of them.
function first(items, most, key) {
  if (items.length <= most || isPrinting || state.has(key)) return [items, ''];
  const more = link({[key]: 1}, {'data-key': key}, `show all ${items.length}`);
  return [items.slice(0, most), el('p', {}, more)];
}

function compared(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', {numeric: true});
}
// Rows without the value come last, whatever the direction.
function sorted(rows, value, isDown) {
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    return known(a) && known(b) ? (isDown ? -1 : 1) * compared(a, b) : known(b) - known(a);
  });
}

// `columns`: [name, value of a row, its text]; those without any value are left out.
function sheet(id, rows, columns, most = 200) {
  const used = columns.map(([name, value, show = String]) =>
    ({name, value, show, isNumber: rows.some(row => typeof value(row) === 'number')}))
    .filter(({value}) => rows.some(row => known(value(row))));
  const by = (state.get(`${id}-by`) ?? '').replace(/^-/, '');
  const isDown = state.get(`${id}-by`)?.startsWith('-');
  const column = used.find(({name}) => name === by);
  const ordered = column ? sorted(rows, column.value, isDown) : rows;
  const place = ordered.findIndex(row => isPicked('row', row.index));
  const [shown, more] = first(ordered, Math.max(most, place + 1), `${id}-all`);
  const kind = isNumber => (isNumber ? 'number' : undefined);
  const head = used.map(({name, isNumber}) => el('th', {scope: 'col', class: kind(isNumber),
    'aria-sort': name === by && (isDown ? 'descending' : 'ascending')},
  el('button', {type: 'button', 'data-key': `${id} ${name}`,
    onclick: () => go({[`${id}-by`]: name === by && !isDown ? `-${name}` : name})}, name)));
  const line = row => used.map(({value, show, isNumber}, i) => {
    const content = known(value(row)) && show(value(row), row);
    return i ? el('td', {class: kind(isNumber)}, content)
      : el('th', {scope: 'row'}, known(row.index) ? link({row: row.index}, {}, content) : content);
  });
  const body = shown.map(row => el('tr', known(row.index) ? {id: `m${row.index}`,
    class: isPicked('row', row.index) && 'picked'} : {}, line(row)));
  const table = el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, body));
  return [wide(id, table), more];
}

// Geometries down; tokens, or else types and modes across. `cell` makes a <td> of some rows.
function matrices(rows, cell) {
  const across = row => (known(row.tokens) ? ['tokens'] : ['dtype', 'cache', 'launch']);
  const column = row => cellName(row, across(row));
  const apart = row =>
    cellName(row, CELL.filter(name => name !== 'geometry' && !across(row).includes(name)));
  return [...groups(rows, apart)].map(([caption, part]) => {
    const columns = unique(part.map(column));
    const [lines, more] = first([...groups(part, row => row.geometry)], 30, 'geometries');
    const body = lines.map(([geometry, line]) => {
      const cells = groups(line, column);
      return el('tr', {}, el('th', {scope: 'row'}, titled(geometry)),
        columns.map(each => (cells.has(each) ? cell(cells.get(each)) : el('td'))));
    });
    const head = el('tr', {}, el('td'), columns.map(each => el('th', {scope: 'col'}, each)));
    return el('figure', {}, el('figcaption', {}, caption), wide(caption,
      el('table', {class: 'matrix'}, el('thead', {}, head), el('tbody', {}, body))), more);
  });
}
function titled(geometry) {
  const [, shape, rest] = /^(\d\S*) (.*)$/.exec(geometry) ?? [];
  return shape ? [shape, el('small', {}, rest)] : geometry;
}

// ---- Drawings are stretched to the room there is: words stand beside them

const WIDTH = 1000;
const along = share => (WIDTH * Math.min(Math.max(share, 0), 1)).toFixed(1);
const stroke = (kind, from, to, attributes = {}) =>
  svg('path', {class: kind, d: `M${along(from)} 10H${along(to)}`, ...attributes});
const upright = (kind, share, top = 0) =>
  svg('path', {class: kind, d: `M${along(share)} 20V${top}`});
const strip = (...marks) => svg('svg', {class: 'strip', viewBox: `0 0 ${WIDTH} 20`,
  preserveAspectRatio: 'none', 'aria-hidden': 'true'}, marks);
const track = (name, drawings, note) => el('div', {class: 'track'},
  el('span', {class: 'name'}, name), el('span', {class: 'drawings'}, drawings),
  el('span', {class: 'note'}, note));
// Lines on one scale; `ends` stand below it.
const tracks = (kind, lines, ends) => el('div', {class: `tracks ${kind}`}, lines,
  ends && track('', el('span', {class: 'ends'}, ends.map(end => el('span', {}, end))), ''));

// 0 to `most` in steps of 1, 2 or 5 times a power of ten.
function evenTicks(most) {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  const step = power * [1, 2, 5, 10].find(each => each * power >= most / 5);
  return Array.from({length: Math.ceil(most / step - 1e-9) + 1}, (_, i) => i * step);
}
// 1, 2 and 5 times powers of ten from below `low` to above `high`; of many the powers alone.
function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power < 10 * high; ++power) {
    ticks.push(...[1, 2, 5].map(each => each * 10 ** power));
  }
  const begin = ticks.findLastIndex(tick => tick <= low);
  const inside = ticks.slice(begin, ticks.findIndex(tick => tick > high) + 1);
  return inside.length < 9 ? inside
    : ticks.filter((tick, i) => i % 3 === 0 && tick >= low / 10 && tick <= high * 10);
}
const logScale = (low, high) => value => Math.log(value / low) / Math.log(high / low);

// Lines over a logarithmic axis. `points`: {x, y, variant, index}; `levels`: [name, y]; `roof`: what
// bounds y, corners of a line [x, y] between which it is drawn; `strong`: the variants that are named.
function chart({caption, points, levels = [], roof = [], xText, yText, isLog, strong}) {
  const [width, height, left, top] =
    isPrinting ? [340, 220, 48, 10] : [Math.min(560, innerWidth - 32), 300, 48, 10];
  const right = width - Math.min(110, 0.3 * width);
  const xs = unique(points.map(point => point.x)).sort((a, b) => a - b);
  const ys = [...points.map(point => point.y), ...[...levels, ...roof].map(([, y]) => y)]
    .sort((a, b) => a - b);
  const [low, high] = [ys[0], ys.at(-1)];
  const ticks = isLog ? logTicks(low, high) : evenTicks(high);
  const span = [...xs, ...roof.map(([value]) => value)].sort((a, b) => a - b);
  const xShare = span[0] < span.at(-1) ? logScale(span[0], span.at(-1)) : () => 0.5;
  const yShare = isLog ? logScale(ticks[0], ticks.at(-1)) : value => value / ticks.at(-1);
  const x = value => left + 8 + (right - left - 16) * xShare(value);
  const y = value => top + (height - top - 26) * (1 - yShare(value));
  const place = point => `${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`;
  const text = (kind, tx, ty, words) =>
    svg('text', {class: kind, x: tx.toFixed(1), y: (ty + 4).toFixed(1)}, words);
  const level = (kind, value) =>
    svg('path', {class: kind, d: `M${left} ${y(value).toFixed(1)}H${right.toFixed(1)}`});
  // A number where there is room for it.
  let last = -Infinity;
  const places = xs.filter(value => x(value) - last > 36 && (last = x(value)));
  const names = levels.map(([name, value]) => [name, y(value)]);
  const lines = [...groups(points, point => point.variant)].map(([variant, own]) => {
    own.sort((a, b) => a.x - b.x);
    if (strong.has(variant)) names.push([variant, y(own.at(-1).y)]);
    const dots = own.map(point => svg('a', {href: address({row: point.index}), tabindex: -1},
      svg('title', {}, `${variant}: ${yText(point.y)}, ${xText(point.x)}`),
      mark(variant, {transform: `translate(${place(point)})`})));
    return svg('g', {class: strong.has(variant) ? 'line' : 'line weak', '--h': look(variant).hue},
      svg('path', {d: `M${own.map(place).join('L')}`}), dots);
  });
  names.sort((a, b) => a[1] - b[1]);
  names.forEach((name, i) => { if (i) name[1] = Math.max(name[1], names[i - 1][1] + 13); });
  names.reverse().forEach((name, i) => {
    name[1] = Math.min(name[1], i ? names[i - 1][1] - 13 : height - 16);
  });
  return el('figure', {}, el('figcaption', {}, caption), svg('svg', {class: 'chart', role: 'img',
    'aria-label': caption, viewBox: `0 0 ${width} ${height}`},
  ticks.map(tick => [level('grid', tick), text('tick', left - 6, y(tick), yText(tick, true))]),
  places.map(value => text('place', x(value), height - 12, xText(value, true))),
  levels.map(([, value]) => level('level', value)),
  roof.length > 0 && svg('path', {class: 'level',
    d: `M${roof.map(([rx, ry]) => place({x: rx, y: ry})).join('L')}`}),
  lines.sort((a, b) => b.matches('.weak') - a.matches('.weak')),
  names.map(([name, ty]) =>
    text('word', right + 4, ty, name.length > 15 ? `${name.slice(0, 14)}\u2026` : name))));
}
