import { join } from 'node:path'
import { test } from 'tap'
import { failingPlugins, fixtures, idOf, shortLimits } from '../loader/failing-plugins.ts'
import { presets, startNodeProcess } from './node-process.ts'

/** One fixture for each kind of failure. The tests in test/loader run the whole list. */
const chosen = [
  'not-there',
  'wrong-sdk',
  'throws-at-import',
  'hangs-at-import',
  'lacks-dependency',
  'bad-configuration',
  'misses-provider',
  'throws-in-setup',
  'hangs-in-setup',
  'route-twice',
  'throws-in-start',
]

const stackLine = /^\s+at .+:\d+:\d+/m

async function run(configuration: Record<string, unknown>, args: readonly string[] = []) {
  const node = await startNodeProcess(configuration, { args })
  try {
    return await node.end
  } finally {
    await node.remove()
  }
}

const configurationOf = (name: string) => presets.find((preset) => preset.name === name)?.configuration
const entryOf = (folder: string) => ({ from: join(fixtures, folder) })
const cases = failingPlugins.filter(({ folder }) => chosen.includes(folder))
if (cases.length !== chosen.length) throw new Error('A fixture is missing.')
const { hanging = [], ending = [] } = Object.groupBy(cases, (failing) =>
  idOf(failing).startsWith('hangs') ? 'hanging' : 'ending',
)

// On a busy machine, a plugin that does not hang may need longer than the limits for plugins that do.
for (const [preset, failed, loader] of [
  ['minimal', hanging, shortLimits],
  ['default', ending, {}],
] as const) {
  test(`the command line ends with code 1 and one clear error: ${preset}`, async (t) => {
    const { code, stdout, stderr } = await run({
      ...configurationOf(preset),
      loader,
      ...Object.fromEntries(failed.map((failing) => [idOf(failing), failing.section ?? {}])),
      plugins: Object.fromEntries(failed.map((failing) => [idOf(failing), entryOf(failing.folder)])),
    })
    t.equal(code, 1)
    t.ok(
      stderr.startsWith(
        `nodekeep: The node cannot start, since ${failed.length} required plugins are not up:\n`,
      ),
    )
    for (const failing of failed)
      t.match(stderr, new RegExp(`"${idOf(failing)}" \\(nodekeep\\.json:\\d+\\) is ${failing.state}`))
    t.match(stderr, '"required": false } }')
    t.notMatch(stdout + stderr, stackLine, 'no stack trace')
    t.notMatch(stdout, /"level":"error"/, 'the error appears once')
  })
}

test('an unhandled error counts as a failure of a required plugin', async (t) => {
  const folders = ['leaves-rejection-in-import', 'leaves-rejection-in-setup', 'leaves-rejection-in-start']
  const plugins = Object.fromEntries(folders.map((folder) => [folder, entryOf(folder)]))
  const { code, stderr } = await run({ ...configurationOf('gateway'), loader: {}, plugins })
  t.equal(code, 1)
  for (const folder of folders)
    t.match(
      stderr,
      new RegExp(
        `"${folder}" .* is degraded \\(run\\): It left an error unhandled: left in .* A required plugin must start without such an error\\.`,
      ),
    )
})

test('--verbose shows the stack trace', async (t) => {
  const plugins = { 'throws-in-setup': entryOf('throws-in-setup') }
  const { code, stderr } = await run({ plugins }, ['--verbose'])
  t.equal(code, 1)
  t.match(stderr, /^nodekeep: The node cannot start, since a required plugin is not up:\n/)
  t.match(stderr, /caused by Error: the setup broke\n\s+at .*throws-in-setup\/index\.js/)
})
