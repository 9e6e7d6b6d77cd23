import { setTimeout as sleep } from 'node:timers/promises';

const READY_WITHIN_MS = 120_000;

/** Waits until a service says that it is ready. @throws when it does not within two minutes, or `signal` aborts */
export async function whenReady(name: string, url: string, signal: AbortSignal): Promise<void> {
  for (
    const end = performance.now() + READY_WITHIN_MS;
    performance.now() < end;
    await sleep(100, undefined, { signal })
  )
    if (await answers(`${url}/readyz`)) return;
  throw new Error(`${name} is not ready after ${READY_WITHIN_MS / 1000} s: see its log`);
}

/** Whether a service says at this moment that it is ready. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
