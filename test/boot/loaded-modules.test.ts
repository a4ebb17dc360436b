import { type Test, test } from 'tap'
import { presets, startNodeProcess } from './node-process.ts'

const reporter = new URL('fixtures/report-loaded.ts', import.meta.url).href

/** Modules of Node and libraries that are large and rarely needed. Each is loaded at its first use. */
const atFirstUse = [
  // Node's HTTP client, which an `import` of `node:http` loads.
  'internal/deps/undici/undici',
  '/node_modules/age-encryption/',
  '/node_modules/@anthropic-ai/sdk/',
  '/node_modules/openai/',
  '/node_modules/ollama/',
  '/node_modules/siwe/',
  '/node_modules/@fastify/swagger/',
  '/node_modules/sharp/',
  '/node_modules/music-metadata/',
  '/node_modules/@xmldom/',
]

/** Loaded at its first use, which in the default bundle is the WebSocket of file sync. */
const webSockets = '/node_modules/@fastify/websocket/'

/** Starts a node, asks for its health, stops it, and returns what its main thread has loaded. */
async function loadedBy(t: Test, preset: (typeof presets)[number]): Promise<readonly string[]> {
  const env = { NODE_OPTIONS: `--import=${reporter}` }
  const node = await startNodeProcess(preset.configuration, { env })
  t.teardown(() => node.remove())
  await (await fetch(new URL('/health', await node.ready))).text()
  node.child.kill('SIGTERM')
  const { stdout } = await node.end
  const report = stdout.split('\n').find((line) => line.startsWith('{"loaded":'))
  return JSON.parse(String(report)).loaded
}

for (const preset of presets) {
  test(`a start of ${preset.name} loads no large library that it may never need`, async (t) => {
    const loaded = await loadedBy(t, preset)
    for (const used of ['NativeModule http', '/node_modules/fastify/']) {
      t.ok(
        loaded.some((name) => name.includes(used)),
        `${used} is reported`,
      )
    }
    const rarelyUsed = preset.name === 'default' ? atFirstUse : [...atFirstUse, webSockets]
    for (const rare of rarelyUsed) {
      t.notOk(
        loaded.some((name) => name.includes(rare)),
        `${rare} is not loaded`,
      )
    }
  })
}
