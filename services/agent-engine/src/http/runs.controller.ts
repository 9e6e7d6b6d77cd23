import {
  type ConversationView,
  type Identity,
  name,
  type RunView,
  type StartRunRequest,
  startRunRequest,
  token,
} from '@holdpoint/contracts';
import { Keyring, Refusal, requireRole, Who } from '@holdpoint/runtime';
import { Body, Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { AGENTS } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import { turnText } from '../domain/conversation.js';
import { StartRun } from '../run/start-run.js';
import { Runs } from '../store/runs.js';
import { Turns } from '../store/turns.js';
import { runView } from './view.js';

const notFound = (what: string) =>
  new Refusal('not-found', `engine.${what}-not-found`, `There is no such ${what}, or you may not see it.`);

@Controller('v1')
export class RunsController {
  constructor(
    @Inject(AGENTS) private readonly agents: Map<string, AgentDeclaration>,
    private readonly runs: Runs,
    private readonly turns: Turns,
    private readonly keyring: Keyring,
    private readonly startRun: StartRun,
  ) {}

  @Post('agents/:agent/runs')
  @HttpCode(202)
  async start(
    @Param('agent', { schema: name }) agentName: string,
    @Body({ schema: startRunRequest }) body: StartRunRequest,
    @Who() who: Identity,
  ): Promise<RunView> {
    const agent = this.agents.get(agentName);
    if (!agent) throw notFound('agent');
    requireRole(who, agent.space);
    if (body.conversationId !== undefined) {
      const known = await this.runs.conversation(body.conversationId);
      if (known?.space_id !== agent.space || known.agent !== agent.name) throw notFound('conversation');
    }
    const runId = await this.startRun.start({
      agent,
      principal: { kind: who.kind, id: who.id },
      source: body.source ?? 'direct',
      prompt: body.prompt,
      conversationId: body.conversationId,
    });
    return this.show(runId, who);
  }

  @Get('runs/:id')
  async show(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<RunView> {
    const run = await this.runs.find(id);
    if (!run) throw notFound('run');
    requireRole(who, run.space_id);
    return runView(run, this.keyring);
  }

  @Get('conversations/:id')
  async conversation(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<ConversationView> {
    const known = await this.runs.conversation(id);
    if (!known) throw notFound('conversation');
    requireRole(who, known.space_id);
    const turns = await this.turns.list(known.space_id, id);
    return {
      id,
      spaceId: known.space_id,
      agent: known.agent,
      turns: turns.map((t) => ({ runId: t.runId, role: t.turn.role, text: turnText(t.turn), at: t.at.toISOString() })),
    };
  }
}
