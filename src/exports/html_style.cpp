#include "exports/html_kit.hpp"

namespace nf4bench::exports {

// Colours are told apart by people who see few of them (after Okabe and Ito), on either ground.
const char* const kPageStyle = R"CSS(
:root { color-scheme: light dark; --ground: #fff; --ink: #1c2024; --faint: #656d76; --rule: #d8dee4;
  --head: #f4f6f8; --mark: #fff4c2; --bad: #b3261e; --good: #1a7f37; --s0: #0072b2; --s1: #d55e00;
  --s2: #009e73; --s3: #b8528f; --s4: #b58900; --s5: #2aa1d8; --s6: #7a5cc2; --s7: #6b4423;
  --s8: #00796b; --s9: #a3195b; --s10: #5d7a00; --s11: #3949ab; --s12: #8a929a; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e4e8ec; --faint: #9aa4ae;
  --rule: #343b42; --head: #1e2328; --mark: #4a4115; --bad: #ff8a80; --good: #6fd08c; --s0: #4aa3df;
  --s1: #ff8c42; --s2: #3cc79b; --s3: #e389bd; --s4: #e0b83c; --s5: #7fd0f5; --s6: #ab93ee;
  --s7: #c79a6f; --s8: #4db6ac; --s9: #f06292;
  --s10: #aec94a; --s11: #8c9eff; --s12: #8a929a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 24px; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6em; line-height: 1.25; margin: 0; }
h2 { font-size: 1.2em; margin: 2em 0 0.2em; }
p { margin: 0.3em 0 0.8em; } .faint, figcaption { color: var(--faint); }
nav a { display: inline-block; margin-right: 1em; } a { color: var(--s0); }
.warning { border-left: 4px solid var(--s4); padding: 2px 12px; }
figure { margin: 0 0 12px; break-inside: avoid; }
figcaption { font-size: 0.9em; overflow-wrap: anywhere; }
.figures { display: grid; gap: 16px 32px;
  grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr)); }
svg { display: block; width: 100%; }
svg path { fill: none; vector-effect: non-scaling-stroke; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.line { display: grid; grid-template-columns: minmax(0, 11.5em) minmax(0, 1fr) 5em; gap: 0 8px;
  align-items: center; color: inherit; text-decoration: none; font-size: 0.87em; line-height: 1.2; }
.line:hover .name { text-decoration: underline; }
.line .name { padding: 2px 0; text-align: right; overflow-wrap: anywhere; }
.line .note { color: var(--faint); }
.speedups .note { color: inherit; } .speedups .drawing { height: 22px; }
.samples .line { grid-template-columns: minmax(0, 11.5em) minmax(0, 1fr) 15em; align-items: end; }
.samples .drawing { height: 46px; }
.axis { height: 20px; overflow: visible; } svg.axis text { text-anchor: middle;
  fill: var(--faint); font-size: 11px; } svg.axis .first { text-anchor: start; }
svg.axis .last { text-anchor: end; }
.chart { display: grid; grid-template-columns: 2.6em minmax(0, 1fr) 5em; gap: 0 6px;
  padding-top: 8px; } .chart > svg { height: 400px; overflow: visible; }
.chart > .axis { grid-column: 2; height: 20px; } .rates text { text-anchor: end; }
.rates text, .ceilings text { fill: var(--faint); font-size: 11px; }
.grid { stroke: var(--rule); } .one, .ceiling { stroke: var(--faint); stroke-dasharray: 5 4; }
.whisker { stroke: var(--ink); stroke-width: 1.4; }
.base { stroke: var(--rule); } .interval { stroke: var(--ink); stroke-width: 4; }
.rate { stroke: var(--c); stroke-width: 2; } .rate.stream { stroke-width: 1.5;
  stroke-dasharray: 2 3; } .bar { fill: var(--c); }
.point { stroke: var(--c); stroke-width: 8; stroke-linecap: round; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); } .s3 { --c: var(--s3); }
.s4 { --c: var(--s4); } .s5 { --c: var(--s5); } .s6 { --c: var(--s6); } .s7 { --c: var(--s7); }
.s8 { --c: var(--s8); } .s9 { --c: var(--s9); } .s10 { --c: var(--s10); } .s11 { --c: var(--s11); }
.s12 { --c: var(--s12); } .stream { --c: var(--faint); }
.legend span { display: inline-block; margin-right: 1.2em; font-size: 0.9em; max-width: 100%;
  overflow-wrap: anywhere; }
.legend i { display: inline-block; width: 14px; height: 10px; margin-right: 5px;
  background: var(--c); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 0.87em; }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid var(--rule);
  vertical-align: bottom; } td { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 12.5em;
  background: var(--ground); } th { background: var(--head); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.reason { color: var(--faint); white-space: normal;
  overflow-wrap: anywhere; } .good { color: var(--good); }
.bad { color: var(--bad); } tr:target td { background: var(--mark); }
.bars { width: 22%; min-width: 100px; } .bars .drawing { height: 12px; }
dl { display: grid; grid-template-columns: minmax(6em, max-content) minmax(0, 1fr); gap: 2px 20px; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.choice select { font: inherit; max-width: 100%; }
.js figure.samples:not(.chosen) { display: none; }
html:not(.js) .choice { display: none; }
@media (max-width: 640px) { body { padding: 12px; } h2 { margin-top: 1.5em; }
  .line { grid-template-columns: minmax(0, 9.5em) minmax(0, 1fr) 4em; font-size: 0.8em; }
  .chart > svg { height: 300px; } td:first-child { min-width: 10em; }
  .samples .line { grid-template-columns: minmax(0, 1fr) auto; }
  .samples .line svg { grid-column: 1 / -1; grid-row: 2; }
  .samples .line .name { text-align: left; } }
@media print { :root { color-scheme: light; --ground: #fff; --ink: #000; --faint: #555;
  --rule: #ccc; --head: #eee; --bad: #b3261e; --good: #1a7f37; --s0: #0072b2; --s1: #d55e00;
  --s2: #009e73; --s3: #b8528f; --s4: #b58900; --s5: #2aa1d8; --s6: #7a5cc2; --s7: #6b4423;
  --s8: #00796b; --s9: #a3195b; --s10: #5d7a00; --s11: #3949ab; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav, .choice { display: none; }
  .figures { grid-template-columns: 1fr 1fr; } tr { break-inside: avoid; }
  table { font-size: 6.5pt; }
  th, td { padding: 2px 4px; } td:first-child { min-width: 0; }
  .wide { overflow: visible; }
  h2, section > p { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)CSS";

// Without it all cells' samples are shown.
const char* const kPageScript = R"JS(
const choice = document.getElementById('cell');
function show() {
  for (const figure of document.querySelectorAll('figure.samples')) {
    figure.classList.toggle('chosen', figure.id === choice.value);
  }
}
document.documentElement.classList.add('js');
choice.addEventListener('change', show);
show();
)JS";

}  // namespace nf4bench::exports
