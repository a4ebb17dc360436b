import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'

const code = `import { definePlugin } from ${JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))}
export default definePlugin({
  id: 'shelf',
  setup({ id, generation, routes }) {
    const config = { access: 'public', publicReason: 'a test' }
    routes((app) => app.get('/' + id, { config }, async () => ({ generation })))
  },
})`

test('the generation of a plugin is another one whenever another version ran last', async (t) => {
  const folder = t.testdir({ shelf: { 'index.js': code }, data: {} })
  const found: string[] = []
  /** Starts a node with a version of the plugin, and returns the generations of its two instances. */
  const generations = async (version: string) => {
    const nodekeep = { id: 'shelf', sdk: '^0.1.0', entry: './index.js' }
    const manifest = { name: 'shelf', version, type: 'module', nodekeep }
    writeFileSync(join(folder, 'shelf/package.json'), JSON.stringify(manifest))
    const plugins = { shelf: { from: './shelf' }, other: { from: './shelf' } }
    const node = await createTestNode({ folder, config: { plugins }, dataFolder: join(folder, 'data') })
    try {
      const ask = async (path: string) =>
        ((await (await node.fetch(path)).json()) as { generation: string }).generation
      return [await ask('/shelf'), await ask('/other')]
    } finally {
      await node.stop()
    }
  }
  found.push(...(await generations('1.0.0')))
  t.same(await generations('1.0.0'), found, 'a restart is no other version')
  found.push(...(await generations('2.0.0')))
  found.push(...(await generations('1.0.0')))
  found.push(...(await generations('2.0.0')))
  t.equal(
    new Set(found).size,
    8,
    'neither a way back nor the next update has a generation that was there before',
  )
})
