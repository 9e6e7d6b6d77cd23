import type { AuditEntry, Identity } from '@holdpoint/contracts';
import { maskSuspected, Who } from '@holdpoint/runtime';
import { Controller, Get, Query } from '@nestjs/common';
import type { StoredEntry } from '../domain/rows.js';
import { cut, MAX_ARGUMENTS, MAX_NOTE } from '../domain/words.js';
import { Content } from '../log/content.js';
import { AuditLog } from '../store/audit-log.js';
import { cursorPage, type EntriesQuery, entriesQuery, pageOf } from './query.js';
import { readableSpaces } from './spaces.js';

@Controller('v1/audit/entries')
export class EntriesController {
  constructor(
    private readonly auditLog: AuditLog,
    private readonly content: Content,
  ) {}

  /**
   * Entries of one's spaces in stream order, filtered by run, task, call, tool, action, agent, status, space and time. What
   * looks like a secret is masked (charter, section 8); the very bytes are shown to those who decide.
   */
  @Get()
  async list(@Query({ schema: entriesQuery }) query: EntriesQuery, @Who() who: Identity) {
    const spaces = readableSpaces(who, query.space);
    const { items, ...rest } = cursorPage(await this.auditLog.list({ ...query, spaces }, pageOf(query)), query.limit);
    const texts = await this.content.at(items.flatMap((e) => [e.argumentsSeq, e.noteSeq]));
    return { items: items.map((e) => toView(e, texts)), ...rest };
  }
}

function toView(
  { argumentsSeq, noteSeq, note, at, ...entry }: StoredEntry,
  texts: Map<number, string | null>,
): AuditEntry {
  const text = (seq: number | null) => (seq === null ? null : (texts.get(seq) ?? null));
  const args = text(argumentsSeq);
  const reason = text(noteSeq);
  return {
    ...entry,
    at: at.toISOString(),
    // masked first: what is cut in two is harder to recognise
    arguments: args === null ? null : cut(maskSuspected(args), MAX_ARGUMENTS),
    note: cut(reason === null ? note : `${note}: ${maskSuspected(reason)}`, MAX_NOTE),
  };
}
