#include "exports/html_parts.hpp"

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
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6em; margin: 0; } h2 { font-size: 1.2em; margin: 2em 0 0.2em; }
p { margin: 0.3em 0 0.8em; } .faint, figcaption { color: var(--faint); }
nav a { margin-right: 1em; } a { color: var(--s0); }
.warning { border-left: 4px solid var(--s4); padding: 2px 12px; }
figure { margin: 0 0 12px; break-inside: avoid; } figcaption { font-size: 0.9em; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 16px; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink);
  paint-order: stroke; stroke: var(--ground); stroke-width: 3px; stroke-linejoin: round; }
svg .tick { text-anchor: middle; fill: var(--faint); font-size: 11px; }
svg .name { text-anchor: end; } svg .note { fill: var(--faint); font-size: 11px; }
svg a:hover text { text-decoration: underline; }
.grid { stroke: var(--rule); } .one, .ceiling { stroke: var(--faint); stroke-dasharray: 5 4; }
.whisker { stroke: var(--ink); stroke-width: 1.4; fill: none; }
.base { stroke: var(--rule); } .interval { stroke: var(--ink); stroke-width: 4; }
.line { fill: none; stroke: var(--c); stroke-width: 2; } .line.stream { stroke-width: 1.5;
  stroke-dasharray: 2 3; } .bar, .point { fill: var(--c); }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); } .s3 { --c: var(--s3); }
.s4 { --c: var(--s4); } .s5 { --c: var(--s5); } .s6 { --c: var(--s6); } .s7 { --c: var(--s7); }
.s8 { --c: var(--s8); } .s9 { --c: var(--s9); } .s10 { --c: var(--s10); } .s11 { --c: var(--s11); }
.s12 { --c: var(--s12); } .stream { --c: var(--faint); }
.legend span { white-space: nowrap; margin-right: 1.2em; font-size: 0.9em; }
.legend i { display: inline-block; width: 14px; height: 10px; margin-right: 5px;
  background: var(--c); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 0.87em; }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid var(--rule);
  vertical-align: bottom; } td { white-space: nowrap; }
th { background: var(--head); font-weight: 600; } .number { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.reason { color: var(--faint); white-space: normal;
  overflow-wrap: anywhere; } .good { color: var(--good); }
.bad { color: var(--bad); } tr:target { background: var(--mark); } .bars { width: 22%; }
.total { display: block; height: 12px; background: var(--c); min-width: 1px; }
dl { display: grid; grid-template-columns: minmax(120px, max-content) 1fr; gap: 2px 20px; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.choice select { font: inherit; } .js figure.samples:not(.chosen) { display: none; }
html:not(.js) .choice { display: none; }
@media print { :root { color-scheme: light; --ground: #fff; --ink: #000; --faint: #555;
  --rule: #ccc; --head: #eee; --bad: #b3261e; --good: #1a7f37; --s0: #0072b2; --s1: #d55e00;
  --s2: #009e73; --s3: #b8528f; --s4: #b58900; --s5: #2aa1d8; --s6: #7a5cc2; --s7: #6b4423;
  --s8: #00796b; --s9: #a3195b; --s10: #5d7a00; --s11: #3949ab; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav, .choice { display: none; }
  .figures { grid-template-columns: 1fr 1fr; } tr { break-inside: avoid; } table { font-size: 6.5pt; }
  th, td { padding: 2px 4px; } .wide { overflow: visible; }
  h2 { break-after: avoid; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
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
