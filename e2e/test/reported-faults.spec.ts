import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

// docs/reported-faults.md says which test answers which report. This holds the page against the tests as they are.

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const REPORT = String.raw`[\w.-]+(?:/[\w.-]+)?#\d+`;
const reportsIn = (text: string): string[] => text.match(new RegExp(REPORT, 'g')) ?? [];
/** The names in a test file that begin with the reports which they answer, as they are written there. */
const citingNames = (source: string): string[] =>
  [...source.matchAll(new RegExp(`(['\`])((?:${REPORT}, )*${REPORT}: .*?)\\1,`, 'g'))].map((m) => m[2] as string);

const page = read('docs/reported-faults.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && reportsIn(line).length > 0)
  .map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  )
  .map(([report = '', promise = '', last = '']) => ({
    report,
    promise,
    last,
    tests: [...last.matchAll(/`([^`]+\.spec\.ts)` `([^`]+)`/g)].map(([, file = '', name = '']) => ({ file, name })),
  }));

it('every test that the page names stands in its file, under that name, and cites the report', () => {
  for (const { report, promise, last, tests } of page) {
    expect(promise).not.toBe('');
    // a row names tests alone, or the capability that it waits for
    expect({ report, tests: last.split('<br>').length }).toEqual({ report, tests: Math.max(tests.length, 1) });
    for (const { file, name } of tests) {
      expect({ file, names: existsSync(join(root, file)) ? citingNames(read(file)) : [] }).toEqual({
        file,
        names: expect.arrayContaining([name]),
      });
      expect(reportsIn(name.split(': ')[0] ?? '')).toContain(report);
    }
  }
});

it('every test that cites a report stands on the page, once for each', () => {
  const onThePage = page.flatMap(({ report, tests }) => tests.map((t) => `${report} ${t.file} ${t.name}`));
  const files = globSync('{libs,services,deploy,cli,e2e}/**/*.spec.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  });
  const cited = files.flatMap((file) =>
    citingNames(read(file)).flatMap((name) =>
      reportsIn(name.split(': ')[0] ?? '')
        // a number of a held call, such as acme#42, is written the same way
        .filter((report) => !report.startsWith('acme#'))
        .map((report) => `${report} ${file} ${name}`),
    ),
  );
  expect(cited.length).toBeGreaterThan(page.length / 2);
  expect(onThePage.toSorted()).toEqual(cited.toSorted());
});

it('every report of the shared collection stands on the page, once', () => {
  expect(new Set(page.map((row) => row.report)).size).toBe(page.length);
  const shared = join(root, '..', 'shared', 'cases', 'reported-faults.md');
  if (!existsSync(shared)) return;
  const missing = reportsIn(readFileSync(shared, 'utf8')).filter((r) => !page.some((row) => row.report === r));
  expect(missing).toEqual([]);
});
