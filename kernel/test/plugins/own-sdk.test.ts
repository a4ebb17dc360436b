import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'

const ownSdk = import.meta.resolve('@nodekeep/plugin-sdk')
const resolved = "import.meta.resolve('@nodekeep/plugin-sdk')"

/** A plugin in ES modules, which asks threads and a sandbox of its own which SDK they find. */
const modern = {
  'index.js': `import { once } from 'node:events'
    import { Worker } from 'node:worker_threads'
    import { conflict, definePlugin } from '@nodekeep/plugin-sdk'
    import { SandboxProcess } from '@nodekeep/plugin-sdk/sandbox-process'
    import { runInThread } from '@nodekeep/plugin-sdk/threads'

    const beside = (name) => new URL(name, import.meta.url)
    const threadWith = async (options) => (await once(new Worker(beside('thread.js'), options), 'message'))[0]
    const sandboxed = () => new Promise((resolve) => {
      const sandbox = new SandboxProcess(
        { main: beside('sandbox.js'), heapBytes: 2 ** 26, openFiles: 64 },
        { data: (chunk) => resolve(String(chunk)), ended: () => resolve(sandbox.stderrTail) },
      )
    })
    export default definePlugin({
      id: 'modern',
      setup({ routes }) {
        routes((app) => {
          app.get('/modern/conflict', async () => { throw conflict('The error of this SDK is known.') })
          app.get('/modern', async () => ({
            plain: await threadWith(),
            withoutOptions: await threadWith({ execArgv: [], env: {} }),
            within: await threadWith({ workerData: 'within' }),
            answered: await runInThread(beside('answering.js'), { name: 'answering', order: null }),
            sandboxed: await sandboxed(),
          }))
        })
      },
    })`,
  'thread.js': `import { once } from 'node:events'
    import { parentPort, Worker, workerData } from 'node:worker_threads'
    import '@nodekeep/plugin-sdk/threads'
    const within = workerData === 'within' && new Worker(new URL(import.meta.url))
    parentPort.postMessage(within ? (await once(within, 'message'))[0] : ${resolved})`,
  'answering.js': `import { answerInThread } from '@nodekeep/plugin-sdk/threads'
    await answerInThread(() => ${resolved})`,
  'sandbox.js': `import { writeSync } from 'node:fs'
    import * as binary from '@nodekeep/plugin-sdk/wasm-binary'
    writeSync(3, Object.keys(binary).length > 0 ? 'imported' : 'empty')`,
}

const commonjs = {
  'index.js': `const { definePlugin } = require('@nodekeep/plugin-sdk')
    module.exports = definePlugin({ id: 'commonjs', setup() {} })`,
}

const mistaken = {
  'index.js': `import '@nodekeep/plugin-sdk/gone'
    export default 1`,
}

/** Makes a folder from which no SDK is found. */
async function outside(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-sdk-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function install(
  folder: string,
  id: string,
  files: Record<string, string>,
  type: 'module' | 'commonjs' = 'module',
): Promise<string> {
  const path = join(folder, 'node_modules', `nodekeep-${id}`)
  await mkdir(path, { recursive: true })
  const manifest = { name: `nodekeep-${id}`, version: '1.0.0', type }
  const nodekeep = { id, sdk: '^0.1.0', entry: 'index.js' }
  await writeFile(join(path, 'package.json'), JSON.stringify({ ...manifest, nodekeep }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  return path
}

async function start(t: Test, folder: string, ids: readonly string[]) {
  const plugins = Object.fromEntries(ids.map((id) => [id, { from: `nodekeep-${id}`, required: false }]))
  const node = await createTestNode({ folder, config: { plugins } })
  t.teardown(() => node.stop())
  return node
}

test('plugins without an SDK use that of the node, also in threads and sandboxes', async (t) => {
  const folder = await outside(t)
  await install(folder, 'modern', modern)
  await install(folder, 'commonjs', commonjs, 'commonjs')
  await install(folder, 'mistaken', mistaken)
  const node = await start(t, folder, ['modern', 'commonjs', 'mistaken'])
  t.match(node.plugins(), [
    { id: 'modern', state: 'active' },
    { id: 'commonjs', state: 'active' },
    {
      id: 'mistaken',
      phase: 'import',
      reason: /The SDK of this node has no "@nodekeep\/plugin-sdk\/gone"\./,
    },
  ])
  const ada = await node.signIn()
  t.strictSame(await (await ada.fetch('/modern')).json(), {
    plain: ownSdk,
    withoutOptions: ownSdk,
    within: ownSdk,
    answered: ownSdk,
    sandboxed: 'imported',
  })
})

test('another copy of the SDK beside a plugin is not used', async (t) => {
  const folder = await outside(t)
  const path = await install(folder, 'modern', modern)
  const copy = join(path, 'node_modules/@nodekeep/plugin-sdk')
  await mkdir(copy, { recursive: true })
  const manifest = { name: '@nodekeep/plugin-sdk', version: '9.0.0', type: 'module', exports: './index.js' }
  await writeFile(join(copy, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(copy, 'index.js'), 'export const definePlugin = () => null')
  const node = await start(t, folder, ['modern'])
  const ada = await node.signIn()
  t.equal((await ada.fetch('/modern/conflict')).status, 409)
  t.match(await (await ada.fetch('/modern')).json(), { plain: ownSdk, withoutOptions: ownSdk })
})
