// Draws the page, and again whenever the fragment of the address changes.

const PAGES = {'nf4bench.report': reportPage, 'nf4bench.comparison': comparisonPage,
  'nf4bench.ranking': rankingPage, 'nf4bench.site': sitePage, 'nf4bench.card': cardPage};
function draw() {
  const key = document.activeElement?.dataset?.key;
  const opened = [...document.querySelectorAll('details')].map(each => each.open);
  document.getElementById('page').replaceChildren(
    ...PAGES[data.schema](data).flat(Infinity).filter(part => part instanceof Node));
  document.querySelectorAll('details').forEach((each, i) => { each.open = opened[i] ?? false; });
  if (key) document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
}
function follow() {
  const before = state;
  state = new URLSearchParams(location.hash.slice(1));
  draw();
  const moved = ['row', 'cell', 'unit'].find(name =>
    state.has(name) && state.get(name) !== before.get(name));
  const target = document.getElementById(moved === 'row' ? `m${state.get('row')}` : moved);
  target?.scrollIntoView({block: moved === 'row' ? 'center' : 'start'});
}
addEventListener('hashchange', follow);
addEventListener('beforeprint', () => { isPrinting = true; draw(); });
addEventListener('afterprint', () => { isPrinting = false; draw(); });
follow();
