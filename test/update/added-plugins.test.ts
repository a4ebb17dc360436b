import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, watch, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestNode } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { packed, registry } from './registry.ts'

const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))

/** A plugin with a dependency, a script that npm would run, and a route for everybody. */
const notes = (version: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'nodekeep-notes',
  version,
  description: 'Keeps notes.',
  type: 'module',
  nodekeep: { id: 'notes', sdk: '^0.1.0', entry: 'index.js' },
  peerDependencies: { '@nodekeep/plugin-sdk': '^0.1.0' },
  dependencies: { 'nodekeep-pen': '^1.0.0' },
  scripts: { install: "node -e \"require('fs').writeFileSync('script-has-run', '')\"" },
  ...more,
})
const notesFiles = {
  'index.js': `import { definePlugin, Type } from '@nodekeep/plugin-sdk'
    import { word } from 'nodekeep-pen'
    export default definePlugin({
      id: 'notes',
      config: Type.Object({ title: Type.String({ default: 'none' }) }),
      setup({ routes, config }) {
        routes((app) => {
          app.get(
            '/notes/about',
            { config: { access: 'public', publicReason: 'It tells no note.' } },
            async () => ({ word, title: config.title }),
          )
          app.get('/notes', { config: { scope: 'notes:read' } }, async () => [])
        })
      },
    })`,
}
const pen = { name: 'nodekeep-pen', version: '1.0.0', type: 'module', exports: './index.js' }

/** A folder with a node's configuration, whose commands use a registry with the plugin. */
async function deployment(t: Test) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'nodekeep-added-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const packages = await registry(t)
  await packages.publish(pen, { 'index.js': "export const word = 'ink'" })
  await packages.publish(notes('1.0.0'), notesFiles)
  const file = join(folder, 'nodekeep.json')
  const written = '{\n  // My node.\n  "extends": "nodekeep:minimal",\n  "data": "./data"\n}\n'
  await writeFile(file, written)
  const variables = {
    PATH: process.env.PATH,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    HOME: folder,
    npm_config_registry: packages.url,
    npm_config_fetch_retries: '0',
  }
  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const { promise: ended, resolve } = Promise.withResolvers<{
      code: unknown
      stdout: string
      stderr: string
    }>()
    const all = ['--conditions=nodekeep-source', cli, ...args]
    const options = { cwd: folder, env: { ...variables, ...env } }
    const child = execFile(process.execPath, all, options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
    return { child, ended }
  }
  const run = (args: readonly string[], env?: NodeJS.ProcessEnv) => start(args, env).ended
  return {
    folder,
    file,
    packages,
    written,
    run,
    start,
    configuration: () => readFile(file, 'utf8'),
    /** The plugin as a start of the node finds it. */
    async installed() {
      const { stdout } = await run(['plugins', 'list', '--json'])
      const plugins: { id: string; version: string; state: string }[] = JSON.parse(stdout)
      return plugins.find(({ id }) => id === 'notes')
    },
  }
}

t.test('a plugin of a registry is added, replaced and removed', async (t) => {
  const { run, packages, configuration, installed, folder } = await deployment(t)
  await writeFile(join(folder, '.npmrc'), `//${new URL(packages.url).host}/:_authToken=key-of-registry\n`)
  const outcome = await run(['plugins', 'add', 'nodekeep-notes', '--yes'])
  t.match(outcome, { code: 0, stderr: '' })
  for (const line of [
    '"notes": nodekeep-notes 1.0.0\n  Keeps notes.\n  works with SDK ^0.1.0, needs other packages: 1',
    'route GET /notes/about: for everybody (It tells no note.)',
    'route GET /notes: for signed-in users, and tokens with the scope notes:read',
  ])
    t.match(outcome.stdout, line)
  t.ok(packages.keys.includes('Bearer key-of-registry'), 'the settings of npm are honoured')
  t.match(await configuration(), '// My node.', 'comments stay')
  const from = './data/added-plugins/notes/node_modules/nodekeep-notes'
  t.match(await configuration(), `"from": "${from}"`)
  t.notOk(existsSync(join(folder, from, 'script-has-run')), 'no script runs')

  const node = await createTestNode({ folder, config: { extends: join(folder, 'nodekeep.json') } })
  t.teardown(() => node.stop())
  t.strictSame(await (await node.fetch('/notes/about')).json(), { word: 'ink', title: 'none' })

  await packages.publish(notes('1.1.0'), notesFiles)
  const listed = await run(['plugins', 'outdated', '--json'])
  t.strictSame(JSON.parse(listed.stdout), [
    { id: 'notes', package: 'nodekeep-notes', version: '1.0.0', newest: '1.1.0', sdk: '^0.1.0' },
  ])
  t.match(await run(['plugins', 'add', 'nodekeep-notes@1.1.0', '--yes']), { code: 0 })
  t.match(await installed(), { version: '1.1.0', state: 'stopped' })

  const removed = await run(['plugins', 'remove', 'nodekeep-notes'])
  t.match(removed, { code: 0, stdout: /Removed "plugins\.notes" from .*Its data stays in/s })
  t.match(await configuration(), /\/\/ My node\..*"plugins": \{\s*\}\s*\}\s*$/s)
  t.strictSame(await readdir(join(folder, 'data')), [], 'nothing is left')
})

t.test('nothing changes if a plugin is declined, fails, or has the id of another one', async (t) => {
  const { run, packages, configuration, written, folder } = await deployment(t)
  const named = (id: string) => ({
    ...notes('1.0.0'),
    name: `nodekeep-${id}`,
    nodekeep: { id, sdk: '^0.1.0', entry: 'index.js' },
  })
  await packages.publish(named('broken'), { 'index.js': "throw new Error('the import broke')" })
  await packages.publish(named('ends'), { 'index.js': 'process.kill(process.pid, 9)' })
  await packages.publish(named('killed'), {
    'index.js': "import { execSync } from 'node:child_process'; execSync('kill -9 ' + process.pid)",
  })
  const exits = `import { definePlugin } from '@nodekeep/plugin-sdk'
      export default definePlugin({ id: 'exits', setup() { process.exit(0) } })`
  await packages.publish(named('exits'), { 'index.js': exits })
  await packages.publish(named('files'), notesFiles)
  const { nodekeep } = named('other')
  for (const [name, wrong] of [
    ['null', { nodekeep: { ...nodekeep, folders: null } }],
    ['list', { nodekeep: { ...nodekeep, commands: { entry: 'index.js', list: [] } } }],
    ['upper', { nodekeep: { ...nodekeep, id: 'Upper' } }],
    ['git', { dependencies: { other: `git+file://${folder}` } }],
    ['folder', { dependencies: { other: `file:${folder}` } }],
    ['file', { dependencies: { other: `file:${join(folder, 'bundled.tgz')}` } }],
  ] as const)
    await packages.publish({ ...named('other'), name: `nodekeep-${name}`, ...wrong }, notesFiles)
  const bundled = { ...named('storage-local'), name: '@nodekeep/storage-local' }
  await writeFile(join(folder, 'bundled.tgz'), await packed(bundled, notesFiles))
  const cases: readonly (readonly [string[], RegExp | string])[] = [
    [['nodekeep-notes'], 'Nothing was changed. With --yes, the command does not ask.'],
    [['nodekeep-broken', '--yes'], /"broken" .*threw while it was imported: the import broke/],
    [
      ['nodekeep-ends', '--yes'],
      /The node does not start so\. Nothing was changed\.\s+The plugin "ends" ends the command: process\.kill\(process\.pid, 9\) was called\./,
    ],
    [['nodekeep-killed', '--yes'], /Nothing was changed\.\s+The trial start was ended by SIGKILL\./],
    [
      ['nodekeep-exits', '--yes'],
      /The plugin "exits" ends the node: process\.exit\(0\) was called\..*exits\/index\.js:2/s,
    ],
    [
      ['nodekeep-pen', '--yes'],
      'nodekeep-pen 1.0.0: package.json has no "nodekeep" field, so it is not a Nodekeep plugin.',
    ],
    [['nodekeep-null', '--yes'], 'nodekeep-null 1.0.0: package.json: "nodekeep.folders" must be an object'],
    [
      ['nodekeep-list', '--yes'],
      'nodekeep-list 1.0.0: package.json: "nodekeep.commands.list" must be an object',
    ],
    [
      ['nodekeep-upper', '--yes'],
      'nodekeep-upper 1.0.0: package.json: "nodekeep.id" must be lower case words',
    ],
    [['nodekeep-git', '--yes'], 'Fetching packages of type "git" have been disabled'],
    [['nodekeep-folder', '--yes'], 'Fetching packages of type "directory" have been disabled'],
    [['nodekeep-file', '--yes'], 'Fetching non-root packages of type "file" have been disabled'],
    [['nodekeep-gone', '--yes'], /404 Not Found/],
    [['./folder', '--yes'], '"./folder" is neither a package of a registry nor a tarball (.tgz).'],
    [['nodekeep-files', '--yes'], 'The configuration has a plugin "files" already: @nodekeep/files ('],
    [
      ['./bundled.tgz', '--yes'],
      'The configuration has a plugin "storage-local" already: @nodekeep/storage-local (',
    ],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await run(['plugins', 'add', ...args])
    t.match({ code, stderr }, { code: 1, stderr: message }, args.join(' '))
    t.equal(await configuration(), written)
    t.notOk(existsSync(join(folder, 'data')))
  }
})

t.test('a command about plugins does not disturb another one that runs', async (t) => {
  const { run, packages, installed, folder } = await deployment(t)
  const asking = `import { spawnSync } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    const args = [...process.execArgv, process.argv[1], 'plugins', 'add', 'nodekeep-pen', '--yes']
    if (process.argv.includes('--deep')) writeFileSync('second', spawnSync(process.execPath, args).stderr)\n`
  await packages.publish(notes('1.1.0'), { 'index.js': asking + notesFiles['index.js'] })
  t.match(await run(['plugins', 'add', 'nodekeep-notes', '--yes']), { code: 0, stderr: '' })
  t.match(
    await readFile(join(folder, 'second'), 'utf8'),
    'Another command adds, removes or lists plugins now.',
  )
  t.match(await installed(), { version: '1.1.0', state: 'stopped' })
})

t.test('a trial that does not end can be interrupted, and nothing has changed', async (t) => {
  const { run, start, packages, configuration, written, folder } = await deployment(t)
  await packages.publish(notes('1.1.0'), {
    'index.js':
      "import { renameSync, writeFileSync } from 'node:fs'; writeFileSync('loop', String(process.pid)); renameSync('loop', 'loops'); for (;;);",
  })
  const { child, ended } = start(['plugins', 'add', 'nodekeep-notes', '--yes'])
  for await (const _ of watch(folder)) if (existsSync(join(folder, 'loops'))) break
  child.kill('SIGINT')
  t.match(await ended, { code: 1, stdout: /Trying the plugin/, stderr: /The trial start was interrupted\./ })
  const pid = Number(await readFile(join(folder, 'loops'), 'utf8'))
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, 'the trial has ended')
  t.equal(await configuration(), written)
  t.notOk(existsSync(join(folder, 'data')))
  t.match(await run(['plugins', 'outdated']), { stdout: 'No plugin was added.' })
})

t.test('a package with other bytes than its registry tells is refused', async (t) => {
  const { run, packages, configuration, written } = await deployment(t)
  await packages.forge(notes('1.0.1'), notesFiles)
  const outcome = await run(['plugins', 'add', 'nodekeep-notes', '--yes'])
  t.match(outcome, { code: 1, stderr: /integrity checksum failed/ })
  t.equal(await configuration(), written)
})

t.test('a tarball is added, and what may not be written is printed', async (t) => {
  const { run, folder, file, configuration, written, installed } = await deployment(t)
  const fetching = 'setup({ routes, config }) { globalThis.fetch = async () => new Response()\n'
  const changing = { 'index.js': notesFiles['index.js'].replace('setup({ routes, config }) {', fetching) }
  await mkdir(join(folder, 'dist'))
  await writeFile(join(folder, 'dist', 'notes.tgz'), await packed(notes('2.0.0'), changing))
  // Root may write everything.
  const refusing = `import fs from 'node:fs/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const { rename } = fs
    fs.rename = async (from, to) => {
      if (to === ${JSON.stringify(file)}) throw Object.assign(new Error('refused'), { code: 'EACCES' })
      return rename(from, to)
    }
    syncBuiltinESMExports()`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(refusing)}` }
  const outcome = await run(['plugins', 'add', 'dist/notes.tgz', '--yes'], env)
  t.match(outcome.stdout, 'Warning: The plugin "notes" affects all others. It changed fetch.')
  t.match(outcome, { code: 0, stdout: /This account may not write .*nodekeep\.json\. Write this into it/ })
  t.equal(await configuration(), written)
  const printed = JSON.parse(outcome.stdout.slice(outcome.stdout.indexOf('{')))
  await writeFile(file, JSON.stringify({ extends: 'nodekeep:minimal', ...printed, notes: { title: 'Mine' } }))
  t.match(await installed(), { version: '2.0.0', state: 'stopped' })
  t.match((await run(['plugins', 'outdated'])).stdout, /notes +nodekeep-notes +2\.0\.0\s*$/)

  const named = await configuration()
  await writeFile(join(folder, 'base.json'), named)
  await writeFile(file, '{ "extends": "./base.json" }')
  t.match(await run(['plugins', 'remove', 'notes']), { code: 1, stderr: '"notes" is named in base.json:1.' })
  await writeFile(file, named)
  t.match(await run(['plugins', 'remove', 'notes'], env), {
    code: 1,
    stderr: /may not write .*\. Remove "plugins\.notes" and "notes" there, then run this command again\./,
  })
  const place = join(folder, 'data/added-plugins/notes')
  t.ok(existsSync(place), 'the plugin is still there')
  t.match(await run(['plugins', 'remove', 'notes']), { code: 0 })
  t.notOk(existsSync(place))
  t.same(JSON.parse(await configuration()), { extends: 'nodekeep:minimal', plugins: {} })
})
