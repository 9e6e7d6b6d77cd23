import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sampled } from '@holdpoint/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../src/domain/arguments/parse.js';
import { fileRwTool } from '../../src/tools/file-rw/index.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import type { Tool, ToolContext } from '../../src/tools/tool.js';

const ROUNDS = sampled(150, 1_000);

let home: string;
let root: string;
let outside: string;
let tool: Tool;
let registry: ToolRegistry;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'holdpoint-files-'));
  root = join(home, 'root');
  outside = join(home, 'outside');
  await mkdir(root);
  await mkdir(outside);
  tool = fileRwTool({ FILERW_ROOT: root, FILERW_TIMEOUT_MS: 30_000 });
  registry = new ToolRegistry([tool]);
});
afterEach(() => rm(home, { recursive: true }));

/** Through the registry, as the engine does it: text in, outcome out. */
async function call(json: string, ctx: Partial<ToolContext> = {}) {
  const resolved = registry.resolve(tool, parseArguments(json));
  if (!resolved.ok) return resolved;
  const whole = { callId: '01jcall', spaceId: 'acme', attempt: 1, signal: AbortSignal.timeout(20_000), ...ctx };
  return resolved.action.run(resolved.args, whole);
}
const ask = (action: string, fields: object = {}, ctx: Partial<ToolContext> = {}) =>
  call(JSON.stringify({ action, ...fields }), ctx);
const resultOf = async (action: string, fields: object = {}) => {
  const outcome = await ask(action, fields);
  if (!('kind' in outcome) || outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  return JSON.parse(outcome.result);
};
const inside = (path: string) => readFile(join(root, path), 'utf8');
const refused = { kind: 'did-not-happen', error: expect.any(String) };

describe('FileRW', () => {
  it('writes, reads, lists and deletes', async () => {
    const content = 'Grüße\r\n\u{1f378} \u0007 end without line feed';
    expect(await ask('write', { path: 'notes/2026/today.md', content })).toMatchObject({ kind: 'done' });
    expect(await inside('notes/2026/today.md')).toBe(content);
    expect(await resultOf('read', { path: 'notes/2026/today.md' })).toEqual({
      size: Buffer.byteLength(content),
      text: content,
      next: null,
    });
    expect(await resultOf('list')).toEqual({ entries: [{ name: 'notes', type: 'folder', bytes: null }], more: false });
    expect(await resultOf('list', { path: 'notes/2026' })).toEqual({
      entries: [{ name: 'today.md', type: 'file', bytes: Buffer.byteLength(content) }],
      more: false,
    });
    expect(await ask('delete', { path: 'notes/2026/today.md' })).toMatchObject({ kind: 'done' });
    expect(await readdir(join(root, 'notes/2026'))).toEqual([]);
  });

  it('replaces a file at once, keeps its mode and leaves nothing beside it', async () => {
    await writeFile(join(root, 'run.sh'), 'old');
    await chmod(join(root, 'run.sh'), 0o750);
    const before = await stat(join(root, 'run.sh'));
    expect(await ask('write', { path: 'run.sh', content: 'new' })).toMatchObject({ kind: 'done' });
    const after = await stat(join(root, 'run.sh'));
    expect([after.mode, await inside('run.sh')]).toEqual([before.mode, 'new']);
    expect(after.ino).not.toBe(before.ino);
    expect(await readdir(root)).toEqual(['run.sh']);
  });

  it('reads in windows that cut no character in two', async () => {
    const content = 'ä€\u{1f378}'.repeat(40);
    await writeFile(join(root, 'f'), content);
    for (const length of [4, 5, 7, 64]) {
      let text = '';
      for (let offset: number | null = 0; offset !== null; ) {
        const window: { text: string; next: number | null } = await resultOf('read', { path: 'f', offset, length });
        text += window.text;
        offset = window.next;
      }
      expect(text).toBe(content);
    }
    expect(await ask('read', { path: 'f', offset: 1 })).toEqual(refused);
  });

  it('takes an integer beyond 2^53 exactly as it is written', async () => {
    await writeFile(join(root, 'f'), 'short');
    expect(await call('{"action":"read","path":"f","offset":9007199254740993}')).toEqual({
      kind: 'did-not-happen',
      error: 'The file ends at byte 5, before offset 9007199254740993.',
    });
  });

  it.each([
    ['the parent', '..'],
    ['the root spelled out', '.'],
    ['a way up', '../outside/secret'],
    ['a way up in the middle', 'box/../../outside/secret'],
    ['a way up at the end', 'box/..'],
    ['a leading dot', './f'],
    ['an absolute path', '/etc/passwd'],
    ['a network path', '//etc/passwd'],
    ['an empty name', 'box//f'],
    ['a trailing slash', 'box/'],
    ['a backslash', '..\\outside'],
    ['a control character', 'a\tb'],
    ['a drive', 'C:\\data'],
    ['a name of 256 bytes', 'x'.repeat(256)],
    ['a path of 1,201 characters', `${'x/'.repeat(600)}x`],
    ['nothing', ''],
  ])('refuses %s as a path before anything is proposed', async (_what, path) => {
    for (const [action, fields] of [
      ['read', {}],
      ['list', {}],
      ['write', { content: 'x' }],
      ['delete', {}],
      ['purge_folder', {}],
    ] as const)
      expect(await ask(action, { path, ...fields })).toMatchObject({ ok: false, code: 'arguments.schema' });
    expect(await readdir(outside)).toEqual([]);
  });

  it('follows no link, at no place of a path', async () => {
    await writeFile(join(outside, 'secret'), 'SECRET');
    await mkdir(join(root, 'box'));
    await symlink(outside, join(root, 'box', 'door'));
    await symlink(join(outside, 'secret'), join(root, 'leak'));
    await symlink(join(outside, 'new'), join(root, 'dangling'));
    for (const path of ['box/door/secret', 'leak', 'dangling', 'box/door']) {
      expect(await ask('read', { path })).toEqual(refused);
      expect(await ask('list', { path })).toEqual(refused);
      expect(await ask('write', { path, content: 'x' })).toEqual(refused);
      expect(await ask('delete', { path })).toEqual(refused);
      expect(await ask('purge_folder', { path })).toEqual(refused);
    }
    expect(await ask('write', { path: 'box/door/deep/er', content: 'x' })).toEqual(refused);
    expect(await readdir(outside)).toEqual(['secret']);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('SECRET');
    expect((await resultOf('list')).entries).toContainEqual({ name: 'leak', type: 'link', bytes: null });
  });

  it('reads no file that has a second name, and replaces only the name inside', async () => {
    await writeFile(join(outside, 'secret'), 'SECRET');
    await link(join(outside, 'secret'), join(root, 'twin'));
    expect(await ask('read', { path: 'twin' })).toEqual(refused);
    expect(await ask('write', { path: 'twin', content: 'mine' })).toMatchObject({ kind: 'done' });
    expect(await inside('twin')).toBe('mine');
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('SECRET');
  });

  it('touches no pipe, and does not wait for one', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    for (const [action, fields] of [
      ['read', {}],
      ['list', {}],
      ['write', { content: 'x' }],
      ['delete', {}],
      ['purge_folder', {}],
    ] as const)
      expect(await ask(action, { path: 'pipe', ...fields })).toEqual(refused);
    expect((await resultOf('list')).entries).toEqual([{ name: 'pipe', type: 'other', bytes: null }]);
  });

  it('deletes files alone, and says when there is none', async () => {
    await mkdir(join(root, 'box'));
    expect(await ask('delete', { path: 'box' })).toEqual(refused);
    expect(await ask('write', { path: 'box', content: 'x' })).toEqual(refused);
    expect(await ask('delete', { path: 'nothing' })).toEqual(refused);
    expect(await ask('delete', { path: 'nowhere/nothing' })).toEqual(refused);
    expect(await readdir(root)).toEqual(['box']);
  });

  it('reads text alone', async () => {
    await writeFile(join(root, 'image'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]));
    expect(await ask('read', { path: 'image' })).toEqual(refused);
  });

  it('lists a thousand entries, and says that there are more', async () => {
    await Promise.all(Array.from({ length: 1_002 }, (_, i) => writeFile(join(root, `f${i}`), '')));
    const { entries, more } = await resultOf('list');
    expect([entries.length, more]).toEqual([1_000, true]);
  });

  it('names no path of the machine', async () => {
    for (const outcome of [
      await ask('read', { path: 'nothing' }),
      await ask('write', { path: 'x'.repeat(255), content: '' }, { callId: 'y'.repeat(300) }),
      await rm(root, { recursive: true }).then(() => ask('list')),
    ]) {
      expect(outcome).toEqual(refused);
      expect(JSON.stringify(outcome)).not.toContain(home);
    }
    await mkdir(root);
  });

  it('changes nothing without a lease, or once its time is up', async () => {
    await writeFile(join(root, 'f'), 'old');
    await mkdir(join(root, 'box'));
    const noAnswer = () => Promise.reject(new Error('the database is down'));
    for (const ctx of [{ stillLeased: () => false }, { stillLeased: noAnswer }, { signal: AbortSignal.abort() }]) {
      expect(await ask('write', { path: 'f', content: 'new' }, ctx)).toEqual(refused);
      expect(await ask('write', { path: 'made/f', content: 'new' }, ctx)).toEqual(refused);
      expect(await ask('delete', { path: 'f' }, ctx)).toEqual(refused);
      expect(await ask('purge_folder', { path: 'box' }, ctx)).toEqual(refused);
    }
    // lost between the first question and the last
    let asked = 0;
    expect(await ask('write', { path: 'f', content: 'new' }, { stillLeased: () => ++asked < 2 })).toEqual(refused);
    expect([await inside('f'), await readdir(root)]).toEqual(['old', ['box', 'f']]);
  });

  it('changes nothing in a folder that was moved out meanwhile, or exchanged for a link', async () => {
    await writeFile(join(outside, 'f'), 'SECRET');
    for (const exchange of [
      () => rename(join(root, 'box'), join(outside, 'box')),
      () => rename(join(root, 'box'), join(root, 'aside')).then(() => symlink(outside, join(root, 'box'))),
    ])
      for (const action of ['write', 'delete', 'purge_folder']) {
        await mkdir(join(root, 'box', 'f'), { recursive: true });
        if (action !== 'purge_folder') {
          await rm(join(root, 'box', 'f'), { recursive: true });
          await writeFile(join(root, 'box', 'f'), 'old');
        }
        let asked = 0;
        const stillLeased = () => (++asked < 2 ? true : exchange().then(() => true));
        const content = action === 'write' ? { content: 'new' } : {};
        expect(await ask(action, { path: 'box/f', ...content }, { stillLeased })).toEqual(refused);
        expect(await readFile(join(outside, 'f'), 'utf8')).toBe('SECRET');
        for (const left of [join(outside, 'box'), join(root, 'aside'), join(root, 'box')])
          await rm(left, { recursive: true, force: true });
      }
  });

  it('purges a folder with all that is in it, and follows no link', async () => {
    await mkdir(join(root, 'box', 'a', 'b'), { recursive: true });
    for (const file of ['box/1', 'box/a/2', 'box/a/b/3']) await writeFile(join(root, file), 'x');
    await writeFile(join(root, 'other'), 'x');
    await writeFile(join(outside, 'secret'), 'SECRET');
    await symlink(outside, join(root, 'box', 'door'));
    await symlink(join(outside, 'secret'), join(root, 'box', 'a', 'leak'));
    expect(await ask('purge_folder', { path: 'box' })).toEqual({
      kind: 'done',
      result: 'Deleted the folder and in it 3 files, 2 folders and 2 links.',
    });
    expect([await readdir(root), await readdir(outside)]).toEqual([['other'], ['secret']]);
    expect(await ask('purge_folder', { path: 'box' })).toEqual(refused);
    expect(await ask('purge_folder', { path: 'other' })).toEqual(refused);
  });

  it('purges nothing of a folder that holds too much, or goes too deep', async () => {
    await mkdir(join(root, 'box', 'a'), { recursive: true });
    for (let i = 0; i < 100; i++)
      await Promise.all(Array.from({ length: 100 }, (_, j) => writeFile(join(root, 'box', 'a', `${i}-${j}`), '')));
    expect(await ask('purge_folder', { path: 'box' })).toEqual(refused);
    expect((await readdir(join(root, 'box', 'a'))).length).toBe(10_000);
    expect(await ask('purge_folder', { path: 'box/a' })).toMatchObject({ kind: 'done' });

    const deep = Array.from({ length: 70 }, () => 'd');
    await mkdir(join(root, 'box', ...deep), { recursive: true });
    await writeFile(join(root, 'box', 'first'), '');
    expect(await ask('purge_folder', { path: 'box' })).toEqual(refused);
    expect((await readdir(join(root, 'box'))).sort()).toEqual(['d', 'first']);
  });

  describe('a write whose end nobody saw', () => {
    const args = { action: 'write', path: 'notes/f', content: 'Grüße' };
    const write = () => {
      const action = tool.actions.find((a) => a.name === 'write');
      if (!action?.reconcile) throw new Error('write cannot be reconciled');
      const ctx = (attempt: number) => ({
        callId: '01jcall',
        spaceId: 'acme',
        attempt,
        signal: AbortSignal.timeout(20_000),
      });
      return {
        run: (attempt: number) => action.run(args, ctx(attempt)),
        reconcile: (attempt: number) => action.reconcile?.(args, ctx(attempt)),
      };
    };
    const left = (attempt: number) => join(root, 'notes', `.holdpoint-01jcall.${attempt}.tmp`);

    it('is done when the file holds exactly its content', async () => {
      await write().run(1);
      expect(await write().reconcile(2)).toMatchObject({ kind: 'done' });
    });

    it('did not happen while its temporary file is there, which is removed; then it can be done', async () => {
      await mkdir(join(root, 'notes'));
      for (const there of [undefined, 'old', args.content]) {
        if (there !== undefined) await writeFile(join(root, 'notes', 'f'), there);
        await writeFile(left(1), 'Grü');
        expect(await write().reconcile(2)).toEqual(refused);
        expect(await readdir(join(root, 'notes'))).toEqual(there === undefined ? [] : ['f']);
      }
      expect(await write().run(2)).toMatchObject({ kind: 'done' });
    });

    it('is unknown when the file holds something else, is a link, or cannot be reached', async () => {
      const unclear = { kind: 'unknown', detail: expect.any(String) };
      expect(await write().reconcile(2)).toEqual(unclear);
      await mkdir(join(root, 'notes'));
      expect(await write().reconcile(2)).toEqual(unclear);
      await writeFile(join(root, 'notes', 'f'), 'Grüßx');
      expect(await write().reconcile(2)).toEqual(unclear);
      await rm(join(root, 'notes', 'f'));
      await writeFile(join(outside, 'f'), args.content);
      await symlink(join(outside, 'f'), join(root, 'notes', 'f'));
      expect(await write().reconcile(2)).toEqual(unclear);
      await rm(join(root, 'notes'), { recursive: true });
      await symlink(outside, join(root, 'notes'));
      await writeFile(join(outside, '.holdpoint-01jcall.1.tmp'), '');
      expect(await write().reconcile(2)).toEqual(unclear);
      expect((await readdir(outside)).sort()).toEqual(['.holdpoint-01jcall.1.tmp', 'f']);
    });

    it('cannot be finished by a frozen attempt once it has been looked up', async () => {
      let thaw = () => {};
      const frozen = new Promise<boolean>((resolve) => {
        thaw = () => resolve(true);
      });
      let asked = 0;
      const reached = Promise.withResolvers<void>();
      const stillLeased = () => {
        if (++asked < 2) return true;
        reached.resolve();
        return frozen;
      };
      const first = ask('write', { path: args.path, content: args.content }, { stillLeased });
      await reached.promise;
      expect(await write().reconcile(2)).toEqual(refused);
      expect(await write().run(2)).toMatchObject({ kind: 'done' });
      await writeFile(join(root, 'notes', 'f'), 'changed since');
      thaw();
      expect(await first).toEqual(refused);
      expect(await inside('notes/f')).toBe('changed since');
    });
  });
});

// elsewhere the kernel offers no path below a descriptor, and the tool says that it can lose this race
const onLinux = process.platform === 'linux' ? describe : describe.skip;
onLinux('FileRW in a race with another process', () => {
  let swapper: ChildProcess;
  afterEach(async () => {
    if (swapper.exitCode !== null) return;
    swapper.kill('SIGKILL');
    await once(swapper, 'exit');
  });
  const swapping = async (path: string, target: string) => {
    swapper = fork(join(import.meta.dirname, 'swap-loop.ts'), [path, target], { execArgv: [] });
    await once(swapper, 'message');
  };
  const settled = async () => {
    swapper.send('stop');
    await once(swapper, 'exit');
    expect(swapper.exitCode).toBe(0);
  };

  /** At least so many rounds, and until both sides have won often: a race that one side never wins shows nothing. */
  async function race(rounds: number, calls: (round: number) => ReturnType<typeof ask>[]) {
    const counts = { done: 0, refused: 0 };
    for (let round = 0; round < rounds || Math.min(counts.done, counts.refused) < 50; round++)
      for (const outcome of await Promise.all(calls(round))) {
        expect(outcome).toMatchObject({ kind: expect.stringMatching(/^(done|did-not-happen)$/) });
        expect(JSON.stringify(outcome)).not.toMatch(/SECRET|outside-only/);
        counts['kind' in outcome && outcome.kind === 'done' ? 'done' : 'refused']++;
      }
  }

  it(`never leaves the root while a folder is exchanged for a link, ${ROUNDS} rounds`, async () => {
    await mkdir(join(root, 'box'));
    for (const place of [join(root, 'box'), outside])
      await writeFile(join(place, 'note'), place === outside ? 'SECRET' : 'mine');
    await writeFile(join(outside, 'outside-only'), 'SECRET');
    await swapping(join(root, 'box'), outside);
    await race(ROUNDS, (round) => [
      ask('read', { path: 'box/note' }),
      ask('list', { path: 'box' }),
      ask('write', { path: `box/new-${round % 10}`, content: 'x' }, { callId: `c${round}` }),
      ask('delete', { path: `box/${round % 2 ? 'outside-only' : `new-${round % 10}`}` }),
    ]);
    await settled();
    expect((await readdir(outside)).sort()).toEqual(['note', 'outside-only']);
    expect(await readFile(join(outside, 'note'), 'utf8')).toBe('SECRET');
  }, 60_000);

  it(`purges nothing outside of the root while a folder is exchanged for a link, ${ROUNDS} rounds`, async () => {
    await mkdir(join(root, 'top', 'box'), { recursive: true });
    await mkdir(join(outside, 'deep'));
    for (const file of ['note', 'deep/note']) await writeFile(join(outside, file), 'SECRET');
    await swapping(join(root, 'top', 'box'), outside);
    const kinds: Record<string, number> = {};
    for (let round = 0; round < ROUNDS; round++) {
      const note = join(root, 'top', 'mine', 'note');
      await mkdir(dirname(note), { recursive: true })
        .then(() => writeFile(note, 'mine'))
        .catch(() => {});
      const outcome = await ask('purge_folder', { path: round % 2 ? 'top' : 'top/box' });
      if (!('kind' in outcome)) throw new Error(outcome.message);
      kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
    }
    await settled();
    expect(await readFile(join(outside, 'note'), 'utf8')).toBe('SECRET');
    expect(await readFile(join(outside, 'deep', 'note'), 'utf8')).toBe('SECRET');
    expect(kinds['done']).toBeGreaterThan(0);
    expect((kinds['did-not-happen'] ?? 0) + (kinds['unknown'] ?? 0)).toBeGreaterThan(0);
  }, 60_000);

  it(`never leaves the root while a file is exchanged for a link, ${ROUNDS} rounds`, async () => {
    await writeFile(join(outside, 'note'), 'SECRET');
    await writeFile(join(root, 'note'), 'mine');
    await swapping(join(root, 'note'), join(outside, 'note'));
    await race(ROUNDS, () => [ask('read', { path: 'note' })]);
    await settled();
    expect(await readFile(join(outside, 'note'), 'utf8')).toBe('SECRET');
  }, 60_000);
});

describe('FileRW previews', () => {
  const preview = (action: string, fields: object) => {
    const resolved = registry.resolve(tool, { action, ...fields });
    if (!resolved.ok || !resolved.action.preview) throw new Error('no preview');
    const ctx = { callId: '01jcall', spaceId: 'acme', signal: AbortSignal.timeout(5_000) };
    return resolved.action.preview(resolved.args, ctx);
  };

  it('show a file as it is and as it would be, and touch nothing', async () => {
    await writeFile(join(root, 'f'), 'ü'.repeat(5_000));
    expect(await preview('write', { path: 'f', content: 'new' })).toEqual({
      kind: 'file',
      path: 'f',
      before: { bytes: 10_000, text: 'ü'.repeat(4_096), cut: true },
      after: { bytes: 3, text: 'new', cut: false },
    });
    expect(await preview('write', { path: 'a/b', content: '' })).toMatchObject({
      before: null,
      after: { bytes: 0, text: '' },
      note: expect.stringContaining('would be made'),
    });
    expect(await preview('delete', { path: 'f' })).toMatchObject({ before: { bytes: 10_000 }, after: null });
    expect(await preview('delete', { path: 'none' })).toMatchObject({ before: null, note: expect.any(String) });
    expect(await readdir(root)).toEqual(['f']);
  });

  it('show nothing of what is outside', async () => {
    await writeFile(join(outside, 'secret'), 'secret');
    await symlink(join(outside, 'secret'), join(root, 'link'));
    await symlink(outside, join(root, 'folder'));
    await link(join(outside, 'secret'), join(root, 'second'));
    for (const path of ['link', 'folder/secret', 'second', 'folder'])
      for (const action of ['write', 'delete'])
        expect(
          JSON.stringify(await preview(action, { path, ...(action === 'write' ? { content: 'x' } : {}) })),
        ).not.toContain('"secret"');
    expect(await preview('delete', { path: 'second' })).toMatchObject({ before: { bytes: 6, text: null } });
  });

  it('count what a folder holds', async () => {
    await mkdir(join(root, 'a', 'b'), { recursive: true });
    await writeFile(join(root, 'a', 'b', 'f'), '');
    await symlink(outside, join(root, 'a', 'l'));
    const facts = { folder: 'a', files: '1', folders: '1', links: '1' };
    expect(await preview('purge_folder', { path: 'a' })).toMatchObject({
      kind: 'facts',
      facts: Object.entries(facts).map(([label, value]) => ({ label, value })),
    });
    expect(await preview('purge_folder', { path: 'none' })).toMatchObject({ note: expect.stringContaining('refused') });
    expect(await readdir(join(root, 'a', 'b'))).toEqual(['f']);
  });
});
