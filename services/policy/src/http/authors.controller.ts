import {
  type BacktestProgress,
  type Identity,
  type PolicyBacktestRequest,
  type PolicyExplainRequest,
  type PolicyExplanation,
  type PolicyLintReply,
  type PolicyLintRequest,
  policyBacktestRequest,
  policyExplainRequest,
  policyLintRequest,
} from '@holdpoint/contracts';
import { Refusal, type StreamReply, sendEventStream, Who } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { Backtests } from '../backtests.js';
import { Explanations } from '../explanations.js';

/** For people who write rules. Members ask what would become of a call; owners and admins try rules on past calls. */
@Controller('v1/policy')
export class AuthorsController {
  constructor(
    private readonly explanations: Explanations,
    private readonly backtests: Backtests,
  ) {}

  @Post('explain')
  @HttpCode(200)
  explain(
    @Body({ schema: policyExplainRequest }) asked: PolicyExplainRequest,
    @Who() who: Identity,
  ): Promise<PolicyExplanation> {
    return this.explanations.explain(who, asked);
  }

  @Post('lint')
  @HttpCode(200)
  lint(@Body({ schema: policyLintRequest }) asked: PolicyLintRequest, @Who() who: Identity): Promise<PolicyLintReply> {
    return this.explanations.lint(who, asked);
  }

  /** Server-sent events, the last of them `done`. A client that goes away ends it. */
  @Post('backtest')
  async backtest(
    @Body({ schema: policyBacktestRequest }) asked: PolicyBacktestRequest,
    @Who() who: Identity,
    @Res() reply: StreamReply,
  ): Promise<void> {
    const backtest = await this.backtests.prepare(who, asked);
    sendEventStream(reply, (gone) => blocks(this.backtests.run(backtest, gone)), { name: 'a backtest' });
  }
}

async function* blocks(told: AsyncIterable<BacktestProgress>): AsyncGenerator<string> {
  try {
    for await (const one of told) yield blockOf(one);
  } catch (err) {
    // The role is gone in the middle of it.
    if (!(err instanceof Refusal)) throw err;
    yield blockOf({ type: 'broken', detail: err.message });
  }
}

const blockOf = (told: BacktestProgress): string => `event: ${told.type}\ndata: ${JSON.stringify(told)}\n\n`;
