import { z } from 'zod';

const atom = "[A-Za-z0-9#$&'*+/=?^_`{|}~-]+";
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';

const mailbox = new RegExp(`^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:${label}\\.)+(?=[^.]*[A-Za-z])${label}$`);

/**
 * A bare mailbox that can mean one thing only: a dot-atom and a dotted host name, both ASCII (RFC 5321). Display names,
 * quoted local parts, address literals and the routing characters `%` and `!` are refused: with them the mail could go
 * elsewhere than a reader of the address would think. Other scripts are written as `xn--…`.
 */
export const address = z
  .string()
  .max(254)
  .refine((s) => mailbox.test(s), 'expected a bare mail address such as name@example.org')
  .meta({ format: 'email' });

export const domainOf = (bare: string): string => bare.slice(bare.lastIndexOf('@') + 1);
