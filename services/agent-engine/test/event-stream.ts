import { type RunProgress, runProgress } from '@holdpoint/contracts';

/** Reads server-sent events as they come, each held against its schema; comments are left out. */
export async function* eventsOf(response: Response): AsyncGenerator<RunProgress & { id: string }> {
  if (!response.body) throw new Error('no body');
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(':')) continue;
      const fields = Object.fromEntries(
        block.split('\n').map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)]),
      );
      const data = runProgress.parse(JSON.parse(fields['data'] ?? ''));
      if (data.type !== fields['event']) throw new Error(`event ${fields['event']} holds ${data.type}`);
      yield { ...data, id: fields['id'] ?? '' };
    }
  }
}
