"""The page's style: light and dark, from a telephone's 400 px to a screen, and A4 paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --ground: #fff; --soft: #f3f4f6; --line: #d5d8dd; --dim: #5c6370;
  --critical: #b3261e; --warning: #8a5a00; --ok: #1d7a43; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --ground: #141517; --soft: #222428;
  --line: #3a3d44; --dim: #a0a6b0; --critical: #ff8a80; --warning: #f0b429; --ok: #6fd08c; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 1.5rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--ground); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin: 1.75rem 0 0.5rem; }
h3 { font-size: 1rem; margin: 0.75rem 0 0.25rem; }
.lead { font-size: 1.15rem; font-weight: 600; }
code, pre { font: 0.875rem/1.4 ui-monospace, monospace; background: var(--soft); border-radius: 4px; }
code { padding: 0.1rem 0.25rem; overflow-wrap: anywhere; }
li.ok, li.warning, li.critical, li.unknown { list-style: none; margin-left: -1.2rem; }
pre { padding: 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.6rem; margin: 1rem 0; }
.tiles div { border: 1px solid var(--line); border-left: 4px solid var(--dim); border-radius: 6px;
  padding: 0.5rem 0.75rem; }
.tiles span { display: block; font-size: 0.8rem; color: var(--dim); } .tiles strong { font-size: 1.2rem; }
.tiles .critical { border-left-color: var(--critical); } .tiles .warning { border-left-color: var(--warning); }
.tiles .ok { border-left-color: var(--ok); }
.critical b, td.critical, li.critical { color: var(--critical); } td.warning, li.warning { color: var(--warning); }
.ok b, td.ok, li.ok { color: var(--ok); }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; margin: 0.5rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.75rem 0.3rem 0;
  border-bottom: 1px solid var(--line); }
td:not(.n, .bar) { overflow-wrap: anywhere; min-width: 5rem; }
@media screen { table:has(.bar) td:first-child { min-width: 11.25rem; } table:has(.bar) .n { white-space: nowrap; } }
th { font-size: 0.8rem; color: var(--dim); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { width: 12rem; } .bar svg { display: block; width: 100%; max-width: 14rem; min-width: 8rem; height: auto; }
.note { font-size: 0.85rem; color: var(--dim); margin: 0.25rem 0; }
figure { margin: 0.5rem 0; max-width: 45rem; } svg { max-width: 100%; height: auto; }
.many { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem 1.5rem; }
.many figure { margin: 0; min-width: 0; } .many figcaption { font-size: 0.85rem; font-weight: 600; }
details { border-top: 1px solid var(--line); padding: 0.4rem 0; } summary { cursor: pointer; }
summary h2 { display: inline; font-size: 1.05rem; }
.first { border-top: 2px solid var(--dim); margin-top: 2rem; }
@media screen and (max-width: 820px) {
  table, tbody, tr, td { display: block; } thead { display: none; } tr { border-bottom: 1px solid var(--line); }
  td { border: 0; padding: 0.1rem 0; overflow-wrap: anywhere; } td:empty { display: none; } .n { text-align: left; }
  td::before { content: attr(data-of) " "; color: var(--dim); font-size: 0.8rem; } td.bar { width: 100%; }
  td:first-child { font-weight: 600; padding-top: 0.4rem; } td:first-child::before { content: ""; }
}
@page { size: A4; margin: 11mm; }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 8.5pt; line-height: 1.2; }
  ul { columns: 2; }
  h1 { font-size: 13pt; margin: 0; } h2 { font-size: 11pt; margin: 0.5rem 0 0; } h3 { font-size: 9.5pt; }
  .lead { font-size: 10.5pt; margin: 0.3rem 0; } p, ul, figure { margin: 0.25rem 0; } figure { max-width: 120mm; }
  code, pre { font-size: 8pt; background: none; }
  pre { border: 1px solid var(--line); padding: 0.3rem; margin: 0.2rem 0; }
  .tiles { gap: 0.3rem; margin: 0.4rem 0; grid-template-columns: none; grid-auto-flow: column;
    grid-auto-columns: 1fr; }
  .tiles div { padding: 0.2rem 0.4rem; }
  .tiles strong { font-size: 10.5pt; } .tiles span, .note { font-size: 7.5pt; margin: 0; }
  table { font-size: 8pt; margin: 0.2rem 0; } th { font-size: 7.5pt; } th, td { padding: 0.08rem 0.4rem 0.08rem 0; }
  .bar { width: 36mm; } .many { grid-template-columns: repeat(2, 1fr); gap: 0.4rem 1rem; }
  tr, figure, li, pre { break-inside: avoid; } h1, h2, h3 { break-after: avoid; }
  .first { break-before: page; border-top: none; margin-top: 0; }
  details::details-content { content-visibility: visible; } summary { list-style: none; }
}
""".strip()
