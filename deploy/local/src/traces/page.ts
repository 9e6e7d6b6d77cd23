import { printable } from '@holdpoint/contracts';
import type { Span } from './otlp.js';
import type { Trace } from './trace-store.js';
import { inOrder, type Scale, scaleOf } from './waterfall.js';

const WIDTH = 1_000;
const DEEPEST = 24;
/** Drawn once a row. */
const MOST_GAPS = 20;

/** Text of a stranger, made visible and harmless within an element or a quoted attribute. */
const safe = (text: string): string => printable(text).replaceAll(/[&<>"']/g, (ch) => `&#${ch.codePointAt(0)};`);

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="stylesheet" href="/style.css"></head><body><h1><a href="/">Holdpoint traces</a></h1>${body}</body></html>`;

export function listPage(traces: readonly Trace[]): string {
  if (traces.length === 0) return page('Traces', '<p>Nothing yet. Start a run, then load this page again.</p>');
  const rows = traces.map((trace) => {
    const { first, ms, services, failed } = summary(trace);
    return `<tr><td>${clock(first.from)}</td><td><a href="/traces/${trace.id}">${safe(first.name)}</a></td><td>${safe(first.service)}</td><td class="n">${trace.spans.length}</td><td class="n">${services}</td><td class="n">${duration(ms)}</td><td class="bad">${failed || ''}</td></tr>`;
  });
  return page(
    'Traces',
    `<table><thead><tr><th>began</th><th>with</th><th>in</th><th>spans</th><th>services</th><th>from first to last</th><th>failed</th></tr></thead><tbody>${rows.join('')}</tbody></table><p>The last traces, in memory only, those heard of last first.</p>`,
  );
}

export function tracePage(trace: Trace, known: (id: string) => boolean): string {
  const { first, ms, services } = summary(trace);
  const scale = scaleOf(trace.spans);
  const rows = inOrder(trace.spans).map(({ span, depth }) => row(span, depth, scale, known));
  const gaps = scale.gaps
    .slice(0, MOST_GAPS)
    .map((g) => duration(g.ms))
    .join(', ');
  return page(
    'Trace',
    `<h2>${safe(first.name)}</h2><p><code>${trace.id}</code> · ${clock(first.from)} · ${trace.spans.length} spans in ${services} services · ${duration(ms)}${gaps ? ` · grey: nothing went on for ${gaps}` : ''}${trace.left > 0 ? ` · ${trace.left} more spans found no room` : ''}</p><table class="waterfall"><tbody>${rows.join('')}</tbody></table>`,
  );
}

export const missingPage = (): string =>
  page('Traces', '<p>There is no such trace, or it was forgotten. <a href="/">All traces</a></p>');

function row(span: Span, depth: number, scale: Scale, known: (id: string) => boolean): string {
  const x = scale.at(span.from) * WIDTH;
  const width = Math.max(2, scale.at(span.to) * WIDTH - x);
  const gaps = scale.gaps
    .slice(0, MOST_GAPS)
    .map(
      (g) => `<rect class="gap" x="${px(g.from * WIDTH)}" width="${px((g.to - g.from) * WIDTH)}" y="0" height="16"/>`,
    );
  const links = span.links.map((l) =>
    known(l.traceId)
      ? `<dt>link</dt><dd><a href="/traces/${l.traceId}#${l.spanId}">trace ${l.traceId.slice(0, 8)}</a></dd>`
      : `<dt>link</dt><dd>trace ${l.traceId} (not here)</dd>`,
  );
  const details = [['pid', span.pid], ['kind', span.kind], ...span.attributes].map(
    ([key, value]) => `<dt>${safe(key ?? '')}</dt><dd>${safe(value ?? '')}</dd>`,
  );
  const mark = span.links.length > 0 ? ' <b title="linked with another trace">↔</b>' : '';
  return `<tr id="${span.spanId}"${span.failed ? ' class="failed"' : ''}><td><details><summary class="d${Math.min(depth, DEEPEST)}">${safe(span.name)}${mark}</summary><dl>${links.join('')}${details.join('')}</dl></details></td><td>${safe(span.service)}</td><td class="n">${duration(span.to - span.from)}</td><td class="bars"><svg viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" role="img" aria-label="when">${gaps.join('')}<rect class="bar ${/^[a-z]+$/.test(span.kind) ? span.kind : ''}" x="${px(x)}" width="${px(width)}" y="3" height="10"/></svg></td></tr>`;
}

function summary({ spans }: Trace) {
  const first = spans.reduce((a, b) => (b.from < a.from ? b : a));
  const last = spans.reduce((at, s) => Math.max(at, s.to), 0);
  const services = new Set(spans.map((s) => s.service)).size;
  return { first, ms: last - first.from, services, failed: spans.filter((s) => s.failed).length };
}

const px = (n: number): string => n.toFixed(1);
const clock = (ms: number): string => {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? '?' : at.toISOString().slice(11, 23);
};

function duration(ms: number): string {
  if (ms < 1_000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

export const STYLE = `body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem;color:#1c1e21;background:#fff}
h1{font-size:1.1rem}h2{font-size:1rem}a{color:#0b57d0}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.15rem .6rem .15rem 0;vertical-align:top;white-space:nowrap}th{color:#5f6368;font-weight:500}
.n{text-align:right}.bad,.failed summary{color:#b3261e}tr:target{background:#fff3c4}
.waterfall td{border-top:1px solid #eee}.bars{width:55%}svg{width:100%;height:16px;display:block}
.bar{fill:#5b8def}.server,.client{fill:#3d9a6c}.producer,.consumer{fill:#a36ad1}.failed .bar{fill:#b3261e}.gap{fill:#e4e6e9}
summary{cursor:pointer}dl{display:grid;grid-template-columns:max-content 1fr;gap:0 .8rem;margin:.2rem 0 .4rem 2rem;white-space:normal;overflow-wrap:anywhere;font-size:12px}
dt{color:#5f6368}dd{margin:0}
${Array.from({ length: DEEPEST + 1 }, (_, d) => `.d${d}{margin-left:${(d * 0.9).toFixed(1)}rem}`).join('')}`;
