import { createTestNode } from '@nodekeep/kernel/testing'
import {
  definePlugin,
  Files,
  type FilesService,
  NodeAddress,
  PublicOrigins,
  UserDirectory,
  type WasmRuntime,
  WasmRuntimes,
} from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { missingProbe, probesOf } from '../../src/probation/probes.ts'

const never = new AbortController().signal

interface Services {
  readonly address: Parameters<typeof probesOf>[0]
  readonly users: Parameters<typeof probesOf>[1]
  readonly files: Parameters<typeof probesOf>[2]
  readonly runtimes: Parameters<typeof probesOf>[3]
}

/** Starts a node with files and a runtime, and returns what a plugin has for its probes. */
async function startNode(t: Test, plugins: Record<string, unknown> = { 'wasm-native': true }) {
  let services: Services | undefined
  const probe = definePlugin({
    id: 'probe',
    requires: { address: NodeAddress, users: UserDirectory, files: Files, runtimes: WasmRuntimes },
    contributes: { origins: PublicOrigins },
    setup({ origins, onServing, ...context }) {
      services = context
      onServing(() => {
        const { origin } = context.address.local() ?? {}
        if (origin !== undefined) origins.add('itself', origin)
      })
    },
  })
  const node = await createTestNode({
    plugins: [probe],
    folder: import.meta.dirname,
    config: { plugins: { files: true, 'storage-local': true, ...plugins } },
  })
  t.teardown(() => node.stop())
  if (services === undefined) throw new Error('The probe was not set up.')
  return { node, services }
}

async function problems(services: Services): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  for (const { name, run } of probesOf(services.address, services.users, services.files, services.runtimes)) {
    found[name.replace(/:\d+$/, ':…')] = await run(never).then(
      () => null,
      (error: Error) => error.message,
    )
  }
  return found
}

test('a node that works passes all probes, and nothing is left', async (t) => {
  const { node, services } = await startNode(t)
  const whole = { port: null, files: null, wasm: null, 'public http://127.0.0.1:…': null }
  t.same(await problems(services), whole, 'without an owner')
  const owner = await node.signIn('owner')
  await owner.fetch('/write?path=/.nodekeep-update-check-left', { method: 'PUT', body: 'left by a crash' })
  await owner.fetch('/write?path=/mine.txt', { method: 'PUT', body: 'mine' })
  t.same(await problems(services), whole)
  const entries = (await (await owner.fetch('/readdir?path=/')).json()) as { name: string }[]
  t.same(
    entries.map(({ name }) => name),
    ['mine.txt'],
  )
})

test('parts that are not there are not looked at', async (t) => {
  const { services } = await startNode(t, {})
  t.same(Object.keys(await problems({ ...services, files: undefined })), [
    'port',
    'public http://127.0.0.1:…',
  ])
  t.equal(missingProbe('wasm'), null)
  const missing = missingProbe('public https://me.example.org')
  if (missing === null) throw new Error('A public address that is gone counts.')
  await t.rejects(missing.run(never), /does not reach the node any more/)
})

test('each broken part has a sentence', async (t) => {
  const { node, services } = await startNode(t)
  await node.signIn('owner')
  const real = services.files as FilesService
  const lying: FilesService = {
    ...real,
    for: (user) => Object.assign(Object.create(real.for(user)), { write: async () => ({}) }),
  }
  t.match((await problems({ ...services, files: lying })).files, /cannot be stored/)

  const runtime = (call: () => Promise<readonly number[]>) =>
    ({ supports: { functions: true, programs: false }, exports: async () => [], call }) as WasmRuntime
  const withRuntime = (entry: WasmRuntime) => ({
    ...services,
    runtimes: Object.assign(Object.create(services.runtimes), {
      [Symbol.iterator]: () => [['fake', entry] as const][Symbol.iterator](),
    }),
  })
  t.match((await problems(withRuntime(runtime(async () => [41])))).wasm, /wrong results/)
  t.match(
    (await problems(withRuntime(runtime(() => Promise.reject(new Error('dead')))))).wasm,
    /cannot be called/,
  )

  const address = { local: () => new URL('http://127.0.0.1:1'), publicOrigins: () => [] }
  t.match((await problems({ ...services, address })).port, /does not answer at http:\/\/127\.0\.0\.1:1/)
})
