import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Asked {
  method: string;
  url: string;
  authorization: string | undefined;
  body: unknown;
  lastEventId?: string;
}

const MAIN = join(import.meta.dirname, '../dist/src/main.js');

/** What readline tells a terminal, and the line ends of one. */
const CURSOR = new RegExp(`${'\u001b'}\\[\\d+[GJ]|\\r`, 'g');

type Answer = { status?: number; json?: unknown; text?: string; type?: string };

/** The compiled command in a process of its own, against a home and services that a test makes up. */
export class Installation {
  readonly asked: Asked[] = [];
  /** Answers by `METHOD /path?query`. */
  readonly answers = new Map<string, Answer | (() => Answer)>();
  nats = { url: 'nats://127.0.0.1:1', user: 'checker', pass: 'x' };
  #host: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #server = createServer(
    (request, response) =>
      void this.#answer(request).then(({ status = 200, json, text, type }) => {
        response.writeHead(status, {
          'content-type': type ?? (status < 400 ? 'application/json' : 'application/problem+json'),
        });
        response.end(text ?? JSON.stringify(json));
      }),
  );

  private constructor(readonly home: string) {}

  static async open(): Promise<Installation> {
    const installation = new Installation(await mkdtemp(join(tmpdir(), 'holdpoint-cli-')));
    await new Promise<void>((ready) => installation.#server.listen(0, '127.0.0.1', ready));
    await installation.write();
    return installation;
  }

  async write(): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    const urls = Object.fromEntries(
      ['engine', 'policy', 'staging', 'taskboard', 'audit'].map((s) => [s, `http://127.0.0.1:${port}/`]),
    );
    const file = { urls, people: { ada: 'token-of-ada', ben: 'token-of-ben' }, nats: this.nats };
    await writeFile(join(this.home, 'client.json'), JSON.stringify(file));
  }

  async close(): Promise<void> {
    this.#host?.kill('SIGKILL');
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
    await rm(this.home, { recursive: true, force: true });
  }

  /**
   * Types the command at a terminal of its own, and `answer` at its question. All that is shown is in `stdout`, without what
   * the terminal is told of its cursor.
   */
  atTerminal(answer: string, ...args: string[]): Promise<Ended> {
    const quoted = [process.execPath, MAIN, ...args].map((a) => `'${a.replaceAll("'", "'\\''")}'`).join(' ');
    const child = spawn('script', ['-qec', `stty cols 200; exec ${quoted}`, '/dev/null'], {
      env: this.#env(),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdout.setEncoding('utf8');
    let shown = '';
    let answered = false;
    child.stdout.on('data', (chunk: string) => {
      shown += chunk;
      if (answered || !shown.includes('type yes: ')) return;
      answered = true;
      child.stdin.write(`${answer}\n`);
    });
    return new Promise((done, broke) => {
      child.on('error', broke);
      child.on('close', (code) => done({ code, stdout: shown.replaceAll(CURSOR, ''), stderr: '' }));
    });
  }

  /** Types the command, with nobody at the terminal; one after the other. */
  holdpoint(...args: string[]): Promise<Ended> {
    const env = this.#env();
    this.#host ??= fork(join(import.meta.dirname, 'command-host.mjs'), { env, stdio: ['ignore', 2, 2, 'ipc'] });
    const host = this.#host;
    const ended = this.#last.then(
      () =>
        new Promise<Ended>((done, broke) => {
          const lost = () => broke(new Error('the command ended its process'));
          host.once('exit', lost);
          host.once('message', (said) => {
            host.off('exit', lost);
            done(said as Ended);
          });
          host.send({ args, env });
        }),
    );
    this.#last = ended.catch(() => undefined);
    return ended;
  }

  #env(): NodeJS.ProcessEnv {
    const { npm_command: _, HOLDPOINT_AS: __, HOLDPOINT_TOKEN: ___, ...env } = process.env;
    return { ...env, HOLDPOINT_HOME: this.home };
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { method = '', url = '', headers } = request;
    const lastEventId = headers['last-event-id'];
    this.asked.push({
      method,
      url,
      authorization: headers.authorization,
      body: text ? JSON.parse(text) : undefined,
      ...(typeof lastEventId === 'string' && { lastEventId }),
    });
    const answer = this.answers.get(`${method} ${url}`) ?? this.answers.get(`${method} ${url.split('?')[0]}`);
    if (answer !== undefined) return typeof answer === 'function' ? answer() : answer;
    const detail = 'There is no such thing, or you may not see it.';
    return {
      status: 404,
      json: { type: 'about:blank', title: 'Not Found', status: 404, detail, code: 'test.not-found' },
    };
  }
}
