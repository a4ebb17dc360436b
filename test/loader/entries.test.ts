import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { fixtures } from './failing-plugins.ts'

test('a fault within an entry of a registry is put down to the plugin that added the entry', async (t) => {
  const lines: Record<string, unknown>[] = []
  const plugins = Object.fromEntries(
    ['faulty-entry', 'calls-entries'].map((folder) => [folder, { from: `./${folder}` }]),
  )
  const onLog = (line: string) => lines.push(JSON.parse(line))
  const node = await createTestNode({ folder: fixtures, config: { plugins }, onLog })
  t.teardown(() => node.stop())
  const ada = await node.signIn()

  t.equal((await ada.fetch('/calls-entries/throws')).status, 500)
  t.match(
    lines.filter(({ level }) => level === 'error'),
    [{ plugin: 'calls-entries', origin: 'faulty-entry', err: { message: 'the entry broke' } }],
    'the request is of one plugin, and the error of the other',
  )
  lines.length = 0
  await ada.fetch('/calls-entries/throws-later')
  await new Promise((resolve) => setImmediate(resolve))
  t.match(
    lines.filter(({ level }) => level === 'error'),
    [{ plugin: 'faulty-entry', err: { message: 'the entry broke later' } }],
  )
  const states = Object.fromEntries(node.plugins().map(({ id, state }) => [id, state]))
  t.strictSame(states, { 'faulty-entry': 'degraded', 'calls-entries': 'active' })
})

test('the log of a failed storage names the plugin of its driver', async (t) => {
  const lines: Record<string, unknown>[] = []
  const node = await createTestNode({
    folder: fixtures,
    config: {
      plugins: { files: { from: '../../../plugins/files' }, 'faulty-driver': { from: './faulty-driver' } },
      storage: { mounts: { '/': 'faulty' } },
    },
    onLog: (line: string) => lines.push(JSON.parse(line)),
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.equal((await ada.fetch('/stat?path=/')).status, 503)
  const [line] = lines.filter(({ err }) => JSON.stringify(err ?? '').includes('the driver broke'))
  t.match(line, { plugin: 'files', mount: '/', origin: 'faulty-driver' })
})
