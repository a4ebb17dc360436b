import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, HealthChecks } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'
import { type CommandFolder, commandFolder, isRefusal } from './fixtures/nodekeep.ts'

const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))

const entry = `import { definePlugin, Type } from ${sdk}
export default definePlugin({
  id: 'notes',
  config: Type.Object({ limit: Type.Integer({ default: 3 }) }),
  setup() {},
})`

const commands = `import { defineCommands } from ${sdk}
export default defineCommands({
  async list({ config, output }) {
    output.table([{ note: 'first', limit: config.limit, since: new Date(0) }, { note: 'second', limit: 0, since: null }], 'none')
  },
  async show({ args, options, id, dataDir, output }) {
    output.state({ id, args: args.join('+'), loud: options.loud, dataDir })
  },
  async whoami({ node, output }) {
    const client = await node()
    const answer = await client?.fetch('/whoami')
    output.state({ url: client?.url ?? 'none', who: (await answer?.json())?.user.username ?? 'nobody' })
  },
  async repair({ exclusive, confirm, output }) {
    await exclusive()
    output.lines(\`alone, \${await confirm('Sure?')}\`)
  },
  async restore({ exclusive, options, restores, nodeDataDir, output }) {
    if (options.alone) await exclusive()
    if (options.cancel) return output.lines(\`taken back: \${await restores.cancel()}\`)
    const [{ path }] = await restores.folders()
    const moves = [{ from: null, to: path, previous: \`\${nodeDataDir}/restore/previous\` }]
    await restores.plan({ backup: 'b', takenAt: new Date(0), moves })
    output.lines(path)
  },
  async both({ output }) {
    output.state({ notes: 2 })
    output.lines('for people')
  },
  async waits({ signal, node, output }) {
    await node()
    const line = output.progress('waiting')
    line.update(0.5, 'half of it')
    console.log('waits')
    try {
      const kept = setInterval(() => {}, 1000)
      await new Promise((resolve, reject) => signal.addEventListener('abort', () => {
        clearInterval(kept)
        reject(signal.reason)
      }))
    } finally {
      line.end()
    }
  },
  async status() {},
  async fails() {
    throw new Error('It did not work.')
  },
})`

const list = {
  list: { description: 'list the notes' },
  show: {
    description: 'show a note',
    arguments: '<note> [more...]',
    options: { '-l, --loud <word>': 'say it loudly' },
  },
  whoami: { description: 'ask the node' },
  repair: { description: 'repair the notes' },
  restore: { description: 'plan a restore', options: { '--alone': 'alone', '--cancel': 'take it back' } },
  waits: { description: 'wait' },
  both: { description: 'print a state and a line' },
  fails: { description: 'fail', topLevel: true },
  status: { description: 'hide the command of the kernel', topLevel: true },
  undefined: { description: 'declared and not defined' },
}

const notes = { plugins: { notes: { from: './notes' } }, notes: { limit: 7 } }

async function folderWithNotes(
  t: Test,
  manifest: object = {},
  files: Record<string, string> = {},
): Promise<CommandFolder> {
  const folder = await commandFolder(t, notes)
  await writePlugin(join(folder.path, 'notes'), manifest, files)
  return folder
}

async function writePlugin(
  path: string,
  manifest: object,
  files: Record<string, string> = {},
): Promise<void> {
  const nodekeep = {
    id: 'notes',
    sdk: '^0.1.0',
    entry: './index.js',
    folders: { root: 'pages' },
    commands: { entry: './commands.js', list },
    ...manifest,
  }
  const content = {
    name: 'nodekeep-notes',
    version: '1.0.0',
    type: 'module',
    description: 'Keeps notes.',
    nodekeep,
  }
  await mkdir(path)
  await writeFile(join(path, 'package.json'), JSON.stringify(content))
  for (const [name, text] of Object.entries({ 'index.js': entry, 'commands.js': commands, ...files })) {
    await writeFile(join(path, name), text)
  }
}

test('the commands of a plugin stand below its id, in the help as well', async (t) => {
  const folder = await folderWithNotes(t)
  const [help, own, topic] = await Promise.all([
    folder.run('--help'),
    folder.run('notes', '--help'),
    folder.run('notes', 'show', '--help'),
  ])
  t.match(help, { code: 0, stdout: /notes .*Keeps notes\./, stderr: '' })
  t.match(own.stdout, /list .*list the notes[\s\S]*repair/)
  t.match(topic.stdout, /show \[options\] <note> \[more\.\.\.\][\s\S]*--loud <word>/)
  t.match((await folder.run('completion', 'bash', '--', 'no')).stdout, /notes/)
})

test('a command gets its section, folders, arguments and options', async (t) => {
  const folder = await folderWithNotes(t)
  const [table, json, state] = await Promise.all([
    folder.run('notes', 'list'),
    folder.run('notes', 'list', '--json'),
    folder.run('notes', 'show', 'a', 'b', '-l', 'hey'),
  ])
  t.match(table, { code: 0, stdout: /^NOTE +LIMIT +SINCE\nfirst +7 +1970-01-01T/ })
  t.match(JSON.parse(json.stdout), [
    { note: 'first', limit: 7 },
    { note: 'second', since: null },
  ])
  t.equal(
    state.stdout,
    `id       notes\nargs     a+b\nloud     hey\ndataDir  ${join(folder.data, 'plugins', 'notes')}\n`,
  )
})

test('a command reaches the node that runs as its owner, or has the data folder for itself', async (t) => {
  const folder = await folderWithNotes(t)
  t.match((await folder.run('notes', 'whoami')).stdout, /url +none/)
  t.match(await folder.run('notes', 'repair'), { code: 0, stdout: 'alone, false\n' })
  t.match(await folder.run('status'), { code: 1, stdout: /No node runs on / })

  const node = await createTestNode({
    dataFolder: folder.data,
    plugins: [
      definePlugin({
        id: 'quiet',
        contributes: { checks: HealthChecks },
        setup({ checks }) {
          checks.add('quiet', { check: () => ({ ok: true, state: 'new', message: 'Feed the cat.' }) })
        },
      }),
    ],
  })
  t.teardown(() => node.stop())
  t.match(await folder.run('notes', 'whoami'), { code: 1, stderr: /no owner yet.*session create --wallet/ })
  const owner = await node.signIn('owner')
  const { stdout } = await folder.run('notes', 'whoami')
  t.match(stdout, `url  ${node.url.href}`)
  t.match(stdout, `who  ${owner.user.username}`)
  const refused = await folder.runProcess('notes', 'repair')
  t.ok(isRefusal(refused))
  t.match(refused.stderr, /Another node \(process \d+/)

  const { sessions } = (await (await owner.fetch('/api/account/sessions')).json()) as { sessions: unknown[] }
  t.equal(sessions.length, 1, 'the session of the command has ended')
  const status = await folder.runProcess('status')
  t.match(status, {
    code: 0,
    stdout:
      /Address +http[\s\S]*Owner +\S+, 0x[\s\S]*Health +ok\nPlugins +1 active\nAttention +Feed the cat\./,
  })
  const json = JSON.parse((await folder.run('status', '--json')).stdout)
  t.match(json, { running: true, address: node.url.href, process: process.pid, plugins: { quiet: 'active' } })
})

test('a command plans a restore while it has the data folder for itself', async (t) => {
  const folder = await folderWithNotes(t)
  const pages = join(folder.data, 'pages')
  await mkdir(pages, { recursive: true })
  for (const options of [[], ['--cancel']]) {
    const refused = await folder.run('notes', 'restore', ...options)
    t.ok(isRefusal(refused))
    t.match(refused.stderr, /has to call exclusive\(\)/)
  }
  t.match(await folder.run('notes', 'restore', '--alone'), { code: 0, stdout: `${pages}\n` })
  for (const taken of ['b', 'null']) {
    const { stdout } = await folder.run('notes', 'restore', '--alone', '--cancel')
    t.equal(stdout, `taken back: ${taken}\n`)
  }
  await folder.run('notes', 'restore', '--alone')
  const node = await createTestNode({ dataFolder: folder.data })
  t.teardown(() => node.stop())
  t.notOk(existsSync(pages), 'the next start has applied the plan')
})

test('the file that a killed node left behind does not count as a node', async (t) => {
  const folder = await folderWithNotes(t)
  await mkdir(folder.data)
  await writeFile(
    join(folder.data, 'address.json'),
    JSON.stringify({ lock: 'x', url: 'http://127.0.0.1:1/' }),
  )
  t.match(await folder.run('status', '--json'), { code: 1, stdout: /"running": false/ })
})

test('a failing command prints one line, and a broken plugin breaks no other command', async (t) => {
  const folder = await folderWithNotes(t)
  t.match(await folder.run('notes', 'fails'), { code: 1, stderr: 'nodekeep: It did not work.\n' })
  t.match(await folder.run('notes', 'undefined'), { code: 1, stderr: /declares the command "undefined"/ })
  t.match(await folder.run('notes', 'nope'), { code: 1, stderr: /unknown command 'nope'/ })
  const broken = await folderWithNotes(
    t,
    {},
    { 'index.js': 'syntax error', 'commands.js': 'export default 1' },
  )
  t.match(await broken.run('--help'), { code: 0, stdout: /Keeps notes/ })
  t.match(await broken.run('notes', 'list'), { code: 1, stderr: /threw while it was imported/ })
  const odd = await folderWithNotes(t, {}, { 'commands.js': 'export default 1' })
  t.match(await odd.run('notes', 'list'), { code: 1, stderr: /must be the result of defineCommands/ })
})

test('a command at the top level needs no id of its plugin, and hides no other command', async (t) => {
  const folder = await folderWithNotes(t)
  t.match((await folder.run('--help')).stdout, /notes .*Keeps notes\.\n.*fails .*fail\n/)
  t.match(await folder.run('fails'), { code: 1, stderr: 'nodekeep: It did not work.\n' })
  t.match(await folder.run('status'), { code: 1, stdout: /No node runs on / })
  t.match(await folder.run('list'), { code: 1, stderr: /There is no command "list"/ })
})

test('a command shows its progress, and an interrupted one ends with its session', async (t) => {
  const folder = await folderWithNotes(t)
  const node = await createTestNode({ dataFolder: folder.data })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const sessions = async () =>
    ((await (await owner.fetch('/api/account/sessions')).json()) as { sessions: unknown[] }).sessions
  const command = folder.startOnTerminal('notes', 'waits')
  await command.printed('waits')
  t.equal((await sessions()).length, 2)
  const { code, stderr } = await command.end('SIGINT')
  t.equal(code, 1)
  t.match(stderr, /nodekeep: The command was interrupted\.\n$/)
  t.match(stderr, 'waiting [############............] 50 % half of it', 'a terminal shows the progress')
  t.equal((await sessions()).length, 1)
})

test('with --json, standard output has JSON only', async (t) => {
  const folder = await folderWithNotes(t)
  const { stdout, stderr } = await folder.run('notes', 'both', '--json')
  t.strictSame(JSON.parse(stdout), { notes: 2 })
  t.equal(stderr, 'for people\n')
  t.equal((await folder.run('notes', 'both')).stdout, 'notes  2\nfor people\n')
})

test('the manifest of commands is checked', async (t) => {
  const withOptions = (options: object) => ({ entry: './c.js', list: { a: { description: 'x', options } } })
  const wrong: Record<string, [commands: unknown, RegExp]> = {
    'no object': ['x', /"nodekeep\.commands" must be an object/],
    'no entry': [{ list: {} }, /"nodekeep\.commands\.entry" is missing/],
    'an entry outside': [{ entry: '../x.js', list: {} }, /must be a path within the package/],
    'an unknown field': [
      { entry: './c.js', list: {}, lst: 1 },
      /"nodekeep\.commands\.lst" is not a known key/,
    ],
    'a name': [
      { entry: './c.js', list: { 'A b': { description: 'x' } } },
      /has the command "A b": write lower case words/,
    ],
    'no description': [{ entry: './c.js', list: { a: {} } }, /commands\.list\.a\.description" is missing/],
    flags: [withOptions({ to: 'x' }), /write flags such as "--to <target>"/],
    'a flag of the node': [withOptions({ '--data <x>': 'x' }), /"--data <x>": every command has this flag/],
    'a short flag of the node': [withOptions({ '-c, --color': 'x' }), /every command has this flag/],
    'help as a flag': [withOptions({ '--help': 'x' }), /every command has this flag/],
    'a flag twice': [
      withOptions({ '-t, --to': 'x', '-t, --text': 'y' }),
      /"-t, --text": the flag is there twice/,
    ],
    'a name of an argument': [
      { entry: './c.js', list: { a: { description: 'x', arguments: 'file' } } },
      /must be arguments such as "<file> \[more\.\.\.\]"/,
    ],
    'several arguments before another one': [
      { entry: './c.js', list: { a: { description: 'x', arguments: '<files...> <to>' } } },
      /must be arguments such as/,
    ],
  }
  const folder = await folderWithNotes(t)
  const plugins: Record<string, object> = { notes: { from: './notes' } }
  for (const [index, [commands]] of Object.values(wrong).entries()) {
    await writePlugin(join(folder.path, `wrong-${index}`), { commands })
    plugins[`wrong-${index}`] = { from: `./wrong-${index}` }
  }
  await folder.configure({ plugins })
  const listed = JSON.parse((await folder.run('plugins', 'list', '--json')).stdout) as { id: string }[]
  for (const [index, [name, [, reason]]] of Object.entries(wrong).entries())
    t.match(
      listed.find(({ id }) => id === `wrong-${index}`),
      { phase: 'manifest', reason },
      name,
    )
  t.match(await folder.run('--help'), { code: 0, stdout: /notes .*Keeps notes\./, stderr: '' })
})
