import { USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { describe, expect, test } from '@jest/globals';
import { OperatorFileError, parseOperatorFile, readOperatorFile } from './operator-file.js';

const refusal = (text: string): string => {
  try {
    parseOperatorFile(text);
  } catch (err) {
    if (err instanceof OperatorFileError) return err.message;
    throw err;
  }
  throw new Error('the file was taken');
};

describe('a good file', () => {
  test('gives its rules; sections of others are left alone', () => {
    expect(
      parseOperatorFile(`
agents:
  - { anything: goes, tools: [Mail] }
policy:
  mode: log-only
  default: approve
  expiresAfter: 12h
  rules:
    - { tool: Mail, action: send, verdict: deny, reason: No mail from here. }
    - tool: delete_repo
      server: github
      agent: intern
      verdict: deny
`),
    ).toEqual({
      mode: 'log-only',
      default: { verdict: 'approve' },
      expiresAfterSeconds: 43_200,
      rules: [
        { origin: 'operator', tool: 'Mail', action: 'send', verdict: 'deny', reason: 'No mail from here.' },
        { origin: 'operator', tool: 'delete_repo', server: 'github', agent: 'intern', verdict: 'deny' },
      ],
    });
  });
  test.each([
    ['', undefined],
    ['policy:', undefined],
    ['agents: []', undefined],
    ['policy: { rules: }', undefined],
    ['policy: { expiresAfter: 90 }', 90],
    ['policy: { expiresAfter: 3d }', 259_200],
  ])('%j holds no rule', (text, expiresAfterSeconds) => {
    expect(parseOperatorFile(text)).toMatchObject({
      rules: [],
      ...(expiresAfterSeconds ? { expiresAfterSeconds } : {}),
    });
  });
});

describe('terms', () => {
  const approvalOf = (approval: string) =>
    parseOperatorFile(`policy: { rules: [{ tool: Mail, verdict: approve, approval: ${approval} }] }`).rules[0]
      ?.requirement;

  test('say who releases, how long a call waits, and what a space may loosen', () => {
    const file = `
policy:
  default: { verdict: approve, loosenable: true, approval: { votes: 2 } }
  rateLimit: { calls: 5, seconds: 10 }
  rules:
    - tool: Mail
      action: send
      verdict: approve
      expiresAfter: 1h
      loosenable: true
      approval: { groups: [risk, legal], votes: 3, fromGroups: 2, requester: excluded }
`;
    expect(parseOperatorFile(file)).toEqual({
      mode: undefined,
      default: { verdict: 'approve', loosenable: true, requirement: { ...USUAL_REQUIREMENT, votes: 2 } },
      rateLimit: { calls: 5, seconds: 10 },
      rules: [
        {
          origin: 'operator',
          tool: 'Mail',
          action: 'send',
          verdict: 'approve',
          loosenable: true,
          expiresAfterSeconds: 3_600,
          requirement: {
            roles: [],
            users: [],
            groups: ['risk', 'legal'],
            votes: 3,
            fromGroups: 2,
            requesterExcluded: true,
          },
        },
      ],
    });
  });
  test('naming nobody means owners and admins, naming people or groups means those alone', () => {
    expect(approvalOf('{}')).toEqual(USUAL_REQUIREMENT);
    expect(approvalOf('{ requesterExcluded: true }')).toEqual({ ...USUAL_REQUIREMENT, requesterExcluded: true });
    expect(approvalOf('{ users: [bo] }')).toMatchObject({ roles: [], users: ['bo'] });
    expect(approvalOf('{ users: [bo], roles: [owner] }')).toMatchObject({ roles: ['owner'], users: ['bo'] });
  });
  test.each([
    ['approval: { users: [] }', 'line 4: policy.rules[0].approval: nobody may approve'],
    ['approval: { users: [bo], votes: 2 }', 'line 4: policy.rules[0].approval.votes: must not be more than the users'],
    [
      'approval: { groups: [risk], votes: 2, fromGroups: 2 }',
      'policy.rules[0].approval.fromGroups: must not be more than the groups',
    ],
    ['approval: { votes: 1, fromGroups: 2 }', 'policy.rules[0].approval.fromGroups: must not be more than votes'],
    ['approval: { role: [owner] }', 'policy.rules[0].approval: Unrecognized key: "role"'],
    ['approval: { roles: [boss] }', 'policy.rules[0].approval.roles[0]'],
    ['approval: { requester: excluded, requesterExcluded: true }', 'keep one'],
    ['loosenable: maybe', 'line 4: policy.rules[0].loosenable'],
    ['expiresAfter: soon', 'line 4: policy.rules[0].expiresAfter: must be seconds'],
  ])('%s is refused with its line', (terms, fault) => {
    expect(refusal(`policy:\n  rules:\n    - { tool: Mail, verdict: approve,\n        ${terms} }\n`)).toContain(fault);
  });
  test.each(['approval: {}', 'expiresAfter: 1h'])(
    '%s on a rule that holds nothing would be believed in vain',
    (terms) => {
      for (const verdict of ['auto', 'deny'])
        expect(refusal(`policy: { rules: [{ tool: Mail, verdict: ${verdict}, ${terms} }] }`)).toContain(
          'is for rules whose verdict is `approve`',
        );
    },
  );
  test.each([
    ['policy: { default: { verdict: auto, approval: {} } }', 'policy.default.approval: is for rules'],
    ['policy: { default: { verdict: allow } }', 'policy.default.verdict'],
    ['policy: { default: allow }', 'policy.default.verdict'],
    ['policy: { default: { loosenable: true } }', 'policy.default.verdict'],
    ['policy: { rateLimit: { calls: 0, seconds: 60 } }', 'policy.rateLimit.calls'],
    ['policy: { rateLimit: { calls: 30 } }', 'policy.rateLimit.seconds'],
    ['policy: { rateLimit: 30 }', 'policy.rateLimit'],
  ])('%j', (text, fault) => {
    expect(refusal(text)).toContain(fault);
  });
});

describe('claude-code#9792: one bad rule refuses the file, with its line and what is wrong', () => {
  const withRule = (rule: string) => `policy:\n  rules:\n    - { tool: Mail, verdict: deny }\n    - ${rule}\n`;
  test.each([
    ['{ tool: Mail, action: send, verdict: allow }', 'line 4: policy.rules[1].verdict: Invalid option'],
    ['{ tool: Mail, action: send }', 'line 4: policy.rules[1].verdict:'],
    ['{ verdict: deny }', 'line 4: policy.rules[1].tool:'],
    ['{ tool: 12, verdict: deny }', 'line 4: policy.rules[1].tool:'],
    ['{ tool: Mail.send, verdict: deny }', 'line 4: policy.rules[1].tool: must be the tool alone'],
    ['{ tool: "*", verdict: deny }', 'line 4: policy.rules[1].tool: takes no wildcard'],
    ['{ tool: "Mail ", verdict: deny }', 'line 4: policy.rules[1].tool: must have no space around it'],
    [
      '{ tool: Mail, verdict: deny, actoin: send }',
      'line 4: policy.rules[1]: Unrecognized key: "actoin"; allowed: tool, action, server, agent, verdict, reason',
    ],
    ['{ tool: Mail, verdict: auto }', 'line 4: policy.rules[1]: names the same calls as the rule in line 3'],
    ['deny', 'line 4: policy.rules[1]:'],
  ])('%s', (rule, fault) => {
    const message = refusal(withRule(rule));
    expect(message).toContain(fault);
    expect(message).toContain('refused as a whole');
  });

  test.each(['*', 'Mail*', 'Ma?l', '.*', 'mail|ftp', '[A-Z]*', '**', '%', 'Mail.*'])(
    'claude-code#26276: %j stands for no name: a ban by pattern would never hold',
    (pattern) => {
      for (const field of ['tool', 'server', 'agent', 'action']) {
        const rule = { tool: 'get', action: 'now', server: 'github', [field]: pattern, verdict: 'deny' };
        const file = `policy:\n  rules:\n    - ${JSON.stringify(rule)}\n`;
        expect(refusal(file)).toContain(`policy.rules[0].${field}: takes no wildcard`);
      }
    },
  );

  test('an agent that the file does not declare is named, with those that it declares', () => {
    const file = (agent: string) =>
      `agents:\n  assistant: {}\npolicy:\n  rules:\n    - tool: Mail\n      agent: ${agent}\n      verdict: deny\n`;
    expect(refusal(file('asistant'))).toContain(
      'line 6: policy.rules[0].agent: there is no agent "asistant"; declared: assistant',
    );
    expect(parseOperatorFile(file('assistant')).rules).toHaveLength(1);
  });

  test('a key on a line of its own is named by that line', () => {
    expect(refusal('policy:\n  rules:\n    - tool: Mail\n      verdict: deny\n      actoin: send\n')).toContain(
      'line 5',
    );
  });
  test.each([
    ['policy: { mode: enfroce }', 'policy.mode'],
    ['policy: { expiresAfter: soon }', 'policy.expiresAfter: must be seconds'],
    ['policy: { expiresAfter: 0 }', 'policy.expiresAfter: must be between'],
    ['policy: { expiresAfter: 999999999d }', 'policy.expiresAfter: must be between'],
    ['policy: { rule: [] }', 'Unrecognized key'],
    ['policy: [1]', 'line 1: policy'],
    ['polcy: {}\npolicies:\n  rules: []', 'line 1: "polcy": the section is called `policy`'],
    ['Policy: {}', 'the section is called `policy`'],
    ['rules: []', 'the section is called `policy`'],
    [
      'policy:\n  rules: []\npolicy:\n  rules: []',
      'line 3: the section `policy` is there already (line 1): add to that one',
    ],
    ['policy:\n  mode: enforce\n  mode: enforce', 'line 3: the field `mode` is there already (line 2)'],
    ['policy:\n  rules: [\n', 'line'],
    ['- 1', 'must be a mapping'],
  ])('%j', (text, fault) => {
    expect(refusal(text)).toContain(fault);
  });
});

test('of a text that is no YAML the first fault is named alone', () => {
  const tabs = 'policy:\n\trules:\n\t\t- tool: Mail\n\t\t  verdict: deny\n';
  expect(() => parseOperatorFile(tabs)).toThrow(
    expect.objectContaining({ faults: [expect.stringMatching(/^line 2: /)] }),
  );
});

test('a file that is not there is said so', () => {
  expect(() => readOperatorFile('/nowhere/holdpoint.yaml')).toThrow(/cannot be read/);
});
