import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import { compose } from '../../src/tools/mail/message.js';
import { decodeMail } from './decode.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_260_214);
const letter = (fields: { subject?: string; body?: string }) => ({
  callId: '01jbody',
  date: new Date('2026-02-14T09:00:00Z'),
  from: 'agent@example.test',
  to: ['ann@example.test'],
  cc: [],
  subject: 'Hello',
  body: 'Hello\n',
  ...fields,
});
const composed = (fields: { subject?: string; body?: string }, eightBit = true) => {
  const { bytes, encoding } = compose(letter(fields), eightBit);
  // the end of data begins with CRLF unless the message already ended in one (RFC 5321, section 4.5.2)
  const raw = bytes.subarray(-2).equals(Buffer.from('\r\n')) ? bytes : Buffer.concat([bytes, Buffer.from('\r\n')]);
  return { raw, encoding };
};

describe('compose', () => {
  it.each([
    ['plain ASCII', 'Dear Ann,\n\nall is well.\n', '7bit'],
    ['plain text', 'Grüße aus Köln\n', '8bit'],
    ['text without a last line feed', 'Dear Ann', 'quoted-printable'],
    ['text with carriage returns', 'with carriage\r\nreturns in it\r\n', 'quoted-printable'],
    ['a blank at the end of a line', 'Dear Ann \n', 'quoted-printable'],
    ['what a mailbox file would change', 'From here on\n', 'quoted-printable'],
    ['a line as long as may be', `${'x'.repeat(998)}\n`, '7bit'],
    ['a longer line', `${'x'.repeat(999)}\n`, 'quoted-printable'],
    ['text of another script, unended', 'дальше нет конца строки', 'base64'],
  ])('%s', (_what, body, encoding) => {
    expect(composed({ body }).encoding).toBe(encoding);
    expect(decodeMail(composed({ body }).raw).body).toBe(body);
  });

  it('leaves ordinary text readable as it stands', () => {
    const { raw } = composed({ body: 'Dear Ann,\n\nGrüße.\n' });
    expect(raw.toString('utf8')).toContain('\r\n\r\nDear Ann,\r\n\r\nGrüße.\r\n');
  });

  it('sends no eight-bit byte to a server that did not ask for it', () => {
    const { raw, encoding } = composed({ body: 'Grüße\n' }, false);
    expect(encoding).not.toBe('8bit');
    expect(raw.every((b) => b < 0x80)).toBe(true);
  });

  it(`loses nothing of any body (seed ${seed})`, () => {
    const pieces = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom(
        '\n',
        '\r\n',
        '\r',
        '.',
        '..\n',
        '.\n',
        'From ',
        ' \n',
        '\t',
        '=',
        '=3D',
        'ä'.repeat(600),
        'x'.repeat(2000),
        '\u2028',
      ),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), fc.boolean(), (parts, eightBit) => {
        const body = parts.join('').toWellFormed().replaceAll('\0', '');
        const { raw, encoding } = composed({ body }, eightBit);
        expect(decodeMail(raw).body).toBe(body);
        const lines = raw.toString('latin1').split('\r\n');
        expect(lines.every((l) => !/[\r\n]/.test(l) && l.length <= (/bit$/.test(encoding) ? 998 : 76))).toBe(true);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  it(`keeps the subject, and one of it (seed ${seed})`, async () => {
    const subjects = fc
      .oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }),
        fc.string({ minLength: 1, maxLength: 200 }),
        fc.constantFrom(
          '=?utf-8?Q?Invoice_paid?=',
          'two  blanks',
          'a: b',
          '<x@y.test>',
          '"quoted"',
          'Rechnung für März',
        ),
      )
      .filter((s) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(s) && s.isWellFormed() && s.trim() === s);
    await fc.assert(
      fc.asyncProperty(subjects, async (subject) => {
        const { raw } = composed({ subject });
        expect((await simpleParser(raw)).subject).toBe(subject);
        expect(
          raw
            .toString('latin1')
            .split('\r\n\r\n')[0]
            ?.match(/^Subject:/gm),
        ).toHaveLength(1);
      }),
      { seed, numRuns: 300 },
    );
  });
});
