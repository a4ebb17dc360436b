import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

/** All commands that print a list, a state, or something that they made or changed. */
const printing = [
  'config check',
  'config print',
  'plugins list',
  'session create',
  'session list',
  'status',
  'token create',
  'token list',
  'token scopes',
  ...['list', 'add', 'set-wallet', 'rename', 'disable', 'enable', 'delete'].map((name) => `user ${name}`),
]

test('every command has a help page that names its options', async (t) => {
  const folder = await commandFolder(t)
  const pages: readonly (readonly [string, readonly RegExp[]])[] = [
    ['', [/Commands:/, /Examples:/, /NODEKEEP_CONFIG/, /start .*default/]],
    [
      'start',
      [
        /--config <file>/,
        /--port <number>/,
        /--host/,
        /--data <folder>/,
        /--log-level/,
        /--watch .*again/,
        /NODEKEEP_DATA/,
        /PORT/,
      ],
    ],
    ['config', [/print/, /check .*without\s+starting/s, /schema .*JSON Schema/]],
    ['config print', [/--config/, /secrets are hidden/]],
    ['session list', [/--user/]],
    ...printing.map((command) => [command, [/--json/]] as const),
  ]
  const outcomes = await Promise.all(
    pages.map(async ([command]) => folder.run(...command.split(' ').filter(Boolean), '--help')),
  )
  for (const [index, [command, expected]] of pages.entries()) {
    const { code, stdout, stderr } = outcomes[index] ?? {}
    t.match({ code, stderr }, { code: 0, stderr: '' }, `${command} --help`)
    for (const pattern of expected) t.match(stdout, pattern, `${command} --help`)
  }
})

test('help prints the page of a command', async (t) => {
  const folder = await commandFolder(t)
  const [all, session, flag, unknown] = await Promise.all(
    ['help', 'help session', 'session --help', 'help nope'].map((line) => folder.run(...line.split(' '))),
  )
  t.match(all, { code: 0, stdout: /Examples:/ })
  t.same(session, flag)
  t.match(unknown?.stderr, /There is no command "nope"\. Known here: .*session/)
})

test('--version prints the version of the package', async (t) => {
  const folder = await commandFolder(t)
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  t.same(await folder.run('--version'), { code: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

test('a misspelled command gets one helpful line', async (t) => {
  const folder = await commandFolder(t)
  const slips: readonly (readonly [string, RegExp])[] = [
    ['strat', /There is no command "strat"\. Did you mean "start"\?/],
    ['xyzzy', /There is no command "xyzzy"\. Known here: .*plugins.*start/],
    ['--prot 1', /unknown option '--prot' \(Did you mean --port\?\)/],
    ['start --port http', /argument 'http' is invalid\. A port is a number from 0 to 65535/],
    ['config nope', /unknown command 'nope'/],
    [
      'user delete',
      /missing required argument 'user'\. "nodekeep user delete --help" shows what it takes\.$/m,
    ],
    ['plugins list --jsno', /unknown option '--jsno' \(Did you mean --json\?\)/],
  ]
  const outcomes = await Promise.all(slips.map(([line]) => folder.run(...line.split(' '))))
  for (const [index, [line, expected]] of slips.entries()) {
    const outcome = outcomes[index]
    t.ok(outcome !== undefined && isRefusal(outcome), `${line}: one line, code 1`)
    t.match(outcome?.stderr, expected, line)
  }
})
