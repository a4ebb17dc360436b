import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { definePlugin, type NodeRestores, Restores } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'

const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))

const code = `import { definePlugin, Type } from ${sdk}
export default definePlugin({
  id: 'shelf',
  config: Type.Object({
    root: Type.Optional(Type.Any()),
    cold: Type.Optional(Type.String()),
    key: Type.Optional(Type.String()),
  }),
  setup() {},
})`

/** Writes the package of a plugin that keeps two folders outside of its own. */
function writeShelf(folder: string): void {
  const path = join(folder, 'shelf')
  mkdirSync(path)
  const folders = { root: 'shelf', cold: 'archive/shelf' }
  const nodekeep = { id: 'shelf', sdk: '^0.1.0', entry: './index.js', section: 'boards', folders }
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name: 'shelf', type: 'module', nodekeep }))
  writeFileSync(join(path, 'index.js'), code)
}

/** Starts a node whose plugins are named by the configuration. */
async function startNode(
  t: Test,
  config: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string>> = {},
) {
  const folder = t.testdir()
  writeShelf(folder)
  let restores: NodeRestores | undefined
  const probe = definePlugin({
    id: 'probe',
    requires: { restores: Restores },
    setup(context) {
      restores = context.restores
    },
  })
  const node = await createTestNode({ plugins: [probe], folder, config, environment })
  t.teardown(() => node.stop())
  return { data: node.dataFolder, folder, restores: restores as unknown as NodeRestores }
}

test('the folders of all enabled plugins are known, as the configuration sets them', async (t) => {
  const config = {
    plugins: {
      shelf: { from: './shelf' },
      second: { from: './shelf' },
      third: { from: './shelf' },
      missing: { from: './not-there', required: false },
      off: { from: './shelf', enabled: false },
    },
    boards: { cold: '/mnt/cold', key: 'x' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration replaces it
    second: { root: '${DISK}/second' },
    off: { root: '/off' },
  }
  const environment = { DISK: '/mnt/two', NODEKEEP_THIRD__ROOT: 'three', NODEKEEP_BOARDS__KEY: 'y' }
  const { data, folder, restores } = await startNode(t, config, environment)
  t.strictSame(await restores.folders(), [
    { plugin: 'shelf', key: 'root', path: join(data, 'shelf') },
    { plugin: 'shelf', key: 'cold', path: '/mnt/cold' },
    { plugin: 'second', key: 'root', path: '/mnt/two/second' },
    { plugin: 'second', key: 'cold', path: join(data, 'archive/shelf') },
    { plugin: 'third', key: 'root', path: join(folder, 'three') },
    { plugin: 'third', key: 'cold', path: join(data, 'archive/shelf') },
  ])
})

test('a key that names no folder is an error, since a restore must not miss one', async (t) => {
  const plugins = { shelf: { from: './shelf', required: false } }
  const number = await startNode(t, { plugins, boards: { root: 7 } })
  await t.rejects(number.restores.folders(), { message: /boards\.root .* must be a string/ })
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration replaces it
  const unset = await startNode(t, { plugins, boards: { root: '${DISK}' } })
  await t.rejects(unset.restores.folders(), {
    message: /boards\.root .* the variable DISK, which is not set/,
  })
})

test('the storage of the default bundle declares its folder', async (t) => {
  const { data, restores } = await startNode(t, { plugins: { 'storage-local': true } })
  t.strictSame(await restores.folders(), [
    { plugin: 'storage-local', key: 'root', path: join(data, 'files') },
  ])
})
