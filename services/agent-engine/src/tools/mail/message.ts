import { domainOf } from './address.js';

export interface Letter {
  callId: string;
  date: Date;
  from: string;
  to: readonly string[];
  cc: readonly string[];
  subject: string;
  body: string;
}

/** How the body travels; each way decodes to exactly the body. */
type Encoding = '7bit' | '8bit' | 'quoted-printable' | 'base64';

export interface Message {
  bytes: Buffer;
  encoding: Encoding;
}

/** Derived from the call, so that a mailbox can be asked whether the call's mail arrived. */
export const messageId = (callId: string, from: string): string => `<${callId}@${domainOf(from)}>`;

/**
 * The whole message as it goes over the wire, lines ending in CRLF. Every value has passed its schema: addresses are bare
 * and the subject holds no control character, so no header can be injected.
 * @param eightBit whether the server announced 8BITMIME (RFC 6152)
 */
export function compose(letter: Letter, eightBit: boolean): Message {
  const { encoding, body } = encodeBody(letter.body, eightBit);
  const headers = [
    `From: ${letter.from}`,
    `To: ${letter.to.join(',\r\n ')}`,
    ...(letter.cc.length > 0 ? [`Cc: ${letter.cc.join(',\r\n ')}`] : []),
    `Subject: ${encodeSubject(letter.subject)}`,
    `Message-ID: ${messageId(letter.callId, letter.from)}`,
    `Date: ${letter.date.toUTCString().replace('GMT', '+0000')}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Transfer-Encoding: ${encoding}`,
  ];
  return { bytes: Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}`, 'utf8'), encoding };
}

/**
 * As it stands, where that is lossless: a line feed is the line end of text and travels as CRLF (RFC 2046, section 4.1.1),
 * and the message ends in one. Anything a relay could touch, such as a body without a last line feed, carriage returns,
 * long lines, blanks at a line's end or `From ` at its start, is encoded byte by byte, readably where most of it is ASCII.
 */
function encodeBody(text: string, eightBit: boolean): { encoding: Encoding; body: string } {
  const ascii = /^[\x20-\x7e\t\n]*$/.test(text);
  const plain = text.endsWith('\n') && (ascii || (eightBit && /^[^\p{Cc}]*$/u.test(text.replace(/[\t\n]/g, ''))));
  const fragile = /[ \t]$|^From /m.test(text) || text.split('\n').some((line) => Buffer.byteLength(line) > 998);
  if (plain && !fragile) return { encoding: ascii ? '7bit' : '8bit', body: text.replaceAll('\n', '\r\n') };
  const quoted = quotedPrintable(Buffer.from(text, 'utf8'));
  const base64 = (
    Buffer.from(text, 'utf8')
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\r\n');
  return quoted.length <= 1.5 * base64.length
    ? { encoding: 'quoted-printable', body: quoted }
    : { encoding: 'base64', body: base64 };
}

/** RFC 2045, section 6.7, with the line ends encoded too: the result has soft line breaks alone and decodes to the same bytes. */
function quotedPrintable(bytes: Buffer): string {
  const lines: string[] = [];
  let line = '';
  bytes.forEach((byte, i) => {
    const next = bytes[i + 1];
    const endsLine = next === undefined || next === 0x0a || next === 0x0d;
    const blank = byte === 0x20 || byte === 0x09;
    const literal = blank ? !endsLine : byte > 0x20 && byte < 0x7f && byte !== 0x3d;
    const token =
      literal && !(byte === 0x46 && line === '') // a leading F could begin `From `
        ? String.fromCharCode(byte)
        : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    if (line.length + token.length > 75) {
      lines.push(line);
      line = '';
    }
    line += token;
    if (byte === 0x0a && next !== undefined) {
      lines.push(line);
      line = '';
    }
  });
  if (line !== '') lines.push(line);
  return lines.map((l) => `${l}=`).join('\r\n');
}

/** Encoded words (RFC 2047) for all of it, unless it is short plain ASCII that no receiver reads as one. */
function encodeSubject(subject: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(subject) && !subject.includes('=?')) return subject;
  const words: string[] = [];
  let word = '';
  for (const ch of subject) {
    if (Buffer.byteLength(word + ch) > 45) {
      words.push(word);
      word = '';
    }
    word += ch;
  }
  return [...words, word].map((w) => `=?UTF-8?B?${Buffer.from(w, 'utf8').toString('base64')}?=`).join('\r\n ');
}
