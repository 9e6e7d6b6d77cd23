import { EventingModule } from '@holdpoint/eventing';
import { DATABASE, DatabaseModule, serviceClient, TableGauges } from '@holdpoint/runtime';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { Board } from './board.js';
import { CONFIG, type TaskboardConfig } from './config.js';
import { OnApprovalDecided } from './consumers/on-approval-decided.js';
import { OnRunCompleted } from './consumers/on-run-completed.js';
import { OnRunQueued } from './consumers/on-run-queued.js';
import { OnRunStarted } from './consumers/on-run-started.js';
import { OnToolExecuted } from './consumers/on-tool-executed.js';
import { TasksController } from './http/tasks.controller.js';
import { Scanner } from './scanner.js';
import { Approvals } from './store/approvals.js';
import type { Database } from './store/schema.js';
import { Tasks } from './store/tasks.js';
import { TaskPrompts } from './task-prompts.js';

const ENGINE_TIMEOUT_MS = 5_000;

@Module({})
export class TaskboardModule {
  static forRoot(config: TaskboardConfig): DynamicModule {
    const database = { max: config.DATABASE_POOL_MAX, applicationName: 'taskboard' };
    const store = <T>(Store: new (db: Kysely<Database>) => T) => ({
      provide: Store,
      useFactory: (db: Kysely<Database>) => new Store(db),
      inject: [DATABASE],
    });
    return {
      module: TaskboardModule,
      imports: [
        DatabaseModule.forRoot(config.DATABASE_URL, database),
        EventingModule.forRoot({ service: 'taskboard', config }),
        TableGauges.of({
          name: 'holdpoint_tasks',
          help: 'Tasks by state',
          labels: ['state'],
          query: 'SELECT state, count(*) AS value FROM tasks GROUP BY state',
        }),
      ],
      controllers: [OnToolExecuted, OnApprovalDecided, OnRunQueued, OnRunStarted, OnRunCompleted, TasksController],
      providers: [
        { provide: CONFIG, useValue: config },
        store(Tasks),
        store(Approvals),
        Board,
        Scanner,
        prompts(config),
      ],
    };
  }
}

const prompts = ({ ENGINE_URL: baseUrl, HOLDPOINT_SERVICE_TOKEN: token }: TaskboardConfig) => ({
  provide: TaskPrompts,
  useFactory: () => new TaskPrompts(serviceClient({ baseUrl, token, timeoutMs: ENGINE_TIMEOUT_MS })),
});
