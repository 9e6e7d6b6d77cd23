import { name, type PolicyExplanation, policyExplanation, token, verdict } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from '../client.js';
import { draftIn, textOf } from '../draft.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { spaceOf } from '../spaces-of.js';
import { inline } from '../text.js';
import { callOf } from './policy-explain.js';

const expected = z.strictObject({
  /** As people write it: `Mail.send`, `server/tool`. */
  call: z.string(),
  agent: name,
  arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
  expect: verdict,
  /** As `policy explain` names them; absent: any. */
  rule: z.string().optional(),
  reason: z.string().optional(),
});
type Expected = z.infer<typeof expected>;

const testFile = z.strictObject({ space: token.optional(), calls: z.array(expected).min(1).max(1_000) });

/** Verdicts as they would be in `enforce`, whatever the mode. @returns 1 when one is not as expected */
export async function testPolicy(
  client: Client,
  file: string,
  o: { json?: boolean; space?: string; draft?: string },
): Promise<number> {
  const { space, calls } = await readTests(file);
  const asked = calls.map((c) => ({ ...callOf(c.call), agent: c.agent, arguments: c.arguments }));
  const draft = o.draft === undefined ? {} : await draftIn(o.draft);
  const spaceId = await spaceOf(client, o.space ?? space);
  const differences: { call: string; agent: string; difference: string[] }[] = [];
  for (const [i, want] of calls.entries()) {
    const body = { spaceId, ...asked[i], ...draft };
    const got = await client.post('policy', '/v1/policy/explain', body, policyExplanation);
    const difference = differenceOf(want, got);
    if (difference.length > 0) differences.push({ call: want.call, agent: want.agent, difference });
  }
  if (o.json) document({ spaceId, calls: calls.length, differences });
  else {
    for (const { call, agent, difference } of differences)
      say(`${inline(call, 300)} by ${inline(agent, 128)}:`, ...difference.map((d) => `  ${inline(d, 700)}`));
    say(
      differences.length === 0
        ? `${calls.length} calls: each gets the verdict that is expected.`
        : `${calls.length} calls: ${differences.length} are not as expected.`,
    );
  }
  return differences.length === 0 ? 0 : 1;
}

function differenceOf(want: Expected, got: PolicyExplanation): string[] {
  const came = got.wouldBe ?? got.verdict;
  return [
    ...(came === want.expect ? [] : [`expected ${want.expect}, got ${came} by ${got.rule}. ${got.because}`]),
    ...(want.rule === undefined || want.rule === got.rule ? [] : [`expected by ${want.rule}, got by ${got.rule}`]),
    ...(want.reason === undefined || want.reason === got.reason
      ? []
      : [`expected the reason ${want.reason}, got ${got.reason}`]),
  ];
}

/** @throws Failure (usage): a file that says nothing would pass as a test that holds */
async function readTests(file: string): Promise<z.infer<typeof testFile>> {
  const text = await textOf(file);
  const { parse } = await import('yaml');
  let written: unknown;
  try {
    written = parse(text);
  } catch (error) {
    throw misused(`${file} is not YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  const parsed = testFile.safeParse(written);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'is no list of calls' };
  throw misused(`${file}: ${path.join('.') || 'the whole'}: ${message}. Nothing was tested.`);
}
