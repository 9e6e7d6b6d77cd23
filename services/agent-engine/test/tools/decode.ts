/** What a receiver makes of a single-part text mail, by the rules of RFC 2045 alone. */
export function decodeMail(raw: Buffer): { header: (name: string) => string | undefined; body: string } {
  const text = raw.toString('latin1');
  const split = text.indexOf('\r\n\r\n');
  const fields = text
    .slice(0, split)
    .replace(/\r\n[ \t]/g, ' ')
    .split('\r\n');
  const header = (name: string) => {
    const found = fields.filter((f) => f.toLowerCase().startsWith(`${name.toLowerCase()}: `));
    if (found.length > 1) throw new Error(`${name} stands ${found.length} times in the mail`);
    return found[0]?.slice(name.length + 2);
  };
  return { header, body: decodeBody(text.slice(split + 4), header('Content-Transfer-Encoding') ?? '7bit') };
}

function decodeBody(wire: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(wire, 'base64').toString('utf8');
  if (encoding === 'quoted-printable') {
    const bytes = wire
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  }
  return Buffer.from(wire.replaceAll('\r\n', '\n'), 'latin1').toString('utf8');
}
