import { z } from 'zod';

const served = z.object({ data: z.array(z.object({ id: z.string().min(1).max(150) })) });

/**
 * The model that the demo plays with in place of the declared one: HOLDPOINT_MODEL, else the first that OPENAI_BASE_URL
 * lists, else, where it lists none, `openai/default`: a server of one model takes any name.
 * @returns undefined when neither is set @throws when nobody listens at OPENAI_BASE_URL
 */
export async function modelOf(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { HOLDPOINT_MODEL: named, OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = env;
  if (named) return named;
  if (!base) return undefined;
  return `openai/${(await firstListed(base, key)) ?? 'default'}`;
}

async function firstListed(base: string, key: string | undefined): Promise<string | undefined> {
  const response = await fetch(`${base.replace(/\/$/, '')}/models`, {
    headers: key ? { authorization: `Bearer ${key}` } : {},
    redirect: 'manual',
    signal: AbortSignal.timeout(10_000),
  }).catch(() => {
    throw new Error('Nobody answers at OPENAI_BASE_URL. Start the server, or unset it to play the scripted demo.');
  });
  const listed = served.safeParse(await response.json().catch(() => null));
  return response.ok && listed.success ? listed.data.data[0]?.id : undefined;
}
