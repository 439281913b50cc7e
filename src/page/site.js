// The pages of a folder of reports: all cards, and one card.

const siteCardColumns = site => [['card', card => card.name,
  (name, card) => el('a', {href: card.file}, name)],
['boards', card => card.boards], ['reports', card => card.reports],
['sent by', card => card.senders.join(', ')], ['newest build', card => card.build],
['newest report', card => card.newest_at.slice(0, 10)],
['copy, GB/s', card => card.copy_bytes_per_s / 1e9, fixed(0)],
...site.shared.map((name, i) => [name, card => card.fastest[i], time])];

function sitePage(site) {
  return [header('nf4bench results', site.about, [`nf4bench ${site.tool_version}`], []),
    section('cards', 'Cards', 'Each leads to all its times. In the last columns: the fastest '
      + 'variant, cold.', sheet('cards', site.cards, siteCardColumns(site))),
    section('add', 'Add a card', 'On a machine that does nothing else, then send the files that '
      + 'are plausible.', site.commands.map(command => el('p', {}, el('code', {}, command)))),
    site.left_out.length > 0 && section('left', 'Left out', '', sheet('left', site.left_out,
      [['report', each => each.report], ['why', each => each.reason]]))];
}

const entryColumns = rows => [['variant', row => row.variant, swatch], ...cellColumns(rows),
  ['time', row => row.time, time], ['speedup', row => row.ratio, ratio],
  ['over', row => row.speedup?.baseline], ['% copy', row => row.fraction_of_copy, fixed(1, 100)],
  ['boards', row => row.boards], ['spread', row => row.spread, fixed(2, 100, ' %')],
  ['lowest', row => row.spread && row.lowest, time],
  ['highest', row => row.spread && row.highest, time],
  ['build', row => row.build], ['sent by', row => row.senders.join(', ')]];

function cardPage(card) {
  const all = card.rows.map(row => ({...row, ratio: row.speedup?.ratio}));
  const rows = all.filter(passes);
  const wins = countWins(rows);
  return [el('p', {}, el('a', {href: 'index.html'}, 'all cards')),
    header(card.name, card.about, [card.rule], []), answer(rows, wins), filters(all),
    section('answer', 'The fastest', 'Its speed relative to the baseline of its report, and its '
      + 'time.', matrices(rows, part => fastestCell(part, wins))),
    section('rows', 'Times', '', sheet('rows', rows, entryColumns(rows)))];
}
