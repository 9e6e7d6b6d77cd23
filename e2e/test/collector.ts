import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

type Value = { stringValue?: string; intValue?: number | string; boolValue?: boolean };
type Attributes = { key: string; value: Value }[];

interface Otlp {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        attributes: Attributes;
        links?: { traceId: string; spanId: string }[];
        status?: { code?: number };
      }[];
    }[];
  }[];
}

export interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  name: string;
  kind: number;
  service: string;
  pid: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
}

/** Takes what services export and keeps every byte of it. */
export async function startCollector() {
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(await buffer(request));
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    raw: () => Buffer.concat(bodies),
    spans: () => bodies.flatMap((b) => spansOf(JSON.parse(b.toString('utf8')) as Otlp)),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const plain = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value: v }) => [key, v.stringValue ?? v.intValue ?? v.boolValue]));

const spansOf = ({ resourceSpans }: Otlp): ExportedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const of = plain(resource.attributes);
    return scopeSpans
      .flatMap((s) => s.spans)
      .map((s) => ({
        traceId: s.traceId,
        spanId: s.spanId,
        parentId: s.parentSpanId || undefined,
        name: s.name,
        kind: s.kind,
        service: String(of['service.name']),
        pid: Number(of['process.pid']),
        attributes: plain(s.attributes),
        links: s.links ?? [],
      }));
  });
