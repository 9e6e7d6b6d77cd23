import { STREAM } from '@holdpoint/contracts';
import { connectBus } from '@holdpoint/eventing';
import type { Stack } from '@holdpoint/local';
import { Api, until } from './api.js';

/** Milliseconds in the middle, with and without traces. */
export interface Overhead {
  /** From the proposal being stored to its verdict being stored. */
  decision: { on: number; off: number; ratio: number };
  /** From the proposal being stored to the result being stored: a read, through the whole gate. */
  gate: { on: number; off: number; ratio: number };
  calls: number;
}

interface Moments {
  decision: number[];
  gate: number[];
}

/**
 * What tracing costs: one call at a time on two whole systems, in turns, so that whatever else the machine does meets both.
 * The times are the stream's own, so that nothing of the measurement is in them.
 * @param prompt makes `agent` call a tool that only reads, one call a round
 */
export async function tracingOverhead(
  { on, off }: { on: Stack; off: Stack },
  { agent, prompt, turns }: { agent: string; prompt: string; turns: number },
): Promise<Overhead> {
  const found = { on: { decision: [], gate: [] } as Moments, off: { decision: [], gate: [] } as Moments };
  for (let turn = 0; turn <= turns; turn++)
    for (const side of turn % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const stack = { on, off }[side];
      const first = await lastSequence(stack);
      await aRun(stack, agent, prompt);
      const measured = await moments(stack, first + 1);
      // the first turn warms both up
      if (turn === 0) continue;
      found[side].decision.push(...measured.decision);
      found[side].gate.push(...measured.gate);
    }
  const compare = (what: keyof Moments) => {
    const [with_, without] = [middle(found.on[what]), middle(found.off[what])];
    return { on: with_, off: without, ratio: with_ / without };
  };
  return { decision: compare('decision'), gate: compare('gate'), calls: found.on.gate.length };
}

async function aRun(stack: Stack, agent: string, prompt: string): Promise<void> {
  const engine = new Api({ url: stack.urls.engine, token: stack.people['ada'] ?? '' });
  const { status, body } = await engine.ask('POST', `/v1/agents/${agent}/runs`, { prompt });
  if (status !== 202) throw new Error(`a run was answered ${status}`);
  const { id } = body as { id: string };
  await until('a run to end', async () => {
    const now = (await engine.ask('GET', `/v1/runs/${id}`)).body as { state: string };
    if (now.state === 'ok') return true;
    if (now.state !== 'queued' && now.state !== 'running') throw new Error(`the run ended as ${now.state}`);
    return undefined;
  });
}

const asChecker = async <T>({ nats }: Stack, work: (bus: Awaited<ReturnType<typeof connectBus>>) => Promise<T>) => {
  const bus = await connectBus({ servers: nats.url, user: nats.user, pass: nats.pass, name: 'checker' });
  return work(bus).finally(() => bus.close());
};

const lastSequence = (stack: Stack): Promise<number> =>
  asChecker(stack, async (bus) => (await bus.jsm.streams.info(STREAM)).state.last_seq);

function moments(stack: Stack, first: number): Promise<Moments> {
  return asChecker(stack, async (bus) => {
    const { state } = await bus.jsm.streams.info(STREAM);
    const calls = new Map<string, Partial<Record<string, number>>>();
    for (let seq = first; seq <= state.last_seq; seq++) {
      const message = await bus.jsm.direct.getMessage(STREAM, { seq });
      if (!message) continue;
      const [, type, callId] = /^((?:tool|policy)\.\w+)\.\w+\.(\w+)$/.exec(message.subject) ?? [];
      if (type === undefined || callId === undefined) continue;
      calls.set(callId, { ...calls.get(callId), [type]: milliseconds(message.timestamp) });
    }
    const since = (type: string) =>
      [...calls.values()].flatMap((c) => {
        const [from, to] = [c['tool.proposed'], c[type]];
        return from === undefined || to === undefined ? [] : [to - from];
      });
    return { decision: since('policy.decided'), gate: since('tool.executed') };
  });
}

/** Of a time such as 2026-01-02T03:04:05.123456789Z, to the microsecond. */
const milliseconds = (timestamp: string): number => {
  const fraction = /\.(\d+)/.exec(timestamp)?.[1] ?? '0';
  return Date.parse(timestamp.replace(/\.\d+/, '')) + Number(fraction.padEnd(9, '0')) / 1e6;
};

const middle = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
