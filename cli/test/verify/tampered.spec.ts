import { afterAll, describe, expect, it } from '@jest/globals';
import { Files } from './files.js';
import { blockOf, copyOf, type Line, Log, lineOf, note, ORIGIN, renumbered, Signer, textOf } from './log.js';
import type { Message } from './stories.js';

const files = new Files();
afterAll(() => files.close());

/** 60 events, checkpoints at 15, 30, 45 and 60, the key changed at 30. */
const log = new Log(4711, 101);
const kept = [15, 30, 45, 60].map((size) => {
  log.fill(size);
  const checkpoint = log.checkpoint();
  if (size === 30) log.rotate(new Signer('second'));
  return checkpoint;
});
const original = log.export();
const [at15, at30, at45, at60] = kept as [string, string, string, string];

/** Changes the lines, or gives others or a text in their place. */
type Tamper = (lines: Line[]) => unknown;
const tampered = (tamper: Tamper, lines: Line[]): Line[] | string => {
  const made = tamper(lines);
  return typeof made === 'string' || (Array.isArray(made) && made[0]?.kind === 'holdpoint-export') ? made : lines;
};
const get = (lines: Line[], index: number): Line => lines[lineOf(lines, index)] as Line;
/** A line of the kind that is not the last one. */
const someOf = (lines: Line[], kind: string): Line => lines.find((l) => l.kind === kind) as Line;
const closingOf = (lines: Line[]): Line => lines.at(-2) as Line;
const drop = (lines: Line[], line: Line) => lines.splice(lines.indexOf(line), 1);
const swap = (lines: Line[], a: number, b: number): Line[] => {
  const [i, j] = [lineOf(lines, a), lineOf(lines, b)];
  [lines[i], lines[j]] = [lines[j] as Line, lines[i] as Line];
  return lines;
};
/** Events that nothing follows from, so that a change of one is a change of nothing else. */
const plain = (lines: Line[], from: number): number => {
  for (let index = from; ; index++) {
    const { subject, duplicate, fault } = get(lines, index) as Record<string, string>;
    const isFree = !duplicate && !fault && /^(run\.started|run\.queued|run\.key-destroyed)/.test(subject ?? '');
    if (isFree && blockOf(lines, index)[1] === 1) return index;
  }
};
const edit = (line: Line) => {
  line['body'] = String(line['body']).replace('"talk"', '"walk"').replace('"asked for"', '"asked fur"');
};
const strange = (body: string): Line => ({
  kind: 'event',
  index: 0,
  seq: 0,
  time: '2030-01-01T00:00:00Z',
  subject: 'run.odd.acme.x',
  body,
  fault: 'not-json',
});

const A = plain(original, 17);
const B = plain(original, A + 1);
expect(B).toBeLessThan(30);

describe('tampering with an export is found, and named', () => {
  const cases: [what: string, codes: string[], Tamper, where?: object][] = [
    ['the file ends within a line', ['file-cut-off'], (l) => textOf(l).slice(0, 9000)],
    ['the file ends between two lines', ['file-cut-off'], (l) => l.slice(0, 40)],
    ['the end is missing', ['file-cut-off'], (l) => l.slice(0, -1)],
    ['a line that is no JSON', ['malformed'], (l) => textOf(l).replace('{"kind":"entry"', '{kind:"entry"')],
    [
      'a name that stands in a line twice',
      ['malformed'],
      (l) => textOf(l).replace('"kind":"event",', '"body":"x","kind":"event",'),
    ],
    ['a field that nobody knows', ['malformed'], (l) => void Object.assign(get(l, A), { note: 'fine' })],
    ['other line ends', ['malformed'], (l) => textOf(l).replace('\n{"kind":"entry"', '\r\n{"kind":"entry"')],
    ['something behind the end', ['malformed'], (l) => [...l, get(l, A)]],
    [
      'an event taken out',
      ['gap', 'count-differs'],
      (l) => void l.splice(...blockOf(l, A)),
      { code: 'gap', index: A, to: A },
    ],
    [
      'two events taken out, and the counts put right',
      ['gap'],
      (l) => {
        l.splice(...blockOf(l, A));
        l.splice(...blockOf(l, B));
        Object.assign(l.at(-1) as Line, { events: 58 });
      },
    ],
    [
      'an event taken out, and all numbered anew',
      ['gap'],
      (l) => {
        l.splice(...blockOf(l, A));
        return renumbered(l);
      },
      { code: 'gap', index: 15, to: 29 },
    ],
    ['an event edited', ['edited'], (l) => edit(get(l, A)), { code: 'edited', index: 15, to: 29 }],
    [
      'an event put in',
      ['inserted', 'count-differs'],
      (l) => void l.splice(lineOf(l, A), 0, { ...strange('{'), index: A, seq: 101 + A }),
    ],
    [
      'an event put in, and all numbered anew',
      ['inserted'],
      (l) => {
        l.splice(lineOf(l, A), 0, strange('{'));
        return renumbered(l);
      },
      { code: 'inserted', index: A, to: A },
    ],
    [
      'an event put in for the last one',
      ['inserted'],
      (l) => {
        l.splice(...blockOf(l, 59));
        l.splice(lineOf(l, A), 0, strange('{'));
        return renumbered(l);
      },
      { code: 'inserted', index: A, to: A },
    ],
    [
      'events put in behind the end',
      ['inserted'],
      (l) => {
        l.splice(blockOf(l, 59)[0] + blockOf(l, 59)[1], 0, strange('{'));
        return renumbered(l);
      },
      { code: 'inserted', index: 60, to: 60 },
    ],
    ['two lines swapped', ['swapped'], (l) => swap(l, A, B), { code: 'swapped' }],
    [
      'two events swapped, and numbered anew',
      ['swapped'],
      (l) => {
        swap(l, A, B);
        return renumbered(l);
      },
      { code: 'swapped', index: A, to: B },
    ],
    [
      'the end of the log left out',
      ['truncated'],
      (l) => {
        for (let i = 59; i >= 55; i--) l.splice(...blockOf(l, i));
        return renumbered(l);
      },
      { code: 'truncated', index: 55, to: 59 },
    ],
    [
      'a signature altered',
      ['bad-signature'],
      (l) => {
        const c = closingOf(l);
        c['note'] = String(c['note']).replace(/(— \S+ \S{20})(.)/, (_a, head, x) => head + (x === 'A' ? 'B' : 'A'));
      },
    ],
    [
      'a root altered',
      ['bad-signature'],
      (l) => {
        const c = closingOf(l);
        c['note'] = String(c['note']).replace(/\n60\n(.)/, (_a, x) => `\n60\n${x === 'A' ? 'B' : 'A'}`);
      },
    ],
    [
      'a checkpoint signed by a stranger',
      ['unknown-key'],
      (l) => void Object.assign(closingOf(l), { note: note(log.text(), new Signer('stranger')) }),
    ],
    [
      'a checkpoint signed by the key that was retired',
      ['retired-key'],
      (l) => void Object.assign(closingOf(l), { note: note(log.text(), new Signer('first')) }),
    ],
    ['the statement about the new key taken out', ['unknown-key'], (l) => void drop(l, someOf(l, 'key'))],
    [
      'a statement by a stranger',
      ['unknown-key'],
      (l) => {
        const text = `${ORIGIN}\nkey\n${new Signer('evil').vkey}\n30\n`;
        Object.assign(someOf(l, 'key'), { note: note(text, new Signer('stranger')) });
      },
    ],
    [
      'a second successor',
      ['fork'],
      (l) => {
        const text = `${ORIGIN}\nkey\n${new Signer('evil').vkey}\n45\n`;
        l.splice(2, 0, { kind: 'key', note: note(text, new Signer('first')) });
      },
    ],
    [
      'a checkpoint of another log',
      ['wrong-origin'],
      (l) => void Object.assign(closingOf(l), { note: note(log.text().replace(ORIGIN, 'other.example'), log.signer) }),
    ],
    ['another log', ['wrong-origin'], (l) => void Object.assign(l[0] as Line, { origin: 'other.example/log' })],
    ['another beginning in the header', ['header-edited'], (l) => void Object.assign(l[0] as Line, { first: 102 })],
    ['another size in the header', ['header-edited'], (l) => void Object.assign(l[0] as Line, { size: 61, to: 61 })],
    ['another range in the header', ['header-edited'], (l) => void Object.assign(l[0] as Line, { from: 2 })],
    ['an event under another sequence', ['misnumbered'], (l) => void Object.assign(get(l, A), { seq: 999 })],
    ['an event under another index', ['misnumbered'], (l) => void Object.assign(get(l, A), { index: A + 3 })],
    ['an event marked as a copy', ['mark-edited'], (l) => void Object.assign(get(l, A), { duplicate: true })],
    [
      'a copy that is not marked',
      ['mark-edited'],
      (l) => void delete (l.find((x) => x['duplicate']) as Line)['duplicate'],
    ],
    ['an event marked as unreadable', ['mark-edited'], (l) => void Object.assign(get(l, A), { fault: 'not-json' })],
    [
      'an unreadable message that is not marked',
      ['mark-edited'],
      (l) => void delete (l.find((x) => x['fault'] === 'not-utf8') as Line)['fault'],
    ],
    [
      'an entry edited',
      ['entry-edited'],
      (l) => void Object.assign(someOf(l, 'entry'), { agent: 'nobody' }),
      { code: 'entry-edited', fields: ['agent'] },
    ],
    [
      'an entry for another person',
      ['entry-edited'],
      (l) => void Object.assign(someOf(l, 'entry'), { principal: { kind: 'person', id: 'eve' } }),
    ],
    ['an entry left out', ['entry-missing', 'count-differs'], (l) => void drop(l, someOf(l, 'entry'))],
    [
      'an entry too many',
      ['entry-extra'],
      (l) => {
        l.splice(lineOf(l, A) + 1, 0, { ...someOf(l, 'entry'), streamSeq: 0 });
        return renumbered(l);
      },
    ],
    [
      'a receipt edited',
      ['receipt-edited'],
      (l) => void Object.assign(someOf(l, 'receipt'), { cost: { amount: '0.012', known: false } }),
    ],
    ['a receipt left out', ['receipt-missing', 'count-differs'], (l) => void drop(l, someOf(l, 'receipt'))],
    [
      'a receipt too many',
      ['receipt-extra'],
      (l) => {
        l.splice(lineOf(l, A) + 1, 0, { ...someOf(l, 'receipt'), streamSeq: 0 });
        return renumbered(l);
      },
    ],
    ['other counts', ['count-differs'], (l) => void Object.assign(l.at(-1) as Line, { entries: 1 })],
  ];
  it.each(cases)('%s: %j', async (...[_what, codes, tamper, where]) => {
    const lines = copyOf(original);
    const report = await files.check(tampered(tamper, lines), { kept: [at15, at45] });
    expect({ codes: Object.keys(report.counts).sort(), exitCode: report.exitCode }).toEqual({
      codes: codes.sort(),
      exitCode: 1,
    });
    if (where) expect(report.findings).toContainEqual(expect.objectContaining(where));
  });

  it('as it was, nothing is found', async () => {
    expect(await files.check(original, { kept })).toMatchObject({ exitCode: 0, counts: {} });
  });
});

describe('against what an auditor kept', () => {
  /** The same log, rewritten at event A and signed again with the stolen keys. */
  const rewritten = (at: number) => {
    const other = log.copy(60);
    const { subject, body } = other.messages[at] as Message;
    const rewrittenBody = `${body}`.replace('"talk"', '"walk"').replace('"asked for"', '"asked fur"');
    other.messages[at] = { subject, body: Buffer.from(rewrittenBody) };
    other.checkpoints.length = 0;
    for (const { size, note: old } of log.checkpoints) {
      const signers = ['first', 'second'].map((s) => new Signer(s)).filter((s) => old.includes(s.line(log.text(size))));
      other.checkpoints.push({ size, note: note(other.text(size), ...signers) });
    }
    return other;
  };

  it('a log that was rewritten and signed again is clean by itself, and a fork beside any checkpoint that was kept', async () => {
    const forged = rewritten(A).export();
    expect(await files.check(forged)).toMatchObject({ exitCode: 0 });
    expect(await files.check(forged, { kept: [at15] })).toMatchObject({ exitCode: 0 });
    for (const checkpoint of [at30, at45, at60]) {
      const report = await files.check(forged, { kept: [at15, checkpoint] });
      expect(report).toMatchObject({ exitCode: 1, counts: { fork: 1 } });
      expect(report.findings[0]).toMatchObject({ index: 15 });
    }
    const against = await files.check(forged, { against: original });
    expect(against.counts).toEqual({ fork: 1, edited: 1 });
    expect(against.findings).toContainEqual(expect.objectContaining({ code: 'edited', index: A }));
  });

  it('older checkpoints that were left in the log give it away as well', async () => {
    const forged = rewritten(A);
    const lines = forged.export();
    for (const line of lines)
      if (line.kind === 'checkpoint' && String(line['note']).includes('\n30\n')) line['note'] = at30;
    expect((await files.check(lines)).counts).toEqual({ fork: 2 });
  });

  it('an old backup that was put back ends before the checkpoint', async () => {
    const report = await files.check(log.copy(30).export(), { kept: [at15, at45] });
    expect(report).toMatchObject({ exitCode: 1, counts: { 'rolled-back': 1 } });
    expect(report.findings[0]).toMatchObject({ index: 30, to: 44 });
  });

  it('an old backup that grew again is a fork', async () => {
    const grown = log.copy(30);
    grown.append({ subject: 'run.odd.acme.x', body: Buffer.from('{'), fault: 'not-json' });
    grown.fill(70).checkpoint();
    const report = await files.check(grown.export(), { kept: [at15, at45] });
    expect(report.counts).toEqual({ fork: 1 });
  });

  const exact: [what: string, code: string, Tamper][] = [
    ['edited', 'edited', (l) => edit(get(l, A))],
    ['taken out', 'gap', (l) => renumbered(l.toSpliced(...blockOf(l, A)))],
    ['put in', 'inserted', (l) => renumbered(l.toSpliced(lineOf(l, A), 0, strange('{')))],
    ['swapped with another', 'swapped', (l) => renumbered(swap(l, A, B))],
  ];
  it.each(exact)('an older export names the very event that was %s', async (_what, code, tamper) => {
    const lines = copyOf(original);
    const report = await files.check(tampered(tamper, lines), { against: original });
    expect(report.findings.filter((f) => f.code === code)).toMatchObject([{ index: A }]);
  });

  it('an older export that is not in order itself proves nothing', async () => {
    const against = copyOf(original);
    edit(get(against, A));
    const report = await files.check(original, { against });
    expect(report).toMatchObject({ exitCode: 1, counts: { edited: 1, 'not-compared': 1 } });
    expect(report.findings[0]?.message).toMatch(/^Older export: /);
  });

  it('kept checkpoints are checked themselves', async () => {
    const other = note(log.text(15).replace(ORIGIN, 'other.example'), new Signer('first'));
    expect((await files.check(original, { kept: [at15.replace('\n15\n', '\n16\n')] })).counts).toEqual({
      'bad-signature': 1,
    });
    expect((await files.check(original, { kept: [other] })).counts).toEqual({ 'wrong-origin': 1 });
    expect((await files.check(original, { kept: [note(log.text(15), new Signer('stranger'))] })).counts).toEqual({
      'unknown-key': 1,
    });
    expect((await files.check(original, { kept: ['what?'] })).counts).toEqual({ malformed: 1 });
    expect((await files.check(original, { kept: [JSON.stringify({ note: at15 })] })).exitCode).toBe(0);
  });
});

describe('an export of a part of the log', () => {
  const keep = (m: { subject: string }) => m.subject.startsWith('run.') || m.subject.startsWith('tool.executed');
  const part = log.export({ keep, older: [15] });
  const found = async (tamper: Tamper, options: object = { kept: [at15] }) => {
    const lines = copyOf(part);
    return (await files.check(tampered(tamper, lines), options)).counts;
  };

  it('is proved event by event', async () => {
    expect(await found(() => {})).toEqual({});
    expect(await found((l) => edit(get(l, A)))).toEqual({ edited: 1 });
    expect(await found((l) => void Object.assign(get(l, A), { proof: get(l, B)['proof'] }))).toEqual({ edited: 1 });
    expect(await found((l) => void delete get(l, A)['proof'])).toMatchObject({ malformed: 1 });
    expect(await found((l) => swap(l, A, B))).toEqual({ swapped: expect.any(Number) });
    expect(await found((l) => void l.splice(lineOf(l, A), 0, get(l, A)))).toEqual({ inserted: 1, 'count-differs': 1 });
    expect(await found((l) => void l.splice(...blockOf(l, A)))).toEqual({ 'count-differs': 1 });
    expect(await found((l) => void Object.assign(someOf(l, 'entry'), { status: 'Denied' }))).toEqual({
      'entry-edited': 1,
    });
  });

  it('is held against a kept checkpoint by the consistency proof, and says so when there is none', async () => {
    const proof = (l: Line[]) => someOf(l, 'consistency')['proof'] as string[];
    expect(await found((l) => void proof(l).reverse())).toEqual({ fork: 1 });
    const lines = copyOf(part);
    drop(lines, someOf(lines, 'consistency'));
    expect(await files.check(lines, { kept: [at15] })).toMatchObject({
      ...{ verdict: 'cannot-check', exitCode: 2, counts: { 'not-compared': 1 } },
    });
    expect(await files.check(lines, { kept: [at60] })).toMatchObject({ exitCode: 0 });
  });

  it('of neighbours has no holes', async () => {
    const lines = log.export({ from: 10, to: 40 });
    lines.splice(...blockOf(lines, A));
    expect((await files.check(lines)).counts).toEqual({ gap: 1, 'count-differs': 1 });
  });
});

describe('what cannot be checked is not called clean', () => {
  it.each([
    ['no key', { keys: [] }],
    ['a key that was copied wrongly', { keys: [new Signer('first').vkey.replace('+A', '+B')] }],
    ['a key that is none', { keys: ['ann'] }],
  ])('%s', async (_what, options) => {
    const report = await files.check(original, options);
    expect(report).toMatchObject({ verdict: 'cannot-check', exitCode: 2 });
  });
  it.each([
    ['nothing', ''],
    ['something else', '{"a":1}\n'],
    ['a later version', textOf(original).replace('"version":1', '"version":2')],
  ])('%s', async (_what, text) => {
    expect(await files.check(text)).toMatchObject({
      exitCode: expect.any(Number),
      verdict: expect.not.stringMatching('clean'),
    });
  });
});
