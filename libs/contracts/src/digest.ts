import type { Principal } from './principal.js';

/** Everything the frozen digest binds besides nonce and argument bytes (charter, section 5). */
export interface FrozenContext {
  callId: string;
  spaceId: string;
  principal: Principal;
  agent: string;
  server: string;
  tool: string;
  action: string | null;
  schemaDigest: string;
}

const utf8 = new TextEncoder();

/**
 * The statement whose SHA-256 is a call's digest: a domain tag, then each field as a 4-byte big-endian length and its
 * bytes, so that no two contexts share a statement. An absent action differs from an empty one.
 */
export function frozenStatement(c: FrozenContext, nonce: Uint8Array, argumentBytes: Uint8Array): Uint8Array {
  const fields = [
    'holdpoint.frozen-call.v1',
    c.callId,
    c.spaceId,
    `${c.principal.kind}:${c.principal.id}`,
    c.agent,
    c.server,
    c.tool,
    c.action === null ? 'no-action' : `action:${c.action}`,
    c.schemaDigest,
  ].map((s) => utf8.encode(s));
  return lengthPrefixed([...fields, nonce, argumentBytes]);
}

function lengthPrefixed(parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + 4 + p.length, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const p of parts) {
    view.setUint32(at, p.length);
    out.set(p, at + 4);
    at += 4 + p.length;
  }
  return out;
}
