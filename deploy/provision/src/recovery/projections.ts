import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Projection, ServiceName } from '@holdpoint/contracts';

/** What recovery cannot do now, with what to do instead. Nothing was changed unless the message says so. */
export class CannotRecover extends Error {
  override readonly name = 'CannotRecover';
}

/**
 * A service's own account of how its rows follow from the events, from its compiled `domain/projection.js`.
 * @param root the repository or image: `services/<name>/dist` is found below it
 */
export async function projectionOf(root: string, service: ServiceName): Promise<Projection> {
  const file = path.join(root, 'services', service, 'dist', 'src', 'domain', 'projection.js');
  try {
    const { projection } = (await import(pathToFileURL(file).href)) as { projection: Projection };
    return projection;
  } catch (cause) {
    throw new CannotRecover(`${service}: there is no compiled projection in ${file}; build first`, { cause });
  }
}
