import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, type FtpServer, startFtp } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseArguments } from '../../src/domain/arguments/parse.js';
import { ftpConfig, ftpContradiction, ftpTool } from '../../src/tools/ftp/index.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import type { ToolContext, ToolOutcome } from '../../src/tools/tool.js';
import { ftpProxy } from './ftp-proxy.js';
import { crudeServer, deadUrl } from './smtp.js';

let server: FtpServer;
let proxy: Awaited<ReturnType<typeof ftpProxy>>;
beforeAll(async () => {
  server = await startFtp({ config: ['MaxStoreFileSize 150 Kb', '<Limit RMD>', '  DenyAll', '</Limit>'] });
  proxy = await ftpProxy(server.url);
}, 30_000);
afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});
beforeEach(async () => {
  for (const name of await readdir(server.root)) await rm(join(server.root, name), { recursive: true });
});

const configOf = (more: object) => z.object(ftpConfig).parse({ FTP_TIMEOUT_MS: 8_000, ...more });
const toolAt = (url: string, more: object = {}) => ftpTool({ ...configOf(more), FTP_URL: url });
const contextOf = (more: Partial<ToolContext>): ToolContext => ({
  callId: '01jcall',
  spaceId: 'acme',
  attempt: 1,
  signal: AbortSignal.timeout(15_000),
  ...more,
});

/** Through the registry, as the engine does it: text in, outcome out. */
function resolved(json: string, url: string, more?: object) {
  const tool = toolAt(url, more);
  return new ToolRegistry([tool]).resolve(tool, parseArguments(json));
}
async function call(action: string, fields: object, ctx: Partial<ToolContext> = {}, url = proxy.url, more?: object) {
  const found = resolved(JSON.stringify({ action, ...fields }), url, more);
  if (!found.ok) throw new Error(found.message);
  return found.action.run(found.args, contextOf(ctx));
}
async function reconcile(fields: object, ctx: Partial<ToolContext> = {}) {
  const found = resolved(JSON.stringify({ action: 'upload', ...fields }), proxy.url);
  if (!found.ok || !found.action.reconcile) throw new Error('not to be looked up');
  return found.action.reconcile(found.args, contextOf(ctx));
}
const resultOf = (outcome: ToolOutcome) => {
  if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  return JSON.parse(outcome.result);
};
const put = async (name: string, content: string | Buffer) => {
  await writeFile(join(server.root, name), content);
  await server.give(join(server.root, name));
};
const there = (name: string) => readFile(join(server.root, name));
/** How often the server said yes to a command about a name. */
const counted = async (verb: string, name: string) =>
  (await server.log()).filter((l) => l.startsWith(`250 ${verb} `) && l.endsWith(`/${name}`)).length;
const refused = { kind: 'did-not-happen', error: expect.any(String) };

describe('FTP', () => {
  it.each([
    ['text with every line end', 'Grüße\r\nfrom\rKöln\n日本\u{1f378}', 'text'],
    ['nothing', '', 'text'],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64'), 'base64'],
  ])('carries %s exactly, there and back', async (_what, content, encoding) => {
    const bytes = Buffer.from(content, encoding === 'text' ? 'utf8' : 'base64');
    expect(await call('upload', { path: 'f', content, encoding })).toMatchObject({ kind: 'done' });
    expect(await there('f')).toEqual(bytes);
    expect(resultOf(await call('download', { path: 'f' }))).toEqual({
      size: bytes.length,
      encoding,
      content,
      cut: false,
      next: null,
    });
    expect(await readdir(server.root)).toEqual(['f']);
  });

  it.each(['two  spaces, Ärger 日本 \u{1f378}.txt', '-rf *', '[a] {b}? "c\';d|e&f$g%s'])(
    'takes the name %s for what it is',
    async (name) => {
      await mkdir(join(server.root, name));
      await server.give(join(server.root, name));
      await put('other', 'untouched');
      const path = `${name}/${name}`;
      await put(path, 'old');
      expect(await call('upload', { path, content: 'new' })).toMatchObject({ kind: 'done' });
      expect(await there(path)).toEqual(Buffer.from('new'));
      expect(resultOf(await call('list', { path: name })).entries).toMatchObject([{ name, type: 'file', bytes: 3 }]);
      expect(await call('delete', { path })).toMatchObject({ kind: 'done' });
      expect(await readdir(join(server.root, name))).toEqual([]);
      expect((await there('other')).toString()).toBe('untouched');
    },
  );

  it.each([
    ['..', '../x', 'a/../b', 'a/..', '.', './x', 'a/./b', '...', '.. ', '..\u00a0'],
    ['/x', '//x', 'a//b', 'a/', '', '~', '~root/x', 'a/~', '\\x', '..\\x', 'C:\\x'],
    ['x\r\nDELE y', 'x\nDELE y', 'x\rDELE y', 'x\u0007', 'x\u0085y', 'x\u2028y', ' x', 'x ', 'a /b', '\tx'],
    ['x'.repeat(256), `${'a/'.repeat(32)}x`, 'ü'.repeat(128), `${'y'.repeat(200)}/`.repeat(6)],
  ])('refuses %j and its like before anything is proposed', (...paths) => {
    const tool = toolAt(proxy.url);
    const registry = new ToolRegistry([tool]);
    for (const path of paths)
      for (const fields of [{ action: 'list' }, { action: 'delete' }, { action: 'upload', content: '' }])
        expect(registry.resolve(tool, { ...fields, path })).toMatchObject({ code: 'arguments.schema' });
  });

  it.each([
    ['base64 with a line break', { content: 'YQ==\n', encoding: 'base64' }],
    ['base64 with bits left over', { content: 'YR==', encoding: 'base64' }],
    ['base64 for URLs', { content: '-_-_', encoding: 'base64' }],
    ['another encoding', { content: 'a', encoding: 'latin1' }],
    ['an unknown field', { content: 'a', mode: '777' }],
    ['content that is no string', { content: 1 }],
  ])('refuses %s', (_what, fields) => {
    expect(resolved(JSON.stringify({ action: 'upload', path: 'f', ...fields }), proxy.url)).toMatchObject({
      code: 'arguments.schema',
    });
  });

  it('lists what is there, and no more than is asked', async () => {
    await mkdir(join(server.root, 'folder'));
    await put('.hidden', 'x');
    expect(resultOf(await call('list', {}))).toEqual({
      entries: [
        { name: '.hidden', type: 'file', bytes: 1, modified: expect.stringMatching(/^20\d\d-.*Z$/) },
        { name: 'folder', type: 'folder', bytes: null, modified: expect.any(String) },
      ],
      more: false,
    });
    expect(await call('list', { path: 'nowhere' })).toEqual(refused);
  });

  it('cuts a long file, says so, and goes on from there', async () => {
    const text = 'ä€\u{1f378}'.repeat(20_000);
    const bytes = randomBytes(200_000);
    await put('text', text);
    await put('bytes', bytes);
    for (const [path, whole] of [
      ['text', Buffer.from(text)],
      ['bytes', bytes],
    ] as const) {
      const parts: Buffer[] = [];
      let offset: number | null = 0;
      while (offset !== null) {
        const part = resultOf(await call('download', { path, offset }));
        expect(part.cut).toBe(part.next !== null);
        expect(part.content.length).toBeLessThanOrEqual(128 * 1024);
        parts.push(Buffer.from(part.content, part.encoding === 'text' ? 'utf8' : 'base64'));
        offset = part.next;
      }
      expect(parts.length).toBeGreaterThan(1);
      expect(Buffer.concat(parts).equals(whole)).toBe(true);
    }
    expect(await call('download', { path: 'text', offset: 10_000_000 })).toEqual(refused);
  });

  it('says what is wrong, and changes nothing', async () => {
    await put('f', 'old');
    await mkdir(join(server.root, 'closed'));
    await chmod(join(server.root, 'closed'), 0o555);
    await mkdir(join(server.root, 'folder'));
    await server.give(join(server.root, 'folder'));
    const badLogin = server.url.replace('agent:', 'agent:no');
    for (const outcome of [
      await call('download', { path: 'nothing' }),
      await call('delete', { path: 'nothing' }),
      await call('delete', { path: 'folder' }),
      await call('upload', { path: 'nowhere/f', content: 'new' }),
      await call('upload', { path: 'folder', content: 'new' }),
      ...(process.getuid?.() === 0 ? [await call('upload', { path: 'closed/f', content: 'new' })] : []),
      await call('delete', { path: 'f' }, {}, badLogin),
      await call('delete', { path: 'f' }, {}, (await deadUrl()).replace('smtp:', 'ftp:')),
      await call('delete', { path: 'f' }, {}, proxy.url, { FTP_TLS: 'explicit' }),
    ]) {
      expect(outcome).toEqual(refused);
      expect(JSON.stringify(outcome)).not.toContain('secret');
    }
    expect((await there('f')).toString()).toBe('old');
    expect((await readdir(server.root)).sort()).toEqual(['closed', 'f', 'folder']);
    expect(await readdir(join(server.root, 'folder'))).toEqual([]);
  });

  it('a server without room: the file is as it was, and nothing is left beside it', async () => {
    await put('f', 'old');
    expect(await call('upload', { path: 'f', content: 'x'.repeat(200_000) })).toEqual(refused);
    expect((await there('f')).toString()).toBe('old');
    await eventually(async () => (await readdir(server.root)).length === 1);
  });

  it('a server that takes the connection and stays silent is given up', async () => {
    const mute = await crudeServer(() => '');
    const silent = await call('list', {}, {}, mute.url.replace('smtp:', 'ftp:'), { FTP_TIMEOUT_MS: '200' });
    expect(silent).toEqual(refused);
    const timeUp = AbortSignal.timeout(200);
    expect(await call('list', {}, { signal: timeUp }, mute.url.replace('smtp:', 'ftp:'))).toEqual(refused);
    await mute.close();
  });

  it('shows a hostile answer of the server escaped and short', async () => {
    void proxy.next('DELE', { answer: `550 \u001b[2J${'x'.repeat(900)}` });
    const outcome = JSON.stringify(await call('delete', { path: 'f' }));
    expect(outcome).toContain('550 \\\\u{1b}[2J');
    expect(outcome.length).toBeLessThan(500);
  });
});

describe.each([
  ['upload', 'RNTO'],
  ['delete', 'DELE'],
] as const)('FTP.%s at its point of no return', (action, verb) => {
  const fields = { path: 'f', ...(action === 'upload' ? { content: 'new' } : {}) };
  beforeEach(() => put('f', 'old'));
  const changed = async () => (await there('f').catch(() => Buffer.from('gone'))).toString() !== 'old';

  it('did not happen where the server says no, and where the connection is lost before', async () => {
    for (const answer of ['450 busy', '553 it is there already']) {
      void proxy.next(verb, { answer });
      expect(await call(action, fields)).toEqual(refused);
    }
    void proxy.next('PASS', 'cut-before');
    expect(await call(action, fields)).toEqual(refused);
    if (action === 'upload')
      for (const before of ['STOR', 'RNFR']) {
        void proxy.next(before, 'cut-after');
        expect(await call(action, fields)).toEqual(refused);
      }
    expect(await changed()).toBe(false);
    expect(await readdir(server.root)).toEqual(['f']);
  });

  it.each(['cut-before', 'cut-after', { answer: '421 going away' }, { answer: '350 and then?' }] as const)(
    'is unknown where nobody has said: %j',
    async (fate) => {
      void proxy.next(verb, fate);
      expect(await call(action, fields)).toMatchObject({ kind: 'unknown' });
      if (fate === 'cut-after') await eventually(changed);
      else expect(await changed()).toBe(false);
    },
  );

  it('is unknown once its time is up, and did not happen if it was up before', async () => {
    const timeUp = new AbortController();
    const held = proxy.next(verb, 'hold');
    const outcome = call(action, fields, { signal: timeUp.signal });
    await held;
    timeUp.abort();
    expect(await outcome).toMatchObject({ kind: 'unknown' });
    proxy.letGo();
    await eventually(changed);
    expect(await call(action, fields, { signal: AbortSignal.abort() })).toEqual(refused);
  });

  it('asks for the lease at the last moment, and does nothing without it', async () => {
    let asked = 0;
    const before = await counted(verb, 'f');
    expect(await call(action, fields, { stillLeased: () => ++asked < 2 })).toEqual(refused);
    expect(asked).toBe(2);
    expect([await counted(verb, 'f'), await changed()]).toEqual([before, false]);
    expect(await readdir(server.root)).toEqual(['f']);
  });
});

describe('FTP.upload whose end nobody saw', () => {
  const fields = { path: 'f', content: 'new' };
  const lost = { kind: 'did-not-happen', error: expect.stringContaining('was not uploaded') };
  beforeEach(() => put('f', 'old'));

  it('had taken effect: the file is there, and what was stored on the way is not', async () => {
    void proxy.next('RNTO', 'cut-after');
    expect(await call('upload', fields)).toMatchObject({ kind: 'unknown' });
    await eventually(async () => (await there('f')).toString() === 'new');
    expect(await reconcile(fields, { attempt: 2 })).toMatchObject({ kind: 'done' });
  });

  it('had not: what was stored is found and removed, and the next attempt does it once', async () => {
    const before = await counted('RNTO', 'f');
    void proxy.next('RNTO', 'cut-before');
    expect(await call('upload', fields)).toMatchObject({ kind: 'unknown' });
    expect(await readdir(server.root)).toHaveLength(2);
    expect(await reconcile(fields, { attempt: 2 })).toEqual(lost);
    expect(await readdir(server.root)).toEqual(['f']);
    expect(await call('upload', fields, { attempt: 2 })).toMatchObject({ kind: 'done' });
    expect((await counted('RNTO', 'f')) - before).toBe(1);
  });

  it('nobody can tell: nothing was stored, and the file is another one, or none', async () => {
    expect(await reconcile(fields)).toMatchObject({ kind: 'unknown' });
    expect(await reconcile({ path: 'none', content: '' })).toMatchObject({ kind: 'unknown' });
    expect(await reconcile({ path: 'f', content: 'ol' })).toMatchObject({ kind: 'unknown' });
    expect(await reconcile({ path: 'f', content: 'old!' })).toMatchObject({ kind: 'unknown' });
  });

  it('an attempt that comes late, after the next one has looked, does nothing any more', async () => {
    const before = await counted('RNTO', 'f');
    const held = proxy.next('RNTO', 'hold');
    const late = call('upload', fields);
    await held;
    expect(await reconcile(fields, { attempt: 2 })).toEqual(lost);
    const again = proxy.next('RNTO', 'hold');
    const second = call('upload', fields, { attempt: 2 });
    await again;
    proxy.letGo();
    expect(await late).toEqual(refused);
    expect((await there('f')).toString()).toBe('old');
    proxy.letGo();
    expect(await second).toMatchObject({ kind: 'done' });
    expect((await there('f')).toString()).toBe('new');
    expect((await counted('RNTO', 'f')) - before).toBe(1);
  });

  it('what was stored cannot be removed: a doubt, as it could still take the place of the file', async () => {
    const same = { path: 'f', content: 'old' };
    void proxy.next('RNTO', 'cut-before');
    expect(await call('upload', same)).toMatchObject({ kind: 'unknown' });
    void proxy.next('DELE', { answer: '550 no' });
    expect(await reconcile(same, { attempt: 1 })).toMatchObject({ kind: 'unknown' });
  });

  it('the server is killed in the middle and comes back', async () => {
    const held = proxy.next('RNTO', 'hold');
    const outcome = call('upload', fields);
    await held;
    await server.kill9();
    expect(await outcome).toMatchObject({ kind: 'unknown' });
    expect(await reconcile(fields, { attempt: 2 })).toMatchObject({ kind: 'unknown' });
    await server.restart();
    proxy.letGo();
    expect(await reconcile(fields, { attempt: 2 })).toEqual(lost);
    expect((await there('f')).toString()).toBe('old');
  });
});

describe('FTP previews', () => {
  const preview = async (action: string, fields: object) => {
    const found = resolved(JSON.stringify({ action, ...fields }), proxy.url);
    if (!found.ok || !found.action.preview) throw new Error('no preview');
    return found.action.preview(found.args, contextOf({}));
  };

  it('show the file as it is and as it would be', async () => {
    await put('f', `${'ü'.repeat(5_000)}`);
    await put('b', Buffer.from([0, 1, 2]));
    const state = (bytes: number, text: string | null, cut = false) => ({ bytes, text, cut });
    expect(await preview('upload', { path: 'f', content: 'new' })).toEqual({
      kind: 'file',
      path: 'f',
      before: state(10_000, 'ü'.repeat(4_096), true),
      after: state(3, 'new'),
    });
    expect(await preview('upload', { path: 'b', content: '/w==', encoding: 'base64' })).toMatchObject({
      before: state(3, null),
      after: state(1, null),
    });
    expect(await preview('upload', { path: 'none', content: '' })).toMatchObject({ before: null, after: state(0, '') });
    expect(await preview('upload', { path: 'no/where', content: '' })).toMatchObject({ before: null, note: /folder/ });
    expect(await preview('delete', { path: 'f' })).toMatchObject({ before: { bytes: 10_000 }, after: null });
    expect(await preview('delete', { path: 'none' })).toMatchObject({ before: null, after: null, note: /no such/ });
  });
});

describe('FTP over TLS', () => {
  it.each(['explicit', 'implicit'] as const)(
    '%s: files are carried, strangers are refused',
    async (tls) => {
      const secure = await startFtp({ tls });
      try {
        const trusted = { FTP_CA_FILE: secure.caFile, FTP_TLS: tls };
        for (const content of ['', 'x'.repeat(200_000)]) {
          expect(await call('upload', { path: 'f', content }, {}, secure.url, trusted)).toMatchObject({ kind: 'done' });
          expect(await readFile(join(secure.root, 'f'), 'utf8')).toBe(content);
        }
        expect(resultOf(await call('download', { path: 'f' }, {}, secure.url, trusted)).content).toHaveLength(131_072);
        expect(await call('delete', { path: 'f' }, {}, secure.url, { FTP_TLS: tls })).toEqual(refused);
        const otherName = secure.url.replace('@127.0.0.1:', '@127.0.0.2:').replace('@localhost', '@127.0.0.2');
        expect(await call('delete', { path: 'f' }, {}, otherName, trusted)).toEqual(refused);
        if (tls === 'explicit')
          expect(await call('delete', { path: 'f' }, {}, secure.url, { FTP_TLS: 'none' })).toEqual(refused);
        expect(await readdir(secure.root)).toEqual(['f']);
      } finally {
        await secure.stop();
      }
    },
    30_000,
  );

  it.each([
    ['ftp://a:b@127.0.0.1/x', {}, undefined],
    ['ftp://a:b@[::1]/x', { FTP_TLS: 'none' }, undefined],
    ['ftp://a:b@ftp.example.test/x', {}, undefined],
    ['ftps://a:b@ftp.example.test/x', {}, undefined],
    ['ftp://a:b@ftp.example.test/x', { FTP_TLS: 'implicit' }, undefined],
    ['ftp://a:b@ftp.example.test/x', { FTP_TLS: 'none' }, 'FTP_TLS'],
    ['ftp://ftp.example.test/x', { FTP_TLS: 'none' }, 'FTP_TLS'],
    ['ftp://a:b@127.0.0.1.example.test/x', { FTP_TLS: 'none' }, 'FTP_TLS'],
    ['ftp://a:b@ftp.example.test/x', { FTP_TLS: 'none', FTP_ALLOW_PLAINTEXT: '1' }, undefined],
    ['ftps://a:b@ftp.example.test/x', { FTP_TLS: 'none', FTP_ALLOW_PLAINTEXT: '1' }, 'FTP_TLS'],
    ['ftps://a:b@ftp.example.test/x', { FTP_TLS: 'explicit' }, 'FTP_TLS'],
  ])('settings: %s with %j', (FTP_URL, more, wrong) => {
    expect(ftpContradiction(configOf({ FTP_URL, ...more }))?.variable).toBe(wrong);
  });

  it.each(['http://a/x', 'ftp://a/x%0ay', 'ftp://a:%0d%0aDELE@b/x', 'ftp://a/%zz', 'ftp://a/a%5Cb'])(
    'settings: %s is none',
    (FTP_URL) => {
      expect(z.object(ftpConfig).safeParse({ FTP_URL }).success).toBe(false);
    },
  );
});
