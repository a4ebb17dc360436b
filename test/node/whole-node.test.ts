import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  fromFixtures,
  listPlugins,
  type ProcessOptions,
  presets,
  signInOwner,
  startNodeProcess,
} from '../boot/node-process.ts'

/** Starts a node of a preset, and signs the owner in. Returns the requests of the owner, and a function that stops the node. */
async function startNode(
  t: Test,
  { configuration }: (typeof presets)[number],
  data: string,
  options: ProcessOptions = {},
) {
  const plugins = fromFixtures(['trusting-login'], true)
  const node = await startNodeProcess({ ...configuration, data, plugins, loader: {} }, options)
  t.teardown(() => node.remove())
  const owner = await signInOwner(await node.ready)
  return {
    owner,
    async stop() {
      node.child.kill('SIGTERM')
      return (await node.end).code
    },
  }
}

for (const preset of presets) {
  t.test(
    `a node of the preset "${preset.name}" starts, lets its owner in, keeps files, and restores a backup`,
    async (t) => {
      const data = await mkdtemp(join(tmpdir(), 'nodekeep-whole-'))
      t.teardown(() => rm(data, { recursive: true, force: true }))
      const { owner, stop } = await startNode(t, preset, data)
      const plugins = await listPlugins(owner)
      for (const { id, state, reason } of plugins.values())
        t.match(state, /^(active|disabled)$/, `${id}: ${reason}`)
      t.equal((await owner.ask('/whoami')).status, 200)

      const write = async (body: string) => {
        t.equal((await owner.ask('/write?path=/a', { method: 'PUT', body })).status, 200)
      }
      const read = async ({ ask }: typeof owner) => (await ask('/read?path=/a')).text()
      if (plugins.has('files')) {
        await write('kept')
        t.equal(await read(owner), 'kept')
      }
      if (plugins.has('backup')) {
        const post = (path: string, body: object) =>
          owner.ask(path, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        const { filename } = (await (await post('/api/backup/create', {})).json()) as { filename: string }
        await write('changed')
        const restored = await post('/api/backup/restore', { filename, confirm: true })
        t.equal(restored.status, 200, await restored.text())
      }
      t.equal(await stop(), 0)

      const again = await startNode(t, preset, data)
      if (plugins.has('files')) t.equal(await read(again.owner), 'kept')
      t.equal(await again.stop(), 0)
    },
  )
}
