import type { CallPreview } from '@holdpoint/contracts';
import { describe, expect, it } from '@jest/globals';
import { previewed } from './preview-text.js';

const shown = (preview: CallPreview) => previewed({ callId: 'c', at: '2026-01-01T00:00:00.000Z', preview }).join('\n');
const HOSTILE = 'a\u202eb\u001b[2J\r\nTo: me';

describe('a preview at the terminal', () => {
  it.each<CallPreview>([
    { kind: 'mail', from: HOSTILE, to: [HOSTILE], cc: [], bcc: [HOSTILE], subject: HOSTILE, body: HOSTILE },
    { kind: 'message', to: HOSTILE, text: HOSTILE },
    { kind: 'file', path: HOSTILE, before: { bytes: 3, text: HOSTILE, cut: true }, after: null },
    { kind: 'row', table: HOSTILE, before: { [HOSTILE]: HOSTILE }, after: { [HOSTILE]: null } },
    { kind: 'facts', facts: [{ label: HOSTILE, value: HOSTILE }], note: HOSTILE },
  ])('of kind $kind lets no text steer the terminal or leave its bars', (preview) => {
    const text = shown(preview);
    for (const hidden of ['\u202e', '\u001b', '\r']) expect(text).not.toContain(hidden);
    for (const line of text.split('\n').slice(1)) expect(line).toMatch(/^ {2}(?:│|Note: )|^ {4} {2}│|^ {2} {2}│/);
  });

  it('says what changes in a row, and what stays', () => {
    const text = shown({ kind: 'row', table: 'orders', before: { id: '1', n: '2' }, after: { id: '1', n: null } });
    expect(text).toContain('│ id: 1');
    expect(text).toContain('│ n, now: 2\n  │ n, then: NULL');
  });

  it('says why there is none', () => {
    expect(previewed(null).join()).toContain('the engine does not answer');
    expect(previewed({ callId: 'c', at: '', preview: null, note: 'None.' }).join()).toContain('None.');
  });
});
