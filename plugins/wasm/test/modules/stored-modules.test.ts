import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createCountedStorage } from '../fixtures/counted-storage.ts'
import { ScriptedRuntime } from '../fixtures/scripted-runtime.ts'
import { callFile, createWasmNode, store } from '../fixtures/wasm-node.ts'

/** Starts a node whose storage counts the calls. */
async function createCountingNode(t: Test, wasm: Readonly<Record<string, unknown>> = {}) {
  const runtime = new ScriptedRuntime()
  const { plugin, counts } = createCountedStorage()
  const node = await createWasmNode(wasm, {
    plugins: [runtime.plugin, plugin],
    config: {
      plugins: { 'storage-local': false, 'storage-memory': true },
      storage: { mounts: { '/': 'counted' } },
    },
  })
  t.teardown(() => node.stop())
  return { runtime, counts, node, ada: await node.signIn() }
}

t.test('an unchanged file is checked for each call, and neither read nor listed again', async (t) => {
  const { runtime, counts, ada } = await createCountingNode(t)
  await store(ada, '/m.wasm', Buffer.from('a module'))
  t.equal((await callFile(ada, '/m.wasm', 'same', [1])).status, 200)
  const before = { ...counts }
  t.equal(before.read, 1)
  for (let round = 0; round < 20; round += 1) await callFile(ada, '/m.wasm', 'same', [round])
  t.strictSame(counts, { read: 1, stat: before.stat + 20 })
  t.strictSame(runtime.counts, { exports: 1, calls: 21 })
})

t.test('calls that wait together share one check, and calls that come later do not', async (t) => {
  const { runtime, counts, ada } = await createCountingNode(t, { queuePerUser: 5 })
  runtime.functionsAtOnce = 1
  await store(ada, '/m.wasm', Buffer.from('old'))
  const first = callFile(ada, '/m.wasm', 'hold', [1])
  // Its check is over when it runs, so the others cannot share it.
  await runtime.waitForCall(1)
  const others = Array.from({ length: 6 }, () => callFile(ada, '/m.wasm', 'hold', [1]))
  // The last call that arrives is refused. Then five wait.
  const refused = await Promise.race(others)
  t.equal(refused.status, 429)
  const before = counts.stat
  const contents: string[] = []
  const endNext = async () => {
    const { module, answer } = await runtime.waitForCall(contents.length + 1)
    contents.push(Buffer.from(await module.bytes()).toString())
    answer(1)
  }
  await endNext()
  for (let index = 0; index < 5; index += 1) await endNext()
  await Promise.all([first, ...others])
  t.equal(counts.stat, before + 1)
  await store(ada, '/m.wasm', Buffer.from('new'))
  const last = callFile(ada, '/m.wasm', 'hold', [1])
  await endNext()
  await last
  t.equal(contents.at(-1), 'new')
})

t.test('many first calls at once read and list a file once', async (t) => {
  const { runtime, counts, ada } = await createCountingNode(t)
  await store(ada, '/m.wasm', Buffer.alloc(300_000, 'a module'))
  const answers = await Promise.all(Array.from({ length: 30 }, () => callFile(ada, '/m.wasm', 'same', [1])))
  t.ok(answers.every(({ status }) => status === 200))
  t.equal(counts.read, 1)
  t.equal(runtime.counts.exports, 1)
})

t.test('a file that changed is read again, and the same content is not listed again', async (t) => {
  const { runtime, counts, ada } = await createCountingNode(t)
  const hold = async () => {
    const answer = callFile(ada, '/m.wasm', 'hold', [1])
    const call = await runtime.waitForCall(runtime.held.length + 1)
    call.answer(1)
    await answer
    return Buffer.from(await call.module.bytes()).toString()
  }
  for (const content of ['one', 'two', 'one']) {
    await store(ada, '/m.wasm', Buffer.from(content))
    t.equal(await hold(), content)
  }
  t.equal(counts.read, 3)
  t.equal(runtime.counts.exports, 2)
})

t.test('a file that was removed, or became a folder, is not run from memory', async (t) => {
  const { ada } = await createCountingNode(t)
  const change = (endpoint: string, body: object) =>
    ada.fetch(`/${endpoint}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  await store(ada, '/m.wasm', Buffer.from('a module'))
  t.equal((await callFile(ada, '/m.wasm', 'same', [1])).status, 200)
  await change('move', { source: '/m.wasm', destination: '/n.wasm' })
  t.match(await callFile(ada, '/m.wasm', 'same', [1]), { status: 404, body: { code: 'NOT_FOUND' } })
  t.equal((await callFile(ada, '/n.wasm', 'same', [1])).status, 200)
  await change('mkdir', { path: '/m.wasm' })
  t.match(await callFile(ada, '/m.wasm', 'same', [1]), { status: 400, body: { message: /is a folder/ } })
})

t.test('a file that is too large is not read', async (t) => {
  const { counts, ada } = await createCountingNode(t, { moduleMB: 1 })
  await store(ada, '/large.wasm', new Uint8Array(1024 * 1024 + 1))
  const response = await callFile(ada, '/large.wasm', 'same', [1])
  t.match(response, { status: 413, body: { code: 'PAYLOAD_TOO_LARGE', message: /1048576 bytes.*1048577/ } })
  t.equal(counts.read, 0)
  await store(ada, '/fits.wasm', new Uint8Array(1024 * 1024))
  t.equal((await callFile(ada, '/fits.wasm', 'same', [1])).status, 200)
})

t.test('bytes that were evicted are read again, and a changed file is an error', async (t) => {
  const { runtime, counts, ada } = await createCountingNode(t, { moduleMB: 1 })
  await store(ada, '/m.wasm', Buffer.from('a module'))
  const answer = callFile(ada, '/m.wasm', 'hold', [1])
  const { module, answer: end } = await runtime.waitForCall(1)
  // As many bytes as the node caches.
  const evict = async () => {
    for (let index = 0; index < 4; index += 1) {
      await store(ada, '/other', randomBytes(1024 * 1024))
      await callFile(ada, '/other', 'same', [1])
    }
  }
  await evict()
  const { read } = counts
  t.equal(Buffer.from(await module.bytes()).toString(), 'a module')
  t.equal(counts.read, read + 1)
  await evict()
  await store(ada, '/m.wasm', Buffer.from('b module'))
  await t.rejects(module.bytes(), { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
  end(1)
  await answer
})

t.test('each user has their own module under the same path', async (t) => {
  const { runtime, node, ada } = await createCountingNode(t)
  const bob = await node.signIn()
  await store(ada, '/m.wasm', Buffer.from("Ada's"))
  t.match(await callFile(bob, '/m.wasm', 'same', [1]), { status: 404 })
  await store(bob, '/m.wasm', Buffer.from("Bob's"))
  for (const [index, user] of [ada, bob].entries()) {
    const answer = callFile(user, '/m.wasm', 'hold', [1])
    const call = await runtime.waitForCall(index + 1)
    t.equal(Buffer.from(await call.module.bytes()).toString(), index === 0 ? "Ada's" : "Bob's")
    call.answer(1)
    await answer
  }
})
