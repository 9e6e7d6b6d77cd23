import { catalogue, type HoldpointEvent, type Verdict } from '../../src/index.js';
import { ADA, BOB, CallMaker, RunMaker, TaskMaker } from './make.js';

interface CallRow {
  maker: CallMaker;
  engine: 'asked' | 'reading' | 'cleared' | 'claimed' | 'in-doubt' | 'held' | 'closed';
  staging: 'unknown' | 'pending' | 'decided' | 'ignored';
  held: boolean;
  attempt: number;
  woken: boolean;
}
interface RunRow {
  maker: RunMaker;
  state: 'queued' | 'running' | 'over';
}
interface TaskRow {
  maker: TaskMaker;
  state: 'open' | 'offered' | 'done' | 'dead' | 'cancelled';
  attempt: number;
  offers: number;
  seenCancel: boolean;
  recalled: boolean;
}
interface Action {
  /** Something the system does by itself sooner or later. The others are chance, people and faults. */
  due: boolean;
  run(): void;
}
/** Puts an action up for choice; a heavier one is chosen more often. */
type Offer = (run: () => void, weight?: number) => void;

/**
 * The services as actors that know their own rows and what is stored, each as late as it likes: written from the charter's
 * words, not from the checker's tables. Whatever stream it produces is a valid one.
 */
export class World {
  readonly stream: HoldpointEvent[] = [];
  #at = new Map<string, number>();
  /** One queue for each entity, since a relay keeps order for an entity and for nothing more. */
  #outboxes = new Map<string, HoldpointEvent[]>();
  #sent: HoldpointEvent[] = [];
  #calls: CallRow[] = [];
  #runs: RunRow[] = [];
  #tasks: TaskRow[] = [];
  #tape: readonly number[];
  #read = 0;
  #copies = 0;

  /** Each number of the tape is one choice; a shorter tape is a shorter story. */
  constructor(tape: readonly number[]) {
    this.#tape = tape;
    for (let all = this.#actions(); all.length > 0 && this.#read < tape.length; all = this.#actions()) this.#act(all);
  }

  /** Lets the system come to rest: nothing is left but what waits for a person. */
  settle(): this {
    for (let due = this.#due(); due.length > 0; due = this.#due()) this.#act(due);
    return this;
  }

  #due = () => this.#actions().filter((a) => a.due);
  #act(actions: Action[]) {
    this.#pick(actions).run();
  }
  #pick<T>(of: readonly T[]): T {
    const at = this.#read++;
    const n = this.#tape[at] ?? Math.imul(at + 1, 2654435761) >>> 8;
    return of[n % of.length] as T;
  }

  #publish(e: HoldpointEvent) {
    const key = e.type === 'task.ready' ? `${e.type}/${e.subject}/${e.data.attempt}` : `${e.type}/${e.subject}`;
    if (!this.#at.has(key)) this.#at.set(key, this.stream.length);
    this.stream.push(e);
  }
  #send(queue: string, e: HoldpointEvent) {
    this.#outboxes.set(queue, [...(this.#outboxes.get(queue) ?? []), e]);
  }
  #stored = (type: string, id: string) => this.#at.get(`${type}/${id}`);
  #find = <T extends HoldpointEvent['type']>(type: T, id: string) => {
    const at = this.#stored(type, id);
    return at === undefined ? undefined : (this.stream[at] as HoldpointEvent<T>);
  };
  /** Of verdict and abandonment, the one that stands first. */
  #counts(id: string): Verdict | 'abandoned' | undefined {
    const verdict = this.#stored('policy.decided', id) ?? Number.POSITIVE_INFINITY;
    const abandoned = this.#stored('tool.abandoned', id) ?? Number.POSITIVE_INFINITY;
    if (abandoned < verdict) return 'abandoned';
    return this.#find('policy.decided', id)?.data.verdict;
  }

  #actions(): Action[] {
    const actions: Action[] = [];
    const add = (due: boolean, weight: number, run: () => void) => {
      for (let i = 0; i < weight; i++) actions.push({ due, run });
    };
    const due: Offer = (run) => add(true, 2, run);
    const may: Offer = (run, weight = 1) => add(false, weight, run);
    for (const [name, queue] of this.#outboxes)
      due(() => {
        const [head, ...rest] = queue as [HoldpointEvent, ...HoldpointEvent[]];
        this.#publish(head);
        this.#sent.push(head);
        if (rest.length > 0) this.#outboxes.set(name, rest);
        else this.#outboxes.delete(name);
      });
    const again = this.#sent.filter((e) => !catalogue[e.type].once);
    if (again.length > 0 && this.#copies < 3)
      may(() => {
        this.#copies++;
        this.#publish(this.#pick(again));
      });
    if (this.#runs.length < 3)
      may(() =>
        this.#queueRun(new RunMaker(`r${this.#runs.length}`, { conversationId: this.#pick(['talk', 'chat']) })),
      );
    if (this.#tasks.length < 2)
      may(() =>
        this.#createTask(new TaskMaker(`t${this.#tasks.length}`, { conversationId: this.#pick(['talk', 'chat']) })),
      );
    for (const run of this.#runs) this.#runActions(run, due, may);
    for (const call of this.#calls) this.#callActions(call, due, may);
    for (const task of this.#tasks) this.#taskActions(task, due, may);
    return actions;
  }

  #queueRun(maker: RunMaker) {
    this.#runs.push({ maker, state: 'queued' });
    this.#send(maker.id, maker.queued());
  }

  #runActions(run: RunRow, due: Offer, may: Offer) {
    const { maker, state } = run;
    const talk = maker.provenance.conversationId;
    const over = (status: 'ok' | 'failed' | 'interrupted' | 'cancelled') => {
      run.state = 'over';
      this.#send(maker.id, maker.completed(status));
    };
    const task = this.#tasks.find((t) => t.maker.id === maker.provenance.taskId);
    if (state !== 'over' && task?.seenCancel) due(() => over('cancelled'));
    if (state === 'queued') {
      const busy = this.#runs.some((r) => r.state === 'running' && r.maker.provenance.conversationId === talk);
      if (!busy)
        due(() => {
          run.state = 'running';
          this.#send(maker.id, maker.started());
        });
      may(() => over('failed'));
    }
    if (state !== 'running') return;
    const unfinished = this.#calls.some(
      (c) => c.maker.run === maker && !['held', 'closed', 'in-doubt'].includes(c.engine),
    );
    if (!unfinished) due(() => over(this.#pick(['ok', 'ok', 'failed'])));
    may(() => over('interrupted'));
    if (this.#calls.length > 5) return;
    may(() => this.#propose(run.maker), 8);
    may(() => this.#publish(new CallMaker(`x${this.stream.length}`, maker).refused(this.#pick(['Error', 'NotFound']))));
  }

  #propose(run: RunMaker, principal = ADA) {
    const n = this.#calls.length;
    const maker = new CallMaker(`c${n}`, run, {
      hint: this.#pick(['read', 'write', 'destructive']),
      executionClass: this.#pick(['at-most-once', 'keyed', 'idempotent', 'reconcilable']),
      number: n + 1,
      principal,
    });
    this.#calls.push({ maker, engine: 'asked', staging: 'unknown', held: false, attempt: 0, woken: false });
    this.#publish(maker.proposed());
  }

  #callActions(call: CallRow, due: Offer, may: Offer) {
    const { maker } = call;
    const { id } = maker;
    const verdict = this.#stored('policy.decided', id);
    const counts = this.#counts(id);
    const close = (e: HoldpointEvent, through: 'outbox' | 'stream') => {
      call.engine = 'closed';
      if (through === 'stream') this.#publish(e);
      else this.#send(`engine/${id}`, e);
    };
    // two people in three come to it in the end
    const byPerson = maker.number % 3 === 0 ? may : due;
    const become = (engine: CallRow['engine']) =>
      due(() => {
        call.engine = engine;
      });
    const claim = (held: boolean) => {
      call.engine = 'claimed';
      call.held = held;
      call.attempt = 1;
      this.#send(`engine/${id}`, maker.started(held));
    };
    const denied = (held: boolean, cancelled: boolean) => maker.executed('Denied', { held, cancelled });

    if (verdict === undefined)
      due(() => this.#publish(maker.verdict(this.#pick(['auto', 'auto', 'approve', 'approve', 'deny']))));
    switch (call.engine) {
      case 'asked':
        if (this.#stored('tool.abandoned', id) === undefined)
          may(() => this.#publish(maker.abandoned(this.#pick(['no-verdict', 'cancelled', 'engine-lost']))));
        if (counts === 'abandoned') become('closed');
        else if (counts === 'deny') due(() => close(denied(false, false), 'stream'));
        else if (counts === 'approve') become('held');
        else if (counts === 'auto') become(maker.hint === 'read' ? 'reading' : 'cleared');
        break;
      case 'reading':
        due(() => close(maker.executed(this.#pick(['Ok', 'Error'])), 'stream'));
        break;
      case 'cleared':
        due(() => claim(false));
        may(() => close(denied(false, this.#pick([true, false])), 'stream'));
        break;
      case 'claimed':
        if (this.#stored('tool.started', id) === undefined) break;
        due(() =>
          close(maker.executed(this.#pick(['Ok', 'Error']), { held: call.held, attempt: call.attempt }), 'outbox'),
        );
        if (maker.executionClass !== 'at-most-once')
          may(() => {
            call.attempt++;
          });
        else
          may(() => {
            call.engine = 'in-doubt';
            this.#send(`engine/${id}`, maker.inDoubt(call.held));
          }, 4);
        break;
      case 'in-doubt':
        byPerson(() =>
          close(maker.executed(this.#pick(['Ok', 'Error']), { held: call.held, settledBy: BOB }), 'outbox'),
        );
        break;
      case 'held':
        if (this.#find('approval.decided', id)?.data.decision !== 'approved') break;
        due(() => claim(true));
        may(() => {
          call.held = true;
          close(denied(true, false), 'stream');
        });
        break;
    }

    const send = (e: HoldpointEvent) => this.#send(`staging/${id}`, e);
    if (call.staging === 'unknown' && this.#find('policy.decided', id)?.data.verdict === 'approve')
      due(() => {
        call.staging = counts === 'abandoned' ? 'ignored' : 'pending';
        if (call.staging === 'pending') send(maker.staged());
      });
    if (call.staging === 'pending') {
      may(() => send(maker.voted()));
      byPerson(() => {
        call.staging = 'decided';
        send(maker.decided(this.#pick(['approved', 'approved', 'rejected', 'expired', 'withdrawn'])));
      });
      may(() => {
        call.staging = 'decided';
        send(maker.decided('withdrawn', { cause: 'revised', by: BOB }));
        this.#propose(maker.run, BOB);
      });
    }

    const decided = this.#find('approval.decided', id)?.data;
    const executed = this.#find('tool.executed', id)?.data;
    const closed = executed?.held || (decided && decided.decision !== 'approved' && decided.cause !== 'revised');
    if (!closed || call.woken) return;
    due(() => {
      call.woken = true;
      const says = executed
        ? {
            outcome: executed.status === 'Denied' ? ('denied' as const) : ('executed' as const),
            status: executed.status,
            settled: executed.settledBy !== undefined,
          }
        : { outcome: decided?.decision as 'rejected' | 'expired' | 'withdrawn' };
      this.#createTask(TaskMaker.waking(`w-${id}`, maker, says));
    });
  }

  #createTask(maker: TaskMaker) {
    this.#tasks.push({ maker, state: 'open', attempt: 1, offers: 0, seenCancel: false, recalled: false });
    this.#send(maker.id, maker.created());
  }

  #taskActions(task: TaskRow, due: Offer, may: Offer) {
    const { maker, state, attempt } = task;
    const send = (e: HoldpointEvent) => this.#send(maker.id, e);
    const offer = () => {
      task.state = 'offered';
      task.offers++;
      send(maker.ready(attempt));
    };
    const run = this.#runs.find((r) => r.maker.id === `r-${maker.id}-${attempt}`);
    const receipt = run && this.#find('run.completed', run.maker.id)?.data.status;

    if (this.#stored(`task.ready/${maker.id}`, `${attempt}`) !== undefined && !run && !task.seenCancel)
      due(() => this.#queueRun(maker.run(`r-${maker.id}-${attempt}`, attempt)));
    if (this.#stored('task.cancelled', maker.id) !== undefined && !task.seenCancel)
      due(() => {
        task.seenCancel = true;
      });

    if (state === 'cancelled' && !task.recalled && run && this.#stored('run.queued', run.maker.id) !== undefined)
      due(() => {
        task.recalled = true;
        send(maker.cancelled(run.maker.id));
      });
    if (state === 'open') due(offer);
    if (state === 'offered' && task.offers < 4) may(offer);
    if (state === 'offered' && receipt === 'ok')
      due(() => {
        task.state = 'done';
        send(maker.completed(run?.maker.id as string, attempt));
      });
    if (state === 'offered' && (receipt === 'failed' || receipt === 'interrupted')) {
      if (attempt < 3)
        due(() => {
          task.state = 'open';
          task.attempt++;
          send(maker.retried(task.attempt));
        });
      else
        due(() => {
          task.state = 'dead';
          send(maker.died(attempt));
        });
    }
    if (state === 'dead' && attempt < 5)
      may(() => {
        task.state = 'open';
        send(maker.retried(attempt, ADA));
        task.attempt++;
      });
    if (state === 'open' || state === 'offered' || state === 'dead')
      may(() => {
        task.state = 'cancelled';
        send(maker.cancelled());
      });
  }
}
