import {
  type ConversationView,
  type Identity,
  name,
  type RunView,
  type StartRunRequest,
  startRunRequest,
  token,
} from '@holdpoint/contracts';
import { DATABASE, Keyring, Refusal, requireRole, type StreamReply, Who, WhoNow } from '@holdpoint/runtime';
import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { AGENTS } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import { turnText } from '../domain/conversation.js';
import { CancelRun } from '../run/cancel-run.js';
import { Progress } from '../run/progress.js';
import { StartRun } from '../run/start-run.js';
import { Secrets } from '../secrets/secrets.js';
import { principalOf, type RunRow, Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import { Turns } from '../store/turns.js';
import { sendEvents, wantsEvents } from './event-stream.js';
import { refuseSecrets } from './no-secrets.js';
import { runView } from './view.js';

@Controller('v1')
export class RunsController {
  constructor(
    @Inject(AGENTS) private readonly agents: Map<string, AgentDeclaration>,
    private readonly runs: Runs,
    private readonly turns: Turns,
    private readonly keyring: Keyring,
    private readonly startRun: StartRun,
    private readonly cancelRun: CancelRun,
    private readonly progress: Progress,
    private readonly secrets: Secrets,
    @Inject(DATABASE) private readonly db: Kysely<Database>,
  ) {}

  /** 202 with the run as it was queued; or, to a client that accepts `text/event-stream`, its progress. */
  @Post('agents/:agent/runs')
  async start(
    @Param('agent', { schema: name }) agentName: string,
    @Body({ schema: startRunRequest }) body: StartRunRequest,
    @Who() who: Identity,
    @WhoNow() whoNow: () => Promise<Identity>,
    @Headers('accept') accept: string | undefined,
    @Res() reply: StreamReply,
  ): Promise<void> {
    const agent = this.agents.get(agentName);
    requireRole(who, agent?.space);
    if (!agent) throw new Error('an agent without a space');
    if (body.conversationId !== undefined) {
      const known = await this.runs.conversation(body.conversationId);
      if (known?.agent !== agent.name) requireRole(who, undefined);
      requireRole(who, known?.space_id);
    }
    refuseSecrets(this.secrets, 'prompt', body.prompt);
    const runId = await this.startRun.start({
      agent,
      principal: { kind: who.kind, id: who.id },
      source: body.source ?? 'direct',
      prompt: body.prompt,
      conversationId: body.conversationId,
    });
    await this.#answer(reply, accept, 202, await this.#find(runId, who), whoNow);
  }

  /** The run as it stands; or, to a client that accepts `text/event-stream`, its progress from the beginning. */
  @Get('runs/:id')
  async show(
    @Param('id', { schema: token }) id: string,
    @Who() who: Identity,
    @WhoNow() whoNow: () => Promise<Identity>,
    @Headers('accept') accept: string | undefined,
    @Res() reply: StreamReply,
  ): Promise<void> {
    await this.#answer(reply, accept, 200, await this.#find(id, who), whoNow);
  }

  /**
   * By whoever started the run, and by owners and admins. A queued run is cancelled by the time this answers, a running one
   * shortly after; cancelling it again changes nothing. @throws Refusal `engine.run-over` when it ended in another way
   */
  @Post('runs/:id/cancel')
  @HttpCode(200)
  async cancel(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<RunView> {
    const run = await this.#find(id, who);
    const { kind, id: starter } = principalOf(run);
    if (kind !== who.kind || starter !== who.id) requireRole(who, run.space_id, 'owner', 'admin');
    const running = await this.db.transaction().execute((tx) => this.cancelRun.cancel(tx, { runId: id }, 'cancelled'));
    this.cancelRun.wake(running);
    const now = await this.#find(id, who);
    if (now.completed_at !== null && now.state !== 'cancelled')
      throw new Refusal(
        'conflict',
        'engine.run-over',
        `This run is over (${now.state}); there is nothing to cancel. What it did stands in its chain.`,
        { extras: { state: now.state, completedAt: now.completed_at.toISOString() } },
      );
    return runView(now, this.keyring);
  }

  @Get('conversations/:id')
  async conversation(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<ConversationView> {
    const known = await this.runs.conversation(id);
    requireRole(who, known?.space_id);
    if (!known) throw new Error('a conversation without a space');
    const turns = await this.turns.list(known.space_id, id);
    return {
      id,
      spaceId: known.space_id,
      agent: known.agent,
      turns: turns.map((t) => ({ runId: t.runId, role: t.turn.role, text: turnText(t.turn), at: t.at.toISOString() })),
    };
  }

  async #find(id: string, who: Identity): Promise<RunRow> {
    const run = await this.runs.find(id);
    requireRole(who, run?.space_id);
    if (!run) throw new Error('a run without a space');
    return run;
  }

  async #answer(
    reply: StreamReply,
    accept: string | undefined,
    status: number,
    run: RunRow,
    whoNow: () => Promise<Identity>,
  ): Promise<void> {
    if (!wantsEvents(accept)) {
      reply.status(status).send(await runView(run, this.keyring));
      return;
    }
    sendEvents(reply, this.progress, run.run_id, async () => requireRole(await whoNow(), run.space_id));
  }
}
