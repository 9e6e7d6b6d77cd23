import { STATUS_CODES } from 'node:http';
import type { Problem } from '@holdpoint/contracts';
import type { Refusal, RefusalKind } from '../refusal.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

const statusOf: Record<RefusalKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  gone: 410,
  'too-large': 413,
  unprocessable: 422,
  unavailable: 503,
};

/** What each kind of refusal is in HTTP, for a client that turns an answer back into a refusal. */
export const kindOf = (status: number): RefusalKind =>
  (Object.keys(statusOf) as RefusalKind[]).find((kind) => statusOf[kind] === status) ?? 'unprocessable';

/** A refusal as a problem (RFC 9457). */
export function refusalProblem(r: Refusal): Problem {
  const status = statusOf[r.kind];
  return {
    ...r.extras,
    type: `urn:holdpoint:problem:${r.code}`,
    title: titleOf(status),
    status,
    detail: r.detail,
    code: r.code,
    ...(r.errors && { errors: r.errors }),
  };
}

/** What the web framework itself refused. The framework's own text is not passed on: it may quote the request. */
export function plainProblem(status: number): Problem {
  const [code, detail] = plain[status] ?? [
    'http.refused',
    'The request cannot be served; check method, path and headers.',
  ];
  return { type: 'about:blank', title: titleOf(status), status, detail, code };
}

const titleOf = (status: number): string => STATUS_CODES[status] ?? 'Error';

const plain: Record<number, readonly [code: string, detail: string]> = {
  400: ['http.malformed', 'The request cannot be read; send well-formed JSON and a well-formed URL.'],
  404: ['http.no-such-route', 'There is no such route; check method and path.'],
  408: ['http.too-slow', 'The request took too long to arrive; send it again.'],
  413: ['http.body-too-large', 'The body is over 1 MiB; send less.'],
  414: ['http.url-too-long', 'The URL is too long; shorten it.'],
  415: ['http.unsupported-media-type', 'Send the body as `content-type: application/json`.'],
  431: ['http.headers-too-large', 'The headers are too large; send fewer or shorter ones.'],
  503: ['http.unavailable', 'The service is not ready; try again shortly.'],
};
