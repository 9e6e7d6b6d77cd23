import { InvalidEvent, subjectOf } from '@holdpoint/contracts';
import { describe, expect, it } from '@jest/globals';
import { newEvent, newId } from './event.js';
import { outgoing, Unpublishable } from './publisher.js';
import { readEvent } from './stored.js';

const data = { by: { kind: 'person', id: 'ada' }, reason: 'no longer needed', runId: null } as const;
const make = () => newEvent('task.cancelled', { spaceId: 'acme', entityId: 't1', data });

describe('a new event', () => {
  it('has a complete envelope and reads back as it was', () => {
    const event = make();
    expect(event).toMatchObject({
      specversion: '1.0',
      type: 'task.cancelled',
      source: '/holdpoint/taskboard',
      subject: 't1',
      spaceid: 'acme',
      dataschema: 'urn:holdpoint:event:task.cancelled:1',
    });
    const { bytes, subject, once } = outgoing(event, 'taskboard');
    expect([subject, once]).toEqual(['task.cancelled.acme.t1', false]);
    expect(readEvent(bytes, subject)).toStrictEqual(event);
  });

  it('names the run or the call that it is about', () => {
    const about = { conversationId: 'c1', kid: 'k', by: data.by, reason: 'asked for' };
    const destroyed = newEvent('run.key-destroyed', { spaceId: 'acme', entityId: 'c1', data: about });
    expect([destroyed.runid, destroyed.callid]).toEqual([undefined, undefined]);
  });

  it.each([
    ['an entity that is no token', { entityId: 'T 1' }],
    ['a space with a wildcard', { spaceId: '>' }],
    ['data beyond the declaration', { data: { ...data, extra: 1 } }],
    ['data short of the declaration', { data: { by: data.by } }],
    ['an id that is no token', { id: 'a.b' }],
  ])('is refused with %s', (_what, change) => {
    const e = { spaceId: 'acme', entityId: 't1', data, ...change } as Parameters<typeof newEvent<'task.cancelled'>>[1];
    expect(() => newEvent('task.cancelled', e)).toThrow(InvalidEvent);
  });

  it('is published by its own service only', () => {
    expect(() => outgoing(make(), 'policy')).toThrow(Unpublishable);
  });
});

describe('an id', () => {
  it('is a lower-case ULID that sorts by the time it was made', () => {
    const ids = Array.from({ length: 200 }, newId);
    for (const id of ids) expect(id).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(200);
  });
});

describe('a stored body', () => {
  const event = make();
  const encode = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));

  it.each([
    ['no JSON', new TextEncoder().encode('{'), subjectOf(event)],
    ['no UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), subjectOf(event)],
    ['nothing', new Uint8Array(), subjectOf(event)],
    ['an unknown type', encode({ ...event, type: 'task.exploded' }), subjectOf(event)],
    ['an unknown version', encode({ ...event, dataschema: 'urn:holdpoint:event:task.cancelled:2' }), subjectOf(event)],
    ['another space than its subject', encode(event), 'task.cancelled.other.t1'],
    ['another entity than its subject', encode(event), 'task.cancelled.acme.t2'],
    ['another type than its subject', encode(event), 'task.completed.acme.t1'],
    ['another source than its publisher', encode({ ...event, source: '/holdpoint/policy' }), subjectOf(event)],
  ])('that holds %s is refused, and not quoted', (_what, bytes, subject) => {
    expect(() => readEvent(bytes, subject)).toThrow(InvalidEvent);
    expect(() => readEvent(bytes, subject)).not.toThrow(/exploded|other|t2/);
  });
});
