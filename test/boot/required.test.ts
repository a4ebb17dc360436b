import { join } from 'node:path'
import { test } from 'tap'
import { type FailingPlugin, failingPlugins, fixtures, idOf, shortLimits } from '../loader/failing-plugins.ts'
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

async function run(
  plugins: Record<string, unknown>,
  more: Record<string, unknown>,
  args: readonly string[] = [],
) {
  const node = await startNodeProcess({ ...more, plugins }, { args })
  try {
    return await node.end
  } finally {
    await node.remove()
  }
}

const entryOf = ({ folder }: FailingPlugin) => ({ from: join(fixtures, folder) })

test('the command line ends with code 1 and one clear error', { jobs: 2 }, async (t) => {
  const cases = failingPlugins.filter(({ folder }) => chosen.includes(folder))
  t.equal(cases.length, chosen.length)
  for (const [index, failing] of cases.entries()) {
    const preset = presets[index % presets.length]
    t.test(idOf(failing), async (t) => {
      const id = idOf(failing)
      const section = failing.section === undefined ? {} : { [id]: failing.section }
      // On a busy machine, a plugin that does not hang may need longer than the limits for plugins that do.
      const loader = id.startsWith('hangs') ? shortLimits : {}
      const { code, stdout, stderr } = await run(
        { [id]: entryOf(failing) },
        { ...preset?.configuration, loader, ...section },
      )
      t.equal(code, 1)
      t.match(stderr, /^nodekeep: The node cannot start, since a required plugin is not up:\n/)
      t.match(stderr, new RegExp(`"${id}" \\(nodekeep\\.json:\\d+\\) is ${failing.state}`))
      t.match(stderr, `"plugins": { "${id}": { "required": false } }`)
      t.notMatch(stdout + stderr, stackLine, 'no stack trace')
      t.notMatch(stdout, /"level":"error"/, 'the error appears once')
    })
  }
})

test('--verbose shows the stack trace', async (t) => {
  const plugins = { 'throws-in-setup': { from: join(fixtures, 'throws-in-setup') } }
  const { code, stderr } = await run(plugins, {}, ['--verbose'])
  t.equal(code, 1)
  t.match(stderr, /caused by Error: the setup broke\n\s+at .*throws-in-setup\/index\.js/)
})

test('an unhandled error counts as a failure of a required plugin', { jobs: 2 }, async (t) => {
  for (const folder of [
    'leaves-rejection-in-import',
    'leaves-rejection-in-setup',
    'leaves-rejection-in-start',
  ]) {
    t.test(folder, async (t) => {
      const { code, stderr } = await run({ [folder]: { from: join(fixtures, folder) } }, {})
      t.equal(code, 1)
      t.match(stderr, new RegExp(`"${folder}" .* is degraded \\(run\\): It left an error unhandled: left in`))
    })
  }
})
